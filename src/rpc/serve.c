/* SPDX-License-Identifier: BSD-3-Clause */
/* Target side of a call: from an arrival to the user's function. */
#include "rpc/handle.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/addr.h"
#include "core/class.h"
#include "mercury_class.h"
#include "rpc/encode.h"
#include "rpc/hang.h"
#include "wire/header.h"
#include "wire/records.h"

/* The target trusts nothing that arrived: it checks the head, and looks up the
 * id. A faulty request is logged and, unless it is one-way, answered with a
 * code. */

/* Queues a call, whose arguments are complete, for its handler. */
static AMG_INLINE void serve_queue(struct hg_handle *handle)
{
    amg_handle_move_state(handle, AMG_HANDLE_ARRIVED, AMG_HANDLE_WAITING);
    amg_context_queue(handle->info.context, &handle->entry);
}

/* Handles a request with a valid head. */
static void serve_request(
    struct hg_handle *handle, const struct amg_header *header)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(handle->info.hg_class);
    hg_return_t rc = amg_rpc_take(
        &handle->in, handle->arrival->data, handle->arrival->len, header);

    handle->is_one_way = (header->flags & AMG_HEADER_ONE_WAY) != 0;
    handle->is_long = (header->flags & AMG_HEADER_MORE) != 0;
    if (handle->arrival->is_long && handle->is_long) /* from a faulty peer */
        amg_begin_long(handle);
    else
        handle->is_long |= handle->arrival->is_long;
    if (rc != HG_SUCCESS)
        amg_respond_refuse(
            handle, rc, "the descriptor of its arguments is damaged");
    else if (header->user_len != rpcs->in_offset)
        amg_respond_refuse(handle, HG_PROTOCOL_ERROR,
            "the length of the user's header is not what "
            "HG_Class_set_input_offset() set here");
    else if ((header->flags & AMG_HEADER_GROUP) != 0)
        rpcs->group_ops->arrived(handle);
    else
        amg_begin(handle);
}

/* No memory for a handle: answers with a handle on the stack. */
static void serve_refuse_without_handle(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    struct hg_handle handle = {
        .info = {.hg_class = context->cls, .context = context},
        .arrival = arrival,
        .is_incoming = true,
    };
    struct amg_ep *ep = amg_context_ep(context, route);
    char text[256];

    amg_addr_init_from(context->cls, route, arrival->from, &handle.addr);
    AMG_LOG_ERROR("rpc", "no memory for a handle; a request of %s is refused",
        amg_addr_text(&handle.addr, text, sizeof(text)));
    (void)amg_respond_code(&handle, HG_NOMEM);
    amg_addr_fini(&handle.addr);
    ep->transport->msg.release(ep, arrival);
}

/* Do driver and header agree on whether the origin waits for a reply? */
static bool flags_are_right(
    const struct amg_arrival *arrival, const struct amg_header *header)
{
    unsigned flags = header->flags;
    bool is_one_way =
        (flags & AMG_HEADER_ACK) != 0 ||
        ((flags & AMG_HEADER_ONE_WAY) != 0 && (flags & AMG_HEADER_MORE) == 0);

    if ((flags & AMG_HEADER_SEVERAL) != 0 || /* see serve_other() */
        ((flags & AMG_HEADER_CONTROL) != 0 && (flags & AMG_HEADER_ACK) == 0))
        return false;
    /* Probe by a target that waits for an ACK: is this process still there? */
    if (flags == AMG_HEADER_ACK && !arrival->is_one_way)
        return true;
    return is_one_way == (arrival->is_one_way != 0);
}

/* Releases the late reply to a cancelled call. If the reply is long, sends the
 * ACK that lets the target free the output. */
static void serve_late_reply(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    struct amg_ep *ep = amg_context_ep(context, route);
    struct amg_header header;
    struct hg_addr from;
    const char *why = NULL;

    if (amg_header_read(arrival->data, arrival->len, AMG_HEADER_REPLY, &header,
            &why) == HG_SUCCESS &&
        (header.flags & AMG_HEADER_MORE) != 0) {
        amg_addr_init_from(context->cls, route, arrival->from, &from);
        amg_respond_send_ack(
            context, &from, arrival->origin_context, header.id);
        amg_addr_fini(&from);
    }
    ep->transport->msg.release(ep, arrival);
}

/* Handles a control message of the library. */
static void control_take(
    const struct hg_handle *handle, const struct amg_header *header)
{
    const char *bytes = (const char *)handle->arrival->data + AMG_HEADER_LEN;

    if (header->user_len == AMG_CONTROL_LEN && header->id == AMG_CONTROL_CLOCK)
        amg_traced_told(handle, bytes);
    else if (header->user_len == AMG_CONTROL_LEN && header->id < AMG_CONTROLS)
        amg_rpc_class_of(handle->info.hg_class)
            ->group_ops->told(
                handle->info.context, (enum amg_control)header->id, bytes);
}

/* Handles a message that is_plain() does not accept, except late replies and
 * requests of records. */
AMG_NOINLINE static void serve_any(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    const struct amg_arrival *arrival = handle->arrival;
    struct amg_header header;
    const char *why = NULL;
    hg_return_t rc = amg_header_read(
        arrival->data, arrival->len, AMG_HEADER_REQUEST, &header, &why);

    handle->info.id = 0;
    if (rc != HG_SUCCESS) {
        amg_respond_refuse(handle, rc, why);
        return;
    }
    handle->info.id = header.id;
    if (!flags_are_right(arrival, &header)) {
        amg_respond_refuse(handle, HG_PROTOCOL_ERROR,
            "its flags contradict the way it was sent");
        return;
    }
    if ((header.flags & AMG_HEADER_ACK) == 0) {
        amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_CAME);
        if (amg_context_is_unposted(context))
            amg_respond_refuse(
                handle, HG_CANCELED, "its context receives no more");
        else
            serve_request(handle, &header);
        return;
    }
    if ((header.flags & AMG_HEADER_CONTROL) != 0)
        control_take(handle, &header);
    else if (arrival->is_one_way)
        amg_respond_take_ack(context, &handle->addr, header.id);
    else
        amg_respond_to_probe(handle);
    amg_handle_set_state(handle, AMG_HANDLE_ANSWERED);
    amg_handle_unref(handle);
}

/* The id in a plain request. */
static inline hg_id_t arrival_id(const struct amg_arrival *arrival)
{
    hg_id_t id = 0;

    memcpy(&id, (const char *)arrival->data + AMG_HEADER_ID_AT, sizeof(id));
    return id;
}

/* Is the arrival a request of which only the id must be looked at? */
static inline bool is_plain(
    const hg_context_t *context, const struct amg_arrival *arrival)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(context->cls);
    uint8_t flags = arrival->is_one_way ? AMG_HEADER_ONE_WAY : 0;

    return amg_rpc_is_plain(rpcs) && !arrival->is_late &&
           amg_header_is_plain(
               arrival->data, arrival->len, AMG_HEADER_REQUEST, flags) &&
           atomic_load_explicit(&context->gates, memory_order_acquire) == 0;
}

static AMG_INLINE struct hg_handle *incoming_make(
    hg_context_t *context, struct amg_rpc *rpc)
{
    struct hg_handle *handle = amg_handle_create(context, true);

    if (!AMG_LIKELY(handle != NULL))
        return NULL;
    handle->on_unanswered_end = amg_respond_for_user;
    handle->info.addr = &handle->addr;
    handle->entry.run = amg_context_run_of(context);
    handle->entry.is_incoming = true;
    handle->rpc = rpc;
    return handle;
}

bool amg_serve_to_self(struct hg_handle *origin, const uint64_t *input)
{
    hg_context_t *context = origin->info.context;
    struct hg_handle *target = incoming_make(context, origin->rpc);

    if (!AMG_LIKELY(target != NULL))
        return false;
    target->info.context_id = context->id;
    target->info.id = origin->info.id;
    amg_addr_borrow(
        context->cls, AMG_ROUTE_SELF, origin->addr.peer, &target->addr);
    target->is_long = false;
    target->is_one_way = origin->is_one_way;
    if (AMG_LIKELY(!target->is_one_way))
        target->looped.origin = origin;
    target->in.len = origin->in.len;
    amg_loop_bring(target, &target->in, input);
    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_CAME);
    if (AMG_LIKELY(amg_handle_is_created(target)))
        serve_queue(target);
    else
        amg_begin(target);
    return true;
}

bool amg_serve_apart(struct hg_handle *origin, uint8_t from_context,
    struct amg_args *in, bool may_take, void (*run)(struct amg_cq_entry *))
{
    hg_context_t *context = origin->info.context;
    bool must_copy =
        in->len > AMG_SHORT_LEN && !(may_take && in->extra != NULL);
    void *copy = must_copy ? amg_mem_alloc(in->len) : NULL;
    struct hg_handle *target =
        must_copy && copy == NULL ? NULL : incoming_make(context, NULL);

    if (target == NULL) {
        amg_mem_free(copy);
        return false;
    }
    target->entry.run = run;
    target->info.context_id = from_context;
    target->info.id = origin->info.id;
    amg_addr_init_copy(&origin->addr, &target->addr);
    target->is_long = origin->is_long;
    target->pull_len = origin->pull_len;
    target->is_one_way = false;
    target->looped.origin = origin;
    target->in.len = in->len;
    if (in->len <= AMG_SHORT_LEN) {
        target->in.data = target->looped.short_args;
        if (in->len > 0)
            memcpy(target->looped.short_args, in->data, in->len);
    } else if (must_copy) {
        target->in.extra = memcpy(copy, in->data, in->len);
        target->in.data = copy;
    } else {
        target->in = *in;
        *in = (struct amg_args){.data = NULL};
    }
    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_SENT);
    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_CAME);
    amg_begin(target);
    return true;
}

/* Makes the handle of a request; NULL: no memory. */
static AMG_INLINE struct hg_handle *handle_make(hg_context_t *context,
    unsigned route, struct amg_arrival *arrival, struct amg_rpc *rpc)
{
    struct hg_handle *handle = incoming_make(context, rpc);

    if (!AMG_LIKELY(handle != NULL))
        return NULL;
    handle->arrival = arrival;
    handle->info.context_id = arrival->origin_context;
    amg_addr_borrow(context->cls, route, arrival->from, &handle->addr);
    handle->is_one_way = arrival->is_one_way;
    handle->is_long = arrival->is_long;
    return handle;
}

/* Makes the handle of a request, or refuses the request: NULL. */
static AMG_INLINE struct hg_handle *arrival_take(hg_context_t *context,
    unsigned route, struct amg_arrival *arrival, struct amg_rpc *rpc)
{
    struct hg_handle *handle = handle_make(context, route, arrival, rpc);

    if (!AMG_LIKELY(handle != NULL))
        serve_refuse_without_handle(context, route, arrival);
    return handle;
}

/* Serves a plain request that needs a handle; `rpc` NULL: its id is unknown. */
AMG_NOINLINE static void serve_plain(hg_context_t *context, unsigned route,
    struct amg_arrival *arrival, struct amg_rpc *rpc)
{
    struct hg_handle *handle = arrival_take(context, route, arrival, rpc);

    if (!AMG_LIKELY(handle != NULL))
        return;
    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_CAME);
    handle->in.data = (char *)arrival->data + AMG_HEADER_LEN;
    handle->in.len = arrival->len - AMG_HEADER_LEN;
    handle->info.id = rpc != NULL ? rpc->id : arrival_id(arrival);
    if (AMG_LIKELY(rpc != NULL && rpc->callback != NULL &&
                   amg_handle_is_created(handle)))
        serve_queue(handle);
    else
        amg_begin(handle);
}

/* A plain request for a handler that takes no handle is queued by an entry in
 * `kept` of its arrival, so no memory is allocated. The request keeps its place
 * among the calls of its peer; its handler runs in the thread that runs
 * incoming calls; its credit returns when the handler has returned. */

/* An arrival that waits for its handler; stored in `kept` of the arrival. */
struct waiting {
    struct amg_cq_entry entry;
    hg_context_t *context;
    struct amg_rpc *rpc;
    uint32_t route;
    uint32_t at; /* in a message of records: offset of the next record */
};

_Static_assert(
    sizeof(struct waiting) <= sizeof(((struct amg_arrival *)NULL)->kept),
    "the struct fits into `kept`");

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
    bool is_traced = amg_trace_has(AMALGAM_TRACE_CALLS);

    if (is_traced)
        amg_trace_add(AMG_TRACE_BEGIN, (uintptr_t)arrival, waiting->rpc->id,
            (uintptr_t)arrival);
    waiting_end(waiting, (const char *)arrival->data + AMG_HEADER_LEN,
        arrival->len - AMG_HEADER_LEN);
    if (is_traced)
        amg_trace_add(AMG_TRACE_END, (uintptr_t)arrival, 0, 0);
}

/* Handles the last record of a message; `arg` NULL: the sender has changed the
 * record since the check, and the rest is dropped. */
AMG_NOINLINE static void several_end(
    struct waiting *waiting, const void *arg, uint32_t arg_len)
{
    AMG_ASSERT(waiting->at >= AMG_HEADER_LEN);
    waiting_end(waiting, arg, arg_len);
}

/* Runs the handler for the next record of a message. Before that, puts the
 * remaining records back at the front of the queue: so a handler that runs
 * callbacks keeps the order, other threads can run these records, and a queued
 * entry keeps the context from being destroyed. Copies the argument, because
 * the thread that runs the last record releases the arrival. */
static void several_run(struct amg_cq_entry *entry)
{
    struct waiting *waiting = amg_container_of(entry, struct waiting, entry);
    struct amg_arrival *arrival = waiting_arrival(waiting);
    const uint64_t *record =
        (const uint64_t *)(void *)((char *)arrival->data + waiting->at);
    uint32_t rest = arrival->len - waiting->at;
    uint32_t arg_len = 0;
    uint32_t len = amg_record_read(record, rest, AMG_RECORD_ARG_MAX, &arg_len);
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

static void several_run_counted(struct amg_cq_entry *entry)
{
    struct waiting *waiting = amg_container_of(entry, struct waiting, entry);
    const struct amg_arrival *arrival = waiting_arrival(waiting);
    hg_context_t *context = waiting->context;
    struct amg_status_class *status = context->cls->job.status;

    amg_counters_add(&context->counters, AMG_COUNT_RUNS_BEGUN);
    amg_status_run(status, waiting->rpc->id);
    amg_trace_at(AMALGAM_TRACE_CALLS, AMG_TRACE_BEGIN, arrival,
        waiting->rpc->id, (uintptr_t)arrival);
    several_run(entry);
    amg_trace_at(AMALGAM_TRACE_CALLS, AMG_TRACE_END, arrival, 0, 0);
    amg_status_run(status, 0);
    amg_counters_add(&context->counters, AMG_COUNT_RUNS_ENDED);
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

/* Queues a one-way request for a handler that takes no handle. */
static inline void oneway_take(hg_context_t *context, unsigned route,
    struct amg_rpc *rpc, struct amg_arrival *arrival)
{
    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_CAME);
    amg_context_queue(
        context, waiting_make(context, route, rpc, arrival, waiting_run));
}

/* Is the plain request for a handler that takes no handle? */
static inline bool oneway_may_take(
    const struct amg_rpc *rpc, const struct amg_arrival *arrival)
{
    return !AMG_LIKELY(rpc->oneway == NULL) && arrival->is_one_way &&
           arrival->len <= AMG_HEADER_LEN + AMALGAM_ONEWAY_MAX;
}

static AMG_INLINE void serve_found(hg_context_t *context, unsigned route,
    struct amg_arrival *arrival, struct amg_rpc *rpc)
{
    if (oneway_may_take(rpc, arrival))
        oneway_take(context, route, rpc, arrival);
    else
        serve_plain(context, route, arrival, rpc);
}

/* Serves a plain request whose RPC was not found lately. */
AMG_NOINLINE static void serve_searched(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    struct amg_rpc *rpc = amg_rpc_find(context->cls, arrival_id(arrival));

    if (rpc != NULL)
        serve_found(context, route, arrival, rpc);
    else
        serve_plain(context, route, arrival, NULL);
}

/* Gives the handle of a record the call that leaders have passed on in it. */
static hg_return_t handle_unwrap(struct hg_handle *handle)
{
    struct amg_relayed *call = handle->in.data;

    if (handle->in.len < AMG_RELAYED_LEN)
        return HG_PROTOCOL_ERROR;
    handle->info.id = call->id;
    handle->in.data = call->arg;
    handle->in.len -= AMG_RELAYED_LEN;
    return amg_addr_init_rank(
        handle->info.hg_class, call->caller, &handle->addr);
}

/* Serves each record of a valid request by a handle of its own. The handles
 * share the arrival, whose credit returns with the end of the last handle. */
static void records_serve(hg_context_t *context, unsigned route,
    struct amg_arrival *arrival, struct amg_rpc *rpc, uint32_t count,
    bool is_relayed)
{
    struct amg_ep *ep = amg_context_ep(context, route);
    hg_id_t id = arrival_id(arrival);
    uint32_t at = AMG_HEADER_LEN;

    AMG_ASSERT(count > 0);
    atomic_init((atomic_uint *)(void *)arrival->kept, count);
    arrival->kept[1] = route;
    for (; count > 0; count--) {
        char *record = (char *)arrival->data + at;
        uint32_t arg_len = 0;
        uint32_t len = amg_record_read(
            record, arrival->len - at, AMG_RECORD_ARG_MAX, &arg_len);
        struct hg_handle *handle =
            len == 0 ? NULL : handle_make(context, route, arrival, rpc);
        hg_return_t rc = HG_SUCCESS;

        if (handle == NULL) {
            AMG_LOG_ERROR("rpc", "%s: %" PRIu32 " one-way calls are lost",
                len == 0 ? "a peer changed its message" : "no memory", count);
            if (amg_arrival_leave(arrival, count))
                ep->transport->msg.release(ep, arrival);
            return;
        }
        at += len;
        handle->is_shared = true;
        handle->info.id = id;
        handle->in.data = record + AMG_RECORD_HEAD_LEN;
        handle->in.len = arg_len;
        rc = is_relayed ? handle_unwrap(handle) : HG_SUCCESS;
        /* The last handle may release the arrival. */
        if (rc == HG_SUCCESS)
            amg_begin(handle);
        else
            amg_respond_refuse(handle, rc, "its caller cannot be addressed");
    }
}

/* Why a request of records is refused; NULL: not refused. */
static const char *records_refusal(
    const hg_context_t *context, uint32_t count, hg_return_t *ret)
{
    *ret = HG_CANCELED;
    if (amg_context_is_unposted(context))
        return "its context receives no more";
    *ret = HG_PROTOCOL_ERROR;
    if (amg_rpc_class_of(context->cls)->in_offset != 0)
        return "it has no header of the user, which "
               "HG_Class_set_input_offset() demands here";
    return count == 0 ? "one of its calls is malformed" : NULL;
}

/* Handles a request whose arguments are records. */
static AMG_INLINE void serve_several(hg_context_t *context, unsigned route,
    struct amg_arrival *arrival, bool is_relayed)
{
    uint32_t count =
        amg_records_count((const char *)arrival->data + AMG_HEADER_LEN,
            arrival->len - AMG_HEADER_LEN, is_relayed ? AMG_RELAYED_LEN : 0,
            is_relayed ? AMG_RECORD_ARG_MAX : AMALGAM_ONEWAY_MAX);
    hg_return_t ret = HG_SUCCESS;
    const char *why = records_refusal(context, count, &ret);
    struct amg_rpc *rpc = NULL;

    if (why != NULL) {
        struct hg_handle *handle = arrival_take(context, route, arrival, NULL);

        if (handle == NULL)
            return;
        handle->info.id = arrival_id(arrival);
        amg_respond_refuse(handle, ret, why);
        return;
    }
    amg_counters_add_some(
        &context->counters, AMG_COUNT_REQUESTS_CAME, (int)count);
    if (!is_relayed)
        rpc = amg_rpc_find(context->cls, arrival_id(arrival));
    else if (amg_relay_take(context, route, arrival, &rpc))
        return;
    if (rpc != NULL && rpc->oneway != NULL &&
        !amg_begin_blocks(context, rpc->id))
        amg_order_queue(context, arrival->from, arrival->origin_context,
            waiting_make(context, route, rpc, arrival,
                amg_context_run_of(context) == amg_serve_run
                    ? several_run
                    : several_run_counted));
    else
        records_serve(context, route, arrival, is_relayed ? NULL : rpc, count,
            is_relayed);
}

/* Is the arrival a request of records with this flag, or without one? */
static inline bool is_several(const struct amg_arrival *arrival, uint8_t flag)
{
    return arrival->is_one_way && !arrival->is_long &&
           amg_header_is_plain(arrival->data, arrival->len, AMG_HEADER_REQUEST,
               AMG_HEADER_ONE_WAY | AMG_HEADER_SEVERAL | flag);
}

/* Serves a message that is_plain() does not accept. */
AMG_NOINLINE static void serve_other(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    struct hg_handle *handle = NULL;

    if (arrival->is_late) {
        serve_late_reply(context, route, arrival);
    } else if (is_several(arrival, 0)) {
        serve_several(context, route, arrival, false);
    } else if (is_several(arrival, AMG_HEADER_GROUP) &&
               context->cls->job.node_size > 0) {
        serve_several(context, route, arrival, true);
    } else {
        handle = arrival_take(context, route, arrival, NULL);
        if (handle != NULL)
            serve_any(handle);
    }
}

void amg_serve_arrived(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    struct amg_rpc *rpc = NULL;

    if (!AMG_LIKELY(is_plain(context, arrival))) {
        serve_other(context, route, arrival);
        return;
    }
    rpc = amg_rpc_recent(context->cls, arrival_id(arrival));
    if (AMG_LIKELY(rpc != NULL))
        serve_found(context, route, arrival, rpc);
    else
        serve_searched(context, route, arrival);
}

const struct amg_rpc_handle_ops amg_serve_handle_ops = {
    .size = sizeof(struct hg_handle),
    .fini = amg_handle_free_kept,
    .registered = amg_begin_registered,
};

void amg_serve_look(hg_context_t *context, uint64_t now_ns)
{
    amg_begin_look(context);
    amg_unanswered_look(context, now_ns);
    amg_respond_look(context, now_ns);
    amg_rpc_class_of(context->cls)->group_ops->look(context, now_ns);
    amg_relay_look(context, now_ns);
    amg_status_stamp(context->cls->job.status, now_ns);
    amg_deaths_look(context, now_ns);
    amg_hang_look(context, now_ns);
    amg_traced_look(context, now_ns);
}

void amg_serve_end(hg_context_t *context)
{
    amg_rpc_class_of(context->cls)->group_ops->look(context, AMG_CONTEXT_NEVER);
    amg_begin_kept(context, true);
    amg_pulls_refuse(context);
    amg_unanswered_look(context, AMG_CONTEXT_NEVER);
}
