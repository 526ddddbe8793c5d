/* SPDX-License-Identifier: BSD-3-Clause */
/* A context: one endpoint of every open transport, and one completion queue. */
#ifndef AMG_CORE_CONTEXT_H
#define AMG_CORE_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bias.h"
#include "base/tally.h"
#include "core/class.h"
#include "core/cq.h"

/* What the floor above does with a request that came in. Runs in progress, no
 * lock is held; it must see to it that the arrival is released. */
typedef void (*amg_arrival_fn)(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival);

/* Owned by the user between HG_Context_create() and HG_Context_destroy(). */
struct hg_context {
    hg_class_t *cls;
    uint8_t id;
    struct amg_ep *eps[AMG_ROUTE_COUNT]; /* NULL: route not open */
    unsigned open[AMG_ROUTE_COUNT];      /* the routes that are, in order */
    unsigned open_count;
    amg_arrival_fn arrived;
    struct amg_cq cq;
    struct amg_bias owner; /* who makes progress has it; core/progress.h */
    atomic_uint awaiting;  /* threads that wait to be the next owner */
    /* Set by HG_Context_unpost(): requests are refused from then on. */
    atomic_bool is_unposted;
    uint64_t spin_ns; /* how long a wait looks before it sleeps; constant */
    /* Handles made here that still live; user's and in flight. */
    struct amg_tally handles;
    /* Operations in flight: handles and bulk. */
    struct amg_tally in_flight;
    struct amg_list upper; /* the rpc floor's; guarded by upper_lock */
    struct amg_lock upper_lock;
    void *data; /* the user's */
    void (*data_free)(void *);
};

hg_return_t amg_context_open(hg_class_t *cls, uint8_t id,
    amg_arrival_fn arrived, hg_context_t **ret_context);

/* All that was posted completes with HG_CANCELED, its steps run, and the
 * context is freed. Entries the steps queue are run too. */
void amg_context_close(hg_context_t *context);

/* One operation more, or less, that must end before the context may go. */
static inline void amg_context_enter(hg_context_t *context)
{
    amg_tally_add(&context->in_flight, 1);
}

static inline void amg_context_leave(hg_context_t *context)
{
    amg_tally_add(&context->in_flight, -1);
}

/* The endpoint of a route, with its tables. */
static inline struct amg_ep *amg_context_ep(
    const hg_context_t *context, unsigned route)
{
    return context->eps[route];
}

/* Something was posted that only this context's progress will see. */
static inline void amg_context_posted(hg_context_t *context, unsigned route)
{
    if (route == AMG_ROUTE_SELF)
        amg_cq_wake(&context->cq);
}

#endif
