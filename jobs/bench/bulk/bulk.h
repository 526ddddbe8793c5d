/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of rows of bulk data; bench_bulk() runs them all. */
#ifndef BENCH_BULK_H
#define BENCH_BULK_H

#include "jobs/bench/bulk/bulk_data.h"

/* Blocks with gaps between them, beside the same bytes in one piece. */
void bulk_strided_run(struct pair *pair, const struct like *like);
/* The room that these need. */
size_t bulk_strided_room(void);

/* Where the library chooses how bytes move: its choice beside each way that
 * can be asked for. */
void bulk_choice_run(struct pair *pair, const struct like *like);
/* Does it choose? */
bool bulk_choice_is_made(const struct pair *pair);

/* The sizes of rows: those of options->size, or of `all`. */
struct bulk_sizes {
    const size_t *sizes;
    unsigned count;
};
void bulk_sizes_get(const struct pair *pair, struct bulk_sizes *ret_sizes);

#endif
