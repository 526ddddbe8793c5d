/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up of a group of tests: the runtime is initialized. */
#ifndef TESTS_UNIT_ULT_BEGUN_H
#define TESTS_UNIT_ULT_BEGUN_H

#include "abt.h"

static inline int begin(void **state)
{
    (void)state;
    return ABT_init(0, NULL);
}

static inline int end(void **state)
{
    (void)state;
    return ABT_finalize();
}

#endif
