/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing messages: sent in cells or a msgbuf, or deferred.
 *
 * The user writes a message into a msgbuf of the own segment. A message of up
 * to AMG_SHM_RUN bytes is copied from the msgbuf into one or a few cells, and
 * the msgbuf is free again. A longer message, or a message for which the ring
 * has too few cells left, stays in the msgbuf: one cell names the msgbuf, which
 * is lent to the receiver until the receiver returns it by one store. A message
 * that has to wait in this process is copied to the heap, to free the msgbuf.
 * Copying takes more instructions than lending, but less time: the line of
 * `is_lent` moves to the receiver and back (256 bytes each way between two
 * loaded cores: 1.5 us by cells, 3.9 us by lending).
 *
 * A request takes a credit and then a cell; without a credit or a cell, the
 * message is deferred (shm_deferred.c). Model: tests/models/shm_ring.pml. */
#include "shm/shm_send.h"

#include <string.h>

#include "base/assert.h"
#include "shm/shm_peer.h"

static inline struct amg_shm_buf *buf_of_post(struct amg_post *post)
{
    return amg_container_of(post, struct amg_shm_buf, post);
}

_Static_assert(
    (int)AMG_NOW_LEN == (int)AMG_SHM_INLINE, "request_now fills one cell");

/* Result of sending a message. */
enum sent {
    SENT_NOT, /* no room */
    SENT,
    SENT_TO_CLOSED, /* sent, but the context is closed */
};

static bool context_is_closed(const struct amg_shm_context *context)
{
    return atomic_load_explicit(&context->is_open, memory_order_acquire) ==
           AMG_SHM_CONTEXT_CLOSED;
}

/* Sets an event for the reader, which does not poll the ring. SENT_TO_CLOSED:
 * the context has closed, and has not reported the cells as read. */
AMG_NOINLINE static enum sent cell_wake_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    amg_shm_link_raise_locked(peer, link);
    AMG_TEST_POINT("shm_request_told");
    return context_is_closed(link->context) && amg_shm_out_is_unread(&link->out)
               ? SENT_TO_CLOSED
               : SENT;
}

/* A message to send. The compiler keeps the struct in registers; buf_address()
 * copies the fields to the buf of a message that may have to wait. */
struct outgoing {
    struct amg_shm_peer *peer;
    struct amg_shm_link *link;
    uint32_t len;
    uint32_t cookie;
    uint8_t kind;
    uint8_t origin_context;
};

/* Fills in the first cell except `len` and the bytes, which the caller has set;
 * publishes the cells; sets an event if the reader does not poll the ring. */
static AMG_INLINE enum sent cell_send_locked(struct amg_shm_domain *domain,
    const struct outgoing *message, struct amg_shm_cell *cell, uint32_t cells)
{
    struct amg_shm_peer *peer = message->peer;
    struct amg_shm_link *link = message->link;
    enum sent sent = SENT;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    cell->kind = message->kind;
    cell->context = message->origin_context;
    cell->cookie = message->cookie;
    cell->credits = amg_flow_take_owed(&peer->calls, UINT16_MAX);
    if (!AMG_LIKELY(!amg_shm_out_push(&link->out, cell, cells)))
        sent = cell_wake_locked(peer, link);
    amg_shm_out_prefetch(&link->out,
        atomic_load_explicit(&domain->idle_polls, memory_order_relaxed));
    return sent;
}

/* Whether the bytes fit into cells, and the ring has room for these cells. */
static inline bool fits_into_cells(const struct outgoing *message)
{
    return message->len <= AMG_SHM_RUN &&
           amg_shm_out_has_room(
               &message->link->out, amg_shm_run_cells(message->len));
}

/* Whether the ring has a free cell, and the bytes either fit into the free
 * cells or are in a msgbuf. */
static AMG_INLINE bool is_sendable(
    const struct amg_shm_buf *buf, const struct outgoing *message)
{
    return AMG_LIKELY(message->link->out.room > 0) &&
           (AMG_LIKELY(message->len <= AMG_SHM_INLINE) || buf->msgbuf != NULL ||
               fits_into_cells(message));
}

/* Sends a message that does not fit into one cell: in a few cells, or in one
 * cell that names the msgbuf or block, which is lent to the peer. */
AMG_NOINLINE static enum sent long_send_locked(
    struct amg_shm_buf *buf, struct outgoing message)
{
    struct amg_shm_out *out = &message.link->out;
    struct amg_shm_cell *cell = out->cell;
    enum sent sent = SENT;

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    if (fits_into_cells(&message)) {
        uint32_t cells = amg_shm_run_cells(message.len);

        cell->len = (uint16_t)message.len;
        memcpy(cell->bytes, buf->buf.data, AMG_SHM_INLINE);
        amg_shm_out_continue(out, buf->buf.data, cells);
        sent = cell_send_locked(buf->domain, &message, cell, cells);
        amg_shm_buf_put_locked(buf);
        return sent;
    }
    amg_shm_buf_lend_locked(buf, message.peer);
    message.kind |= AMG_SHM_OUT_OF_LINE;
    cell->len = sizeof(cell->out_of_line);
    cell->out_of_line =
        (struct amg_shm_out_of_line){.msgbuf = buf->index, .len = message.len};
    return cell_send_locked(buf->domain, &message, cell, 1);
}

/* Sends a message that fits into one cell; the ring has a free cell. */
static AMG_INLINE enum sent short_send_locked(struct amg_shm_domain *domain,
    const void *bytes, const struct outgoing *message)
{
    struct amg_shm_cell *cell = message->link->out.cell;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    cell->len = (uint16_t)message->len;
    amg_shm_inline_copy(cell->bytes, bytes, message->len, AMG_SHM_INLINE);
    return cell_send_locked(domain, message, cell, 1);
}

/* Sends a message for which is_sendable() is true; takes the buf. */
static AMG_INLINE enum sent message_send_locked(struct amg_shm_domain *domain,
    struct amg_shm_buf *buf, const struct outgoing *message)
{
    enum sent sent = SENT;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!AMG_LIKELY(message->len <= AMG_SHM_INLINE))
        return long_send_locked(buf, *message);
    sent = short_send_locked(domain, buf->buf.data, message);
    amg_shm_buf_put_locked(buf);
    return sent;
}

/* Sends the message of a buf that buf_address() filled in, and takes the buf.
 * SENT_NOT: the buf stays the caller's. */
static enum sent buf_send_locked(struct amg_shm_buf *buf)
{
    const struct outgoing message = {
        .peer = buf->peer,
        .link = buf->to,
        .len = buf->len,
        .cookie = buf->post.cookie,
        .kind = buf->kind,
        .origin_context = buf->origin_context,
    };

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    if (!amg_shm_out_has_room(&message.link->out, 1))
        return SENT_NOT;
    if (!is_sendable(buf, &message))
        buf = amg_shm_buf_to_msgbuf_locked(buf);
    return buf == NULL ? SENT_NOT
                       : message_send_locked(buf->domain, buf, &message);
}

bool amg_shm_send_buf_locked(struct amg_shm_buf *buf)
{
    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    return buf_send_locked(buf) != SENT_NOT;
}

/* Stores the fields of a message in its buf, in which it may have to wait. */
static void buf_address(struct amg_shm_buf *buf, struct outgoing message,
    uint8_t target_context, struct amg_op *op, struct amg_ep *ep)
{
    AMG_ASSERT(message.len <= buf->buf.cap);
    buf->len = message.len;
    buf->kind = message.kind;
    buf->origin_context = message.origin_context;
    buf->target_context = target_context;
    buf->peer = message.peer;
    buf->to = message.link;
    buf->post.cookie = message.cookie;
    buf->post.wants_reply = message.kind == AMG_SHM_REQUEST;
    buf->post.peer = &message.peer->calls;
    buf->post.op = op;
    buf->post.ep = ep;
}

void amg_shm_send_end_locked(struct amg_op *op, hg_return_t ret)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(amg_call_ep(op));

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    amg_shm_op_end_locked(ep, op, ret);
    amg_shm_doorbell_self_locked(ep);
}

/* Ends a request that was sent to a closed context. The call keeps its slot in
 * the table of calls, because the peer may still answer with a refusal. */
AMG_NOINLINE static void request_abandon_locked(
    struct amg_shm_domain *domain, uint32_t cookie)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_calls_abandon_locked(&domain->calls,
        amg_table_at(&domain->calls.table, cookie)->object, HG_NOENTRY);
}

/* Ends the requests that wait for a link to a closed context: the peer may no
 * longer read the ring, and then neither room nor credits come back. */
AMG_NOINLINE static void link_refuse_waiting_locked(
    struct amg_shm_domain *domain, const struct amg_shm_link *link)
{
    struct amg_calls *calls = &domain->calls;
    struct amg_link *at = amg_list_first(&calls->waiting);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while (at != NULL) {
        struct amg_post *post = amg_container_of(at, struct amg_post, waiting);

        at = amg_list_next(&calls->waiting, at);
        if (buf_of_post(post)->to == link)
            amg_calls_end_waiting_locked(calls, post, HG_NOENTRY);
    }
}

hg_return_t amg_shm_send_waiting_locked(
    struct amg_calls *calls, struct amg_post *post)
{
    struct amg_shm_buf *buf = buf_of_post(post);
    struct amg_shm_peer *peer = buf->peer;
    struct amg_shm_link *link = buf->to;
    struct amg_op *one_way = post->op;
    bool wants_reply = post->wants_reply;
    uint32_t cookie = post->cookie;
    enum sent sent = SENT_NOT;

    (void)calls;
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (AMG_LIKELY(amg_shm_link_has_slot(link)) ||
        amg_shm_link_slot_locked(peer, link))
        sent = buf_send_locked(buf);
    /* Calls to a closed peer end with HG_HOSTUNREACH (shm_liveness.c). */
    if (!AMG_LIKELY(sent == SENT) && context_is_closed(link->context) &&
        !amg_shm_region_is_closed(&peer->region)) {
        link_refuse_waiting_locked(peer->domain, link);
        if (sent == SENT_NOT)
            return HG_NOENTRY;
    }
    if (!AMG_LIKELY(sent != SENT_NOT)) {
        amg_shm_peer_defer_locked(peer);
        return HG_AGAIN;
    }
    if (one_way != NULL)
        amg_shm_send_end_locked(one_way, HG_SUCCESS);
    else if (!AMG_LIKELY(sent != SENT_TO_CLOSED) && wants_reply)
        request_abandon_locked(peer->domain, cookie);
    return HG_SUCCESS;
}

/* Whether the reader reads the ring, in each poll or after an event. */
static inline bool link_is_read(const struct amg_shm_link *link)
{
    unsigned poll_state =
        atomic_load_explicit(&link->out.ring->poll_state, memory_order_relaxed);

    return poll_state - AMG_SHM_DORMANT <= AMG_SHM_POLLED - AMG_SHM_DORMANT;
}

/* Finds the link for a request. Errors other than HG_NOMEM end the call. */
static inline hg_return_t request_link_locked(
    struct amg_shm_peer *peer, uint8_t context, struct amg_shm_link **ret_link)
{
    struct amg_shm_link *link = NULL;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (!AMG_LIKELY(peer->state == AMG_SHM_PEER_ALIVE))
        rc = amg_shm_peer_meet_locked(peer);
    if (AMG_LIKELY(rc == HG_SUCCESS))
        rc = amg_shm_link_find_locked(peer, context, &link);
    if (!AMG_LIKELY(rc == HG_SUCCESS))
        return rc;
    if (!AMG_LIKELY(link_is_read(link)) && context_is_closed(link->context))
        return HG_NOENTRY;
    if (!AMG_LIKELY(amg_shm_link_has_slot(link)) &&
        !amg_shm_link_slot_locked(peer, link) && link->lacks_memory)
        return HG_NOMEM;
    *ret_link = link;
    return HG_SUCCESS;
}

/* Sends a message that needs no credit; without room, or behind older messages,
 * adds the message to `queue`. HG_NOMEM: the buf stays the caller's. */
static hg_return_t queue_add_locked(
    struct amg_list *queue, struct amg_shm_buf *buf)
{
    struct amg_op *op = buf->post.op;
    struct amg_shm_buf *waiting = NULL;

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    if (amg_list_is_empty(queue) &&
        AMG_LIKELY(buf_send_locked(buf) != SENT_NOT)) {
        if (op != NULL)
            amg_shm_send_end_locked(op, HG_SUCCESS);
        return HG_SUCCESS;
    }
    waiting = amg_shm_buf_to_wait_locked(buf);
    if (waiting == NULL)
        return HG_NOMEM;
    if (waiting != buf)
        amg_shm_buf_put_locked(buf);
    if (op != NULL)
        amg_call_set(op, AMG_CALL_LEAVING, &waiting->post, waiting->post.ep);
    amg_list_push(queue, &waiting->post.link);
    amg_driver_count(&waiting->domain->calls.counts.retries);
    amg_shm_peer_defer_locked(waiting->peer);
    return HG_SUCCESS;
}

/* Ends a message that cannot be sent. HG_NOMEM: the buf stays the caller's. */
static hg_return_t buf_end_locked(struct amg_shm_buf *buf, hg_return_t ret)
{
    struct amg_op *op = buf->post.op;

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    if (ret == HG_NOMEM)
        return ret;
    amg_shm_buf_put_locked(buf);
    if (op != NULL)
        amg_shm_send_end_locked(op, ret);
    return HG_SUCCESS;
}

/* The link to a context of a peer, if peer and link allow that a request goes
 * into a cell at once; else NULL. */
static AMG_INLINE struct amg_shm_link *link_ready_locked(
    struct amg_shm_peer *peer, uint8_t context)
{
    struct amg_shm_link *link = amg_shm_link_at_locked(peer, context);

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    return AMG_LIKELY(peer->state == AMG_SHM_PEER_ALIVE && link != NULL) &&
                   AMG_LIKELY(link_is_read(link) && link->out.room > 0)
               ? link
               : NULL;
}

/* Posts a request with an operation, in a buf in which the request may wait.
 * HG_NOMEM: the buf stays the caller's. */
static hg_return_t request_wait_locked(struct amg_shm_buf *buf)
{
    bool has_credit =
        amg_flow_may_take(&buf->domain->calls.flow, &buf->peer->calls);
    bool may_go = has_credit && amg_shm_link_has_slot(buf->to) &&
                  amg_shm_out_has_room(&buf->to->out, 1);
    struct amg_shm_buf *waiting =
        may_go ? buf : amg_shm_buf_to_wait_locked(buf);
    hg_return_t rc = HG_NOMEM;

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    AMG_ASSERT(buf->post.op != NULL);
    if (has_credit && !may_go)
        amg_driver_count(&buf->domain->calls.counts.retries);
    if (waiting != NULL)
        rc = amg_calls_post_locked(&buf->domain->calls, &waiting->post,
            buf->peer->id, amg_shm_send_waiting_locked);
    if (waiting != buf && waiting != NULL)
        amg_shm_buf_put_locked(rc == HG_SUCCESS ? buf : waiting);
    return rc;
}

/* Posts a request that the fast path could not send; it may have to wait. */
AMG_NOINLINE static hg_return_t request_post_locked(struct amg_shm_buf *buf,
    struct outgoing message, uint8_t target_context, struct amg_op *op,
    struct amg_ep *ep)
{
    hg_return_t rc =
        request_link_locked(message.peer, target_context, &message.link);

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    AMG_TEST_POINT("shm_request_checked");
    buf_address(buf, message, target_context, op, ep);
    if (rc == HG_SUCCESS && op != NULL)
        return request_wait_locked(buf);
    if (rc == HG_SUCCESS)
        return amg_calls_post_locked(&buf->domain->calls, &buf->post,
            buf->peer->id, amg_shm_send_waiting_locked);
    if (op == NULL)
        return rc;
    amg_call_begin(op, ep);
    return buf_end_locked(buf, rc);
}

/* Takes a credit for a request and, if the request wants a reply, a slot in the
 * table of calls. False: there is no credit or no slot; nothing has changed. */
static AMG_INLINE bool request_begin_locked(struct amg_shm_domain *domain,
    struct amg_ep *ep, struct outgoing *message, struct amg_op *op)
{
    struct amg_shm_peer *peer = message->peer;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_TEST_POINT("shm_request_checked");
    return message->kind == AMG_SHM_REQUEST
               ? AMG_LIKELY(amg_calls_ask_locked(&domain->calls, &peer->calls,
                     peer->id, ep, op, &message->cookie))
               : AMG_LIKELY(amg_flow_take(&domain->calls.flow, &peer->calls));
}

/* After a send: ends a one-way request, or a call to a closed context. */
static AMG_INLINE void request_end_locked(struct amg_shm_domain *domain,
    struct amg_ep *ep, const struct outgoing *message, struct amg_op *op,
    enum sent sent)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (message->kind == AMG_SHM_REQUEST) {
        if (!AMG_LIKELY(sent == SENT))
            request_abandon_locked(domain, message->cookie);
    } else if (op != NULL) {
        amg_call_begin(op, ep);
        amg_shm_send_end_locked(op, HG_SUCCESS);
    }
}

hg_return_t amg_shm_send_request(struct amg_ep *base, struct amg_target to,
    struct amg_buf *buf_base, uint32_t len, bool wants_reply, struct amg_op *op)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base->domain);
    struct amg_shm_buf *buf = amg_shm_buf_of(buf_base);
    struct outgoing message = {
        .peer = amg_shm_peer_of(to.peer),
        .len = len,
        .kind = wants_reply ? AMG_SHM_REQUEST : AMG_SHM_ONEWAY,
        .origin_context = base->context_id,
    };
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_LIKELY(len <= buf_base->cap))
        return HG_MSGSIZE;
    amg_bias_lock(&domain->lock);
    message.link = link_ready_locked(message.peer, to.context_id);
    if (AMG_LIKELY(message.link != NULL) && is_sendable(buf, &message) &&
        request_begin_locked(domain, base, &message, op))
        request_end_locked(domain, base, &message, op,
            message_send_locked(domain, buf, &message));
    else
        rc = request_post_locked(buf, message, to.context_id, op, base);
    amg_bias_unlock(&domain->lock);
    return rc;
}

bool amg_shm_request_now(struct amg_ep *base, struct amg_target to,
    const void *bytes, uint32_t len, bool wants_reply, struct amg_op *op)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base->domain);
    struct outgoing message = {
        .peer = amg_shm_peer_of(to.peer),
        .len = len,
        .kind = wants_reply ? AMG_SHM_REQUEST : AMG_SHM_ONEWAY,
        .origin_context = base->context_id,
    };
    bool is_ready = false;

    AMG_ASSERT(len <= AMG_SHM_INLINE);
    amg_bias_lock(&domain->lock);
    message.link = link_ready_locked(message.peer, to.context_id);
    is_ready = AMG_LIKELY(message.link != NULL) &&
               request_begin_locked(domain, base, &message, op);
    if (AMG_LIKELY(is_ready))
        request_end_locked(domain, base, &message, op,
            short_send_locked(domain, bytes, &message));
    amg_bias_unlock(&domain->lock);
    return is_ready;
}

/* Sends a message that needs no credit, or queues it; takes the buf. HG_NOMEM:
 * the buf stays the caller's. */
AMG_NOINLINE static hg_return_t reply_post_locked(struct amg_shm_buf *buf,
    struct outgoing message, uint8_t target_context, struct amg_op *op,
    struct amg_ep *ep)
{
    struct amg_shm_peer *peer = message.peer;
    hg_return_t rc =
        AMG_LIKELY(peer->state == AMG_SHM_PEER_ALIVE)
            ? amg_shm_link_find_locked(peer, target_context, &message.link)
            : HG_HOSTUNREACH;

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    if (op != NULL)
        amg_call_begin(op, ep);
    buf_address(buf, message, target_context, op, ep);
    return rc == HG_SUCCESS ? queue_add_locked(&message.link->queue, buf)
                            : buf_end_locked(buf, rc);
}

/* The link for a reply, if peer and link allow that the reply goes into a cell
 * at once; else NULL. */
static AMG_INLINE struct amg_shm_link *reply_link_locked(
    struct amg_shm_peer *peer, uint8_t target_context)
{
    struct amg_shm_link *link = amg_shm_link_at_locked(peer, target_context);

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    return AMG_LIKELY(peer->state == AMG_SHM_PEER_ALIVE && link != NULL) &&
                   AMG_LIKELY(
                       amg_list_is_empty(&link->queue) && link->out.room > 0)
               ? link
               : NULL;
}

static AMG_INLINE struct outgoing reply_to(
    const struct amg_ep *base, const struct amg_arrival *arrival, uint32_t len)
{
    return (struct outgoing){
        .peer = amg_shm_peer_of(arrival->from),
        .len = len,
        .cookie = (uint32_t)arrival->token,
        .kind = AMG_SHM_REPLY,
        .origin_context = base->context_id,
    };
}

hg_return_t amg_shm_send_reply(struct amg_ep *base,
    const struct amg_arrival *arrival, struct amg_buf *buf_base, uint32_t len,
    struct amg_op *op)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base->domain);
    struct amg_shm_buf *buf = amg_shm_buf_of(buf_base);
    struct outgoing message = reply_to(base, arrival, len);
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_LIKELY(len <= buf_base->cap))
        return HG_MSGSIZE;
    amg_bias_lock(&domain->lock);
    message.link = reply_link_locked(message.peer, arrival->origin_context);
    if (AMG_LIKELY(op == NULL && message.link != NULL) &&
        is_sendable(buf, &message))
        (void)message_send_locked(domain, buf, &message);
    else
        rc = reply_post_locked(buf, message, arrival->origin_context, op, base);
    amg_bias_unlock(&domain->lock);
    return rc;
}

bool amg_shm_reply_now(struct amg_ep *base, const struct amg_arrival *arrival,
    const void *bytes, uint32_t len)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base->domain);
    struct outgoing message = reply_to(base, arrival, len);

    AMG_ASSERT(len <= AMG_SHM_INLINE);
    amg_bias_lock(&domain->lock);
    message.link = reply_link_locked(message.peer, arrival->origin_context);
    if (AMG_LIKELY(message.link != NULL))
        (void)short_send_locked(domain, bytes, &message);
    amg_bias_unlock(&domain->lock);
    return message.link != NULL;
}

hg_return_t amg_shm_send_short_locked(struct amg_shm_peer *peer,
    const struct amg_shm_msg_header *header, const void *bytes, uint16_t len)
{
    struct amg_shm_buf *buf = NULL;
    struct outgoing message = {
        .peer = peer,
        .len = len,
        .cookie = header->cookie,
        .kind = header->kind,
        .origin_context = header->origin_context,
    };
    uint64_t words[AMG_SHM_INLINE / sizeof(uint64_t)];
    hg_return_t rc = HG_HOSTUNREACH;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(len <= AMG_SHM_INLINE);
    if (peer->state == AMG_SHM_PEER_ALIVE)
        rc = amg_shm_link_find_locked(
            peer, header->target_context, &message.link);
    if (rc != HG_SUCCESS)
        return rc;
    if (len > 0)
        memcpy(words, bytes, len);
    if (AMG_LIKELY(amg_list_is_empty(&message.link->control) &&
                   amg_shm_out_has_room(&message.link->out, 1))) {
        (void)short_send_locked(peer->domain, words, &message);
        return HG_SUCCESS;
    }
    buf = amg_shm_buf_heap_locked(peer->domain, AMG_SHM_INLINE);
    if (buf == NULL)
        return HG_NOMEM;
    memcpy(buf->buf.data, words, len);
    buf_address(buf, message, header->target_context, NULL, NULL);
    return queue_add_locked(&message.link->control, buf);
}

/* Ends the operation at once: an ACK, sent or queued, takes no credit. */
hg_return_t amg_shm_send_ack(struct amg_ep *base, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base->domain);
    struct amg_shm_peer *peer = amg_shm_peer_of(to.peer);
    const struct amg_shm_msg_header header = {
        .kind = AMG_SHM_ONEWAY,
        .origin_context = base->context_id,
        .target_context = to.context_id,
        .cookie = AMG_TOKEN_ACK,
    };
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(op != NULL);
    amg_bias_lock(&domain->lock);
    if (peer->state == AMG_SHM_PEER_UNMET)
        rc = amg_shm_peer_meet_locked(peer);
    if (rc == HG_SUCCESS)
        rc = amg_shm_send_short_locked(peer, &header, bytes, (uint16_t)len);
    if (rc != HG_NOMEM) {
        amg_call_begin(op, base);
        amg_shm_send_end_locked(op, rc);
        rc = HG_SUCCESS;
    }
    amg_bias_unlock(&domain->lock);
    return rc;
}
