/* SPDX-License-Identifier: BSD-3-Clause */
/* One unit of work given to a driver, and how it ends.
 *
 * Rules of an operation:
 *  1. Whoever posts it owns it, and keeps it alive until `step` ran.
 *  2. A post that returns an error has not taken it: nothing will follow.
 *  3. A post that succeeded is followed by exactly one completion: the driver
 *     returns the operation on the `done` list of a later poll of the same
 *     endpoint, and core then calls `step`. A driver never calls `step`, and
 *     never completes inside the post itself.
 *  4. Cancel is a wish. The completion still comes, with HG_CANCELED or with
 *     the result that won.
 *  5. User memory that a bulk operation names stays the poster's and must
 *     outlive `step`.
 */
#ifndef AMG_TRANSPORT_OP_H
#define AMG_TRANSPORT_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mercury_core_types.h"

enum { AMG_OP_PRIV_WORDS = 6 };

struct amg_mem;

struct amg_op {
    struct amg_link link;          /* the driver's while posted */
    void (*step)(struct amg_op *); /* set by the poster, called by core */
    bool is_final; /* by the poster: will not be cancelled, unless by the end of
                    * its endpoint */
    struct amg_mem *mem; /* by the poster of a put or get: what the local memory
                          * is exposed as; NULL: as nothing it knows of */
    hg_return_t ret;     /* valid when step is called */
    uint64_t len;        /* bytes moved or received; valid then */
    void *data; /* a request's reply, `len` bytes; valid until release_reply */
    uint64_t priv[AMG_OP_PRIV_WORDS]; /* the driver's own words */
};

struct amg_peer;

/* A request that came in, or (is_late) the reply to one that was cancelled
 * before. Its bytes stay valid until release(); the struct itself lies in the
 * driver's memory, next to them. A late reply is only looked at and released,
 * because its sender may wait for more than that it arrived. */
struct amg_arrival {
    struct amg_link link;
    struct amg_peer *from; /* valid until release(); hold() to keep it */
    void *data;            /* aligned to 8 */
    uint32_t len;
    uint8_t origin_context; /* the context that sent it */
    uint8_t is_one_way;     /* no reply is expected */
    uint8_t is_late;        /* a late reply; origin_context: who replied */
    uint64_t token;         /* what send_reply needs to find its origin */
};

/* Completed operations and arrivals, in the order they happened. */
struct amg_news {
    struct amg_list done;
    struct amg_list arrived;
    /* A peer moved something that is no news here, as a piece of a transfer of
     * its own: more may follow soon, so that a wait should look on. */
    bool has_moved;
};

static inline void amg_news_init(struct amg_news *news)
{
    amg_list_init(&news->done);
    amg_list_init(&news->arrived);
    news->has_moved = false;
}

#endif
