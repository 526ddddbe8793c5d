/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a process to itself, and the endpoints that get them.
 *
 * A message is encoded into a buffer of the pool, and that buffer is queued at
 * the target endpoint: nothing is copied. A small call takes the lock four
 * times: request, poll, reply, poll. The driver drops the reply to a cancelled
 * call, and takes the credit back.
 *
 * The state of an endpoint is one word: the number of entries of its two lists,
 * and whether a thread blocks on its descriptor. So an empty poll reads one
 * word, and a thread that queues an entry makes no system call unless a thread
 * blocks. A thread holds the lock while it arms the descriptor or queues an
 * entry, so the later thread sees what the earlier thread has done. */
#include "transport/self.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/state.h"

enum {
    POOL_FILL = 16, /* messages made at open, for a few calls at once */
    OWNER = 0,      /* owner of all calls: the only peer */
};

/* A request or reply; in the pool while nobody uses it. */
struct self_msg {
    struct amg_link kept; /* in the pool */
    struct amg_buf buf;
    struct amg_arrival arrival; /* used by requests alone, as is `post` */
    struct amg_self_msgs *msgs;
    struct amg_post post;
    uint8_t target_context;
    bool is_long; /* allocated from the heap; false in messages of the pool */
    uint64_t bytes[];
};

static struct self_msg *msg_of_buf(struct amg_buf *buf)
{
    return amg_container_of(buf, struct self_msg, buf);
}

static struct self_msg *msg_of_arrival(const struct amg_arrival *arrival)
{
    return amg_container_of(arrival, struct self_msg, arrival);
}

static inline void msg_free(struct self_msg *msg)
{
    if (AMG_LIKELY(!msg->is_long))
        amg_pool_put(&msg->msgs->pool, msg);
    else
        amg_mem_free(msg);
}

/* Slots of the call engine. */

static AMG_INLINE void call_end_locked(struct amg_op *op, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&amg_self_ep_of(amg_call_ep(op))->msgs->lock);
    amg_self_finish_locked(amg_self_ep_of(amg_call_ep(op)), op, ret);
}

static void request_put_locked(struct amg_calls *calls, struct amg_post *post)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    (void)calls;
    msg_free(amg_container_of(post, struct self_msg, post));
}

/* The endpoint of a context; NULL: not open. */
static inline struct amg_self_ep *target_of(
    const struct amg_self_msgs *msgs, uint8_t context_id)
{
    return AMG_LIKELY(context_id < msgs->max_contexts) ? msgs->eps[context_id]
                                                       : NULL;
}

/* Queues a request at its target endpoint. */
static inline void request_arrive_locked(
    struct amg_self_ep *target, struct self_msg *msg, uint32_t cookie)
{
    AMG_ASSERT_HELD_BIAS(&target->msgs->lock);
    msg->arrival.token = cookie;
    amg_list_push(&target->events.arrived, &msg->arrival.link);
    amg_self_add_entry_locked(target);
}

/* Sends a request that request_send_now_locked() could not send. */
static hg_return_t request_send_locked(
    struct amg_calls *calls, struct amg_post *post)
{
    struct amg_self_msgs *msgs =
        amg_container_of(calls, struct amg_self_msgs, calls);
    struct self_msg *msg = amg_container_of(post, struct self_msg, post);
    struct amg_self_ep *target = target_of(msgs, msg->target_context);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (target == NULL)
        return HG_NOENTRY;
    if (post->op != NULL) {
        post->op->len = msg->arrival.len;
        call_end_locked(post->op, HG_SUCCESS);
    }
    request_arrive_locked(target, msg, post->cookie);
    return HG_SUCCESS;
}

/* Credits return at once, so none is ever owed. */
static bool credits_pay_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    (void)calls;
    (void)peer;
    return false;
}

static void peer_name(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, char ret_text[AMG_PEER_NAME_CAP])
{
    (void)calls;
    (void)peer;
    snprintf(ret_text, AMG_PEER_NAME_CAP, "self");
}

static const struct amg_calls_ops calls_ops = {
    .send = request_send_locked,
    .put = request_put_locked,
    .end = call_end_locked,
    .pay = credits_pay_locked,
    .source = "msg",
    .name = peer_name,
};

/* Slots of the contract. */

/* A message; NULL: no memory. */
static AMG_INLINE struct self_msg *msg_get(struct amg_ep *ep)
{
    struct amg_self_msgs *msgs = amg_self_ep_of(ep)->msgs;
    struct self_msg *msg = amg_pool_get(&msgs->pool);

    if (!AMG_LIKELY(msg != NULL))
        return NULL;
    msg->msgs = msgs;
    msg->buf.data = msg->bytes;
    msg->buf.cap = msgs->limits.request_len;
    return msg;
}

/* A message with the first AMG_NOW_LEN bytes at `bytes`, or NULL. */
static AMG_INLINE struct self_msg *msg_make(
    struct amg_ep *ep, const void *bytes)
{
    struct self_msg *msg = msg_get(ep);

    if (!AMG_LIKELY(msg != NULL))
        return NULL;
    memcpy(msg->bytes, bytes, AMG_NOW_LEN); /* a constant length */
    return msg;
}

hg_return_t amg_self_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct self_msg *msg = msg_get(ep);

    (void)peer;
    if (msg == NULL)
        return HG_NOMEM;
    *ret_buf = &msg->buf;
    return HG_SUCCESS;
}

hg_return_t amg_self_get_long_buf(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf)
{
    struct self_msg *msg = NULL;

    (void)peer;
    if (len > AMG_LONG_ARGS_LEN + AMG_LONG_HEADERS_LEN)
        return HG_MSGSIZE;
    msg = amg_mem_alloc(sizeof(*msg) + len);
    if (msg == NULL)
        return HG_AGAIN;
    *msg = (struct self_msg){.msgs = amg_self_ep_of(ep)->msgs, .is_long = true};
    msg->buf.data = msg->bytes;
    msg->buf.cap = len;
    *ret_buf = &msg->buf;
    return HG_SUCCESS;
}

void amg_self_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    (void)ep;
    msg_free(msg_of_buf(buf));
}

static bool len_is_right(const struct amg_buf *buf, uint32_t len)
{
    if (len <= buf->cap)
        return true;
    AMG_LOG_ERROR("msg",
        "self: %u bytes do not fit into a message buffer of %u", len, buf->cap);
    return false;
}

/* Sends a request at once. False: no target, credit or slot; no change. */
static AMG_INLINE bool request_send_now_locked(struct amg_ep *ep,
    struct amg_target to, struct self_msg *msg, bool wants_reply,
    struct amg_op *op)
{
    struct amg_self_msgs *msgs = amg_self_ep_of(ep)->msgs;
    struct amg_self_ep *target = target_of(msgs, to.context_id);
    uint32_t cookie = 0;

    AMG_ASSERT_HELD_BIAS(&msgs->lock);
    if (!AMG_LIKELY(target != NULL) ||
        !AMG_LIKELY(wants_reply
                        ? amg_calls_ask_locked(
                              &msgs->calls, &msgs->peer, OWNER, ep, op, &cookie)
                        : amg_flow_take(&msgs->calls.flow, &msgs->peer)))
        return false;
    if (!wants_reply && op != NULL) {
        amg_call_begin(op, ep);
        op->len = msg->arrival.len;
        call_end_locked(op, HG_SUCCESS);
    }
    request_arrive_locked(target, msg, cookie);
    return true;
}

static AMG_INLINE void request_address(struct amg_ep *ep, struct amg_target to,
    struct self_msg *msg, uint32_t len, bool wants_reply)
{
    msg->arrival.from = to.peer;
    msg->arrival.data = msg->bytes;
    msg->arrival.len = len;
    msg->arrival.origin_context = ep->context_id;
    msg->arrival.is_one_way = !wants_reply;
    msg->arrival.is_late = false;
    msg->arrival.is_long = false;
}

static AMG_INLINE hg_return_t request_send(struct amg_ep *ep,
    struct amg_target to, struct self_msg *msg, uint32_t len, bool wants_reply,
    struct amg_op *op)
{
    struct amg_self_msgs *msgs = amg_self_ep_of(ep)->msgs;
    hg_return_t rc = HG_SUCCESS;

    request_address(ep, to, msg, len, wants_reply);
    amg_bias_lock(&msgs->lock);
    if (!AMG_LIKELY(request_send_now_locked(ep, to, msg, wants_reply, op))) {
        /* The call engine queues the request, or ends its operation. */
        msg->target_context = to.context_id;
        msg->post.op = op;
        msg->post.ep = ep;
        msg->post.peer = &msgs->peer;
        msg->post.wants_reply = wants_reply;
        rc = amg_calls_post_locked(
            &msgs->calls, &msg->post, OWNER, request_send_locked);
    }
    amg_bias_unlock(&msgs->lock);
    return rc;
}

hg_return_t amg_self_send_request(struct amg_ep *ep, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op)
{
    AMG_ASSERT(op != NULL || !wants_reply);
    if (!AMG_LIKELY(len_is_right(buf, len)))
        return HG_MSGSIZE;
    return request_send(ep, to, msg_of_buf(buf), len, wants_reply, op);
}

bool amg_self_request_now(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, bool wants_reply, struct amg_op *op)
{
    struct self_msg *msg = msg_make(ep, bytes);

    if (!AMG_LIKELY(msg != NULL))
        return false;
    if (AMG_LIKELY(
            request_send(ep, to, msg, len, wants_reply, op) == HG_SUCCESS))
        return true;
    msg_free(msg);
    return false;
}

hg_return_t amg_self_send_ack(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op)
{
    struct amg_self_msgs *msgs = amg_self_ep_of(ep)->msgs;
    struct amg_self_ep *target = NULL;
    struct self_msg *msg = msg_make(ep, bytes);

    AMG_ASSERT(len <= AMG_NOW_LEN && op != NULL);
    if (msg == NULL)
        return HG_NOMEM;
    request_address(ep, to, msg, len, false);
    amg_bias_lock(&msgs->lock);
    target = target_of(msgs, to.context_id);
    amg_call_begin(op, ep);
    amg_self_finish_locked(
        amg_self_ep_of(ep), op, target != NULL ? HG_SUCCESS : HG_NOENTRY);
    if (target != NULL)
        request_arrive_locked(target, msg, AMG_TOKEN_ACK);
    amg_bias_unlock(&msgs->lock);
    if (target == NULL)
        msg_free(msg);
    return HG_SUCCESS;
}

/* Ends the call of `token` with `ret` and the reply. False: the call was
 * cancelled or answered before, so the reply stays the caller's. */
static AMG_INLINE bool call_answer_locked(struct amg_self_msgs *msgs,
    uint64_t token, struct self_msg *reply, uint32_t len, hg_return_t ret)
{
    struct amg_op *op =
        amg_calls_find_locked(&msgs->calls, (uint32_t)token, OWNER);
    bool is_awaited = op != &amg_call_cancelled;

    AMG_ASSERT_HELD_BIAS(&msgs->lock);
    if (!AMG_LIKELY(op != NULL))
        return false;
    if (AMG_LIKELY(is_awaited)) {
        op->priv[AMG_CALL_PRIV_PTR] = (uintptr_t)reply;
        op->data = reply == NULL ? NULL : reply->buf.data;
        op->len = len;
        call_end_locked(op, ret);
    }
    amg_calls_settle_locked(&msgs->calls, (uint32_t)token, &msgs->peer);
    return is_awaited;
}

hg_return_t amg_self_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    struct amg_self_msgs *msgs = amg_self_ep_of(ep)->msgs;
    struct self_msg *reply = msg_of_buf(buf);
    bool is_awaited = false;

    if (!AMG_CONTRACT_OF("HG_Respond", !arrival->is_one_way,
            "the call was sent without a response"))
        return HG_INVALID_ARG;
    if (!len_is_right(buf, len))
        return HG_MSGSIZE;
    amg_bias_lock(&msgs->lock);
    is_awaited =
        call_answer_locked(msgs, arrival->token, reply, len, HG_SUCCESS);
    if (op != NULL) {
        op->data = NULL;
        op->len = len;
        amg_self_finish_locked(amg_self_ep_of(ep), op, HG_SUCCESS);
    }
    amg_bias_unlock(&msgs->lock);
    if (!AMG_LIKELY(is_awaited))
        msg_free(reply);
    return HG_SUCCESS;
}

/* Does not read the endpoint, which may be closed by now. */
void amg_self_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct self_msg *msg = msg_of_arrival(arrival);
    struct amg_self_msgs *msgs = msg->msgs;

    (void)ep;
    if (amg_arrival_has_credit(arrival)) {
        amg_bias_lock(&msgs->lock);
        amg_calls_credit_locked(&msgs->calls, &msgs->peer, 1);
        amg_bias_unlock(&msgs->lock);
    }
    msg_free(msg);
}

void amg_self_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    struct self_msg *msg = amg_call_ptr(op);

    (void)ep;
    if (op->data == NULL)
        return;
    op->data = NULL;
    msg_free(msg);
}

uint32_t amg_self_owed(struct amg_self_msgs *msgs)
{
    uint32_t owed = 0;

    amg_bias_lock(&msgs->lock);
    owed = amg_calls_owed_locked(&msgs->calls, &msgs->peer, OWNER);
    amg_bias_unlock(&msgs->lock);
    return owed;
}

bool amg_self_is_clear(struct amg_ep *ep)
{
    struct amg_self_msgs *msgs = amg_self_ep_of(ep)->msgs;
    bool is_clear = false;

    amg_bias_lock(&msgs->lock);
    is_clear = msgs->peer.unanswered == 0 && msgs->peer.waiting == NULL;
    amg_bias_unlock(&msgs->lock);
    return is_clear;
}

hg_return_t amg_self_cancel(struct amg_ep *ep, struct amg_op *op)
{
    struct amg_self_msgs *msgs = amg_self_ep_of(ep)->msgs;

    amg_bias_lock(&msgs->lock);
    amg_calls_cancel_locked(&msgs->calls, op);
    amg_bias_unlock(&msgs->lock);
    return HG_SUCCESS;
}

unsigned amg_self_poll(
    struct amg_ep *base, unsigned max, struct amg_events *ret_events)
{
    struct amg_self_ep *ep = amg_self_ep_of(base);
    unsigned state = amg_self_state(ep);
    unsigned count = 0;

    if (state == 0)
        return 0;
    amg_bias_lock(&ep->msgs->lock);
    state = amg_self_state(ep);
    count = state / AMG_SELF_ENTRY;
    if (AMG_LIKELY(count <= max)) {
        amg_list_splice(&ret_events->done, &ep->events.done);
        amg_list_splice(&ret_events->arrived, &ep->events.arrived);
    } else {
        count = amg_list_take(&ret_events->done, &ep->events.done, max);
        count += amg_list_take(
            &ret_events->arrived, &ep->events.arrived, max - count);
    }
    amg_self_set_state_locked(
        ep, (state & ~(unsigned)(AMG_SELF_ARMED | AMG_SELF_RUNG)) -
                count * AMG_SELF_ENTRY);
    amg_bias_unlock(&ep->msgs->lock);
    if ((state & AMG_SELF_RUNG) != 0)
        amg_eventfd_drain(ep->event_fd);
    return count;
}

int amg_self_wait_fd(const struct amg_ep *base)
{
    return amg_container_of(base, const struct amg_self_ep, base)->event_fd;
}

bool amg_self_arm(struct amg_ep *base)
{
    struct amg_self_ep *ep = amg_self_ep_of(base);
    bool is_quiet = false;

    if (ep->event_fd < 0)
        return true;
    amg_bias_lock(&ep->msgs->lock);
    is_quiet = amg_self_state(ep) < AMG_SELF_ENTRY;
    if (is_quiet)
        amg_self_set_state_locked(ep, amg_self_state(ep) | AMG_SELF_ARMED);
    amg_bias_unlock(&ep->msgs->lock);
    return is_quiet;
}

static void events_init(struct amg_self_ep *ep)
{
    atomic_init(&ep->state, 0);
    ep->base.pending = &ep->state;
    amg_events_init(&ep->events);
    ep->event_fd = amg_eventfd_open();
    if (ep->event_fd < 0)
        AMG_LOG_WARNING("ctx",
            "self: no descriptor to block on: a wait polls at intervals, "
            "which uses CPU time; see ulimit -n");
}

hg_return_t amg_self_ep_open(
    struct amg_domain *domain, uint8_t context_id, struct amg_ep **ret_ep)
{
    struct amg_self_msgs *msgs = &amg_self_domain_of(domain)->msgs;
    struct amg_self_ep *ep = amg_mem_zalloc(sizeof(*ep));
    bool is_free = false;

    if (ep == NULL)
        return HG_NOMEM;
    ep->base.transport = &amg_self_transport;
    ep->base.domain = domain;
    ep->base.context_id = context_id;
    ep->msgs = msgs;
    events_init(ep);
    amg_bias_lock(&msgs->lock);
    is_free = context_id < msgs->max_contexts && msgs->eps[context_id] == NULL;
    if (is_free)
        msgs->eps[context_id] = ep;
    amg_bias_unlock(&msgs->lock);
    if (is_free) {
        *ret_ep = &ep->base;
        return HG_SUCCESS;
    }
    amg_eventfd_close(ep->event_fd);
    amg_mem_free(ep);
    AMG_LOG_ERROR("ctx",
        "self: context %u is open already, or is not below %u, the class's "
        "max_contexts",
        context_id, msgs->max_contexts);
    return HG_INVALID_ARG;
}

void amg_self_ep_close(struct amg_ep *base, struct amg_events *ret_events)
{
    struct amg_self_ep *ep = amg_self_ep_of(base);
    struct amg_self_msgs *msgs = ep->msgs;
    struct amg_link *link = NULL;

    amg_bias_lock(&msgs->lock);
    msgs->eps[ep->base.context_id] = NULL;
    amg_calls_drop_locked(&msgs->calls, &ep->base);
    while ((link = amg_list_pop(&ep->events.arrived)) != NULL) {
        struct self_msg *msg =
            amg_container_of(link, struct self_msg, arrival.link);

        if (amg_arrival_has_credit(&msg->arrival)) {
            amg_calls_violation(&msgs->calls, &msgs->peer,
                AMG_VIOLATION_DROPPED, 0, msg->arrival.origin_context);
            amg_calls_credit_locked(&msgs->calls, &msgs->peer, 1);
        } else if (!msg->arrival.is_one_way) {
            (void)call_answer_locked(
                msgs, msg->arrival.token, NULL, 0, HG_NOENTRY);
        }
        msg_free(msg);
    }
    amg_list_splice(&ret_events->done, &ep->events.done);
    amg_bias_unlock(&msgs->lock);
    amg_eventfd_close(ep->event_fd);
    amg_mem_free(ep);
}

hg_return_t amg_self_msgs_init(struct amg_self_msgs *msgs)
{
    amg_bias_init(&msgs->lock);
    amg_calls_init(
        &msgs->calls, &msgs->lock, (uint16_t)msgs->limits.credits, &calls_ops);
    amg_pool_init(&msgs->pool,
        sizeof(struct self_msg) + msgs->limits.request_len, sizeof(uint64_t));
    msgs->eps =
        amg_mem_zalloc(msgs->max_contexts * sizeof(struct amg_self_ep *));
    if (msgs->eps == NULL || amg_pool_fill(&msgs->pool, POOL_FILL) < POOL_FILL)
        return HG_NOMEM;
    return HG_SUCCESS;
}

void amg_self_msgs_fini(struct amg_self_msgs *msgs)
{
    amg_pool_fini(&msgs->pool);
    amg_calls_fini(&msgs->calls);
    amg_mem_free(msgs->eps);
}

void amg_self_msgs_write_state(struct amg_domain *base, struct amg_state *state)
{
    struct amg_self_msgs *msgs = &amg_self_domain_of(base)->msgs;

    amg_bias_lock(&msgs->lock);
    amg_state_begin_peer_locked(state, &msgs->calls, &msgs->peer, OWNER);
    for (uint32_t i = 0; i < msgs->max_contexts; i++)
        if (msgs->eps[i] != NULL)
            amg_state_add(state, "calls and results waiting for a poll",
                amg_self_state(msgs->eps[i]) / AMG_SELF_ENTRY);
    amg_state_add(state, "messages in use", amg_pool_live(&msgs->pool));
    amg_state_end(state);
    amg_bias_unlock(&msgs->lock);
}
