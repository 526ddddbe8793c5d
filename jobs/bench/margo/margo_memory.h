/* SPDX-License-Identifier: BSD-3-Clause */
/* The row of margo that tells what a blocked handler takes. */
#ifndef BENCH_MARGO_MEMORY_H
#define BENCH_MARGO_MEMORY_H

#include "jobs/bench/frame/pair.h"

/* Opens an instance of its own. */
void margo_memory_run(struct pair *pair);

#endif
