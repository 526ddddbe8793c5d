/* SPDX-License-Identifier: BSD-3-Clause */
/* The last lines of the log, which are written only when something is found:
 * programs that misuse the library on purpose would fill the screen. */
#ifndef TESTS_TORTURE_LINES_H
#define TESTS_TORTURE_LINES_H

#include <stdio.h>

#include "margo-logging.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on the lines of the library are kept, and not written. */
void lines_keep(void);
/* Keeps one more. */
void lines_add(const char *line);
/* Keeps those of an instance. */
struct margo_logger lines_logger(void);
/* Writes the ones that are kept, the oldest first. */
void lines_write(FILE *out);

#ifdef __cplusplus
}
#endif

#endif
