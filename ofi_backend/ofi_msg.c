/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, replies and refusals, for the call engine.
 *
 * The driver refuses a request to a context that is not open here. A reply for
 * a process that is gone is not sent to a new process at its address. Each
 * process announces how many requests of one peer it takes at once, and refuses
 * further requests.
 *
 * A list per peer has the calls that wait for an answer, so that the loss of a
 * peer ends its calls without a search among all calls.
 *
 * Long requests and replies, of up to 64 KiB, have longer msgbufs. The receiver
 * copies a long message like any other, which takes memory; so the receiver
 * announces how many long requests of a peer it takes at once. A long request
 * counts at the origin from amg_ofi_msg_get_long_buf() to its answer, or if
 * one-way, until the peer has returned all credits. Beyond the limit the origin
 * gets no long buffer, and the target pulls the arguments. Long replies need no
 * limit: each answers a call of the receiver. */
#include "ofi_backend/ofi_msg.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_peer.h"

static struct amg_ofi_msgbuf *msgbuf_of_post(struct amg_post *post)
{
    return amg_container_of(post, struct amg_ofi_msgbuf, post);
}

/* Adds a call, about to be sent, to the list of its peer. False: no memory. */
static bool call_push_locked(
    struct amg_peer *peer, uint32_t cookie, bool is_long)
{
    struct amg_ofi_domain *domain = peer->domain;
    struct amg_ofi_call_link *links = domain->call_links.all;
    uint32_t index = cookie & AMG_TABLE_INDEX_MASK;
    uint32_t cap = domain->calls.table.cap;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->call_links.cap < cap) {
        links = amg_mem_realloc(links, cap * sizeof(*links));
        if (links == NULL)
            return false;
        domain->call_links.all = links;
        domain->call_links.cap = cap;
    }
    links[index] = (struct amg_ofi_call_link){
        .next = peer->requests.asked, .is_long = is_long};
    if (peer->requests.asked != 0)
        links[peer->requests.asked - 1].prev = index + 1;
    peer->requests.asked = index + 1;
    return true;
}

static void call_remove_locked(struct amg_peer *peer, uint32_t cookie)
{
    struct amg_ofi_call_link *links = peer->domain->call_links.all;
    uint32_t index = cookie & AMG_TABLE_INDEX_MASK;
    struct amg_ofi_call_link link = links[index];

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(peer->requests.asked != 0);
    peer->requests.longs -= link.is_long;
    if (link.next != 0)
        links[link.next - 1].prev = link.prev;
    if (link.prev != 0)
        links[link.prev - 1].next = link.next;
    else
        peer->requests.asked = link.next;
}

static hg_return_t request_send_locked(
    struct amg_calls *calls, struct amg_post *post)
{
    struct amg_ofi_msgbuf *msgbuf = msgbuf_of_post(post);

    (void)calls;
    AMG_ASSERT_HELD_BIAS(&msgbuf->domain->lock);
    if (!post->wants_reply)
        msgbuf->peer->requests.long_oneways += msgbuf->is_counted;
    else if (!call_push_locked(msgbuf->peer, post->cookie, msgbuf->is_counted))
        return HG_NOMEM;
    msgbuf->is_counted = false; /* the call counts instead */
    msgbuf->header.cookie = post->cookie;
    amg_ofi_send_locked(msgbuf);
    return HG_SUCCESS;
}

static void request_put_locked(struct amg_calls *calls, struct amg_post *post)
{
    (void)calls;
    AMG_ASSERT_HELD_BIAS(&msgbuf_of_post(post)->domain->lock);
    amg_ofi_msgbuf_put_locked(msgbuf_of_post(post));
}

static bool credits_pay_locked(
    struct amg_calls *calls, struct amg_flow_peer *owed)
{
    struct amg_peer *peer = amg_container_of(owed, struct amg_peer, calls);
    struct amg_ofi_header header = {
        .kind = AMG_OFI_CREDIT, .target = peer->requests.context};

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->state != AMG_OFI_PEER_OPEN)
        return true; /* nothing is owed to a lost peer */
    header.cookie = amg_calls_note_locked(calls, owed);
    if (amg_ofi_send_control_locked(peer, header, NULL, 0))
        return true;
    amg_flow_note_again(owed, header.cookie);
    return false;
}

static void peer_name(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, char ret_text[AMG_PEER_NAME_CAP])
{
    (void)calls;
    (void)amg_ofi_peer_name(
        amg_container_of(peer, struct amg_peer, calls), ret_text);
}

const struct amg_calls_ops amg_ofi_calls_ops = {
    .send = request_send_locked,
    .put = request_put_locked,
    .end = amg_ofi_op_end_locked,
    .pay = credits_pay_locked,
    .source = "ofi",
    .name = peer_name,
};

hg_return_t amg_ofi_msg_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(ep->domain);
    struct amg_ofi_msgbuf *msgbuf = NULL;

    (void)peer;
    amg_bias_lock(&domain->lock);
    msgbuf = amg_ofi_msgbuf_get_locked(domain, false);
    amg_bias_unlock(&domain->lock);
    if (msgbuf == NULL)
        return HG_NOMEM;
    *ret_buf = &msgbuf->buf;
    return HG_SUCCESS;
}

/* May a long request go to the peer? Frees places of ended one-way calls. */
static bool long_is_allowed_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->requests.long_oneways > 0 && peer->calls.unanswered == 0) {
        peer->requests.longs -= peer->requests.long_oneways;
        peer->requests.long_oneways = 0;
    }
    return peer->state == AMG_OFI_PEER_OPEN &&
           peer->requests.longs < peer->requests.long_limit;
}

hg_return_t amg_ofi_msg_get_long_buf(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(ep->domain);
    struct amg_ofi_msgbuf *msgbuf = NULL;

    if (domain->long_limit == 0 ||
        len > AMG_OFI_LONG_LEN - sizeof(struct amg_ofi_header))
        return HG_MSGSIZE;
    amg_bias_lock(&domain->lock);
    if (long_is_allowed_locked(peer))
        msgbuf = amg_ofi_msgbuf_get_locked(domain, true);
    if (msgbuf != NULL) {
        msgbuf->peer = amg_ofi_peer_ref(peer);
        msgbuf->is_counted = true;
        peer->requests.longs++;
    }
    amg_bias_unlock(&domain->lock);
    if (msgbuf == NULL)
        return HG_AGAIN;
    *ret_buf = &msgbuf->buf;
    return HG_SUCCESS;
}

/* NOTE(msgbuf->domain): the endpoint may be closed by now. */
static void msgbuf_put(struct amg_ofi_msgbuf *msgbuf)
{
    struct amg_ofi_domain *domain = msgbuf->domain;

    amg_bias_lock(&domain->lock);
    amg_ofi_msgbuf_end_locked(msgbuf);
    amg_bias_unlock(&domain->lock);
}

void amg_ofi_msg_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    (void)ep;
    msgbuf_put(amg_ofi_msgbuf_of_buf(buf));
}

hg_return_t amg_ofi_msg_send_request(struct amg_ep *base, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base->domain);
    struct amg_ofi_msgbuf *msgbuf = amg_ofi_msgbuf_of_buf(buf);
    struct amg_peer *peer = to.peer;
    hg_return_t rc = HG_SUCCESS;

    if (len > buf->cap)
        return HG_MSGSIZE;
    amg_bias_lock(&domain->lock);
    msgbuf->post.op = op;
    msgbuf->post.ep = base;
    msgbuf->post.peer = &peer->calls;
    msgbuf->post.wants_reply = wants_reply;
    amg_ofi_send_address_locked(msgbuf, peer, base->context_id, to.context_id,
        wants_reply ? AMG_OFI_REQUEST : AMG_OFI_ONEWAY, len);
    rc = amg_calls_post_locked(
        &domain->calls, &msgbuf->post, peer->number, request_send_locked);
    amg_ofi_wait_shorten_locked(domain);
    amg_bias_unlock(&domain->lock);
    return rc;
}

hg_return_t amg_ofi_msg_send_ack(struct amg_ep *base, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base->domain);
    struct amg_ofi_msgbuf *msgbuf = NULL;

    AMG_ASSERT(len <= AMG_NOW_LEN && op != NULL);
    amg_bias_lock(&domain->lock);
    msgbuf = amg_ofi_msgbuf_get_locked(domain, false);
    if (msgbuf != NULL) {
        memcpy(msgbuf->buf.data, bytes, len);
        msgbuf->post.op = op;
        msgbuf->post.ep = base;
        msgbuf->header.cookie = AMG_TOKEN_ACK;
        amg_call_begin(op, base);
        amg_call_set(op, AMG_CALL_LEAVING, &msgbuf->post, base);
        amg_ofi_send_address_locked(msgbuf, to.peer, base->context_id,
            to.context_id, AMG_OFI_ONEWAY, len);
        amg_ofi_send_locked(msgbuf);
        amg_ofi_wait_shorten_locked(domain);
    }
    amg_bias_unlock(&domain->lock);
    return msgbuf != NULL ? HG_SUCCESS : HG_NOMEM;
}

/* A request that came in the msgbuf is answered or released: the request no
 * longer counts as open. */
static void request_close_locked(const struct amg_ofi_msgbuf *msgbuf)
{
    struct amg_peer *peer = msgbuf->peer;

    AMG_ASSERT_HELD_BIAS(&msgbuf->domain->lock);
    peer->requests.open -= peer->requests.open > 0 ? 1 : 0;
    if (msgbuf->is_long)
        peer->requests.open_longs -= peer->requests.open_longs > 0 ? 1 : 0;
}

hg_return_t amg_ofi_msg_send_reply(struct amg_ep *base,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base->domain);
    struct amg_ofi_msgbuf *msgbuf = amg_ofi_msgbuf_of_buf(buf);
    struct amg_ofi_msgbuf *asked = amg_ofi_msgbuf_of_arrival(arrival);
    struct amg_peer *peer = arrival->from;

    if (!AMG_CONTRACT_OF("HG_Respond", !arrival->is_one_way,
            "the call was sent without a response"))
        return HG_INVALID_ARG;
    if (len > buf->cap)
        return HG_MSGSIZE;
    amg_bias_lock(&domain->lock);
    if (msgbuf->is_counted) /* a reply takes no place of a long request */
        amg_ofi_msgbuf_uncount_locked(msgbuf);
    msgbuf->post.op = op;
    msgbuf->post.ep = base;
    msgbuf->header.cookie = (uint32_t)arrival->token;
    if (op != NULL) {
        amg_call_begin(op, base);
        amg_call_set(op, AMG_CALL_LEAVING, &msgbuf->post, base);
    }
    if (asked->epoch == peer->conn.epoch) {
        request_close_locked(asked);
        amg_ofi_send_address_locked(msgbuf, peer, base->context_id,
            arrival->origin_context, AMG_OFI_REPLY, len);
        amg_ofi_send_locked(msgbuf);
    } else {
        if (op != NULL)
            amg_ofi_op_end_locked(op, HG_HOSTUNREACH);
        amg_ofi_msgbuf_put_locked(msgbuf);
    }
    amg_ofi_wait_shorten_locked(domain);
    amg_bias_unlock(&domain->lock);
    return HG_SUCCESS;
}

/* Owes the peer one credit more; sends the credits if there are enough. */
static void credit_owe_locked(struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (peer->state != AMG_OFI_PEER_OPEN)
        return;
    if (amg_list_is_empty(&peer->unsent) && peer->packed.kept == NULL)
        (void)amg_calls_owe_locked(&domain->calls, &peer->calls);
    else /* the waiting messages carry the credits */
        (void)amg_flow_owe(&domain->calls.flow, &peer->calls);
}

void amg_ofi_msg_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct amg_ofi_msgbuf *msgbuf = amg_ofi_msgbuf_of_arrival(arrival);
    struct amg_ofi_domain *domain = msgbuf->domain;

    (void)ep; /* the endpoint may be closed by now */
    amg_bias_lock(&domain->lock);
    if (amg_arrival_has_credit(arrival) &&
        msgbuf->epoch == msgbuf->peer->conn.epoch) {
        request_close_locked(msgbuf);
        credit_owe_locked(msgbuf->peer);
        amg_ofi_wait_shorten_locked(domain);
    }
    amg_ofi_msgbuf_end_locked(msgbuf);
    amg_bias_unlock(&domain->lock);
}

void amg_ofi_msg_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    (void)ep;
    if (op->data == NULL)
        return;
    op->data = NULL;
    msgbuf_put(amg_call_ptr(op));
}

static void request_refuse_locked(struct amg_peer *peer, uint8_t context,
    uint32_t cookie, bool is_one_way, hg_return_t why)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (!is_one_way) {
        amg_ofi_send_answer_locked(
            peer, 0, context, AMG_OFI_REFUSE, cookie, why);
        return;
    }
    if (why != HG_AGAIN) /* amg_ofi_msg_on_request_locked() logged the limit */
        amg_ofi_peer_violation(
            peer, AMG_VIOLATION_DROPPED, AMG_OFI_ONEWAY, context);
    credit_owe_locked(peer);
}

static bool message_is_long(const struct amg_ofi_message *message)
{
    return message->len >
           message->domain->message_max - sizeof(*message->header);
}

struct amg_ofi_msgbuf *amg_ofi_msg_copy_locked(
    const struct amg_ofi_message *message)
{
    struct amg_ofi_msgbuf *msgbuf =
        amg_ofi_msgbuf_get_locked(message->domain, message_is_long(message));

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (msgbuf == NULL)
        return NULL;
    memcpy(msgbuf->data, message->body, message->len);
    msgbuf->peer = amg_ofi_peer_ref(message->peer);
    msgbuf->epoch = message->peer->conn.epoch;
    return msgbuf;
}

/* The copy of the PACK that has the message, or a new copy of the message. */
static struct amg_ofi_msgbuf *msgbuf_of_message_locked(
    const struct amg_ofi_message *message)
{
    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (message->whole == NULL)
        return amg_ofi_msg_copy_locked(message);
    amg_pack_share(&message->whole->others);
    return message->whole;
}

static void *data_of(
    struct amg_ofi_msgbuf *msgbuf, const struct amg_ofi_message *message)
{
    return message->whole == NULL
               ? msgbuf->data
               : msgbuf->data + (message->body - msgbuf->data);
}

static struct amg_arrival *arrival_fill(struct amg_ofi_msgbuf *msgbuf,
    const struct amg_ofi_message *message, bool is_one_way, bool is_late)
{
    struct amg_pack_arrival *arrival =
        message->whole == NULL ? &msgbuf->arrival : message->arrival;

    *arrival = (struct amg_pack_arrival){
        .arrival = {.from = msgbuf->peer,
            .data = data_of(msgbuf, message),
            .len = message->len,
            .origin_context = message->header->context,
            .is_one_way = is_one_way,
            .is_late = is_late,
            .token = message->header->cookie},
        .whole = msgbuf,
    };
    return &arrival->arrival;
}

static void request_give_locked(struct amg_ofi_ep *ep,
    struct amg_ofi_msgbuf *msgbuf, const struct amg_ofi_message *message,
    bool is_one_way)
{
    struct amg_arrival *arrival =
        arrival_fill(msgbuf, message, is_one_way, false);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    msgbuf->peer->requests.open +=
        !is_one_way || amg_arrival_has_credit(arrival);
    msgbuf->peer->requests.open_longs += msgbuf->is_long;
    amg_list_push(&ep->arrived, &arrival->link);
    amg_ofi_wait_wake_locked(ep);
}

/* Gives the late reply of a cancelled call to the context that polls next. */
static void late_give_locked(
    struct amg_ofi_msgbuf *msgbuf, const struct amg_ofi_message *message)
{
    struct amg_ofi_domain *domain = message->domain;
    struct amg_arrival *arrival = arrival_fill(msgbuf, message, false, true);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_list_push(&domain->calls.late, &arrival->link);
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            amg_ofi_wait_wake_locked(domain->eps[i]);
}

static struct amg_ofi_ep *ep_at(
    const struct amg_ofi_domain *domain, uint8_t context)
{
    return context < domain->max_contexts ? domain->eps[context] : NULL;
}

/* May the peer have one request more here? */
static bool has_room(const struct amg_ofi_message *message)
{
    const struct amg_ofi_domain *domain = message->domain;
    const struct amg_peer *peer = message->peer;

    return amg_flow_is_within(
               &domain->calls.flow, &peer->calls, peer->requests.open + 1) &&
           (!message_is_long(message) ||
               peer->requests.open_longs < domain->long_limit);
}

void amg_ofi_msg_on_request_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_domain *domain = message->domain;
    bool is_one_way =
        (message->header->kind & ~AMG_OFI_MAGIC_MASK) == AMG_OFI_ONEWAY;
    bool is_ack = is_one_way && message->header->cookie == AMG_TOKEN_ACK;
    struct amg_ofi_ep *ep = ep_at(domain, message->header->target);
    struct amg_ofi_msgbuf *msgbuf = NULL;
    hg_return_t why = ep == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    message->peer->requests.context = message->header->context;
    if (is_ack ? message->len > AMG_NOW_LEN : !has_room(message)) {
        amg_ofi_peer_violation(message->peer, AMG_VIOLATION_LIMIT,
            message->header->kind, (long)message->peer->requests.open);
        why = HG_AGAIN;
    } else if (ep != NULL && domain->is_listening) {
        msgbuf = msgbuf_of_message_locked(message);
        why = HG_NOMEM;
    }
    if (msgbuf != NULL)
        request_give_locked(ep, msgbuf, message, is_one_way);
    else if (!is_ack)
        request_refuse_locked(message->peer, message->header->context,
            message->header->cookie, is_one_way, why);
}

/* Ends the call that this answer is for, and returns its operation, or
 * amg_call_cancelled; NULL: there is no such call. */
static struct amg_op *call_end_locked(const struct amg_ofi_message *message)
{
    struct amg_peer *peer = message->peer;
    struct amg_calls *calls = &message->domain->calls;
    uint32_t cookie = message->header->cookie;
    struct amg_op *op = amg_calls_find_locked(calls, cookie, peer->number);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (op == NULL) {
        amg_ofi_peer_violation(
            peer, AMG_VIOLATION_ANSWER, AMG_OFI_REPLY, (long)cookie);
        return NULL;
    }
    call_remove_locked(peer, cookie);
    amg_calls_settle_locked(calls, cookie, &peer->calls);
    return op;
}

void amg_ofi_msg_on_reply_locked(const struct amg_ofi_message *message)
{
    struct amg_op *op = call_end_locked(message);
    struct amg_ofi_msgbuf *msgbuf = NULL;

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (op == NULL)
        return;
    msgbuf = msgbuf_of_message_locked(message);
    if (op == &amg_call_cancelled) {
        if (msgbuf != NULL)
            late_give_locked(msgbuf, message);
        return;
    }
    if (msgbuf == NULL) {
        amg_ofi_op_end_locked(op, HG_NOMEM);
        return;
    }
    op->data = data_of(msgbuf, message);
    op->len = message->len;
    op->priv[AMG_CALL_PRIV_PTR] = (uint64_t)(uintptr_t)msgbuf;
    amg_ofi_op_end_locked(op, HG_SUCCESS);
}

void amg_ofi_msg_on_refuse_locked(const struct amg_ofi_message *message)
{
    struct amg_op *op = call_end_locked(message);
    struct amg_ofi_refuse refuse;

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    memcpy(&refuse, message->body, sizeof(refuse));
    if (op == NULL || op == &amg_call_cancelled)
        return;
    amg_ofi_op_end_locked(op, amg_call_refusal(refuse.code));
}

void amg_ofi_msg_lost_locked(struct amg_peer *peer)
{
    struct amg_calls *calls = &peer->domain->calls;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    amg_calls_lost_waiting_locked(calls, &peer->calls);
    while (peer->requests.asked != 0) {
        uint32_t index = peer->requests.asked - 1;

        call_remove_locked(peer, index);
        amg_calls_lost_at_locked(calls, index);
    }
    peer->calls.unanswered = 0;
    amg_ofi_send_lost_locked(peer);
    amg_flow_forget(&calls->flow, &peer->calls);
}

void amg_ofi_msg_refuse_all_locked(struct amg_ofi_ep *ep)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&amg_ofi_domain_of_ep(ep)->lock);
    while ((link = amg_list_pop(&ep->arrived)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);
        struct amg_ofi_msgbuf *msgbuf = amg_ofi_msgbuf_of_arrival(arrival);

        if (msgbuf->epoch == msgbuf->peer->conn.epoch &&
            (!arrival->is_one_way || amg_arrival_has_credit(arrival))) {
            request_close_locked(msgbuf);
            request_refuse_locked(msgbuf->peer, arrival->origin_context,
                (uint32_t)arrival->token, arrival->is_one_way, HG_NOENTRY);
        }
        amg_ofi_msgbuf_end_locked(msgbuf);
    }
}
