/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, replies and refusals of the call engine.
 *
 * A request is refused if its context is not open, if this domain does not
 * listen, or if the peer exceeds its credits; the origin ends the call with the
 * code of the refusal. REFUSE is sent in the msgbuf of the request, unless that
 * came in a PACK. A one-way request is dropped instead; its credit returns. */
#include "mpi_backend/mpi_msg.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "mpi_backend/mpi_long.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_peer.h"

static struct amg_mpi_msgbuf *msgbuf_of_post(struct amg_post *post)
{
    return amg_container_of(post, struct amg_mpi_msgbuf, post);
}

static struct amg_mpi_msgbuf *msgbuf_of_buf(struct amg_buf *buf)
{
    return amg_container_of(buf, struct amg_mpi_msgbuf, buf);
}

static hg_return_t request_send_locked(
    struct amg_calls *calls, struct amg_post *post)
{
    struct amg_mpi_msgbuf *msgbuf = msgbuf_of_post(post);

    AMG_ASSERT_HELD_BIAS(
        amg_container_of(calls, struct amg_mpi_domain, calls)->lock);
    (void)calls;
    msgbuf->header.cookie = post->cookie;
    return amg_mpi_send_locked(msgbuf);
}

static void request_put_locked(struct amg_calls *calls, struct amg_post *post)
{
    struct amg_mpi_domain *domain =
        amg_container_of(calls, struct amg_mpi_domain, calls);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    domain->oneways -= !post->wants_reply;
    amg_mpi_msgbuf_put_locked(msgbuf_of_post(post));
}

/* Sends CREDIT to the context of the peer's last request; with a wish for more
 * credits, to the context that a waiting request goes to. False: not sent. */
static bool credits_pay_locked(
    struct amg_calls *calls, struct amg_flow_peer *owed)
{
    struct amg_mpi_domain *domain =
        amg_container_of(calls, struct amg_mpi_domain, calls);
    struct amg_mpi_peer *peer =
        amg_container_of(owed, struct amg_mpi_peer, calls);
    struct amg_mpi_msgbuf *msgbuf =
        domain->is_dead ? NULL : amg_mpi_msgbuf_get_locked(domain);
    uint8_t context = peer->context;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (msgbuf == NULL)
        return false;
    if (owed->wishes > 0 && owed->waiting != NULL)
        context = (uint8_t)(amg_mpi_msgbuf_of_link(owed->waiting)->tag -
                            domain->stamp);
    amg_mpi_send_control_locked(msgbuf, peer->rank, context, AMG_MPI_CREDIT,
        amg_calls_note_locked(calls, owed), 0);
    return true;
}

static void peer_name(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, char ret_text[AMG_PEER_NAME_CAP])
{
    (void)calls;
    snprintf(ret_text, AMG_PEER_NAME_CAP, "rank %u",
        amg_container_of(peer, struct amg_mpi_peer, calls)->rank);
}

const struct amg_calls_ops amg_mpi_calls_ops = {
    .send = request_send_locked,
    .put = request_put_locked,
    .end = amg_mpi_op_end_locked,
    .pay = credits_pay_locked,
    .source = "mpi",
    .name = peer_name,
};

/* Takes the lock only if `hot` is empty. */
static struct amg_mpi_msgbuf *msgbuf_get(struct amg_mpi_domain *domain)
{
    struct amg_mpi_msgbuf *msgbuf = atomic_exchange_explicit(
        &domain->msgbufs.hot, NULL, memory_order_acquire);

    if (msgbuf != NULL)
        return msgbuf;
    amg_bias_lock(domain->lock);
    msgbuf = amg_mpi_msgbuf_get_locked(domain);
    amg_bias_unlock(domain->lock);
    return msgbuf;
}

/* Takes the lock only if `hot` is full or the msgbuf is long. */
static void msgbuf_put(struct amg_mpi_msgbuf *msgbuf)
{
    struct amg_mpi_domain *domain = msgbuf->domain;
    struct amg_mpi_msgbuf *none = NULL;

    if (!amg_pack_unshare(&msgbuf->others))
        return;
    if (AMG_LIKELY(!msgbuf->is_long) &&
        atomic_compare_exchange_strong_explicit(&domain->msgbufs.hot, &none,
            msgbuf, memory_order_acq_rel, memory_order_relaxed))
        return;
    amg_bias_lock(domain->lock);
    amg_mpi_msgbuf_put_locked(msgbuf);
    amg_bias_unlock(domain->lock);
}

hg_return_t amg_mpi_msg_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct amg_mpi_msgbuf *msgbuf = msgbuf_get(amg_mpi_domain_of(ep->domain));

    (void)peer;
    if (msgbuf == NULL)
        return HG_NOMEM;
    *ret_buf = &msgbuf->buf;
    return HG_SUCCESS;
}

void amg_mpi_msg_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    (void)ep;
    msgbuf_put(msgbuf_of_buf(buf));
}

static inline hg_return_t request_post_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_msgbuf *msgbuf, struct amg_mpi_peer *peer)
{
    bool wants_reply = msgbuf->post.wants_reply;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    msgbuf->post.peer = &peer->calls;
    domain->oneways += !wants_reply;
    rc = amg_calls_post_locked(
        &domain->calls, &msgbuf->post, peer->rank, request_send_locked);
    if (!AMG_LIKELY(rc == HG_SUCCESS))
        domain->oneways -= !wants_reply;
    return rc;
}

hg_return_t amg_mpi_msg_send_request(struct amg_ep *base, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base->domain);
    struct amg_mpi_msgbuf *msgbuf = msgbuf_of_buf(buf);
    uint32_t rank = amg_mpi_rank_of(domain, to.peer);
    struct amg_mpi_peer *peer = NULL;
    hg_return_t rc = amg_mpi_send_check(domain);

    if (rc != HG_SUCCESS)
        return rc;
    if (len > buf->cap)
        return HG_MSGSIZE;
    msgbuf->post.op = op;
    msgbuf->post.ep = base;
    msgbuf->post.wants_reply = wants_reply;
    msgbuf->header.context = base->context_id;
    amg_mpi_send_address(msgbuf, rank, to.context_id,
        wants_reply ? AMG_MPI_REQUEST : AMG_MPI_ONEWAY, len);
    amg_bias_lock(domain->lock);
    peer = amg_mpi_peer_get_locked(domain, rank);
    rc = AMG_LIKELY(peer != NULL) ? request_post_locked(domain, msgbuf, peer)
                                  : HG_NOMEM;
    amg_bias_unlock(domain->lock);
    return rc;
}

/* Sends a message; its operation, if any, ends when the message has left. */
static inline hg_return_t leaving_send_locked(
    struct amg_mpi_msgbuf *msgbuf, struct amg_ep *ep, struct amg_op *op)
{
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    msgbuf->post.op = op;
    msgbuf->post.ep = ep;
    msgbuf->header.context = ep->context_id;
    if (op != NULL) {
        amg_call_begin(op, ep);
        amg_call_set(op, AMG_CALL_LEAVING, &msgbuf->post, ep);
    }
    rc = amg_mpi_send_surely_locked(msgbuf);
    if (!AMG_LIKELY(rc == HG_SUCCESS) && op != NULL)
        op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    return rc;
}

hg_return_t amg_mpi_msg_send_ack(struct amg_ep *base, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base->domain);
    struct amg_mpi_msgbuf *msgbuf = NULL;
    hg_return_t rc = amg_mpi_send_check(domain);

    AMG_ASSERT(len <= AMG_NOW_LEN && op != NULL);
    if (rc != HG_SUCCESS)
        return rc;
    msgbuf = msgbuf_get(domain);
    if (msgbuf == NULL)
        return HG_NOMEM;
    memcpy(msgbuf->buf.data, bytes, len);
    msgbuf->header.cookie = AMG_TOKEN_ACK;
    amg_mpi_send_address(msgbuf, amg_mpi_rank_of(domain, to.peer),
        to.context_id, AMG_MPI_ONEWAY, len);
    amg_bias_lock(domain->lock);
    rc = leaving_send_locked(msgbuf, base, op);
    if (rc != HG_SUCCESS)
        amg_mpi_msgbuf_put_locked(msgbuf);
    amg_bias_unlock(domain->lock);
    return rc;
}

/* Counts a request of the peer as answered, released or refused. */
static inline void request_close_locked(
    struct amg_mpi_domain *domain, const struct amg_arrival *arrival)
{
    struct amg_mpi_peer *peer =
        amg_mpi_peer_of_locked(domain, amg_mpi_rank_of(domain, arrival->from));

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(peer->open > 0);
    peer->open -= peer->open > 0;
}

hg_return_t amg_mpi_msg_send_reply(struct amg_ep *base,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base->domain);
    struct amg_mpi_msgbuf *msgbuf = msgbuf_of_buf(buf);
    hg_return_t rc = amg_mpi_send_check(domain);

    if (rc != HG_SUCCESS)
        return rc;
    if (len > buf->cap)
        return HG_MSGSIZE;
    msgbuf->header.cookie = (uint32_t)arrival->token;
    amg_mpi_send_address(msgbuf, amg_mpi_rank_of(domain, arrival->from),
        arrival->origin_context, AMG_MPI_REPLY, len);
    amg_bias_lock(domain->lock);
    rc = leaving_send_locked(msgbuf, base, op);
    if (AMG_LIKELY(rc == HG_SUCCESS))
        request_close_locked(domain, arrival);
    amg_bias_unlock(domain->lock);
    return rc;
}

/* Frees a one-way request, and counts its credit as owed to `rank`. */
static void credit_owe_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank)
{
    struct amg_mpi_domain *domain = msgbuf->domain;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_msgbuf_put_locked(msgbuf);
    (void)amg_calls_owe_locked(
        &domain->calls, &amg_mpi_peer_of_locked(domain, rank)->calls);
}

/* Frees a one-way request that is not served, and logs that. */
static void oneway_drop_locked(
    struct amg_mpi_msgbuf *msgbuf, uint32_t rank, uint8_t origin_context)
{
    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    amg_mpi_peer_violation(msgbuf->domain, rank, AMG_VIOLATION_DROPPED,
        AMG_MPI_ONEWAY, origin_context);
    credit_owe_locked(msgbuf, rank);
}

/* Subtracts a long request from the pending bytes of its context. */
static void long_release(struct amg_arrival *arrival)
{
    struct amg_mpi_msgbuf *msgbuf = amg_pack_whole_of(arrival);

    amg_arrival_begin(arrival, &msgbuf->domain->longs.held[msgbuf->tag]);
}

void amg_mpi_msg_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct amg_mpi_msgbuf *msgbuf = amg_pack_whole_of(arrival);
    struct amg_mpi_domain *domain = msgbuf->domain;

    (void)ep; /* may be closed already */
    if (!AMG_LIKELY(!arrival->is_long))
        long_release(arrival);
    if (!amg_arrival_has_credit(arrival)) {
        msgbuf_put(msgbuf);
        return;
    }
    amg_bias_lock(domain->lock);
    request_close_locked(domain, arrival);
    credit_owe_locked(msgbuf, amg_mpi_rank_of(domain, arrival->from));
    amg_bias_unlock(domain->lock);
}

void amg_mpi_msg_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    (void)ep; /* may be closed already */
    if (op->data == NULL)
        return;
    op->data = NULL;
    msgbuf_put(amg_call_ptr(op));
}

static void refusal_send_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank,
    uint8_t context, uint32_t cookie, hg_return_t code)
{
    struct amg_mpi_refuse refuse = {(uint32_t)code};
    struct amg_mpi_msgbuf *answer = msgbuf;

    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    if (amg_mpi_kind_of(&msgbuf->header) == AMG_MPI_PACK) {
        answer = amg_mpi_msgbuf_get_locked(msgbuf->domain);
        amg_mpi_msgbuf_put_locked(msgbuf); /* the call's share */
    }
    if (answer == NULL) {
        AMG_LOG_ERROR("mpi",
            "no memory to refuse a request of rank %u, whose call will not end",
            rank);
        return;
    }
    memcpy(answer->data, &refuse, sizeof(refuse));
    amg_mpi_send_control_locked(
        answer, rank, context, AMG_MPI_REFUSE, cookie, sizeof(refuse));
}

void amg_mpi_msg_refuse_locked(
    struct amg_mpi_domain *domain, struct amg_arrival *arrival)
{
    struct amg_mpi_msgbuf *msgbuf = amg_pack_whole_of(arrival);
    uint32_t rank = amg_mpi_rank_of(domain, arrival->from);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (arrival->is_long)
        long_release(arrival);
    if (arrival->is_one_way && !amg_arrival_has_credit(arrival)) {
        amg_mpi_msgbuf_put_locked(msgbuf);
        return;
    }
    request_close_locked(domain, arrival);
    if (arrival->is_one_way)
        oneway_drop_locked(msgbuf, rank, arrival->origin_context);
    else
        refusal_send_locked(msgbuf, rank, arrival->origin_context,
            (uint32_t)arrival->token, HG_NOENTRY);
}

static void arrival_give_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message, struct amg_list *list,
    bool is_one_way)
{
    struct amg_arrival *arrival = &message->arrival->arrival;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    message->arrival->whole = message->msgbuf;
    arrival->from = amg_mpi_peer_at(domain, message->rank);
    arrival->data = message->body;
    arrival->len = message->len;
    arrival->origin_context = message->header->context;
    arrival->is_one_way = is_one_way;
    arrival->is_late = list == &domain->calls.late;
    arrival->is_long = false;
    arrival->token = message->header->cookie;
    if (arrival->is_late || AMG_LIKELY(amg_list_is_empty(&message->ep->behind)))
        amg_list_push(list, &arrival->link);
    else
        amg_mpi_long_give_locked(message);
}

/* Whether the message is an ACK, which took no credit. */
static inline bool message_is_ack(const struct amg_mpi_message *message)
{
    return message->kind == AMG_MPI_ONEWAY &&
           message->header->cookie == AMG_TOKEN_ACK;
}

/* Why this request cannot be served; HG_SUCCESS: it can. */
static hg_return_t request_check_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message, struct amg_mpi_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (message_is_ack(message) && message->len > AMG_NOW_LEN)
        return HG_AGAIN;
    if (!message_is_ack(message) &&
        !AMG_LIKELY(amg_flow_is_within(
            &domain->calls.flow, &peer->calls, peer->open + 1u))) {
        amg_calls_violation(&domain->calls, &peer->calls, AMG_VIOLATION_LIMIT,
            message->kind, (long)peer->open);
        return HG_AGAIN;
    }
    if (AMG_LIKELY(message->ep != NULL && domain->is_listening))
        return HG_SUCCESS;
    return message->ep == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED;
}

void amg_mpi_msg_on_request_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_peer *peer = amg_mpi_peer_of_locked(domain, message->rank);
    bool is_one_way = message->kind == AMG_MPI_ONEWAY;
    hg_return_t why = request_check_locked(domain, message, peer);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    peer->context = message->header->context;
    if (!AMG_LIKELY(why == HG_SUCCESS) && message->msgbuf->is_long)
        amg_mpi_long_leave_locked(message);
    if (AMG_LIKELY(why == HG_SUCCESS)) {
        peer->open += !message_is_ack(message);
        arrival_give_locked(domain, message, &message->ep->arrived, is_one_way);
    } else if (message_is_ack(message)) {
        amg_mpi_msgbuf_put_locked(message->msgbuf);
    } else if (is_one_way && why == HG_AGAIN) {
        credit_owe_locked(message->msgbuf, message->rank);
    } else if (is_one_way) {
        oneway_drop_locked(
            message->msgbuf, message->rank, message->header->context);
    } else {
        refusal_send_locked(message->msgbuf, message->rank,
            message->header->context, message->header->cookie, why);
    }
}

/* Ends the call that waits for this answer: returns its operation, or
 * amg_call_cancelled; NULL: no call waits. */
static struct amg_op *call_end_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    uint32_t cookie = message->header->cookie;
    struct amg_op *op =
        amg_calls_find_locked(&domain->calls, cookie, message->rank);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (op == NULL)
        amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_ANSWER,
            AMG_MPI_REPLY, (long)cookie);
    else
        amg_calls_settle_locked(&domain->calls, cookie,
            &amg_mpi_peer_of_locked(domain, message->rank)->calls);
    return op;
}

void amg_mpi_msg_on_reply_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_op *op = call_end_locked(domain, message);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (op == &amg_call_cancelled) {
        arrival_give_locked(domain, message, &domain->calls.late, false);
        return;
    }
    if (op == NULL) {
        amg_mpi_msgbuf_put_locked(message->msgbuf);
        return;
    }
    op->data = message->body;
    op->len = message->len;
    op->priv[AMG_CALL_PRIV_PTR] = (uint64_t)(uintptr_t)message->msgbuf;
    amg_mpi_op_end_locked(op, HG_SUCCESS);
}

void amg_mpi_msg_on_refuse_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_op *op = call_end_locked(domain, message);
    struct amg_mpi_refuse refuse;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    memcpy(&refuse, message->body, sizeof(refuse));
    amg_mpi_msgbuf_put_locked(message->msgbuf);
    if (op == NULL || op == &amg_call_cancelled)
        return;
    amg_mpi_op_end_locked(op, amg_call_refusal(refuse.code));
}

/* Handles a call of a PACK. Only a REFUSE has a fixed length, to be checked. */
static void call_take_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    switch (message->kind) {
    case AMG_MPI_REQUEST:
    case AMG_MPI_ONEWAY:
        amg_mpi_msg_on_request_locked(domain, message);
        return;
    case AMG_MPI_REPLY:
        amg_mpi_msg_on_reply_locked(domain, message);
        return;
    case AMG_MPI_REFUSE:
        if (message->len == sizeof(struct amg_mpi_refuse)) {
            amg_mpi_msg_on_refuse_locked(domain, message);
            return;
        }
        break;
    default:
        break;
    }
    amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_FORM,
        message->kind, (long)message->len);
    amg_mpi_msgbuf_put_locked(message->msgbuf);
}

void amg_mpi_msg_on_pack_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;
    struct amg_mpi_message call = *message;
    struct amg_mpi_header header = {.credits = 0};
    struct amg_pack_part part;
    struct amg_pack_iter iter;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (message->len > domain->message_len - sizeof(header) ||
        !amg_pack_iter_init(&iter, message->body, message->len,
            message->header->cookie, domain->packer.count_max)) {
        amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_FORM,
            AMG_MPI_PACK, (long)message->header->cookie);
        amg_mpi_msgbuf_put_locked(msgbuf);
        return;
    }
    call.header = &header;
    call.arrival = amg_pack_arrivals(message->body, message->len);
    while (amg_pack_iter_next(&iter, &part)) {
        header.kind = part.head.kind;
        header.context = part.head.context;
        header.cookie = part.head.cookie;
        call.kind = amg_mpi_kind_of(&header);
        call.body = message->body + (part.body - message->body);
        call.len = part.head.len;
        amg_pack_share(&msgbuf->others);
        call_take_locked(domain, &call);
        call.arrival++;
    }
    amg_mpi_msgbuf_put_locked(msgbuf);
}

/* Cancels the operations of `ep` whose messages the packer keeps. */
static void kept_detach_locked(
    struct amg_mpi_domain *domain, const struct amg_ep *ep)
{
    struct amg_link *link = amg_list_first(&domain->packer.kept);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (; link != NULL; link = amg_list_next(&domain->packer.kept, link)) {
        const struct amg_post *post =
            &amg_container_of(link, struct amg_mpi_msgbuf, pack.link)->post;

        if (post->op != NULL && post->ep == ep)
            amg_calls_cancel_locked(&domain->calls, post->op);
    }
}

void amg_mpi_msg_drop_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_longs_detach_locked(domain, ep);
    kept_detach_locked(domain, &ep->base);
    amg_calls_drop_locked(&domain->calls, &ep->base);
    amg_calls_detach_locked(
        &domain->calls, &domain->sends.in_flight, &ep->base);
    amg_calls_detach_locked(&domain->calls, &domain->sends.deferred, &ep->base);
    amg_calls_detach_locked(&domain->calls, &domain->longs.unsent, &ep->base);
}

bool amg_mpi_msg_is_pending_locked(struct amg_mpi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    return domain->oneways > 0 ||
           amg_calls_pending_locked(&domain->calls, &domain->asked) != NULL;
}
