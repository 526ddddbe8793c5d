/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of bulk data share: every rank shows memory to its right-hand
 * neighbour, and so has memory of its left-hand one to work on. */
#ifndef TESTS_API_API_BULK_H
#define TESTS_API_API_BULK_H

#include "api.h"
#include "mercury_bulk.h"

/* What a rank was shown. */
struct api_shown {
    hg_addr_t addr;  /* of the rank that showed it; the test's */
    hg_bulk_t bulk;  /* the test's */
    uint64_t number; /* as it was given to api_bulk_show() */
};

/* To be called once, before the others and before the first api_sync(). */
void api_bulk_start(struct api *api);

/* Shows `mine` to the right-hand neighbour, with a number; what the left-hand
 * one shows comes back. Ends with api_sync(). */
void api_bulk_show(struct api *api, hg_bulk_t mine, uint64_t number,
    struct api_shown *ret_left);
/* Gives back what was shown. */
void api_bulk_forget(struct api *api, struct api_shown *left);

/* Exposes `count` pieces of one block. */
hg_bulk_t api_bulk_expose(struct api *api, void *base, uint32_t count,
    const hg_size_t *lens, uint8_t flags);
hg_bulk_t api_bulk_expose_one(
    struct api *api, void *base, hg_size_t len, uint8_t flags);

/* Transfers, and waits for it: what the call or its callback said. */
hg_return_t api_bulk_move(struct api *api, hg_bulk_op_t op,
    const struct api_shown *left, hg_size_t left_offset, hg_bulk_t local,
    hg_size_t local_offset, hg_size_t size);

#endif
