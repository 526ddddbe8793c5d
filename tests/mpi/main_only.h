/* SPDX-License-Identifier: BSD-3-Clause */
/* Check that no thread but the first calls MPI. */
#ifndef TESTS_MPI_MAIN_ONLY_H
#define TESTS_MPI_MAIN_ONLY_H

#include <stdbool.h>

/* By the first thread: from now on, or no longer, the test fails when another
 * thread sends, receives, probes, or tests requests. */
void main_only_watch(bool is_on);

#endif
