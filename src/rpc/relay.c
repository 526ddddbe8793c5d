/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls through node leaders (AMALGAM_AGGREGATE=node), at the ranks on
 * their way.
 *
 * The leader of a node is its first rank. A call to another node goes to the
 * leader of the caller's node, to that of the target's node, and to the target.
 * On each hop the call is a record of a message (oneway.c) that names target,
 * caller and RPC, so all calls to a node share messages. Leaders pass calls on
 * when they make progress.
 *
 * Order: all calls of a context to a rank take the same path, and each hop
 * keeps their order.
 *
 * No call is lost, and quiescence and the end of a class see each call: it is
 * in a message that has not left (`unsent`), in a message whose credit is out,
 * or in a message that waits here and is counted as an operation in flight. A
 * message is released, and its credit returns, when all its calls have found
 * room in further messages.
 *
 * No wait is circular: calls from other nodes wait for credits of ranks of this
 * node, which return when handlers have run; calls to other nodes wait for
 * credits of the leaders there, which return when the calls have found room
 * among those from other nodes. Both have a queue, and slots of streams, of
 * their own: with one queue, two leaders that flood each other would wait for
 * each other. A handler must not wait for a call, as the message of its own
 * call holds a credit meanwhile.
 *
 * No wait is forgotten: a look follows after LOOK_NS, or as soon as a message
 * of oneway.c that waited for a credit has left. */
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

/* Copies the call of the record at `*at`, and moves `*at` behind the record.
 * Returns the length of the call, or 0: malformed. */
static uint32_t call_read(const struct amg_arrival *arrival, uint32_t *at,
    struct amg_relayed *ret_call)
{
    const uint64_t *record = (const void *)((const char *)arrival->data + *at);
    uint32_t len = 0;

    *at +=
        amg_record_read(record, arrival->len - *at, AMG_RECORD_ARG_MAX, &len);
    if (len < AMG_RELAYED_LEN)
        return 0;
    memcpy(ret_call, &record[1], len);
    return len;
}

/* Passes the calls of a message on. False: a call must wait. */
static bool message_pass(hg_context_t *context,
    const struct amg_arrival *arrival, struct carried *carried)
{
    struct amg_relayed call;
    uint32_t at = carried->at;
    uint32_t len = 0;

    while (at < arrival->len && (len = call_read(arrival, &at, &call)) > 0) {
        hg_return_t rc = amg_streams_add(context, &call, len);

        if (rc == HG_AGAIN || rc == HG_NOMEM)
            return false;
        if (rc != HG_SUCCESS)
            lost_log(&call, HG_Error_to_string(rc));
        carried->at = at;
    }
    if (at < arrival->len)
        AMG_LOG_ERROR("rpc", "the rest of a message of calls to pass on is "
                             "malformed, and dropped");
    return true;
}

/* Passes on the messages of a queue, or drops them. */
static void queue_move_locked(
    hg_context_t *context, struct amg_list *queue, bool must_drop)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD(&context->rpc->relay.lock);
    while ((link = amg_list_first(queue)) != NULL) {
        struct carried *carried = amg_container_of(link, struct carried, link);
        struct amg_arrival *arrival =
            (void *)((char *)carried - offsetof(struct amg_arrival, kept));
        struct amg_ep *ep = amg_context_ep(context, carried->route);

        if (must_drop) {
            AMG_LOG_WARNING("rpc", "one-way calls to pass on are lost: the "
                                   "context ends while they wait for credits");
        } else if (!message_pass(context, arrival, carried)) {
            amg_context_look_at(context, amg_clock_ns() + LOOK_NS);
            return;
        }
        amg_list_remove(link);
        ep->transport->msg.release(ep, arrival);
        amg_context_leave(context);
    }
}

void amg_relay_look(hg_context_t *context, uint64_t now_ns)
{
    struct amg_relay *relay = &context->rpc->relay;

    amg_lock_lock(&relay->lock);
    for (unsigned i = 0; i < 2; i++)
        queue_move_locked(
            context, &relay->waiting[i], now_ns == AMG_CONTEXT_NEVER);
    amg_lock_unlock(&relay->lock);
}

/* Handler of messages of calls to this rank. */
static void hand_out(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    const struct amg_relayed *call = arg;
    const struct amg_rpc *rpc = NULL;

    (void)from_rank;
    if (len < AMG_RELAYED_LEN || call->caller >= hg_class->job.size)
        return;
    rpc = amg_rpc_find(hg_class, call->id);
    if (rpc != NULL && rpc->oneway != NULL)
        rpc->oneway(
            hg_class, (int)call->caller, call->arg, len - AMG_RELAYED_LEN);
    else
        lost_log(call, "its RPC was deregistered");
}

bool amg_relay_take(hg_context_t *context, unsigned route,
    struct amg_arrival *arrival, struct amg_rpc **ret_rpc)
{
    static struct amg_rpc to_hand_out = {.oneway = hand_out};
    struct amg_relay *relay = &context->rpc->relay;
    struct carried *carried = (void *)arrival->kept;
    struct amg_relayed call;
    uint32_t at = AMG_HEADER_LEN;
    uint32_t kind = 0;

    memcpy(&kind, (char *)arrival->data + AMG_HEADER_ID_AT, sizeof(kind));
    if (kind < AMG_RELAYED_DOWN) {
        *carried = (struct carried){.route = route, .at = at};
        amg_context_enter(context);
        amg_lock_lock(&relay->lock);
        amg_list_push(&relay->waiting[kind], &carried->link);
        queue_move_locked(context, &relay->waiting[kind], false);
        amg_lock_unlock(&relay->lock);
        return true;
    }
    *ret_rpc = &to_hand_out;
    while (at < arrival->len && *ret_rpc != NULL) {
        const struct amg_rpc *rpc = call_read(arrival, &at, &call) == 0
                                        ? NULL
                                        : amg_rpc_find(context->cls, call.id);

        if (rpc == NULL || rpc->oneway == NULL)
            *ret_rpc = NULL;
    }
    return false;
}

size_t amg_relay_direct_end(const hg_class_t *cls)
{
    const struct amg_class_job *job = &cls->job;
    const char *text = amg_env_text(AMG_ENV_AGGREGATE);

    if (text != NULL &&
        (strcmp(text, "node") != 0 || (job->size > 1 && job->node_size == 0))) {
        AMG_LOG_JOB_WARNING("cls",
            "AMALGAM_AGGREGATE is '%s', but must be node, and each node must "
            "have equally many ranks in a row; one-way calls go directly",
            text);
        text = NULL;
    }
    return text != NULL && job->node_size > 0 && job->node_size < job->size
               ? 0
               : AMALGAM_ONEWAY_MAX + 1;
}
