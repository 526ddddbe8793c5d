/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls without a handle, served from their arrival. stream.c sends
 * them.
 *
 * A request of the plain form becomes an entry of the queue of callbacks in the
 * words that its driver leaves to this layer: the request keeps its place among
 * the calls of its peer, runs in the thread that runs incoming calls, and holds
 * its credit until its handler has returned. Any other request, for instance
 * one with checksums or before its registration, is served as all are
 * (serve.c), and the callback below passes its bytes on. */
#include "rpc/handle.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/addr.h"
#include "rpc/encode.h"
#include "wire/records.h"

/* An arrival that waits for its handler; in its `kept` words. */
struct waiting {
    struct amg_cq_entry entry;
    hg_context_t *context;
    struct amg_rpc *rpc;
    uint32_t route;
    uint32_t at; /* of several calls: offset of the next record */
};

_Static_assert(
    sizeof(struct waiting) <= sizeof(((struct amg_arrival *)NULL)->kept),
    "the words of an arrival");

static inline struct amg_arrival *waiting_arrival(struct waiting *waiting)
{
    return (void *)((char *)waiting - offsetof(struct amg_arrival, kept));
}

/* The rank that made the call, or -1. */
static inline int rank_of(
    const struct waiting *waiting, const struct amg_arrival *arrival)
{
    hg_class_t *cls = waiting->context->cls;
    struct hg_addr from;

    if (cls->ranks == NULL)
        return -1;
    amg_addr_borrow(cls, waiting->route, arrival->from, &from);
    return amg_addr_rank(&from);
}

/* Runs the handler, unless `arg` is NULL, and releases the arrival. */
static AMG_INLINE void waiting_end(
    struct waiting *waiting, const void *arg, uint32_t arg_len)
{
    struct amg_arrival *arrival = waiting_arrival(waiting);
    hg_context_t *context = waiting->context;
    struct amg_ep *ep = amg_context_ep(context, waiting->route);

    amg_tally_add(&context->handles, 1); /* keeps the context alive */
    if (arg != NULL)
        waiting->rpc->oneway(
            context->cls, rank_of(waiting, arrival), arg, arg_len);
    ep->transport->msg.release(ep, arrival);
    amg_tally_add(&context->handles, -1);
}

static void waiting_run(struct amg_cq_entry *entry)
{
    struct waiting *waiting = amg_container_of(entry, struct waiting, entry);
    const struct amg_arrival *arrival = waiting_arrival(waiting);

    waiting_end(waiting, (const char *)arrival->data + AMG_HEADER_LEN,
        arrival->len - AMG_HEADER_LEN);
}

/* The last record of several; `arg` NULL: the sender has changed the record
 * since the check, and the rest is dropped. */
AMG_NOINLINE static void several_end(
    struct waiting *waiting, const void *arg, uint32_t arg_len)
{
    AMG_ASSERT(waiting->at >= AMG_HEADER_LEN);
    waiting_end(waiting, arg, arg_len);
}

/* The next record of several. Before its handler runs, the rest is back in the
 * queue, in front: so the order is kept where handlers run others, and further
 * threads may run the rest; and the context, which has callbacks queued, cannot
 * be destroyed. The argument is copied, because the arrival may be released
 * then. */
static void several_run(struct amg_cq_entry *entry)
{
    struct waiting *waiting = amg_container_of(entry, struct waiting, entry);
    struct amg_arrival *arrival = waiting_arrival(waiting);
    const uint64_t *record =
        (const uint64_t *)(void *)((char *)arrival->data + waiting->at);
    uint32_t rest = arrival->len - waiting->at;
    uint32_t arg_len = 0;
    uint32_t len = amg_record_read(record, rest, &arg_len);
    uint64_t arg[AMG_RECORD_ARG_MAX / sizeof(uint64_t)];
    amalgam_oneway_cb_t handler = waiting->rpc->oneway;
    hg_context_t *context = waiting->context;
    int from_rank = 0;

    if (!AMG_LIKELY(len != 0 && len < rest)) {
        several_end(waiting, len != 0 ? &record[1] : NULL, arg_len);
        return;
    }
    from_rank = rank_of(waiting, arrival);
    for (uint32_t i = 1; i < len / sizeof(uint64_t); i++)
        arg[i - 1] = record[i];
    waiting->at += len;
    amg_context_queue_first(context, entry);
    handler(context->cls, from_rank, arg, arg_len);
}

static inline struct amg_cq_entry *waiting_make(hg_context_t *context,
    unsigned route, struct amg_rpc *rpc, struct amg_arrival *arrival,
    void (*run)(struct amg_cq_entry *))
{
    struct waiting *waiting = (void *)arrival->kept;

    waiting->entry.run = run;
    waiting->entry.is_incoming = true;
    waiting->context = context;
    waiting->rpc = rpc;
    waiting->route = route;
    waiting->at = AMG_HEADER_LEN;
    return &waiting->entry;
}

void amg_oneway_take(hg_context_t *context, unsigned route, struct amg_rpc *rpc,
    struct amg_arrival *arrival)
{
    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_CAME);
    amg_context_queue(
        context, waiting_make(context, route, rpc, arrival, waiting_run));
}

void amg_oneway_take_several(hg_context_t *context, unsigned route,
    struct amg_rpc *rpc, struct amg_arrival *arrival)
{
    amg_order_queue(context, arrival->from, arrival->origin_context,
        waiting_make(context, route, rpc, arrival, several_run));
}

/* Callback of the RPC: serves the requests that need a handle. */
static hg_return_t oneway_serve(hg_handle_t handle)
{
    const char *why = NULL;
    char text[256];

    if (!handle->is_one_way)
        why = "its origin waits for a reply";
    else if (handle->in.len > AMALGAM_ONEWAY_MAX)
        why = "its arguments are longer than AMALGAM_ONEWAY_MAX";
    else if (amg_rpc_check(&handle->in) != HG_SUCCESS)
        why = "its arguments are damaged (checksum mismatch)";
    if (why == NULL)
        handle->rpc->oneway(handle->info.hg_class, amg_addr_rank(&handle->addr),
            handle->in.data, handle->in.len);
    else
        AMG_LOG_WARNING("rpc",
            "a request from %s (RPC id 0x%" PRIx64 ") is not handled: %s",
            amg_addr_text(&handle->addr, text, sizeof(text)), handle->info.id,
            why);
    return HG_Destroy(handle);
}

hg_id_t amalgam_register_oneway(
    hg_class_t *hg_class, const char *func_name, amalgam_oneway_cb_t handler)
{
    struct amg_rpc wanted = {
        .callback = handler == NULL ? NULL : oneway_serve,
        .oneway = handler,
        .is_one_way = true,
    };

    return amg_rpc_register_name(hg_class, func_name, &wanted);
}
