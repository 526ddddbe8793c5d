/* SPDX-License-Identifier: BSD-3-Clause */
/* The line in which a program tells the crossings that it visited. */
#ifndef TESTS_TORTURE_CROSSINGS_LINE_H
#define TESTS_TORTURE_CROSSINGS_LINE_H

#include "exchange.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rank 0 writes the line of all ranks, which all call it: of each kind of
 * traffic `name`, valid until the next call of that, and how often the rank
 * had it. */
void crossings_line_write(struct exchange *exchange, const char *transport,
    const char *(*name)(unsigned kind), const long *counts, unsigned kinds);

#ifdef __cplusplus
}
#endif

#endif
