/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of margo that move bulk data. */
#ifndef BENCH_MARGO_BULK_H
#define BENCH_MARGO_BULK_H

#include "jobs/bench/margo/mend.h"

/* From 64 KiB up, in both directions. */
void margo_bulk_run(struct pair *pair, struct mend *mend);

#endif
