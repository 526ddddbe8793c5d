/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls through node leaders (AMALGAM_AGGREGATE=node).
 *
 * The leader of a node is its first rank. A call to another node goes to the
 * leader of the caller's node, to the leader of the target's node, and to the
 * target; a leader leaves out the first hop of its own calls. On each hop the
 * call is a record of a message of a stream (oneway.c). The record names
 * target, caller and RPC, so all calls to a node share messages. Calls within a
 * node go directly. Leaders pass calls on when they make progress.
 *
 * Order: all calls of a context to a rank take the same path, and each hop
 * keeps their order.
 *
 * The end of a class and quiescence see each call: a call is at any time in a
 * stream (`unsent`), in a message whose credit is out, or in a message that
 * waits here. A leader counts such a message as an operation in flight, and
 * releases it, which returns the credit, when all its calls have found room in
 * streams. So for both, passing a call on is a handler that makes a call.
 *
 * No circle of waiting: a leader has a queue and streams of their own for each
 * direction. Calls that came in from another node wait for credits of ranks of
 * this node, which return when handlers have run. Calls that go out wait for
 * credits of other leaders, which return when the calls have found room among
 * those that came in there. With one queue, two leaders that flood each other
 * would wait for each other. A handler of such calls must not wait for a call,
 * because the message of its own call holds a credit meanwhile.
 *
 * No wait is forgotten: a stream has no room while an earlier message to that
 * rank waits for a credit. If that is a message of oneway.c, late_step() makes
 * the queues go on when the message has left; else a look after LOOK_NS does.
 */
#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "mercury_class.h"
#include "rpc/handle.h"
#include "wire/records.h"

#define LOOK_NS 50000ull

/* Kind of a message: the lower half of its id, beside the rank it goes to. */
enum relay_kind {
    KIND_OUT,  /* to the leader of the sender's node; also its queue */
    KIND_IN,   /* to the leader of the targets' node; also its queue */
    KIND_DOWN, /* to the target */
};

/* The argument of a record. */
struct call {
    uint32_t target;
    uint32_t caller;
    hg_id_t id;
    uint64_t arg[AMG_RECORD_ARG_MAX / sizeof(uint64_t)];
};

enum { CALL_HEAD_LEN = offsetof(struct call, arg) };

_Static_assert(sizeof(struct call) == AMG_RECORD_RELAYED_MAX, "fits");

/* A message that waits; stored in `kept` of its arrival. */
struct carried {
    struct amg_link link;
    unsigned route;
    uint32_t at; /* offset of the next record */
};

_Static_assert(
    sizeof(struct carried) <= sizeof(((struct amg_arrival *)NULL)->kept),
    "the struct fits into `kept`");

static struct amg_relay *relay_of(const hg_class_t *cls)
{
    return &amg_rpc_class_of(cls)->relay;
}

/* The leader of the node of a rank. */
static uint32_t leader_of(const struct amg_class_job *job, uint32_t rank)
{
    return rank / job->node_size * job->node_size;
}

/* Adds a call to the message for the next rank on its way. Errors of
 * amg_streams_add(). */
static hg_return_t call_add(hg_context_t *context, const struct call *call,
    uint32_t len, bool *ret_has_begun)
{
    const struct amg_class_job *job = &context->cls->job;
    uint32_t node = call->target / job->node_size;
    uint32_t next = node * job->node_size;
    unsigned slot = AMG_STREAMS_NEAR + node % (AMG_STREAMS - AMG_STREAMS_NEAR);
    enum relay_kind kind = KIND_IN;

    if (next == leader_of(job, job->rank)) {
        kind = KIND_DOWN;
        next = call->target;
        slot = next % AMG_STREAMS_NEAR;
    } else if (job->rank % job->node_size != 0) {
        kind = KIND_OUT;
        next = leader_of(job, job->rank);
        slot = AMG_STREAMS_NEAR;
    }
    return amg_streams_add(
        context, (hg_id_t)next << 32 | kind, slot, call, len, ret_has_begun);
}

static hg_return_t relay_send(hg_context_t *context, const struct hg_addr *to,
    hg_id_t id, const void *arg, uint32_t len)
{
    const struct amg_class_job *job = &context->cls->job;
    int target = amg_addr_rank(to);
    struct call call = {.caller = job->rank, .id = id};
    bool has_begun = false;
    hg_return_t rc = HG_SUCCESS;

    call.target = (uint32_t)target;
    if (target < 0 || !amg_rpc_is_plain(amg_rpc_class_of(context->cls)) ||
        leader_of(job, call.target) == leader_of(job, job->rank))
        return HG_NOENTRY;
    if (len > 0)
        memcpy(call.arg, arg, len);
    rc = call_add(context, &call, CALL_HEAD_LEN + len, &has_begun);
    if (has_begun)
        amg_streams_offer(context);
    return rc;
}

static void lost_log(const struct call *call, const char *why)
{
    AMG_LOG_WARNING("rpc",
        "a one-way call of rank %" PRIu32 " to rank %" PRIu32
        " (RPC id 0x%" PRIx64 ") is lost: %s",
        call->caller, call->target, call->id, why);
}

/* Passes the calls of a message on; false: a call must wait. */
static bool message_pass(hg_context_t *context, struct carried *carried)
{
    const struct amg_arrival *arrival =
        (const void *)((char *)carried - offsetof(struct amg_arrival, kept));
    bool has_begun = false;
    hg_return_t rc = HG_SUCCESS;

    while (carried->at < arrival->len) {
        const uint64_t *record =
            (const void *)((const char *)arrival->data + carried->at);
        struct call call = {.id = 0};
        uint32_t arg_len = 0;
        uint32_t len = amg_record_read(record, arrival->len - carried->at,
            AMG_RECORD_RELAYED_MAX, &arg_len);

        if (arg_len < CALL_HEAD_LEN) {
            AMG_LOG_ERROR("rpc", "a message of one-way calls to pass on is "
                                 "malformed; the rest of it is dropped");
            break;
        }
        memcpy(&call, &record[1], arg_len);
        rc = call_add(context, &call, arg_len, &has_begun);
        if (rc == HG_AGAIN || rc == HG_NOMEM)
            break;
        if (rc != HG_SUCCESS)
            lost_log(&call, HG_Error_to_string(rc));
        carried->at += len;
    }
    if (has_begun)
        amg_streams_offer(context);
    return rc != HG_AGAIN && rc != HG_NOMEM;
}

/* Takes the first message out of its queue, and releases it. */
static void message_end_locked(hg_context_t *context, struct carried *carried)
{
    struct amg_relay *relay = relay_of(context->cls);
    struct amg_arrival *arrival =
        (void *)((char *)carried - offsetof(struct amg_arrival, kept));
    struct amg_ep *ep = amg_context_ep(context, carried->route);

    AMG_ASSERT_HELD(&relay->lock);
    amg_list_remove(&carried->link);
    amg_lock_unlock(&relay->lock);
    ep->transport->msg.release(ep, arrival);
    amg_context_leave(context);
    amg_lock_lock(&relay->lock);
}

/* Passes on the messages of a queue, or drops them; one thread at a time. */
static void queue_move(
    hg_context_t *context, struct amg_relay_queue *queue, bool must_drop)
{
    struct amg_relay *relay = relay_of(context->cls);
    struct carried *carried = NULL;
    bool may_go = true;

    amg_lock_lock(&relay->lock);
    while (may_go && !queue->is_moving && !amg_list_is_empty(&queue->waiting)) {
        carried = amg_container_of(
            amg_list_first(&queue->waiting), struct carried, link);
        queue->is_moving = true;
        amg_lock_unlock(&relay->lock);
        if (must_drop)
            AMG_LOG_WARNING("rpc", "one-way calls to pass on are lost: the "
                                   "context ends while they wait for credits");
        may_go = must_drop || message_pass(context, carried);
        amg_lock_lock(&relay->lock);
        if (may_go)
            message_end_locked(context, carried);
        queue->is_moving = false;
    }
    amg_lock_unlock(&relay->lock);
    if (!may_go)
        amg_context_look_at(context, amg_clock_ns() + LOOK_NS);
}

static bool relay_carry(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    struct amg_relay *relay = relay_of(context->cls);
    struct carried *carried = (void *)arrival->kept;
    struct amg_relay_queue *queue = NULL;
    uint32_t kind = 0;

    memcpy(&kind, (char *)arrival->data + AMG_HEADER_ID_AT, sizeof(kind));
    if (kind >= KIND_DOWN || context->id != 0)
        return false;
    queue = &relay->queues[kind];
    *carried = (struct carried){.route = route, .at = AMG_HEADER_LEN};
    amg_context_enter(context);
    amg_lock_lock(&relay->lock);
    amg_list_push(&queue->waiting, &carried->link);
    amg_lock_unlock(&relay->lock);
    queue_move(context, queue, false);
    return true;
}

static void relay_look(hg_context_t *context, uint64_t now_ns)
{
    struct amg_relay *relay = relay_of(context->cls);

    if (context->id != 0)
        return;
    for (unsigned i = 0; i < 2; i++)
        queue_move(context, &relay->queues[i], now_ns == AMG_CONTEXT_NEVER);
}

/* Serves a call in any way but by a handler that takes no handle. */
static void call_serve(
    hg_context_t *context, const struct call *call, uint32_t len)
{
    struct hg_handle origin = {
        .info = {.hg_class = context->cls, .context = context, .id = call->id},
        .is_one_way = true};
    struct amg_args in = {.data = (void *)(uintptr_t)call->arg, .len = len};
    hg_return_t rc =
        amg_addr_init_rank(context->cls, call->caller, &origin.addr);

    if (rc == HG_SUCCESS) {
        if (!amg_serve_apart(
                &origin, 0, &in, false, amg_context_run_of(context)))
            rc = HG_NOMEM;
        amg_addr_fini(&origin.addr);
    }
    if (rc != HG_SUCCESS)
        lost_log(call, HG_Error_to_string(rc));
}

/* Handler of the calls of a message to this rank. */
static void hand_out(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    const struct call *call = arg;
    const struct amg_rpc *rpc = NULL;

    (void)from_rank;
    if (len < CALL_HEAD_LEN || call->caller >= hg_class->job.size)
        return;
    rpc = amg_rpc_find(hg_class, call->id);
    len -= CALL_HEAD_LEN;
    if (rpc != NULL && rpc->oneway != NULL)
        rpc->oneway(hg_class, (int)call->caller, call->arg, len);
    else
        call_serve(amg_class_context(hg_class, 0), call, (uint32_t)len);
}

void amg_relay_attach(hg_class_t *cls)
{
    static const struct amg_relay_ops ops = {
        .send = relay_send, .carry = relay_carry, .look = relay_look};
    struct amg_relay *relay = relay_of(cls);
    const char *text = amg_env_text(AMG_ENV_AGGREGATE);

    if (text != NULL && (strcmp(text, "node") != 0 ||
                            (cls->job.size > 1 && cls->job.node_size == 0)))
        AMG_LOG_JOB_WARNING("cls",
            "AMALGAM_AGGREGATE is '%s', but must be node, and each node must "
            "have equally many ranks in a row; one-way calls go directly",
            text);
    if (cls->job.node_size == 0 || cls->job.node_size >= cls->job.size)
        return;
    amg_lock_init(&relay->lock);
    for (unsigned i = 0; i < 2; i++)
        amg_list_init(&relay->queues[i].waiting);
    relay->hand_out.oneway = hand_out;
    relay->is_on = text != NULL && strcmp(text, "node") == 0;
    relay->ops = &ops;
}
