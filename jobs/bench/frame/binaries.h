/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether all ranks run the same program, with the same arguments. */
#ifndef BENCH_BINARIES_H
#define BENCH_BINARIES_H

#include <stdbool.h>

/* Collective over all ranks. False at all of them, with a line at rank 0 that
 * names a rank that differs, if one does: their figures would be of two
 * programs, and who was told of different benchmarks would wait for ever. */
bool binaries_are_same(int argc, char **argv);

#endif
