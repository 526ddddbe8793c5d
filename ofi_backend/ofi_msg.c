/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, replies and their credits.
 *
 * A request that wants a reply stands in the table of calls from its post, and
 * the number of its place is the cookie that the reply brings back. When it is
 * cancelled its place stays taken, by nobody, until the late reply: that reply
 * returns the credit, because until then the target holds the request.
 *
 *     waiting (in flow) --credit--> asked (in calls) --reply--> done
 *          |                             |
 *          +------ cancel, or loss ------+--------------------> done
 *
 * A request to a context that is not open here is refused. A reply to a process
 * that is gone is not sent to the one that took its address. Each side has told
 * the other how many requests it holds of one peer, and counts them: what comes
 * beyond that is refused. */
#include "ofi_backend/ofi_msg.h"

#include <string.h>

#include "base/assert.h"
#include "ofi_backend/ofi_addr.h"
#include "ofi_backend/ofi_send.h"
#include "ofi_backend/ofi_slab.h"
#include "ofi_backend/ofi_wait.h"

/* Stands in the table for a call whose caller gave up. */
static struct amg_op call_cancelled;

hg_return_t amg_ofi_msg_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(ep->domain);
    struct amg_ofi_slab *slab = NULL;

    (void)peer;
    amg_bias_take(&domain->lock);
    slab = amg_ofi_slab_get_locked(domain);
    amg_bias_give(&domain->lock);
    if (slab == NULL)
        return HG_NOMEM;
    *ret_buf = &slab->buf;
    return HG_SUCCESS;
}

static void slab_put(struct amg_ofi_slab *slab)
{
    struct amg_ofi_domain *domain = slab->domain;

    amg_bias_take(&domain->lock);
    amg_ofi_slab_put_locked(slab);
    amg_bias_give(&domain->lock);
}

void amg_ofi_msg_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    (void)ep;
    slab_put(amg_ofi_slab_of_buf(buf));
}

/* Sends a request that has its credit. */
static void request_go_locked(struct amg_ofi_slab *slab)
{
    struct amg_op *op = slab->op;

    if (slab->wants_reply) {
        op->priv[AMG_OFI_PRIV_STATE] = AMG_OFI_OP_ASKED;
        op->priv[AMG_OFI_PRIV_PTR] = slab->header.cookie;
        slab->op = NULL;
    } else {
        op->priv[AMG_OFI_PRIV_STATE] = AMG_OFI_OP_LEAVING;
    }
    amg_ofi_send_locked(slab);
}

hg_return_t amg_ofi_msg_send_request(struct amg_ep *base, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op)
{
    struct amg_ofi_ep *ep = amg_ofi_ep_of(base);
    struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);
    struct amg_ofi_slab *slab = amg_ofi_slab_of_buf(buf);
    hg_return_t rc = HG_SUCCESS;

    if (len > buf->cap)
        return HG_MSGSIZE;
    amg_bias_take(&domain->lock);
    slab->header.cookie = 0;
    if (wants_reply)
        rc = amg_table_add(
            &domain->calls, op, peer->number, &slab->header.cookie);
    if (rc != HG_SUCCESS) {
        amg_bias_give(&domain->lock);
        return rc;
    }
    slab->op = op;
    slab->ep = ep;
    slab->wants_reply = wants_reply;
    amg_ofi_send_address(slab, peer, base->context_id, target_context,
        wants_reply ? AMG_OFI_REQUEST : AMG_OFI_ONEWAY, len);
    amg_ofi_op_set(op, AMG_OFI_OP_WAITING, slab, ep);
    if (amg_flow_take(&domain->flow, &peer->calls))
        request_go_locked(slab);
    else
        amg_flow_wait(&peer->calls, &slab->link);
    amg_ofi_wait_busy_locked(domain);
    amg_bias_give(&domain->lock);
    return HG_SUCCESS;
}

/* One request of the peer less is open: its credit goes back. */
static void request_close_locked(struct amg_peer *peer)
{
    peer->open -= peer->open > 0 ? 1 : 0;
}

hg_return_t amg_ofi_msg_send_reply(struct amg_ep *base,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    struct amg_ofi_ep *ep = amg_ofi_ep_of(base);
    struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);
    struct amg_ofi_slab *slab = amg_ofi_slab_of_buf(buf);
    struct amg_ofi_slab *asked = amg_ofi_slab_of_arrival(arrival);
    struct amg_peer *peer = arrival->from;

    if (!AMG_CONTRACT(!arrival->is_one_way))
        return HG_INVALID_ARG;
    if (len > buf->cap)
        return HG_MSGSIZE;
    amg_bias_take(&domain->lock);
    slab->op = op;
    slab->ep = ep;
    slab->header.cookie = (uint32_t)arrival->token;
    if (op != NULL)
        amg_ofi_op_set(op, AMG_OFI_OP_LEAVING, slab, ep);
    if (asked->epoch == peer->epoch) {
        request_close_locked(peer);
        amg_ofi_send_address(slab, peer, base->context_id,
            arrival->origin_context, AMG_OFI_REPLY, len);
        amg_ofi_send_locked(slab);
    } else {
        if (op != NULL)
            amg_ofi_op_end_locked(op, HG_HOSTUNREACH);
        amg_ofi_slab_put_locked(slab);
    }
    amg_ofi_wait_busy_locked(domain);
    amg_bias_give(&domain->lock);
    return HG_SUCCESS;
}

/* Notes one credit for the peer, and sends all when they are worth it. */
static void credit_owe_locked(struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = peer->domain;

    if (peer->state == AMG_OFI_PEER_OPEN &&
        amg_flow_owe(&domain->flow, &peer->calls) &&
        amg_list_is_empty(&peer->unsent)) /* or those take them along */
        (void)amg_ofi_send_control_locked(
            peer, 0, peer->context, AMG_OFI_CREDIT, 0, NULL, 0);
}

void amg_ofi_msg_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct amg_ofi_slab *slab = amg_ofi_slab_of_arrival(arrival);
    struct amg_ofi_domain *domain = slab->domain;

    (void)ep; /* it may be closed by now */
    amg_bias_take(&domain->lock);
    if (slab->has_credit && slab->epoch == slab->peer->epoch) {
        request_close_locked(slab->peer);
        credit_owe_locked(slab->peer);
        amg_ofi_wait_busy_locked(domain);
    }
    amg_ofi_slab_put_locked(slab);
    amg_bias_give(&domain->lock);
}

void amg_ofi_msg_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    (void)ep;
    if (op->data == NULL)
        return;
    op->data = NULL;
    slab_put(amg_ofi_op_ptr(op));
}

static void request_refuse_locked(struct amg_peer *peer, uint8_t context,
    uint32_t cookie, bool is_one_way, hg_return_t why)
{
    if (is_one_way)
        credit_owe_locked(peer);
    else
        amg_ofi_send_answer_locked(
            peer, 0, context, AMG_OFI_REFUSE, cookie, why);
}

/* A copy of the message, which outlives the buffer it came in. */
static struct amg_ofi_slab *slab_of_message_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    struct amg_ofi_slab *slab = amg_ofi_slab_get_locked(domain);

    if (slab == NULL)
        return NULL;
    memcpy(slab->data, message->body, message->len);
    slab->peer = amg_ofi_peer_hold(message->peer);
    slab->epoch = message->peer->epoch;
    return slab;
}

static void arrival_fill(
    struct amg_ofi_slab *slab, const struct amg_ofi_message *message)
{
    slab->arrival.from = slab->peer;
    slab->arrival.data = slab->data;
    slab->arrival.len = message->len;
    slab->arrival.origin_context = message->header->context;
    slab->arrival.token = message->header->cookie;
}

static void request_give_locked(struct amg_ofi_ep *ep,
    struct amg_ofi_slab *slab, const struct amg_ofi_message *message,
    bool is_one_way)
{
    arrival_fill(slab, message);
    slab->arrival.is_one_way = is_one_way;
    slab->arrival.is_late = false;
    slab->has_credit = is_one_way;
    slab->peer->open++;
    amg_list_push(&ep->arrived, &slab->arrival.link);
    amg_ofi_wait_ring_locked(ep);
}

/* The reply to a call that was cancelled, for whichever context polls next. */
static void late_give_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_slab *slab, const struct amg_ofi_message *message)
{
    arrival_fill(slab, message);
    slab->arrival.is_one_way = false;
    slab->arrival.is_late = true;
    slab->has_credit = false;
    amg_list_push(&domain->late, &slab->arrival.link);
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            amg_ofi_wait_ring_locked(domain->eps[i]);
}

static struct amg_ofi_ep *ep_at(
    const struct amg_ofi_domain *domain, uint8_t context)
{
    return context < domain->max_contexts ? domain->eps[context] : NULL;
}

void amg_ofi_msg_on_request_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    bool is_one_way =
        (message->header->kind & ~AMG_OFI_MAGIC_MASK) == AMG_OFI_ONEWAY;
    struct amg_ofi_ep *ep = ep_at(domain, message->header->target);
    struct amg_ofi_slab *slab = NULL;
    hg_return_t why = ep == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED;

    message->peer->context = message->header->context;
    if (!amg_flow_is_within(
            &domain->flow, &message->peer->calls, message->peer->open + 1)) {
        amg_ofi_peer_blame(message->peer, AMG_OFI_FAULT_ROOM,
            message->header->kind, (long)message->peer->open);
        why = HG_AGAIN;
    } else if (ep != NULL && domain->is_listening) {
        slab = slab_of_message_locked(domain, message);
        why = HG_NOMEM;
    }
    if (slab == NULL)
        request_refuse_locked(message->peer, message->header->context,
            message->header->cookie, is_one_way, why);
    else
        request_give_locked(ep, slab, message, is_one_way);
}

/* The operation that waits for this answer; NULL: none does. It may be
 * `call_cancelled`. */
static struct amg_op *call_end_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    uint32_t cookie = message->header->cookie;
    struct amg_table_place *place =
        amg_table_find(&domain->calls, cookie, message->peer->number);
    struct amg_op *op = place == NULL ? NULL : place->object;

    if (op == NULL || op->priv[AMG_OFI_PRIV_STATE] == AMG_OFI_OP_WAITING) {
        amg_ofi_peer_blame(
            message->peer, AMG_OFI_FAULT_ANSWER, AMG_OFI_REPLY, (long)cookie);
        return NULL; /* it was never asked */
    }
    amg_table_remove(&domain->calls, cookie);
    amg_ofi_msg_credit_locked(message->peer, 1);
    return op;
}

void amg_ofi_msg_on_reply_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    struct amg_op *op = call_end_locked(domain, message);
    struct amg_ofi_slab *slab = NULL;

    if (op == NULL)
        return;
    slab = slab_of_message_locked(domain, message);
    if (op == &call_cancelled) {
        if (slab != NULL)
            late_give_locked(domain, slab, message);
        return;
    }
    if (slab == NULL) {
        amg_ofi_op_end_locked(op, HG_NOMEM);
        return;
    }
    op->data = slab->data;
    op->len = message->len;
    op->priv[AMG_OFI_PRIV_PTR] = (uint64_t)(uintptr_t)slab;
    amg_ofi_op_end_locked(op, HG_SUCCESS);
}

void amg_ofi_msg_on_refuse_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    struct amg_op *op = call_end_locked(domain, message);
    struct amg_ofi_refuse refuse;

    memcpy(&refuse, message->body, sizeof(refuse));
    if (op == NULL || op == &call_cancelled)
        return;
    if (refuse.code == HG_SUCCESS || refuse.code >= HG_RETURN_MAX)
        refuse.code = HG_NA_ERROR;
    amg_ofi_op_end_locked(op, (hg_return_t)refuse.code);
}

void amg_ofi_msg_credit_locked(struct amg_peer *peer, uint16_t count)
{
    struct amg_link *link = NULL;

    if (!amg_flow_give(&peer->calls, count)) {
        amg_ofi_peer_blame(peer, AMG_OFI_FAULT_CREDITS, 0, count);
        return;
    }
    (void)amg_ofi_peer_hold(peer);
    while ((link = amg_flow_next(&peer->domain->flow, &peer->calls)) != NULL)
        request_go_locked(AMG_OBJECT(link, struct amg_ofi_slab, link));
    amg_ofi_peer_drop_locked(peer);
}

void amg_ofi_msg_flush_locked(struct amg_ofi_domain *domain)
{
    struct amg_flow_peer *owed = amg_flow_next_owing(&domain->flow);
    struct amg_peer *peer = NULL;

    if (owed == NULL)
        return;
    peer = AMG_OBJECT(owed, struct amg_peer, calls);
    if (!amg_ofi_send_control_locked(
            peer, 0, peer->context, AMG_OFI_CREDIT, 0, NULL, 0))
        amg_flow_owe_again(
            &domain->flow, owed, amg_flow_take_owed(owed, UINT16_MAX));
}

void amg_ofi_msg_cancel_locked(struct amg_ofi_domain *domain, struct amg_op *op)
{
    struct amg_ofi_slab *slab = NULL;

    switch (op->priv[AMG_OFI_PRIV_STATE]) {
    case AMG_OFI_OP_WAITING:
        slab = amg_ofi_op_ptr(op);
        amg_flow_unwait(&slab->peer->calls, &slab->link);
        if (slab->wants_reply)
            amg_table_remove(&domain->calls, slab->header.cookie);
        amg_ofi_slab_put_locked(slab);
        break;
    case AMG_OFI_OP_ASKED:
        amg_table_at(&domain->calls, (uint32_t)op->priv[AMG_OFI_PRIV_PTR])
            ->object = &call_cancelled;
        break;
    case AMG_OFI_OP_LEAVING:
        slab = amg_ofi_op_ptr(op);
        slab->op = NULL;
        break;
    default:
        return;
    }
    amg_ofi_op_end_locked(op, HG_CANCELED);
}

/* The requests of `ep` that wait for a credit of `peer`. */
static void waiting_drop_locked(
    struct amg_peer *peer, const struct amg_ofi_ep *ep)
{
    struct amg_list kept;
    struct amg_link *link = NULL;

    amg_list_init(&kept);
    while ((link = amg_flow_evict(&peer->calls)) != NULL)
        amg_list_push(&kept, link);
    while ((link = amg_list_pop(&kept)) != NULL) {
        struct amg_ofi_slab *slab = AMG_OBJECT(link, struct amg_ofi_slab, link);

        amg_flow_wait(&peer->calls, link);
        if (slab->ep == ep)
            amg_ofi_msg_cancel_locked(peer->domain, slab->op);
    }
}

void amg_ofi_msg_drop_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_ep *ep)
{
    struct amg_link *link = amg_list_first(&domain->peers);

    while (link != NULL) {
        struct amg_peer *peer =
            amg_ofi_peer_hold(AMG_OBJECT(link, struct amg_peer, all));

        waiting_drop_locked(peer, ep);
        link = amg_list_next(&domain->peers, link);
        amg_ofi_peer_drop_locked(peer);
    }
    for (uint32_t i = 0; i < domain->calls.cap; i++) {
        struct amg_op *op = domain->calls.places[i].object;

        if (op != NULL && op != &call_cancelled && amg_ofi_op_ep(op) == ep)
            amg_ofi_msg_cancel_locked(domain, op);
    }
    amg_ofi_send_detach_locked(domain, ep);
}

void amg_ofi_msg_lost_locked(struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = peer->domain;
    struct amg_link *link = NULL;

    while ((link = amg_flow_evict(&peer->calls)) != NULL ||
           (link = amg_list_pop(&peer->unsent)) != NULL) {
        struct amg_ofi_slab *slab = AMG_OBJECT(link, struct amg_ofi_slab, link);

        if (slab->op != NULL && slab->wants_reply)
            amg_table_remove(&domain->calls, slab->header.cookie);
        if (slab->op != NULL)
            amg_ofi_op_end_locked(slab->op, HG_HOSTUNREACH);
        amg_ofi_slab_put_locked(slab);
    }
    for (uint32_t i = 0; i < domain->calls.cap; i++) {
        struct amg_table_place *place = &domain->calls.places[i];
        struct amg_op *op = place->object;

        if (op == NULL || place->owner_or_next != peer->number)
            continue;
        amg_table_remove(
            &domain->calls, i | (place->generation << AMG_TABLE_INDEX_BITS));
        if (op != &call_cancelled)
            amg_ofi_op_end_locked(op, HG_HOSTUNREACH);
    }
    amg_ofi_send_lost_locked(peer);
    amg_flow_forget(&domain->flow, &peer->calls);
    peer->calls.unanswered = 0;
}

void amg_ofi_msg_refuse_all_locked(struct amg_ofi_ep *ep)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&ep->arrived)) != NULL) {
        struct amg_ofi_slab *slab =
            AMG_OBJECT(link, struct amg_ofi_slab, arrival.link);
        const struct amg_arrival *arrival = &slab->arrival;

        if (slab->epoch == slab->peer->epoch) {
            request_close_locked(slab->peer);
            request_refuse_locked(slab->peer, arrival->origin_context,
                (uint32_t)arrival->token, arrival->is_one_way, HG_NOENTRY);
        }
        amg_ofi_slab_put_locked(slab);
    }
}
