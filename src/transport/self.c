/* SPDX-License-Identifier: BSD-3-Clause */
/* Loopback: calls and transfers of a process to itself.
 *
 * The smallest complete driver, and the example to copy. The driver receives
 * even if the domain does not listen, because a process can always reach
 * itself.
 *
 * An address is "self://PID-NONCE", where the nonce is drawn for each domain:
 * the string of another process, or of a closed class, never matches.
 *
 * A message is encoded into a buffer of the pool, and that buffer is queued at
 * the other endpoint: nothing is copied. A small call takes the lock four
 * times: request, poll, reply, poll. The reply to a cancelled call returns the
 * credit, and is dropped.
 *
 * The state of an endpoint is one word: the number of entries of its two lists,
 * and whether a thread blocks on its descriptor. So an empty poll reads one
 * word, and a thread that queues an entry makes no system call unless a thread
 * blocks. Arm and queueing both hold the lock, so one of the two sees the
 * other.
 *
 * A key is a cookie of the table, which is reused, and a serial number, which
 * is not: so the key of unregistered memory finds nothing. Serial numbers have
 * 32 bits and begin at random in each domain: a key that was kept over 2^32
 * registrations would be valid again, and a key of another process is valid
 * here with a probability of 2^-32. A copy runs without the lock, but counts as
 * a user of the memory; unregistering waits for the users. */
#include "transport/self.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bias.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "transport/calls.h"
#include "transport/state.h"
#include "transport/table.h"

enum {
    NAP_NS = 20000,     /* between two checks for users of closing memory */
    TEXT_CAP = 48,      /* "self://" + 10 digits + '-' + 16 digits + NUL */
    CONTEXTS_MAX = 256, /* a context id is one byte */
    MESSAGE_LEN_MIN = 256,
    MESSAGE_LEN_MAX = 65536,
    CREDITS_MAX = 32767,
    POOL_FILL = 16, /* messages made at open: a few calls at once */
    OWNER = 0,      /* of all calls: there is one peer */
};

static const char self_prefix[] = "self://";

/* Bits of the state of an endpoint. */
enum {
    ARMED = 1, /* a thread blocks on the descriptor, or is about to */
    RUNG = 2,  /* the descriptor must be drained */
    ENTRY = 4, /* increment per entry */
};

/* A key on the wire. */
struct self_key {
    uint32_t number;
    uint32_t serial;
};

struct self_mem {
    struct amg_mem base;
    struct self_key key;
    uint32_t users; /* copies in flight */
    uint32_t count;
    uint8_t flags;
    bool is_closed; /* removed from the table */
    struct amg_segment segments[];
};

/* All exposed memory of a domain. Owned by the domain, which embeds it. */
struct self_mems {
    struct amg_lock lock; /* guards all below, and the counts of users */
    struct amg_table table;
    uint32_t serials; /* next serial number */
};

/* State shared by the endpoints of a domain. Owned by the domain, which embeds
 * it. Lock order: `lock`, then the pool's own. */
struct self_msgs {
    struct amg_pool pool; /* the messages; guards itself */
    struct amg_limits limits;
    uint32_t max_contexts;
    struct amg_bias lock; /* guards all below, and the endpoints' lists */
    struct self_ep **eps; /* by context id; NULL: not open */
    struct amg_calls calls;
    struct amg_flow_peer peer; /* the only peer: this process */
};

/* Owned by its opener until close. */
struct self_ep {
    struct amg_ep base;
    struct self_msgs *msgs;
    /* The number of entries of `events`, and whether a thread blocks. Written
     * under the lock. Poll reads the state without the lock, only to decide
     * whether to take the lock, so the load is relaxed. */
    atomic_uint state;
    struct amg_events events; /* completions and arrivals for the next polls */
    int event_fd; /* wakes a blocked thread; -1: could not be created */
};

/* A request or reply; in the pool while nobody uses it. */
struct self_msg {
    struct amg_link kept; /* in the pool */
    struct amg_buf buf;
    struct amg_arrival arrival; /* for requests, like all below */
    struct self_msgs *msgs;
    struct amg_post post;
    uint8_t target_context;
    bool is_long; /* memory of the heap; 0 in messages of the pool */
    uint64_t bytes[];
};

/* Owned by its opener, until close. */
struct self_domain {
    struct amg_domain base;
    char text[TEXT_CAP]; /* address of the domain */
    struct self_msgs msgs;
    struct self_mems mems;
};

static struct self_domain *domain_of(const struct amg_domain *domain)
{
    return amg_container_of(domain, struct self_domain, base);
}

static struct self_ep *ep_of(struct amg_ep *ep)
{
    return amg_container_of(ep, struct self_ep, base);
}

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

static unsigned state_get(const struct self_ep *ep)
{
    return atomic_load_explicit(&ep->state, memory_order_relaxed);
}

static void state_set_locked(struct self_ep *ep, unsigned state)
{
    AMG_ASSERT_HELD_BIAS(&ep->msgs->lock);
    atomic_store_explicit(&ep->state, state, memory_order_relaxed);
}

static void entry_add_locked(struct self_ep *ep)
{
    unsigned state = state_get(ep) + ENTRY;

    AMG_ASSERT_HELD_BIAS(&ep->msgs->lock);
    /* NOTE(system call under the lock): only if a thread blocks; without the
     * lock the endpoint, and its descriptor, could be closed before the call.
     */
    if ((state & (ARMED | RUNG)) == ARMED) {
        state |= RUNG;
        amg_eventfd_signal(ep->event_fd);
    }
    state_set_locked(ep, state);
}

static void finish_locked(
    struct self_ep *ep, struct amg_op *op, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&ep->msgs->lock);
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->ret = ret;
    amg_list_push(&ep->events.done, &op->link);
    entry_add_locked(ep);
}

static void self_finish(
    struct self_ep *ep, struct amg_op *op, hg_return_t ret, uint64_t len)
{
    amg_bias_lock(&ep->msgs->lock);
    op->data = NULL;
    op->len = len;
    finish_locked(ep, op, ret);
    amg_bias_unlock(&ep->msgs->lock);
}

/* Slots of the call engine. */

static void call_end_locked(struct amg_op *op, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&ep_of(amg_call_ep(op))->msgs->lock);
    finish_locked(ep_of(amg_call_ep(op)), op, ret);
}

static void request_put_locked(struct amg_calls *calls, struct amg_post *post)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    (void)calls;
    msg_free(amg_container_of(post, struct self_msg, post));
}

/* The endpoint of a context; NULL: not open. */
static inline struct self_ep *target_of(
    const struct self_msgs *msgs, uint8_t context_id)
{
    return AMG_LIKELY(context_id < msgs->max_contexts) ? msgs->eps[context_id]
                                                       : NULL;
}

/* Queues a request at its target endpoint. */
static inline void request_arrive_locked(
    struct self_ep *target, struct self_msg *msg, uint32_t cookie)
{
    AMG_ASSERT_HELD_BIAS(&target->msgs->lock);
    msg->arrival.token = cookie;
    amg_list_push(&target->events.arrived, &msg->arrival.link);
    entry_add_locked(target);
}

/* Sends a request that had to wait, or that has no target. */
static hg_return_t request_send_locked(
    struct amg_calls *calls, struct amg_post *post)
{
    struct self_msgs *msgs = amg_container_of(calls, struct self_msgs, calls);
    struct self_msg *msg = amg_container_of(post, struct self_msg, post);
    struct self_ep *target = target_of(msgs, msg->target_context);

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
    struct self_msgs *msgs = ep_of(ep)->msgs;
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

static hg_return_t self_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct self_msg *msg = msg_get(ep);

    (void)peer;
    if (msg == NULL)
        return HG_NOMEM;
    *ret_buf = &msg->buf;
    return HG_SUCCESS;
}

static hg_return_t self_get_long_buf(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf)
{
    struct self_msg *msg = NULL;

    (void)peer;
    if (len > AMG_LONG_ARGS_LEN + AMG_LONG_HEADERS_LEN)
        return HG_MSGSIZE;
    msg = amg_mem_alloc(sizeof(*msg) + len);
    if (msg == NULL)
        return HG_AGAIN;
    *msg = (struct self_msg){.msgs = ep_of(ep)->msgs, .is_long = true};
    msg->buf.data = msg->bytes;
    msg->buf.cap = len;
    *ret_buf = &msg->buf;
    return HG_SUCCESS;
}

static void self_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    (void)ep;
    msg_free(msg_of_buf(buf));
}

static bool len_is_right(const struct amg_buf *buf, uint32_t len)
{
    if (len <= buf->cap)
        return true;
    AMG_LOG_ERROR(
        "msg", "self: a message of %u bytes in a buffer of %u", len, buf->cap);
    return false;
}

/* Sends a request at once. False: no target or credit; nothing has changed. */
static AMG_INLINE bool request_send_now_locked(struct amg_ep *ep,
    struct amg_target to, struct self_msg *msg, bool wants_reply,
    struct amg_op *op)
{
    struct self_msgs *msgs = ep_of(ep)->msgs;
    struct self_ep *target = target_of(msgs, to.context_id);
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
    struct self_msgs *msgs = ep_of(ep)->msgs;
    hg_return_t rc = HG_SUCCESS;

    request_address(ep, to, msg, len, wants_reply);
    amg_bias_lock(&msgs->lock);
    if (!AMG_LIKELY(request_send_now_locked(ep, to, msg, wants_reply, op))) {
        /* The call engine lets the request wait, or ends it. */
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

static hg_return_t self_send_request(struct amg_ep *ep, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op)
{
    AMG_ASSERT(op != NULL || !wants_reply);
    if (!AMG_LIKELY(len_is_right(buf, len)))
        return HG_MSGSIZE;
    return request_send(ep, to, msg_of_buf(buf), len, wants_reply, op);
}

static bool self_request_now(struct amg_ep *ep, struct amg_target to,
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

static hg_return_t self_send_ack(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op)
{
    struct self_msgs *msgs = ep_of(ep)->msgs;
    struct self_ep *target = NULL;
    struct self_msg *msg = msg_make(ep, bytes);

    AMG_ASSERT(len <= AMG_NOW_LEN && op != NULL);
    if (msg == NULL)
        return HG_NOMEM;
    request_address(ep, to, msg, len, false);
    amg_bias_lock(&msgs->lock);
    target = target_of(msgs, to.context_id);
    amg_call_begin(op, ep);
    finish_locked(ep_of(ep), op, target != NULL ? HG_SUCCESS : HG_NOENTRY);
    if (target != NULL)
        request_arrive_locked(target, msg, AMG_TOKEN_ACK);
    amg_bias_unlock(&msgs->lock);
    if (target == NULL)
        msg_free(msg);
    return HG_SUCCESS;
}

/* Ends the call of `token` with `ret`. False: the call was cancelled or
 * answered before. */
static AMG_INLINE bool call_answer_locked(struct self_msgs *msgs,
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

static AMG_INLINE void reply_send(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct self_msg *reply, uint32_t len,
    struct amg_op *op)
{
    struct self_msgs *msgs = ep_of(ep)->msgs;
    bool is_awaited = false;

    amg_bias_lock(&msgs->lock);
    is_awaited =
        call_answer_locked(msgs, arrival->token, reply, len, HG_SUCCESS);
    if (op != NULL) {
        op->data = NULL;
        op->len = len;
        finish_locked(ep_of(ep), op, HG_SUCCESS);
    }
    amg_bias_unlock(&msgs->lock);
    if (!AMG_LIKELY(is_awaited))
        msg_free(reply);
}

static hg_return_t self_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    if (!AMG_CONTRACT_OF("HG_Respond", !arrival->is_one_way,
            "the call was sent without a response"))
        return HG_INVALID_ARG;
    if (!len_is_right(buf, len))
        return HG_MSGSIZE;
    reply_send(ep, arrival, msg_of_buf(buf), len, op);
    return HG_SUCCESS;
}

static bool self_reply_now(struct amg_ep *ep, const struct amg_arrival *arrival,
    const void *bytes, uint32_t len)
{
    struct self_msg *reply = msg_make(ep, bytes);

    if (!AMG_LIKELY(reply != NULL))
        return false;
    reply_send(ep, arrival, reply, len, NULL);
    return true;
}

/* Does not read the endpoint, which may be closed by now. */
static void self_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct self_msg *msg = msg_of_arrival(arrival);
    struct self_msgs *msgs = msg->msgs;

    (void)ep;
    if (amg_arrival_has_credit(arrival)) {
        amg_bias_lock(&msgs->lock);
        amg_calls_credit_locked(&msgs->calls, &msgs->peer, 1);
        amg_bias_unlock(&msgs->lock);
    }
    msg_free(msg);
}

static void self_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    struct self_msg *msg = amg_call_ptr(op);

    (void)ep;
    if (op->data == NULL)
        return;
    op->data = NULL;
    msg_free(msg);
}

static hg_return_t self_cancel(struct amg_ep *ep, struct amg_op *op)
{
    struct self_msgs *msgs = ep_of(ep)->msgs;

    amg_bias_lock(&msgs->lock);
    amg_calls_cancel_locked(&msgs->calls, op);
    amg_bias_unlock(&msgs->lock);
    return HG_SUCCESS;
}

static unsigned self_poll(
    struct amg_ep *base, unsigned max, struct amg_events *ret_events)
{
    struct self_ep *ep = ep_of(base);
    unsigned state = state_get(ep);
    unsigned count = 0;

    if (state == 0)
        return 0;
    amg_bias_lock(&ep->msgs->lock);
    state = state_get(ep);
    count = state / ENTRY;
    if (AMG_LIKELY(count <= max)) {
        amg_list_splice(&ret_events->done, &ep->events.done);
        amg_list_splice(&ret_events->arrived, &ep->events.arrived);
    } else {
        count = amg_list_take(&ret_events->done, &ep->events.done, max);
        count += amg_list_take(
            &ret_events->arrived, &ep->events.arrived, max - count);
    }
    state_set_locked(ep, (state & ~(unsigned)(ARMED | RUNG)) - count * ENTRY);
    amg_bias_unlock(&ep->msgs->lock);
    if ((state & RUNG) != 0)
        amg_eventfd_drain(ep->event_fd);
    return count;
}

static int self_wait_fd(const struct amg_ep *base)
{
    return amg_container_of(base, const struct self_ep, base)->event_fd;
}

static bool self_arm(struct amg_ep *base)
{
    struct self_ep *ep = ep_of(base);
    bool is_quiet = false;

    if (ep->event_fd < 0)
        return true;
    amg_bias_lock(&ep->msgs->lock);
    is_quiet = state_get(ep) < ENTRY;
    if (is_quiet)
        state_set_locked(ep, state_get(ep) | ARMED);
    amg_bias_unlock(&ep->msgs->lock);
    return is_quiet;
}

static void events_init(struct self_ep *ep)
{
    atomic_init(&ep->state, 0);
    ep->base.pending = &ep->state;
    amg_events_init(&ep->events);
    ep->event_fd = amg_eventfd_open();
    if (ep->event_fd < 0)
        AMG_LOG_WARNING("ctx",
            "self: no descriptor to block on: waiting polls at intervals, "
            "which uses CPU time; see ulimit -n");
}

static hg_return_t self_ep_open(
    struct amg_domain *domain, uint8_t context_id, struct amg_ep **ret_ep)
{
    struct self_msgs *msgs = &domain_of(domain)->msgs;
    struct self_ep *ep = amg_mem_zalloc(sizeof(*ep));
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
        "self: context %u is open already, or not below the %u that the class "
        "was opened for",
        context_id, msgs->max_contexts);
    return HG_INVALID_ARG;
}

static void self_ep_close(struct amg_ep *base, struct amg_events *ret_events)
{
    struct self_ep *ep = ep_of(base);
    struct self_msgs *msgs = ep->msgs;
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

static uint32_t choose(
    uint32_t wish, enum amg_env_id otherwise, uint32_t min, uint32_t max)
{
    uint64_t value = wish != 0 ? wish : amg_env_number(otherwise);

    return (uint32_t)(value < min ? min : value > max ? max : value);
}

static hg_return_t self_msgs_init(
    struct self_msgs *msgs, const struct amg_open *how)
{
    uint32_t len = choose(how->message_len, AMG_ENV_MESSAGE_BYTES,
        MESSAGE_LEN_MIN, MESSAGE_LEN_MAX);
    uint32_t credits = choose(how->credits, AMG_ENV_CREDITS, 1, CREDITS_MAX);

    msgs->limits = (struct amg_limits){
        .request_len = len,
        .reply_len = len,
        .credits = credits,
        /* Only threads of this process send here: they need the core. */
        .must_yield = true,
        .reaches_self = true,
    };
    msgs->max_contexts = how->max_contexts;
    amg_bias_init(&msgs->lock);
    amg_calls_init(&msgs->calls, &msgs->lock, (uint16_t)credits, &calls_ops);
    amg_pool_init(&msgs->pool, sizeof(struct self_msg) + len, sizeof(uint64_t));
    msgs->eps = amg_mem_zalloc(how->max_contexts * sizeof(struct self_ep *));
    if (msgs->eps == NULL || amg_pool_fill(&msgs->pool, POOL_FILL) < POOL_FILL)
        return HG_NOMEM;
    return HG_SUCCESS;
}

static void self_msgs_fini(struct self_msgs *msgs)
{
    amg_pool_fini(&msgs->pool);
    amg_calls_fini(&msgs->calls);
    amg_mem_free(msgs->eps);
}

static void self_bulk_key(const struct amg_mem *base, struct amg_key *ret_key)
{
    const struct self_mem *mem = amg_container_of(base, struct self_mem, base);
    const struct self_key *key = &mem->key;

    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->len = sizeof(*key);
    memcpy(ret_key->bytes, key, sizeof(*key));
}

/* The memory of `key`, or NULL when it is no longer exposed. */
static AMG_INLINE struct self_mem *mem_find_locked(
    const struct self_mems *mems, const struct self_key *key)
{
    struct amg_table_slot *place = amg_table_find(&mems->table, key->number, 0);
    struct self_mem *mem = place == NULL ? NULL : place->object;

    AMG_ASSERT_HELD(&mems->lock);
    return mem == NULL || mem->key.serial != key->serial ? NULL : mem;
}

bool amg_self_mem_is(const struct amg_domain *base, const struct amg_key *from,
    const struct amg_segment *segments, uint32_t count)
{
    struct self_domain *domain = domain_of(base);
    const struct self_mem *mem = NULL;
    struct self_key key;
    bool is_same = false;

    if (from->len != sizeof(key))
        return false;
    memcpy(&key, from->bytes, sizeof(key));
    amg_lock_lock(&domain->mems.lock);
    mem = mem_find_locked(&domain->mems, &key);
    is_same = mem != NULL && mem->count == count &&
              memcmp(mem->segments, segments, count * sizeof(*segments)) == 0;
    amg_lock_unlock(&domain->mems.lock);
    return is_same;
}

static hg_return_t access_check_locked(const struct self_mems *mems,
    const struct self_mem *mem, enum amg_mem_flags direction,
    const struct amg_seg_iter *there, uint64_t len)
{
    AMG_ASSERT_HELD(&mems->lock);
    if (mem == NULL)
        return HG_NOENTRY;
    if ((mem->flags & direction) == 0)
        return HG_PERMISSION;
    return amg_seg_iter_has(there, len) ? HG_SUCCESS : HG_OVERFLOW;
}

/* Copies to (AMG_MEM_WRITE) or from (AMG_MEM_READ) the memory at `remote` at
 * once; the next poll returns the completion. */
static hg_return_t bulk_move(struct amg_ep *ep, enum amg_mem_flags direction,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    struct self_mems *mems = &domain_of(ep->domain)->mems;
    struct amg_seg_iter here = *local;
    struct amg_seg_iter there = {
        .segment = remote->at.segment, .into = remote->at.into};
    struct self_mem *mem = NULL;
    struct self_key key;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT_OF("HG_Bulk_transfer", remote->key.len == sizeof(key),
            "the key of the remote memory has %u bytes, but this transport "
            "makes keys of %u",
            (unsigned)remote->key.len, (unsigned)sizeof(key)))
        return HG_INVALID_ARG;
    memcpy(&key, remote->key.bytes, sizeof(key));
    amg_lock_lock(&mems->lock);
    mem = mem_find_locked(mems, &key);
    if (mem != NULL) {
        there.segments = mem->segments;
        there.count = mem->count;
    }
    rc = access_check_locked(mems, mem, direction, &there, len);
    if (rc == HG_SUCCESS)
        mem->users++;
    amg_lock_unlock(&mems->lock);
    if (rc != HG_SUCCESS) {
        AMG_LOG_WARNING("bulk",
            "self: refused to %s %llu bytes at %llu of segment %u, key %x/%x: "
            "%s",
            direction == AMG_MEM_READ ? "get" : "put", (unsigned long long)len,
            (unsigned long long)there.into, there.segment, key.number,
            key.serial,
            rc == HG_NOENTRY ? "its owner has freed the bulk handle, perhaps "
                               "while the call that brought it was under way"
            : rc == HG_PERMISSION ? "the bulk handle does not allow it"
                                  : "they are beyond the memory");
        self_finish(ep_of(ep), op, rc, 0);
        return HG_SUCCESS;
    }
    if (direction == AMG_MEM_WRITE)
        amg_seg_iter_copy(&there, &here, len);
    else
        amg_seg_iter_copy(&here, &there, len);
    amg_lock_lock(&mems->lock);
    mem->users--;
    amg_lock_unlock(&mems->lock);
    self_finish(ep_of(ep), op, HG_SUCCESS, len);
    return HG_SUCCESS;
}

/* The only peer is the domain. */
static struct amg_peer *peer_of(const struct amg_domain *domain)
{
    return (struct amg_peer *)(uintptr_t)domain_of(domain);
}

/* Writes the address of a domain, and returns its nonce. */
static uint64_t text_make(char *ret_text)
{
    uint64_t nonce = 0;

    if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) !=
        (ssize_t)sizeof(nonce))
        nonce = amg_clock_ns();
    snprintf(ret_text, TEXT_CAP, "%s%ld-%016" PRIx64, self_prefix,
        (long)getpid(), nonce);
    return nonce;
}

static hg_return_t self_domain_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    struct self_domain *domain = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT_OF("HG_Init",
            how->max_contexts >= 1 && how->max_contexts <= CONTEXTS_MAX,
            "max_contexts is %u, but this transport has 1 to %u",
            how->max_contexts, (unsigned)CONTEXTS_MAX))
        return HG_INVALID_ARG;
    if (how->info != NULL && how->info[0] != '\0') {
        AMG_LOG_ERROR("cls", "self: self:// takes no address, but '%s' follows",
            how->info);
        return HG_INVALID_ARG;
    }
    domain = amg_mem_zalloc(sizeof(*domain));
    if (domain == NULL)
        return HG_NOMEM;
    domain->base.transport = &amg_self_transport;
    amg_lock_init(&domain->mems.lock);
    amg_table_init(
        &domain->mems.table, AMG_TABLE_INDEX_MASK + 1u, "exposed memories");
    domain->mems.serials = (uint32_t)text_make(domain->text);
    rc = self_msgs_init(&domain->msgs, how);
    if (rc != HG_SUCCESS) {
        self_msgs_fini(&domain->msgs);
        amg_mem_free(domain);
        return rc;
    }
    *ret_domain = &domain->base;
    return HG_SUCCESS;
}

static void self_domain_limits(
    const struct amg_domain *domain, struct amg_limits *ret_limits)
{
    *ret_limits = domain_of(domain)->msgs.limits;
}

/* There is no other process to wait for. */
static hg_return_t self_domain_quiesce(struct amg_domain *domain)
{
    (void)domain;
    return HG_SUCCESS;
}

static void self_domain_report(struct amg_domain *domain)
{
    (void)domain;
}

static bool self_domain_abandon(struct amg_domain *domain)
{
    (void)domain;
    return false;
}

static void self_domain_stop(struct amg_domain *domain)
{
    (void)domain; /* there are no other processes */
}

static void self_domain_write_state(
    struct amg_domain *base, struct amg_state *state)
{
    struct self_msgs *msgs = &domain_of(base)->msgs;

    amg_bias_lock(&msgs->lock);
    amg_state_begin_peer_locked(state, &msgs->calls, &msgs->peer, OWNER);
    for (uint32_t i = 0; i < msgs->max_contexts; i++)
        if (msgs->eps[i] != NULL)
            amg_state_add(state, "calls and results waiting for a poll",
                state_get(msgs->eps[i]) / ENTRY);
    amg_state_add(state, "messages in use", amg_pool_live(&msgs->pool));
    amg_state_end(state);
    amg_bias_unlock(&msgs->lock);
}

static void self_domain_close(struct amg_domain *base)
{
    struct self_domain *domain = domain_of(base);

    for (uint32_t i = 0; i < domain->mems.table.cap; i++)
        AMG_ASSERT(domain->mems.table.slots[i].object == NULL);
    amg_table_fini(&domain->mems.table);
    self_msgs_fini(&domain->msgs);
    amg_mem_free(domain);
}

/* Only threads of this process send here, and a wait yields to them. */
static bool self_ep_is_oversubscribed(struct amg_ep *ep)
{
    (void)ep;
    return false;
}

static struct amg_peer *self_addr_self(struct amg_domain *domain)
{
    return peer_of(domain);
}

static struct amg_peer *self_addr_ref(struct amg_peer *peer)
{
    return peer;
}

static void self_addr_unref(struct amg_domain *domain, struct amg_peer *peer)
{
    AMG_ASSERT(peer == peer_of(domain));
}

static bool self_addr_is_self(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    return peer == peer_of(domain);
}

static bool self_addr_is_same(const struct amg_domain *domain,
    const struct amg_peer *one, const struct amg_peer *other)
{
    (void)domain;
    return one == other;
}

static hg_return_t self_addr_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len)
{
    const char *text = domain_of(domain)->text;
    size_t need = strlen(text) + 1;
    size_t room = *len;

    AMG_ASSERT(peer == peer_of(domain));
    *len = need;
    if (ret_text == NULL || room < need)
        return HG_OVERFLOW;
    memcpy(ret_text, text, need);
    return HG_SUCCESS;
}

/* Is `text` "self://DIGITS-DIGITS", the last ones hexadecimal? */
static bool text_is_address(const char *text)
{
    size_t prefix_len = strlen(self_prefix);
    size_t pid_len = 0;

    if (strncmp(text, self_prefix, prefix_len) != 0)
        return false;
    text += prefix_len;
    pid_len = strspn(text, "0123456789");
    if (pid_len == 0 || text[pid_len] != '-')
        return false;
    text += pid_len + 1;
    return text[0] != '\0' && text[strspn(text, "0123456789abcdef")] == '\0';
}

static hg_return_t self_addr_parse(
    struct amg_domain *base, const char *text, struct amg_peer **ret_peer)
{
    struct self_domain *domain = domain_of(base);

    if (!text_is_address(text)) {
        AMG_LOG_ERROR("addr",
            "'%s' is not an address of self; these look like %s", text,
            domain->text);
        return HG_INVALID_ARG;
    }
    if (strcmp(text, domain->text) != 0) {
        AMG_LOG_ERROR("addr",
            "self: '%s' is of another process or class; only %s can be reached",
            text, domain->text);
        return HG_ADDRNOTAVAIL;
    }
    *ret_peer = peer_of(base);
    return HG_SUCCESS;
}

static hg_return_t self_bulk_reg(struct amg_domain *base,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem)
{
    struct self_mems *mems = &domain_of(base)->mems;
    size_t list_len = count * sizeof(*segments);
    struct self_mem *mem = amg_mem_zalloc(sizeof(*mem) + list_len);
    hg_return_t rc = HG_SUCCESS;

    if (mem == NULL)
        return HG_NOMEM;
    mem->base.transport = &amg_self_transport;
    mem->count = count;
    mem->flags = flags;
    if (count > 0)
        memcpy(mem->segments, segments, list_len);
    amg_lock_lock(&mems->lock);
    mem->key.serial = mems->serials++;
    rc = amg_table_add(&mems->table, mem, 0, &mem->key.number);
    amg_lock_unlock(&mems->lock);
    if (rc != HG_SUCCESS) {
        amg_mem_free(mem);
        return rc;
    }
    *ret_mem = &mem->base;
    return HG_SUCCESS;
}

static hg_return_t self_bulk_unreg(
    struct amg_domain *domain, struct amg_mem *base, unsigned timeout_ms)
{
    struct self_mems *mems = &domain_of(domain)->mems;
    struct self_mem *mem = amg_container_of(base, struct self_mem, base);
    uint64_t deadline_ns = 0;
    uint32_t users = 0;

    for (;;) {
        amg_lock_lock(&mems->lock);
        if (!mem->is_closed)
            amg_table_remove(&mems->table, mem->key.number);
        mem->is_closed = true;
        users = mem->users;
        amg_lock_unlock(&mems->lock);
        if (users == 0)
            break;
        if (deadline_ns == 0)
            deadline_ns = amg_clock_deadline_ns(timeout_ms);
        if (amg_clock_ns() >= deadline_ns) {
            AMG_LOG_WARNING("bulk",
                "self: %u copies still use the memory after %u ms; free it "
                "again later",
                users, timeout_ms);
            return HG_BUSY;
        }
        amg_clock_sleep_ns(NAP_NS);
    }
    amg_mem_free(mem);
    return HG_SUCCESS;
}

static hg_return_t self_bulk_put(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    (void)to;
    return bulk_move(ep, AMG_MEM_WRITE, local, remote, len, op);
}

static hg_return_t self_bulk_get(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    (void)to;
    return bulk_move(ep, AMG_MEM_READ, local, remote, len, op);
}

const struct amg_transport amg_self_transport = {
    .name = "self",
    .schemes = "self na+self",
    .domain =
        {
            .open = self_domain_open,
            .limits = self_domain_limits,
            .quiesce = self_domain_quiesce,
            .report = self_domain_report,
            .abandon = self_domain_abandon,
            .stop = self_domain_stop,
            .write_state = self_domain_write_state,
            .close = self_domain_close,
        },
    .ep =
        {
            .open = self_ep_open,
            .close = self_ep_close,
            .wait_fd = self_wait_fd,
            .arm = self_arm,
            .is_oversubscribed = self_ep_is_oversubscribed,
            .poll = self_poll,
            .cancel = self_cancel,
        },
    .addr =
        {
            .self = self_addr_self,
            .ref = self_addr_ref,
            .unref = self_addr_unref,
            .is_self = self_addr_is_self,
            .is_same = self_addr_is_same,
            .format = self_addr_format,
            .parse = self_addr_parse,
        },
    .msg =
        {
            .get_buf = self_get_buf,
            .get_long_buf = self_get_long_buf,
            .put_buf = self_put_buf,
            .send_request = self_send_request,
            .send_reply = self_send_reply,
            .request_now = self_request_now,
            .send_ack = self_send_ack,
            .reply_now = self_reply_now,
            .release = self_release,
            .release_reply = self_release_reply,
        },
    .bulk =
        {
            .reg = self_bulk_reg,
            .unreg = self_bulk_unreg,
            .key = self_bulk_key,
            .put = self_bulk_put,
            .get = self_bulk_get,
        },
};
