/* SPDX-License-Identifier: BSD-3-Clause */
/* Our side of the rows of bulk data: HG_Bulk_transfer(). */
#ifndef BENCH_BULK_MOVE_H
#define BENCH_BULK_MOVE_H

#include "jobs/bench/bulk/bulk_data.h"

/* In a batch: what takes a few milliseconds, and fills the window twice. */
unsigned bulk_calls(const struct pair *pair, size_t size, unsigned window);

/* Transfers before the clock of a batch starts, in all that moves bulk data:
 * what is long is warm in its middle. */
enum { BULK_WARM = 8, BULK_WARM_SIZE_MAX = 65536 };

static inline unsigned bulk_warm(const struct duel *duel)
{
    if (duel->size > BULK_WARM_SIZE_MAX)
        return 0;
    return duel->calls < BULK_WARM ? duel->calls : BULK_WARM;
}

/* A batch of `bulk`, within a context. */
double bulk_move_run(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, double *ret_samples);
/* The same of duel->more, which is a struct bulk. */
double bulk_move(struct pair *pair, struct duel *duel, double *ret_samples);

#endif
