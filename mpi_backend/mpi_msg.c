/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, replies and refusals of the call engine.
 *
 * A request to a context that is not open here is refused, in its own msgbuf.
 * So is each that arrives after this process began to close; its origin then
 * ends it as canceled instead of waiting. */
#include "mpi_backend/mpi_msg.h"

#include <stdio.h>
#include <string.h>

#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_msgbuf.h"

static struct amg_mpi_msgbuf *msgbuf_of_post(struct amg_post *post)
{
    return amg_container_of(post, struct amg_mpi_msgbuf, post);
}

static struct amg_mpi_msgbuf *msgbuf_of_buf(struct amg_buf *buf)
{
    return amg_container_of(buf, struct amg_mpi_msgbuf, buf);
}

static struct amg_mpi_msgbuf *msgbuf_of_arrival(struct amg_arrival *arrival)
{
    return amg_container_of(arrival, struct amg_mpi_msgbuf, arrival);
}

static hg_return_t request_send_locked(
    struct amg_calls *calls, struct amg_post *post)
{
    struct amg_mpi_msgbuf *msgbuf = msgbuf_of_post(post);

    (void)calls;
    msgbuf->header.cookie = post->cookie;
    return amg_mpi_send_locked(msgbuf);
}

static void request_put_locked(struct amg_calls *calls, struct amg_post *post)
{
    (void)calls;
    amg_mpi_msgbuf_put_locked(msgbuf_of_post(post));
}

static bool credits_pay_locked(
    struct amg_calls *calls, struct amg_flow_peer *owed)
{
    struct amg_mpi_domain *domain =
        amg_container_of(calls, struct amg_mpi_domain, calls);
    struct amg_mpi_peer *peer =
        amg_container_of(owed, struct amg_mpi_peer, calls);
    struct amg_mpi_msgbuf *msgbuf =
        domain->is_dead ? NULL : amg_mpi_msgbuf_get_locked(domain);

    if (msgbuf == NULL)
        return false;
    amg_mpi_send_control_locked(msgbuf, (uint32_t)(peer - domain->peers),
        peer->context, AMG_MPI_CREDIT, 0, 0);
    return true;
}

static void peer_name(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, char ret_text[AMG_PEER_NAME_CAP])
{
    const struct amg_mpi_domain *domain =
        amg_container_of(calls, struct amg_mpi_domain, calls);
    ptrdiff_t rank =
        amg_container_of(peer, struct amg_mpi_peer, calls) - domain->peers;

    AMG_ASSERT(rank >= 0 && rank < domain->comm.size);
    snprintf(ret_text, AMG_PEER_NAME_CAP, "rank %td", rank);
}

static const struct amg_calls_ops calls_ops = {
    .send = request_send_locked,
    .put = request_put_locked,
    .end = amg_mpi_op_end_locked,
    .pay = credits_pay_locked,
    .source = "mpi",
    .name = peer_name,
};

void amg_mpi_msg_init(struct amg_mpi_domain *domain, uint16_t credits)
{
    amg_calls_init(&domain->calls, credits, &calls_ops);
}

hg_return_t amg_mpi_msg_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct amg_mpi_msgbuf *msgbuf =
        amg_mpi_msgbuf_get(amg_mpi_domain_of(ep->domain));

    (void)peer;
    if (msgbuf == NULL)
        return HG_NOMEM;
    *ret_buf = &msgbuf->buf;
    return HG_SUCCESS;
}

void amg_mpi_msg_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    (void)ep;
    amg_mpi_msgbuf_put(msgbuf_of_buf(buf));
}

hg_return_t amg_mpi_msg_send_request(struct amg_ep *base, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base->domain);
    struct amg_mpi_msgbuf *msgbuf = msgbuf_of_buf(buf);
    uint32_t rank = amg_mpi_rank_of(domain, to.peer);
    hg_return_t rc = amg_mpi_send_check(domain);

    if (rc != HG_SUCCESS)
        return rc;
    if (len > buf->cap)
        return HG_MSGSIZE;
    msgbuf->post.op = op;
    msgbuf->post.ep = base;
    msgbuf->post.peer = &domain->peers[rank].calls;
    msgbuf->post.wants_reply = wants_reply;
    msgbuf->header.context = base->context_id;
    amg_mpi_send_address(msgbuf, rank, to.context_id,
        wants_reply ? AMG_MPI_REQUEST : AMG_MPI_ONEWAY, len);
    amg_bias_lock(domain->lock);
    rc = amg_calls_post_locked(
        &domain->calls, &msgbuf->post, rank, request_send_locked);
    amg_bias_unlock(domain->lock);
    return rc;
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
    msgbuf->post.op = op;
    msgbuf->post.ep = base;
    msgbuf->header.context = base->context_id;
    msgbuf->header.cookie = (uint32_t)arrival->token;
    amg_mpi_send_address(msgbuf, amg_mpi_rank_of(domain, arrival->from),
        arrival->origin_context, AMG_MPI_REPLY, len);
    amg_bias_lock(domain->lock);
    if (op != NULL) {
        amg_call_begin(op, base);
        amg_call_set(op, AMG_CALL_LEAVING, &msgbuf->post, base);
    }
    rc = amg_mpi_send_locked(msgbuf);
    if (rc != HG_SUCCESS && op != NULL)
        op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    amg_bias_unlock(domain->lock);
    return rc;
}

/* A one-way request was released: its credit is owed. */
static void credit_owe_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank)
{
    struct amg_mpi_domain *domain = msgbuf->domain;

    amg_mpi_msgbuf_put_locked(msgbuf);
    (void)amg_calls_owe_locked(&domain->calls, &domain->peers[rank].calls);
}

void amg_mpi_msg_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct amg_mpi_msgbuf *msgbuf = msgbuf_of_arrival(arrival);
    struct amg_mpi_domain *domain = msgbuf->domain;

    (void)ep; /* may be closed already */
    if (!arrival->is_one_way) {
        amg_mpi_msgbuf_put(msgbuf);
        return;
    }
    amg_bias_lock(domain->lock);
    credit_owe_locked(msgbuf, amg_mpi_rank_of(domain, arrival->from));
    amg_bias_unlock(domain->lock);
}

void amg_mpi_msg_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    (void)ep; /* may be closed already */
    if (op->data == NULL)
        return;
    op->data = NULL;
    amg_mpi_msgbuf_put(amg_call_ptr(op));
}

static void request_refuse_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank,
    bool is_one_way, hg_return_t code)
{
    uint8_t context = msgbuf->header.context;
    struct amg_mpi_refuse refuse = {(uint32_t)code};

    if (is_one_way) {
        credit_owe_locked(msgbuf, rank);
        return;
    }
    memcpy(msgbuf->data, &refuse, sizeof(refuse));
    amg_mpi_send_control_locked(msgbuf, rank, context, AMG_MPI_REFUSE,
        msgbuf->header.cookie, sizeof(refuse));
}

void amg_mpi_msg_refuse_locked(
    struct amg_mpi_domain *domain, struct amg_arrival *arrival)
{
    request_refuse_locked(msgbuf_of_arrival(arrival),
        amg_mpi_rank_of(domain, arrival->from), arrival->is_one_way,
        HG_CANCELED);
}

static void arrival_give_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message, struct amg_list *list,
    bool is_one_way)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;

    msgbuf->arrival.from = amg_mpi_peer_at(domain, message->rank);
    msgbuf->arrival.data = msgbuf->data;
    msgbuf->arrival.len = message->len;
    msgbuf->arrival.origin_context = msgbuf->header.context;
    msgbuf->arrival.is_one_way = is_one_way;
    msgbuf->arrival.is_late = list == &domain->calls.late;
    msgbuf->arrival.token = msgbuf->header.cookie;
    amg_list_push(list, &msgbuf->arrival.link);
}

void amg_mpi_msg_on_request_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;
    bool is_one_way = message->kind == AMG_MPI_ONEWAY;

    domain->peers[message->rank].context = msgbuf->header.context;
    if (message->ep != NULL && domain->is_listening)
        arrival_give_locked(domain, message, &message->ep->arrived, is_one_way);
    else
        request_refuse_locked(msgbuf, message->rank, is_one_way,
            domain->disconnect.is_sent ? HG_CANCELED
            : message->ep == NULL      ? HG_NOENTRY
                                       : HG_OPNOTSUPPORTED);
}

/* The operation that waits for this answer, or amg_call_cancelled; NULL: none
 * does. */
static struct amg_op *call_end_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    uint32_t cookie = message->msgbuf->header.cookie;
    struct amg_op *op =
        amg_calls_find_locked(&domain->calls, cookie, message->rank);

    if (op == NULL)
        amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_ANSWER,
            AMG_MPI_REPLY, (long)cookie);
    else
        amg_calls_settle_locked(
            &domain->calls, cookie, &domain->peers[message->rank].calls);
    return op;
}

void amg_mpi_msg_on_reply_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_op *op = call_end_locked(domain, message);

    if (op == &amg_call_cancelled) {
        arrival_give_locked(domain, message, &domain->calls.late, false);
        return;
    }
    if (op == NULL) {
        amg_mpi_msgbuf_put_locked(message->msgbuf);
        return;
    }
    op->data = message->msgbuf->data;
    op->len = message->len;
    op->priv[AMG_CALL_PRIV_PTR] = (uint64_t)(uintptr_t)message->msgbuf;
    amg_mpi_op_end_locked(op, HG_SUCCESS);
}

void amg_mpi_msg_on_refuse_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_op *op = call_end_locked(domain, message);
    struct amg_mpi_refuse refuse;

    memcpy(&refuse, message->msgbuf->data, sizeof(refuse));
    amg_mpi_msgbuf_put_locked(message->msgbuf);
    if (op == NULL || op == &amg_call_cancelled)
        return;
    amg_mpi_op_end_locked(op, amg_call_refusal(refuse.code));
}

void amg_mpi_msg_drop_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep)
{
    amg_calls_drop_locked(&domain->calls, &ep->base);
    amg_calls_detach_locked(&domain->calls, &domain->sends, &ep->base);
    amg_calls_detach_locked(&domain->calls, &domain->deferred, &ep->base);
}

int amg_mpi_msg_pending_peer_locked(const struct amg_mpi_domain *domain)
{
    for (int rank = 0; rank < domain->comm.size; rank++)
        if (amg_calls_is_waiting_locked(
                &domain->calls, &domain->peers[rank].calls, (uint32_t)rank))
            return rank;
    return -1;
}
