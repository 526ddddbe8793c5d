/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line of the torture programs. */
#ifndef TESTS_TORTURE_OPTIONS_H
#define TESTS_TORTURE_OPTIONS_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { OPTIONS_USAGE = 2, OPTIONS_SKIP = 77 };

/* Reads it; false, after a text on stderr: the program exits with
 * OPTIONS_USAGE. */
bool options_read(int argc, char **argv, struct plan_options *ret_options);

#ifdef __cplusplus
}
#endif

#endif
