/* SPDX-License-Identifier: BSD-3-Clause */
/* What the work of a rank loses by the calls that it answers meanwhile. */
#ifndef BENCH_OVERLAP_H
#define BENCH_OVERLAP_H

#include "jobs/bench/calls/served.h"

/* By both ranks, rank 1 with a progress thread: the time of its work while rank
 * 0 calls, beside that while nobody does. */
void overlap_serving_row(struct served *served, const char *op);

#endif
