/* SPDX-License-Identifier: BSD-3-Clause */
/* This program as a small process of its own, without MPI. */
#ifndef BENCH_HELPER_H
#define BENCH_HELPER_H

#include "jobs/bench/frame/proc.h"

/* The first word of a helper's command line. */
#define HELPER_WORD "--helper"

/* The main() of a helper. */
int helper_main(int argc, char **argv);
/* Measures a class and a context over `info`, see HG_Init(), in a process that
 * has nothing else. False, with a word why. */
bool helper_measure(const char *info, unsigned deadline_s,
    struct smaps *ret_before, struct smaps *ret_after);

#endif
