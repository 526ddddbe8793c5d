/* SPDX-License-Identifier: BSD-3-Clause */
/* Operation: a unit of work given to a driver, and how it ends.
 *
 * Rules of an operation:
 *  1. The poster owns the operation, and keeps it alive until `step` has run.
 *  2. A failed post has not taken the operation: no completion follows.
 *  3. A post that succeeded is followed by exactly one completion: the driver
 *     returns the operation on the `done` list of a later poll of the same
 *     endpoint, and core then calls `step`. A driver never calls `step`, and
 *     never completes inside the post itself.
 *  4. Cancel is a request. The completion still comes, with HG_CANCELED or with
 *     the result that came first.
 *  5. User memory that a bulk operation names stays the poster's and must
 *     outlive `step`.
 */
#ifndef AMG_TRANSPORT_OP_H
#define AMG_TRANSPORT_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mercury_core_types.h"

enum { AMG_OP_PRIV_WORDS = 6, AMG_ARRIVAL_KEPT_WORDS = 7 };

struct amg_mem;

struct amg_op {
    struct amg_link link;          /* the driver's while posted */
    void (*step)(struct amg_op *); /* set by the poster, called by core */
    bool is_uncancellable; /* set by the poster: only the close of the endpoint
                            * cancels it */
    uint32_t cookie;       /* of a request that wants a reply, for the trace */
    struct amg_mem *mem;   /* set by the poster of a put or get: registration of
                            * the local memory; NULL: not known */
    hg_return_t ret;       /* valid when step is called */
    uint64_t len;          /* bytes moved or received; valid with `ret` */
    void *data; /* a request's reply, `len` bytes; valid until release_reply */
    uint64_t priv[AMG_OP_PRIV_WORDS]; /* the driver's own words */
};

struct amg_peer;

/* A request that came in, or (is_late) the reply to a cancelled request. The
 * bytes stay valid until release(); the driver keeps the struct next to them.
 * Core reads and releases a late reply: its sender may wait for the release. */
struct amg_arrival {
    struct amg_link link;
    struct amg_peer *from; /* valid until release(); ref() to keep it */
    void *data;            /* aligned to 8 */
    uint32_t len;
    uint8_t origin_context; /* context of the sender */
    bool is_one_way;        /* no reply is expected */
    bool is_late;           /* a late reply; origin_context is that of the
                             * replier */
    bool is_long;           /* counted in amg_ep.held, until its handler begins
                             */
    uint64_t token;         /* finds the origin's call; of a one-way request 0,
                             * or AMG_TOKEN_ACK */
    /* For the layer above core that serves the arrival, until release(). */
    uint64_t kept[AMG_ARRIVAL_KEPT_WORDS];
};

/* Token, and cookie, of a one-way request that took no credit (send_ack). */
enum { AMG_TOKEN_ACK = 1 };

/* Does the release of an arrival return a credit? */
static inline bool amg_arrival_has_credit(const struct amg_arrival *arrival)
{
    return arrival->is_one_way && arrival->token != AMG_TOKEN_ACK;
}

/* Completed operations and arrivals; each list begins with the oldest. */
struct amg_events {
    struct amg_list done;
    struct amg_list arrived;
    /* A peer made progress that completes no operation here, such as a fragment
     * of its transfer: more may follow, so a wait should keep polling. */
    bool has_moved;
};

static inline void amg_events_init(struct amg_events *events)
{
    amg_list_init(&events->done);
    amg_list_init(&events->arrived);
    events->has_moved = false;
}

#endif
