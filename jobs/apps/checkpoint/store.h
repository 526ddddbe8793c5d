/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes files in, on a server. */
#ifndef CHECKPOINT_STORE_H
#define CHECKPOINT_STORE_H

#include <stdbool.h>

#include "jobs/apps/checkpoint/job.h"

struct store;

/* Files go below the open directory `root`, which must stay so. NULL: no
 * memory. */
struct store *store_open(struct job *job, int root);
/* To be called now and then: ends files whose pieces could not be asked for. */
void store_poll(struct store *store);
/* Gives up all files that are not whole, and refuses new ones. */
void store_stop(struct store *store);
/* What was stored so far. */
void store_totals(
    const struct store *store, uint64_t *ret_files, uint64_t *ret_bytes);
/* Removes what is not whole. False: pieces are still under way, so that not
 * all could be freed. NULL is fine. */
bool store_close(struct store *store);

/* Serves the parts of senders. */
hg_return_t store_serve_part(hg_handle_t handle);

#endif
