/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of bulk data: every rank exposes memory to its
 * right-hand neighbour, and accesses that of its left-hand one. */
#ifndef TESTS_API_API_BULK_H
#define TESTS_API_API_BULK_H

#include "api.h"
#include "mercury_bulk.h"

/* Exposed memory of another rank. */
struct api_shown {
    hg_addr_t addr;  /* of the exposer; the test frees it */
    hg_bulk_t bulk;  /* the test frees it */
    uint64_t number; /* as given to api_bulk_show() */
};

/* Must be called once, before the others and before the first api_sync(). */
void api_bulk_start(struct api *api);

/* Sends the descriptor of `mine`, with a number, to the right-hand neighbour,
 * and returns that of the left-hand one. Ends with api_sync(). */
void api_bulk_show(struct api *api, hg_bulk_t mine, uint64_t number,
    struct api_shown *ret_left);
/* Frees what api_bulk_show() returned. */
void api_bulk_forget(struct api *api, struct api_shown *left);

/* Exposes `count` segments of one block. */
hg_bulk_t api_bulk_expose(struct api *api, void *base, uint32_t count,
    const hg_size_t *lens, uint8_t flags);
hg_bulk_t api_bulk_expose_one(
    struct api *api, void *base, hg_size_t len, uint8_t flags);

/* Transfers, and waits for it; returns the code of the call or its callback. */
hg_return_t api_bulk_move(struct api *api, hg_bulk_op_t op,
    const struct api_shown *left, hg_size_t left_offset, hg_bulk_t local,
    hg_size_t local_offset, hg_size_t size);

#endif
