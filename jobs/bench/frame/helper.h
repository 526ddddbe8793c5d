/* SPDX-License-Identifier: BSD-3-Clause */
/* This program as a small process of its own, without MPI. */
#ifndef BENCH_HELPER_H
#define BENCH_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jobs/bench/frame/proc.h"

/* The first word of a helper's command line. */
#define HELPER_WORD "--helper"

/* The main() of a helper. */
int helper_main(int argc, char **argv);

/* Helpers that have made one call to an address, and then sleep in read().
 * The process that started them owns them, until helpers_stop(). */
struct helpers {
    pid_t *pids;
    unsigned count;
    unsigned ready; /* of them, those that had their answer */
    int hold;       /* they end when it is closed */
    int news;       /* they write a byte to it when they are ready */
};

/* Returns at once; false, with a word why and nothing started. `info` opens
 * their class, see HG_Init(). */
bool helpers_start(struct helpers *ret_helpers, unsigned count,
    const char *info, const char *address, unsigned deadline_s);
/* Never blocks. True when all are ready; false also sets `ret_has_failed` when
 * one of them ended before that. */
bool helpers_are_ready(struct helpers *helpers, bool *ret_has_failed);
/* Tells them to end. True when all have; never blocks, so call it again. */
bool helpers_stop(struct helpers *helpers);

/* Measures a class and a context over `info` in a process that has nothing
 * else. False, with a word why. */
bool helper_measure(const char *info, unsigned deadline_s,
    struct smaps *ret_before, struct smaps *ret_after);

#endif
