/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the endpoints of one process.
 *
 * A message is written into a buffer of the pool, and that buffer itself is
 * put on a list of the other endpoint: nothing is copied. A small call costs
 * the lock five times: request, poll, reply, poll, release.
 *
 * A request that wants a reply takes a place in the table of calls when it
 * leaves; the place's number and generation are the token that the reply
 * brings back. Cancel frees the place, and so the late reply finds another
 * generation and is dropped. There are as many places as credits. A place is
 * free again at the latest when its credit is, so there is always one.
 *
 *     waiting (in flow) --credit--> posted (in calls) --reply--> done
 *          |                             |
 *          +----------- cancel ----------+---------------------> done
 */
#include "transport/self_msg.h"

#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/self_news.h"

enum {
    MESSAGE_LEN_MIN = 256,
    MESSAGE_LEN_MAX = 65536,
    CREDITS_MAX = 32767,
    POOL_FILL = 16, /* messages made at open: a few calls at once */
    GENERATION_SHIFT = 32,
};

/* One request or reply; in the pool while nobody uses it. */
struct self_msg {
    struct amg_link kept; /* the pool's */
    struct amg_buf buf;
    struct amg_arrival arrival; /* used by requests, as all below */
    struct amg_self_msgs *msgs;
    struct amg_self_ep *origin; /* valid until the request has left */
    struct amg_op *op;          /* the same */
    uint8_t target_context;
    bool has_credit; /* its credit was not given back yet */
    uint64_t bytes[];
};

struct amg_self_call {
    struct amg_self_ep *origin;
    struct amg_op *op; /* NULL: the place is free */
    uint32_t generation;
    uint32_t next_free;
};

static struct amg_self_ep *ep_of(struct amg_ep *ep)
{
    return AMG_OBJECT(ep, struct amg_self_ep, base);
}

static struct self_msg *msg_of_buf(struct amg_buf *buf)
{
    return AMG_OBJECT(buf, struct self_msg, buf);
}

static struct self_msg *msg_of_arrival(const struct amg_arrival *arrival)
{
    return AMG_OBJECT(arrival, struct self_msg, arrival);
}

static struct self_msg *msg_of_op(const struct amg_op *op)
{
    return (struct self_msg *)(uintptr_t)op->priv[AMG_SELF_PRIV_MSG];
}

static uint64_t call_open_locked(
    struct amg_self_msgs *msgs, struct amg_self_ep *origin, struct amg_op *op)
{
    uint32_t index = msgs->call_free;
    struct amg_self_call *call = &msgs->calls[index];

    AMG_ASSERT(index < msgs->limits.credits && call->op == NULL);
    msgs->call_free = call->next_free;
    call->origin = origin;
    call->op = op;
    return (uint64_t)call->generation << GENERATION_SHIFT | index;
}

/* The call that `token` names, or NULL when it has ended. */
static struct amg_self_call *call_find_locked(
    struct amg_self_msgs *msgs, uint64_t token)
{
    uint32_t index = (uint32_t)token;
    struct amg_self_call *call = NULL;

    if (index >= msgs->limits.credits)
        return NULL;
    call = &msgs->calls[index];
    if (call->op == NULL ||
        call->generation != (uint32_t)(token >> GENERATION_SHIFT))
        return NULL;
    return call;
}

static void call_close_locked(
    struct amg_self_msgs *msgs, struct amg_self_call *call)
{
    call->op = NULL;
    call->generation++;
    call->next_free = msgs->call_free;
    msgs->call_free = (uint32_t)(call - msgs->calls);
}

/* Ends the call that `token` names, if it has not ended. */
static void call_refuse_locked(
    struct amg_self_msgs *msgs, uint64_t token, hg_return_t ret)
{
    struct amg_self_call *call = call_find_locked(msgs, token);
    struct amg_self_ep *origin = NULL;
    struct amg_op *op = NULL;

    if (call == NULL)
        return;
    origin = call->origin;
    op = call->op;
    call_close_locked(msgs, call);
    amg_self_finish_locked(origin, op, ret, NULL, 0);
}

/* Brings a request that has its credit to the endpoint it is for. */
static void request_leave_locked(
    struct amg_self_msgs *msgs, struct self_msg *msg)
{
    struct amg_self_ep *target = msg->target_context < msgs->max_contexts
                                     ? msgs->eps[msg->target_context]
                                     : NULL;
    struct amg_op *op = msg->op;

    if (target == NULL) {
        amg_self_finish_locked(msg->origin, op, HG_NOENTRY, NULL, 0);
        (void)amg_flow_give(&msgs->peer, 1);
        amg_pool_put(&msgs->pool, msg);
        return;
    }
    msg->has_credit = true;
    if (msg->arrival.is_one_way) {
        msg->arrival.token = UINT64_MAX;
        amg_self_finish_locked(
            msg->origin, op, HG_SUCCESS, NULL, msg->arrival.len);
    } else {
        msg->arrival.token = call_open_locked(msgs, msg->origin, op);
        op->priv[AMG_SELF_PRIV_STATE] = AMG_SELF_OP_POSTED;
        op->priv[AMG_SELF_PRIV_TOKEN] = msg->arrival.token;
    }
    amg_self_arrive_locked(target, &msg->arrival);
}

/* Sends what waits, as far as the credits go. */
static void waiting_leave_locked(struct amg_self_msgs *msgs)
{
    struct amg_link *link = NULL;

    while ((link = amg_flow_next(&msgs->flow, &msgs->peer)) != NULL)
        request_leave_locked(
            msgs, msg_of_op(AMG_OBJECT(link, struct amg_op, link)));
}

/* Gives the credit of a request that arrived back to its origin, once. */
static void credit_return_locked(
    struct amg_self_msgs *msgs, struct self_msg *msg)
{
    if (!msg->has_credit)
        return;
    msg->has_credit = false;
    (void)amg_flow_give(&msgs->peer, 1);
    waiting_leave_locked(msgs);
}

hg_return_t amg_self_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct amg_self_msgs *msgs = ep_of(ep)->msgs;
    struct self_msg *msg = amg_pool_get(&msgs->pool);

    (void)peer;
    if (msg == NULL)
        return HG_NOMEM;
    msg->msgs = msgs;
    msg->buf.data = msg->bytes;
    msg->buf.cap = msgs->limits.request_len;
    *ret_buf = &msg->buf;
    return HG_SUCCESS;
}

void amg_self_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    amg_pool_put(&ep_of(ep)->msgs->pool, msg_of_buf(buf));
}

static bool len_is_right(const struct amg_self_msgs *msgs, uint32_t len)
{
    if (len <= msgs->limits.request_len)
        return true;
    AMG_LOG_ERROR("msg", "self: a message of %u bytes; the longest is %u", len,
        msgs->limits.request_len);
    return false;
}

hg_return_t amg_self_send_request(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op)
{
    struct amg_self_ep *self = ep_of(ep);
    struct amg_self_msgs *msgs = self->msgs;
    struct self_msg *msg = msg_of_buf(buf);

    if (!AMG_CONTRACT(op != NULL))
        return HG_INVALID_ARG;
    if (!len_is_right(msgs, len))
        return HG_MSGSIZE;
    msg->arrival.from = peer;
    msg->arrival.data = buf->data;
    msg->arrival.len = len;
    msg->arrival.origin_context = ep->context_id;
    msg->arrival.is_one_way = !wants_reply;
    msg->arrival.is_late = false;
    msg->origin = self;
    msg->op = op;
    msg->target_context = target_context;
    amg_bias_take(&msgs->lock);
    if (amg_flow_take(&msgs->flow, &msgs->peer)) {
        request_leave_locked(msgs, msg);
    } else {
        op->priv[AMG_SELF_PRIV_STATE] = AMG_SELF_OP_WAITING;
        op->priv[AMG_SELF_PRIV_MSG] = (uintptr_t)msg;
        amg_flow_wait(&msgs->peer, &op->link);
    }
    amg_bias_give(&msgs->lock);
    return HG_SUCCESS;
}

hg_return_t amg_self_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    struct amg_self_msgs *msgs = ep_of(ep)->msgs;
    struct self_msg *reply = msg_of_buf(buf);
    struct amg_self_call *call = NULL;

    if (!AMG_CONTRACT(!arrival->is_one_way))
        return HG_INVALID_ARG;
    if (!len_is_right(msgs, len))
        return HG_MSGSIZE;
    amg_bias_take(&msgs->lock);
    call = call_find_locked(msgs, arrival->token);
    if (call != NULL) {
        struct amg_self_ep *origin = call->origin;
        struct amg_op *asked = call->op;

        call_close_locked(msgs, call);
        asked->priv[AMG_SELF_PRIV_MSG] = (uintptr_t)reply;
        amg_self_finish_locked(origin, asked, HG_SUCCESS, buf->data, len);
        reply = NULL;
    }
    if (op != NULL)
        amg_self_finish_locked(ep_of(ep), op, HG_SUCCESS, NULL, len);
    credit_return_locked(msgs, msg_of_arrival(arrival));
    amg_bias_give(&msgs->lock);
    if (reply != NULL)
        amg_pool_put(&msgs->pool, reply);
    return HG_SUCCESS;
}

/* The endpoint may be closed by now, so it is not looked at. */
void amg_self_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct self_msg *msg = msg_of_arrival(arrival);
    struct amg_self_msgs *msgs = msg->msgs;

    (void)ep;
    if (msg->has_credit) {
        amg_bias_take(&msgs->lock);
        credit_return_locked(msgs, msg);
        amg_bias_give(&msgs->lock);
    }
    amg_pool_put(&msgs->pool, msg);
}

void amg_self_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    struct self_msg *msg = msg_of_op(op);

    (void)ep;
    if (op->data == NULL)
        return;
    op->data = NULL;
    amg_pool_put(&msg->msgs->pool, msg);
}

hg_return_t amg_self_cancel(struct amg_ep *ep, struct amg_op *op)
{
    struct amg_self_ep *self = ep_of(ep);
    struct amg_self_msgs *msgs = self->msgs;
    struct self_msg *unsent = NULL;

    amg_bias_take(&msgs->lock);
    if (op->priv[AMG_SELF_PRIV_STATE] == AMG_SELF_OP_WAITING) {
        unsent = msg_of_op(op);
        amg_flow_unwait(&msgs->peer, &op->link);
        amg_self_finish_locked(self, op, HG_CANCELED, NULL, 0);
    } else if (op->priv[AMG_SELF_PRIV_STATE] == AMG_SELF_OP_POSTED) {
        call_refuse_locked(msgs, op->priv[AMG_SELF_PRIV_TOKEN], HG_CANCELED);
    }
    amg_bias_give(&msgs->lock);
    if (unsent != NULL)
        amg_pool_put(&msgs->pool, unsent);
    return HG_SUCCESS;
}

hg_return_t amg_self_msgs_join(
    struct amg_self_msgs *msgs, struct amg_self_ep *ep)
{
    uint8_t id = ep->base.context_id;
    hg_return_t rc = HG_SUCCESS;

    ep->msgs = msgs;
    amg_bias_take(&msgs->lock);
    if (id >= msgs->max_contexts || msgs->eps[id] != NULL)
        rc = HG_INVALID_ARG;
    else
        msgs->eps[id] = ep;
    amg_bias_give(&msgs->lock);
    if (rc != HG_SUCCESS)
        AMG_LOG_ERROR("ctx",
            "self: context %u is open already, or not below the %u that the "
            "class was opened for",
            id, msgs->max_contexts);
    return rc;
}

/* Ends the requests of `ep` that wait for credits; the others wait on. */
static void waiting_end_locked(
    struct amg_self_msgs *msgs, struct amg_self_ep *ep)
{
    struct amg_list others;
    struct amg_link *link = amg_flow_evict(&msgs->peer);

    amg_list_init(&others);
    for (; link != NULL; link = amg_flow_evict(&msgs->peer)) {
        struct amg_op *op = AMG_OBJECT(link, struct amg_op, link);
        struct self_msg *msg = msg_of_op(op);

        if (msg->origin != ep) {
            amg_list_push(&others, link);
            continue;
        }
        amg_self_finish_locked(ep, op, HG_CANCELED, NULL, 0);
        amg_pool_put(&msgs->pool, msg);
    }
    while ((link = amg_list_pop(&others)) != NULL)
        amg_flow_wait(&msgs->peer, link);
}

void amg_self_msgs_leave(struct amg_self_ep *ep, struct amg_news *ret_news)
{
    struct amg_self_msgs *msgs = ep->msgs;
    struct amg_link *link = NULL;

    amg_bias_take(&msgs->lock);
    msgs->eps[ep->base.context_id] = NULL;
    waiting_end_locked(msgs, ep);
    for (uint32_t i = 0; i < msgs->limits.credits; i++) {
        struct amg_self_call *call = &msgs->calls[i];

        if (call->op != NULL && call->origin == ep) {
            amg_self_finish_locked(ep, call->op, HG_CANCELED, NULL, 0);
            call_close_locked(msgs, call);
        }
    }
    while ((link = amg_list_pop(&ep->news.arrived)) != NULL) {
        struct self_msg *msg = AMG_OBJECT(link, struct self_msg, arrival.link);

        call_refuse_locked(msgs, msg->arrival.token, HG_NOENTRY);
        credit_return_locked(msgs, msg);
        amg_pool_put(&msgs->pool, msg);
    }
    amg_list_splice(&ret_news->done, &ep->news.done);
    amg_bias_give(&msgs->lock);
}

static uint32_t choose(
    uint32_t wish, enum amg_env_id otherwise, uint32_t min, uint32_t max)
{
    uint64_t value = wish != 0 ? wish : amg_env_number(otherwise);

    return (uint32_t)(value < min ? min : value > max ? max : value);
}

hg_return_t amg_self_msgs_init(
    struct amg_self_msgs *msgs, const struct amg_open *how)
{
    uint32_t len = choose(how->message_len, AMG_ENV_MESSAGE_BYTES,
        MESSAGE_LEN_MIN, MESSAGE_LEN_MAX);
    uint32_t credits = choose(how->credits, AMG_ENV_CREDITS, 1, CREDITS_MAX);

    msgs->limits = (struct amg_limits){
        .request_len = len,
        .reply_len = len,
        .credits = credits,
        /* News come from threads of this process only: they need the core. */
        .must_yield = true,
        .reaches_self = true,
    };
    msgs->max_contexts = how->max_contexts;
    amg_bias_init(&msgs->lock);
    amg_flow_init(&msgs->flow, (uint16_t)credits);
    amg_pool_init(&msgs->pool, sizeof(struct self_msg) + len, sizeof(uint64_t));
    msgs->eps =
        amg_mem_zalloc(how->max_contexts * sizeof(struct amg_self_ep *));
    msgs->calls = amg_mem_zalloc(credits * sizeof(struct amg_self_call));
    if (msgs->eps == NULL || msgs->calls == NULL ||
        amg_pool_fill(&msgs->pool, POOL_FILL) < POOL_FILL)
        return HG_NOMEM;
    for (uint32_t i = 0; i < credits; i++)
        msgs->calls[i].next_free = i + 1;
    return HG_SUCCESS;
}

void amg_self_msgs_fini(struct amg_self_msgs *msgs)
{
    amg_pool_fini(&msgs->pool);
    amg_mem_free(msgs->calls);
    amg_mem_free(msgs->eps);
}
