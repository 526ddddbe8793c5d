/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, replies and their credits.
 *
 * A request that wants a reply stands in the table of calls from its post, and
 * the number of its place is the cookie that the reply brings back. When it is
 * cancelled its place stays taken, by nobody, until the late reply: that reply
 * returns the credit, because until then the target holds the request. It is
 * given out as an arrival, by whichever context polls next, so that its sender
 * can be told that it is read.
 *
 *     waiting (in flow) --credit--> asked (in calls) --reply--> done
 *          |                             |
 *          +----------- cancel ----------+--------------------> done
 *
 * A request to a context that is not open here is refused, in its own slab.
 * So is each that comes after this process began to close; its origin then
 * ends it as canceled instead of waiting. */
#include "mpi_backend/mpi_msg.h"

#include <string.h>

#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_slab.h"

/* Stands in the table for a call whose caller gave up. */
static struct amg_op call_cancelled;

hg_return_t amg_mpi_msg_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct amg_mpi_slab *slab = amg_mpi_slab_get(amg_mpi_domain_of(ep->domain));

    (void)peer;
    if (slab == NULL)
        return HG_NOMEM;
    *ret_buf = &slab->buf;
    return HG_SUCCESS;
}

void amg_mpi_msg_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    (void)ep;
    amg_mpi_slab_put(amg_mpi_slab_of_buf(buf));
}

/* Sends a request that has its credit. */
static hg_return_t request_go_locked(struct amg_mpi_slab *slab)
{
    struct amg_op *op = slab->op;

    if (slab->wants_reply) {
        op->priv[AMG_MPI_PRIV_STATE] = AMG_MPI_OP_ASKED;
        op->priv[AMG_MPI_PRIV_PTR] = slab->header.cookie;
        slab->op = NULL;
    } else {
        op->priv[AMG_MPI_PRIV_STATE] = AMG_MPI_OP_LEAVING;
    }
    return amg_mpi_send_locked(slab);
}

/* A request ends without having left; its slab stays the caller's. */
static void request_undo_locked(struct amg_mpi_slab *slab)
{
    if (slab->wants_reply)
        amg_table_remove(&slab->domain->calls, slab->header.cookie);
}

static hg_return_t request_post_locked(struct amg_mpi_slab *slab)
{
    struct amg_mpi_domain *domain = slab->domain;
    struct amg_mpi_peer *peer = &domain->peers[slab->rank];
    hg_return_t rc = HG_SUCCESS;

    slab->header.cookie = 0;
    if (slab->wants_reply)
        rc = amg_table_add(&domain->calls, slab->op, (uint32_t)slab->rank,
            &slab->header.cookie);
    if (rc != HG_SUCCESS)
        return rc;
    if (!amg_flow_take(&domain->flow, &peer->calls)) {
        amg_flow_wait(&peer->calls, &slab->link);
        return HG_SUCCESS;
    }
    rc = request_go_locked(slab);
    if (rc != HG_SUCCESS) {
        (void)amg_flow_give(&peer->calls, 1);
        request_undo_locked(slab);
    }
    return rc;
}

hg_return_t amg_mpi_msg_send_request(struct amg_ep *base, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op)
{
    struct amg_mpi_ep *ep = amg_mpi_ep_of(base);
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    struct amg_mpi_slab *slab = amg_mpi_slab_of_buf(buf);
    hg_return_t rc = amg_mpi_send_check(domain);

    if (rc != HG_SUCCESS)
        return rc;
    if (len > buf->cap)
        return HG_MSGSIZE;
    slab->op = op;
    slab->ep = ep;
    slab->wants_reply = wants_reply;
    slab->header.context = ep->base.context_id;
    amg_mpi_send_address(slab, amg_mpi_rank_of(domain, peer), target_context,
        wants_reply ? AMG_MPI_REQUEST : AMG_MPI_ONEWAY, len);
    amg_bias_take(domain->lock);
    /* Under the lock: a cancel may come before the post, and finds it done. */
    op->data = NULL;
    op->len = 0;
    amg_mpi_op_set(op, AMG_MPI_OP_WAITING, slab, ep);
    rc = request_post_locked(slab);
    if (rc != HG_SUCCESS)
        op->priv[AMG_MPI_PRIV_STATE] = AMG_MPI_OP_DONE;
    amg_bias_give(domain->lock);
    return rc;
}

hg_return_t amg_mpi_msg_send_reply(struct amg_ep *base,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    struct amg_mpi_ep *ep = amg_mpi_ep_of(base);
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    struct amg_mpi_slab *slab = amg_mpi_slab_of_buf(buf);
    hg_return_t rc = amg_mpi_send_check(domain);

    if (rc != HG_SUCCESS)
        return rc;
    if (len > buf->cap)
        return HG_MSGSIZE;
    slab->op = op;
    slab->ep = ep;
    slab->header.context = ep->base.context_id;
    slab->header.cookie = (uint32_t)arrival->token;
    amg_mpi_send_address(slab, amg_mpi_rank_of(domain, arrival->from),
        arrival->origin_context, AMG_MPI_REPLY, len);
    amg_bias_take(domain->lock);
    if (op != NULL) {
        op->data = NULL;
        op->len = 0;
        amg_mpi_op_set(op, AMG_MPI_OP_LEAVING, slab, ep);
    }
    rc = amg_mpi_send_locked(slab);
    if (rc != HG_SUCCESS && op != NULL)
        op->priv[AMG_MPI_PRIV_STATE] = AMG_MPI_OP_DONE;
    amg_bias_give(domain->lock);
    return rc;
}

/* Notes one credit for `rank`, and sends all when they are worth it. */
static void credit_owe_locked(
    struct amg_mpi_slab *slab, uint32_t rank, uint8_t context)
{
    struct amg_mpi_domain *domain = slab->domain;

    if (amg_flow_owe(&domain->flow, &domain->peers[rank].calls) &&
        !domain->is_dead)
        amg_mpi_send_control_locked(slab, rank, context, AMG_MPI_CREDIT, 0, 0);
    else
        amg_mpi_slab_put_locked(slab);
}

void amg_mpi_msg_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct amg_mpi_slab *slab = amg_mpi_slab_of_arrival(arrival);
    struct amg_mpi_domain *domain = slab->domain;

    (void)ep; /* may be closed already */
    if (!arrival->is_one_way) {
        amg_mpi_slab_put(slab);
        return;
    }
    amg_bias_take(domain->lock);
    credit_owe_locked(
        slab, amg_mpi_rank_of(domain, arrival->from), arrival->origin_context);
    amg_bias_give(domain->lock);
}

void amg_mpi_msg_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    (void)ep; /* may be closed already */
    if (op->data == NULL)
        return;
    op->data = NULL;
    amg_mpi_slab_put(amg_mpi_op_ptr(op));
}

static void request_refuse_locked(
    struct amg_mpi_slab *slab, uint32_t rank, bool is_one_way, hg_return_t code)
{
    uint8_t context = slab->header.context;
    struct amg_mpi_refuse refuse = {(uint32_t)code};

    if (is_one_way) {
        credit_owe_locked(slab, rank, context);
        return;
    }
    memcpy(slab->data, &refuse, sizeof(refuse));
    amg_mpi_send_control_locked(slab, rank, context, AMG_MPI_REFUSE,
        slab->header.cookie, sizeof(refuse));
}

void amg_mpi_msg_refuse_locked(
    struct amg_mpi_domain *domain, struct amg_arrival *arrival)
{
    request_refuse_locked(amg_mpi_slab_of_arrival(arrival),
        amg_mpi_rank_of(domain, arrival->from), arrival->is_one_way,
        HG_CANCELED);
}

static void arrival_give_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message, struct amg_list *list,
    bool is_one_way)
{
    struct amg_mpi_slab *slab = message->slab;

    slab->arrival.from = amg_mpi_peer_at(domain, message->rank);
    slab->arrival.data = slab->data;
    slab->arrival.len = message->len;
    slab->arrival.origin_context = slab->header.context;
    slab->arrival.is_one_way = is_one_way;
    slab->arrival.is_late = list == &domain->late;
    slab->arrival.token = slab->header.cookie;
    amg_list_push(list, &slab->arrival.link);
}

void amg_mpi_msg_on_request_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_slab *slab = message->slab;
    bool is_one_way =
        (slab->header.kind & ~AMG_MPI_MAGIC_MASK) == AMG_MPI_ONEWAY;

    domain->peers[message->rank].context = slab->header.context;
    if (message->ep != NULL && domain->is_listening)
        arrival_give_locked(domain, message, &message->ep->arrived, is_one_way);
    else
        request_refuse_locked(slab, message->rank, is_one_way,
            domain->end.has_said_bye ? HG_CANCELED
            : message->ep == NULL    ? HG_NOENTRY
                                     : HG_OPNOTSUPPORTED);
}

/* The operation that waits for this answer; NULL: none does. It may be
 * `call_cancelled`. */
static struct amg_op *call_end_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    uint32_t cookie = message->slab->header.cookie;
    struct amg_table_place *place =
        amg_table_find(&domain->calls, cookie, message->rank);
    struct amg_op *op = NULL;

    if (place == NULL) {
        amg_mpi_addr_blame(domain, message->rank, AMG_MPI_FAULT_ANSWER,
            AMG_MPI_REPLY, (long)cookie);
        return NULL;
    }
    op = place->object;
    if (op->priv[AMG_MPI_PRIV_STATE] == AMG_MPI_OP_WAITING) {
        amg_mpi_addr_blame(domain, message->rank, AMG_MPI_FAULT_ANSWER,
            AMG_MPI_REPLY, (long)cookie);
        return NULL; /* it was never asked */
    }
    amg_table_remove(&domain->calls, cookie);
    amg_mpi_msg_credit_locked(domain, message->rank, 1);
    return op;
}

static struct amg_mpi_ep *ep_of_op(const struct amg_op *op)
{
    return (struct amg_mpi_ep *)(uintptr_t)op->priv[AMG_MPI_PRIV_EP];
}

void amg_mpi_msg_on_reply_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_op *op = call_end_locked(domain, message);

    if (op == &call_cancelled) {
        arrival_give_locked(domain, message, &domain->late, false);
        return;
    }
    if (op == NULL) {
        amg_mpi_slab_put_locked(message->slab);
        return;
    }
    op->data = message->slab->data;
    op->len = message->len;
    op->priv[AMG_MPI_PRIV_PTR] = (uint64_t)(uintptr_t)message->slab;
    amg_mpi_op_end_locked(ep_of_op(op), op, HG_SUCCESS);
}

void amg_mpi_msg_on_refuse_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_op *op = call_end_locked(domain, message);
    struct amg_mpi_refuse refuse;

    memcpy(&refuse, message->slab->data, sizeof(refuse));
    amg_mpi_slab_put_locked(message->slab);
    if (op == NULL || op == &call_cancelled)
        return;
    if (refuse.code == HG_SUCCESS || refuse.code >= HG_RETURN_MAX)
        refuse.code = HG_NA_ERROR;
    amg_mpi_op_end_locked(ep_of_op(op), op, (hg_return_t)refuse.code);
}

void amg_mpi_msg_credit_locked(
    struct amg_mpi_domain *domain, uint32_t rank, uint16_t count)
{
    struct amg_flow_peer *calls = &domain->peers[rank].calls;
    struct amg_link *link = NULL;

    if (!amg_flow_give(calls, count)) {
        amg_mpi_addr_blame(domain, rank, AMG_MPI_FAULT_CREDITS, 0, count);
        return;
    }
    while ((link = amg_flow_next(&domain->flow, calls)) != NULL) {
        struct amg_mpi_slab *slab = AMG_OBJECT(link, struct amg_mpi_slab, link);
        struct amg_op *op = slab->op;
        hg_return_t rc = request_go_locked(slab);

        if (rc == HG_SUCCESS)
            continue;
        (void)amg_flow_give(calls, 1);
        request_undo_locked(slab);
        amg_mpi_op_end_locked(slab->ep, op, rc);
        amg_mpi_slab_put_locked(slab);
    }
}

void amg_mpi_msg_lost_locked(struct amg_mpi_slab *slab, hg_return_t ret)
{
    struct amg_mpi_domain *domain = slab->domain;
    unsigned kind = slab->header.kind & ~(unsigned)AMG_MPI_MAGIC_MASK;
    uint32_t rank = (uint32_t)slab->rank;

    if (kind == AMG_MPI_REQUEST) {
        struct amg_table_place *place =
            amg_table_find(&domain->calls, slab->header.cookie, rank);
        struct amg_op *op = place == NULL ? NULL : place->object;

        if (op == NULL)
            return;
        amg_table_remove(&domain->calls, slab->header.cookie);
        if (op != &call_cancelled)
            amg_mpi_op_end_locked(ep_of_op(op), op, ret);
    } else if (kind != AMG_MPI_ONEWAY) {
        return;
    }
    amg_mpi_msg_credit_locked(domain, rank, 1);
}

void amg_mpi_msg_flush_locked(struct amg_mpi_domain *domain)
{
    struct amg_flow_peer *owed = amg_flow_next_owing(&domain->flow);
    struct amg_mpi_peer *peer = NULL;
    struct amg_mpi_slab *slab = NULL;

    if (owed == NULL)
        return;
    slab = amg_mpi_slab_get_locked(domain);
    if (slab == NULL) {
        amg_flow_owe_again(
            &domain->flow, owed, amg_flow_take_owed(owed, UINT16_MAX));
        return;
    }
    peer = AMG_OBJECT(owed, struct amg_mpi_peer, calls);
    amg_mpi_send_control_locked(slab, (uint32_t)(peer - domain->peers),
        peer->context, AMG_MPI_CREDIT, 0, 0);
}

void amg_mpi_msg_cancel_locked(struct amg_mpi_domain *domain, struct amg_op *op)
{
    struct amg_mpi_slab *slab = NULL;

    switch (op->priv[AMG_MPI_PRIV_STATE]) {
    case AMG_MPI_OP_WAITING:
        slab = amg_mpi_op_ptr(op);
        amg_flow_unwait(&domain->peers[slab->rank].calls, &slab->link);
        request_undo_locked(slab);
        amg_mpi_slab_put_locked(slab);
        break;
    case AMG_MPI_OP_ASKED:
        amg_table_at(&domain->calls, (uint32_t)op->priv[AMG_MPI_PRIV_PTR])
            ->object = &call_cancelled;
        break;
    case AMG_MPI_OP_LEAVING:
        slab = amg_mpi_op_ptr(op);
        slab->op = NULL;
        break;
    default:
        return;
    }
    amg_mpi_op_end_locked(ep_of_op(op), op, HG_CANCELED);
}

/* The requests of `ep` that wait for a credit of `peer`. */
static void waiting_drop_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_peer *peer, const struct amg_mpi_ep *ep)
{
    struct amg_list kept;
    struct amg_link *link = NULL;

    amg_list_init(&kept);
    while ((link = amg_flow_evict(&peer->calls)) != NULL)
        amg_list_push(&kept, link);
    while ((link = amg_list_pop(&kept)) != NULL) {
        struct amg_mpi_slab *slab = AMG_OBJECT(link, struct amg_mpi_slab, link);

        amg_flow_wait(&peer->calls, link);
        if (slab->ep == ep)
            amg_mpi_msg_cancel_locked(domain, slab->op);
    }
}

void amg_mpi_msg_drop_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep)
{
    for (int rank = 0; rank < domain->comm.size; rank++)
        waiting_drop_locked(domain, &domain->peers[rank], ep);
    for (uint32_t i = 0; i < domain->calls.cap; i++) {
        struct amg_op *op = domain->calls.places[i].object;

        if (op != NULL && op != &call_cancelled && ep_of_op(op) == ep)
            amg_mpi_msg_cancel_locked(domain, op);
    }
    amg_mpi_send_detach_locked(domain, ep);
}

/* Calls to `rank` that their caller has given up. */
static unsigned cancelled_count(
    const struct amg_mpi_domain *domain, uint32_t rank)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < domain->calls.cap; i++) {
        const struct amg_table_place *place = &domain->calls.places[i];

        count +=
            place->object == &call_cancelled && place->owner_or_next == rank;
    }
    return count;
}

int amg_mpi_msg_debtor_locked(const struct amg_mpi_domain *domain)
{
    for (int rank = 0; rank < domain->comm.size; rank++) {
        const struct amg_flow_peer *calls = &domain->peers[rank].calls;

        if (calls->waiting != NULL)
            return rank;
        if (calls->unanswered > 0 &&
            calls->unanswered > cancelled_count(domain, (uint32_t)rank))
            return rank;
    }
    return -1;
}
