/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of margo that compare ways to share out its work among threads. */
#ifndef BENCH_MARGO_PLACEMENT_H
#define BENCH_MARGO_PLACEMENT_H

#include "jobs/bench/frame/pair.h"

/* Opens instances of its own. */
void margo_placement_run(struct pair *pair);

#endif
