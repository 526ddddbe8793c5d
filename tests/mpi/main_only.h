/* SPDX-License-Identifier: BSD-3-Clause */
/* Sees to it that no thread but the first is in MPI. */
#ifndef TESTS_MPI_MAIN_ONLY_H
#define TESTS_MPI_MAIN_ONLY_H

#include <stdbool.h>

/* By the first thread: from now on, or no longer, the test fails when another
 * one sends, receives, looks for messages, or looks at requests. */
void main_only_watch(bool is_on);

#endif
