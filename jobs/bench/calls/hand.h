/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands a descriptor of rank 1 to rank 0 of the same machine. */
#ifndef BENCH_HAND_H
#define BENCH_HAND_H

#include "jobs/bench/frame/pair.h"

/* By both ranks: rank 1 gives `fd`, which stays its own, rank 0 gets one more
 * of the same, to be closed by it. Rank 1 returns `fd`. Ends the job when it
 * fails; pair->is_one_machine has to be true. */
int hand_over(const struct pair *pair, int fd);

#endif
