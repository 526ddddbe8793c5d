/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls through node leaders (AMALGAM_AGGREGATE=node), on their way.
 *
 * The leader of a node is its first rank. A call to another node goes to the
 * leader of the caller's node, to that of the target's node, and to the target.
 * On each hop the call is a record that names target, caller and RPC, so all
 * calls to a node share messages (oneway.c). Calls of a context to a rank keep
 * their order, as all take the same path, and each hop keeps their order.
 *
 * No call is lost, and quiescence and the end of a class see each call: it is
 * in a message that has not left (`unsent`), in a message whose credit is out,
 * or in a message that waits here, counted as an operation in flight. A message
 * is released, and its credit returns, when its calls are in further messages.
 *
 * No wait is circular: calls from other nodes wait for credits of ranks of this
 * node, which return when handlers have run; calls to other nodes wait for
 * credits of the leaders there, which return when the calls are in messages to
 * ranks of that node. So each direction has its queue, and its slots in
 * oneway.c: with one queue, two leaders that flood each other would wait for
 * each other. A handler must not wait for a call, as the message of its own
 * call holds a credit meanwhile.
 *
 * No wait is forgotten: a look follows after LOOK_NS, and at once when a
 * message of oneway.c that waited for a credit has left. */
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

/* A message that waits; stored in `kept` of its arrival. */
struct carried {
    struct amg_link link;
    unsigned route;
    uint32_t at; /* offset of the next record */
};

_Static_assert(
    sizeof(struct carried) <= sizeof(((struct amg_arrival *)NULL)->kept),
    "the struct fits into `kept`");

static void lost_log(const struct amg_relayed *call, const char *why)
{
    AMG_LOG_WARNING("rpc",
        "a one-way call of rank %" PRIu32 " to rank %" PRIu32
        " (RPC id 0x%" PRIx64 ") is lost: %s",
        call->caller, call->target, call->id, why);
}

/* The call at `*at`, which moves behind it. NULL: the end of the message, or of
 * the calls that its sender has not damaged since they were counted. */
static const struct amg_relayed *call_next(
    const struct amg_arrival *arrival, uint32_t *at, uint32_t *ret_len)
{
    const char *record = (const char *)arrival->data + *at;

    *ret_len = 0;
    *at += amg_record_read(
        record, arrival->len - *at, AMG_RECORD_ARG_MAX, ret_len);
    return *ret_len < AMG_RELAYED_LEN
               ? NULL
               : (const void *)(record + AMG_RECORD_HEAD_LEN);
}

/* Passes the calls from `*at` on. False: the call at `*at` must wait. */
static bool message_pass(
    hg_context_t *context, const struct amg_arrival *arrival, uint32_t *at)
{
    const struct amg_relayed *call = NULL;
    uint32_t next = *at;
    uint32_t len = 0;

    while ((call = call_next(arrival, &next, &len)) != NULL) {
        hg_return_t rc = amg_streams_add(context, call, len);

        if (rc == HG_AGAIN || rc == HG_NOMEM)
            return false;
        if (rc != HG_SUCCESS)
            lost_log(call, HG_Error_to_string(rc));
        *at = next;
    }
    return true;
}

/* Passes on the messages of a queue, or drops those that must wait. */
static void queue_move_locked(
    hg_context_t *context, struct amg_list *queue, bool may_wait)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD(&context->rpc->relay_lock);
    while ((link = amg_list_first(queue)) != NULL) {
        struct carried *carried = amg_container_of(link, struct carried, link);
        struct amg_arrival *arrival =
            (void *)((char *)carried - offsetof(struct amg_arrival, kept));
        struct amg_ep *ep = amg_context_ep(context, carried->route);

        if (!message_pass(context, arrival, &carried->at)) {
            if (may_wait) {
                amg_context_look_at(context, amg_clock_ns() + LOOK_NS);
                return;
            }
            AMG_LOG_WARNING("rpc", "one-way calls to pass on are lost: the "
                                   "context ends while they wait for credits");
        }
        amg_list_remove(link);
        ep->transport->msg.release(ep, arrival);
        amg_context_leave(context);
    }
}

void amg_relay_look(hg_context_t *context, uint64_t now_ns)
{
    struct amg_rpc_context *rpc = context->rpc;

    amg_lock_lock(&rpc->relay_lock);
    for (unsigned i = 0; i < 2; i++)
        queue_move_locked(
            context, &rpc->relayed[i], now_ns != AMG_CONTEXT_NEVER);
    amg_lock_unlock(&rpc->relay_lock);
}

/* Handler of the calls of a message to this rank. */
static void hand_out(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    const struct amg_relayed *call = arg;
    const struct amg_rpc *rpc = amg_rpc_find(hg_class, call->id);

    (void)from_rank;
    if (rpc != NULL && rpc->oneway != NULL && len >= AMG_RELAYED_LEN &&
        call->caller < hg_class->job.size)
        rpc->oneway(
            hg_class, (int)call->caller, call->arg, len - AMG_RELAYED_LEN);
    else
        lost_log(call, "no such RPC, or no such caller");
}

bool amg_relay_take(hg_context_t *context, unsigned route,
    struct amg_arrival *arrival, struct amg_rpc **ret_rpc)
{
    static struct amg_rpc to_hand_out = {.oneway = hand_out};
    struct amg_rpc_context *rpc = context->rpc;
    struct carried *carried = (void *)arrival->kept;
    const struct amg_relayed *call = NULL;
    uint32_t at = AMG_HEADER_LEN;
    uint32_t kind = 0;

    memcpy(&kind, (char *)arrival->data + AMG_HEADER_ID_AT, sizeof(kind));
    if (kind < AMG_RELAYED_DOWN) {
        *carried = (struct carried){.route = route, .at = at};
        amg_context_enter(context);
        amg_lock_lock(&rpc->relay_lock);
        amg_list_push(&rpc->relayed[kind], &carried->link);
        queue_move_locked(context, &rpc->relayed[kind], true);
        amg_lock_unlock(&rpc->relay_lock);
        return true;
    }
    *ret_rpc = &to_hand_out;
    while ((call = call_next(arrival, &at, &kind)) != NULL) {
        const struct amg_rpc *found = amg_rpc_find(context->cls, call->id);

        if (found == NULL || found->oneway == NULL)
            *ret_rpc = NULL;
    }
    return false;
}

size_t amg_relay_direct_end(const hg_class_t *cls)
{
    const struct amg_class_job *job = &cls->job;
    const char *text = amg_env_text(AMG_ENV_AGGREGATE);
    bool is_on = text != NULL && strcmp(text, "node") == 0 &&
                 (job->size <= 1 || job->node_size > 0);

    if (text != NULL && !is_on)
        AMG_LOG_JOB_WARNING("cls",
            "AMALGAM_AGGREGATE is '%s', but must be node, and each node must "
            "have equally many ranks in a row; one-way calls go directly",
            text);
    return is_on && job->size > 1 && job->node_size < job->size
               ? 0
               : AMALGAM_ONEWAY_MAX + 1;
}
