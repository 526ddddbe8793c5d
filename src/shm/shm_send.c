/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing messages: their buffers, sent in a cell or a msgbuf, or queued.
 *
 * A message is written into a msgbuf of the own segment. A short one is copied
 * from there into a cell, and its msgbuf is free again. A long one stays: the
 * cell names the msgbuf, which is lent to the receiver until it returns it by
 * one store. A msgbuf takes memory from its first use on; so the one used last
 * is used next, and lent ones are checked before a fresh one is touched. When
 * no msgbuf is left, messages are written to the heap, and wait for one.
 *
 * A request takes a credit and then a cell; without one of the two it waits in
 * the flow control of the peer, in order. Messages without credits (replies,
 * messages of transfers) wait in the queue of the link. A peer with messages
 * that wait for a cell or a msgbuf is on the list `blocked`, and polls try
 * again. */
#include "shm/shm_msg.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "shm/shm_peer.h"

/* Msgbufs checked before a fresh one is taken. */
enum { RECLAIM_MAX = 8 };

static struct amg_shm_buf *buf_fresh_locked(struct amg_shm_domain *domain)
{
    uint32_t index = domain->fresh_bufs;
    struct amg_shm_buf *buf = NULL;

    AMG_ASSERT(index <= AMG_SHM_MSGBUFS);
    /* The first one was reserved with the segment: there is at least one. */
    if (index == AMG_SHM_MSGBUFS ||
        (index > 0 && !amg_shm_region_reserve(&domain->region,
                          amg_shm_region_msgbuf(&domain->region, index),
                          domain->region.msgbuf_stride)))
        return NULL;
    domain->fresh_bufs++;
    buf = &domain->bufs[index];
    buf->domain = domain;
    buf->index = index;
    buf->msgbuf = amg_shm_region_msgbuf(&domain->region, index);
    buf->buf.data = buf->msgbuf->bytes;
    buf->buf.cap = domain->region.message_len;
    return buf;
}

static struct amg_shm_buf *buf_heap(struct amg_shm_domain *domain)
{
    struct amg_shm_buf *buf =
        amg_mem_alloc(sizeof(*buf) + domain->region.message_len);

    if (buf == NULL)
        return NULL;
    *buf = (struct amg_shm_buf){.domain = domain};
    buf->buf.data = buf + 1;
    buf->buf.cap = domain->region.message_len;
    return buf;
}

static void buf_push_locked(struct amg_shm_buf *buf)
{
    AMG_ASSERT(buf->msgbuf != NULL);
    buf->post.link.next = buf->domain->free_bufs;
    buf->domain->free_bufs = &buf->post.link;
}

static inline struct amg_shm_buf *buf_pop_locked(struct amg_shm_domain *domain)
{
    struct amg_link *link = domain->free_bufs;

    if (link == NULL)
        return NULL;
    domain->free_bufs = link->next;
    return amg_container_of(link, struct amg_shm_buf, post.link);
}

/* Frees a lent msgbuf if its receiver has returned it. */
static bool buf_reclaim_locked(struct amg_shm_buf *buf)
{
    struct amg_shm_peer *peer = buf->peer;

    if (atomic_load_explicit(&buf->msgbuf->is_lent, memory_order_acquire) != 0)
        return false;
    AMG_ASSERT(peer->msgbufs_lent > 0);
    amg_list_remove(&buf->post.link);
    buf_push_locked(buf);
    peer->msgbufs_lent--;
    amg_shm_peer_reap_locked(peer);
    return true;
}

/* Frees those of the `max` oldest lent msgbufs that were returned. */
static bool bufs_reclaim_locked(struct amg_shm_domain *domain, unsigned max)
{
    struct amg_link *link = amg_list_first(&domain->lent_bufs);
    bool any = false;

    for (; link != NULL && max > 0; max--) {
        struct amg_link *next = amg_list_next(&domain->lent_bufs, link);

        if (buf_reclaim_locked(
                amg_container_of(link, struct amg_shm_buf, post.link)))
            any = true;
        link = next;
    }
    return any;
}

AMG_NOINLINE static struct amg_shm_buf *buf_find_locked(
    struct amg_shm_domain *domain)
{
    struct amg_shm_buf *buf = NULL;

    if (bufs_reclaim_locked(domain, RECLAIM_MAX))
        return buf_pop_locked(domain);
    buf = buf_fresh_locked(domain);
    if (buf == NULL && bufs_reclaim_locked(domain, AMG_SHM_MSGBUFS))
        buf = buf_pop_locked(domain);
    return buf;
}

/* A buf with a msgbuf; NULL: none is free. */
static inline struct amg_shm_buf *buf_msgbuf_locked(
    struct amg_shm_domain *domain)
{
    struct amg_shm_buf *buf = buf_pop_locked(domain);

    return AMG_LIKELY(buf != NULL) ? buf : buf_find_locked(domain);
}

/* A buffer, with a msgbuf if one is free; NULL: no memory. */
static inline struct amg_shm_buf *buf_get_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_buf *buf = buf_msgbuf_locked(domain);

    return AMG_LIKELY(buf != NULL) ? buf : buf_heap(domain);
}

void amg_shm_buf_put_locked(struct amg_shm_buf *buf)
{
    if (AMG_LIKELY(buf->msgbuf != NULL))
        buf_push_locked(buf);
    else
        amg_mem_free(buf);
}

/* Moves the bytes of a heap buf to one with a msgbuf; NULL: none is free. */
static struct amg_shm_buf *buf_to_msgbuf_locked(struct amg_shm_buf *buf)
{
    struct amg_shm_buf *in_segment = NULL;

    if (buf->msgbuf != NULL)
        return buf;
    in_segment = buf_msgbuf_locked(buf->domain);
    if (in_segment == NULL)
        return NULL;
    AMG_ASSERT(buf->len <= in_segment->buf.cap);
    memcpy(in_segment->buf.data, buf->buf.data, buf->len);
    amg_mem_free(buf);
    return in_segment;
}

/* Lends the msgbuf of `buf` to `peer`, which will return it. */
static void buf_lend_locked(struct amg_shm_buf *buf, struct amg_shm_peer *peer)
{
    AMG_ASSERT(buf->msgbuf != NULL);
    atomic_store_explicit(&buf->msgbuf->is_lent, 1, memory_order_relaxed);
    buf->peer = peer;
    peer->msgbufs_lent++;
    amg_list_push(&buf->domain->lent_bufs, &buf->post.link);
}

void amg_shm_buf_reclaim_peer_locked(struct amg_shm_peer *peer)
{
    struct amg_list *out = &peer->domain->lent_bufs;
    struct amg_link *link = amg_list_first(out);

    while (link != NULL) {
        struct amg_link *next = amg_list_next(out, link);
        struct amg_shm_buf *buf =
            amg_container_of(link, struct amg_shm_buf, post.link);

        if (buf->peer == peer) {
            atomic_store_explicit(
                &buf->msgbuf->is_lent, 0, memory_order_relaxed);
            amg_list_remove(link);
            buf_push_locked(buf);
        }
        link = next;
    }
    peer->msgbufs_lent = 0;
}

/* Asks the next receiver that returns a msgbuf to wake this process. */
static void bufs_request_wake_locked(struct amg_shm_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->lent_bufs);

    for (; link != NULL; link = amg_list_next(&domain->lent_bufs, link)) {
        struct amg_shm_buf *buf =
            amg_container_of(link, struct amg_shm_buf, post.link);
        uint32_t expected = 1;

        (void)atomic_compare_exchange_strong_explicit(&buf->msgbuf->is_lent,
            &expected, 2, memory_order_seq_cst, memory_order_relaxed);
    }
}

hg_return_t amg_shm_buf_get(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(ep->domain);
    struct amg_shm_buf *buf = NULL;

    (void)peer;
    amg_bias_lock(&domain->lock);
    buf = buf_get_locked(domain);
    amg_bias_unlock(&domain->lock);
    if (buf == NULL)
        return HG_NOMEM;
    *ret_buf = &buf->buf;
    return HG_SUCCESS;
}

void amg_shm_buf_put(struct amg_ep *ep, struct amg_buf *buf)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(ep->domain);

    amg_bias_lock(&domain->lock);
    amg_shm_buf_put_locked(amg_shm_buf_of(buf));
    amg_bias_unlock(&domain->lock);
}

/* Result of sending a message. */
enum sent {
    SENT_NOT, /* no room */
    SENT,
    SENT_TO_CLOSED, /* it was sent, but the context is closed */
};

static bool context_is_closed(const struct amg_shm_context *context)
{
    return atomic_load_explicit(&context->is_open, memory_order_acquire) ==
           AMG_SHM_CONTEXT_CLOSED;
}

/* Tells the reader, which does not poll the ring. Its context may have closed
 * meanwhile; then nobody reads the cells that it has not read yet. */
AMG_NOINLINE static enum sent cell_wake_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    amg_shm_link_raise_locked(peer, link);
    AMG_TEST_POINT("shm_request_told");
    return context_is_closed(link->context) && amg_shm_out_is_unread(&link->out)
               ? SENT_TO_CLOSED
               : SENT;
}

/* Fills in all but the bytes, publishes the cell, and wakes the reader. */
static inline enum sent cell_send_locked(struct amg_shm_peer *peer,
    struct amg_shm_link *link, struct amg_shm_cell *cell, unsigned kind,
    uint8_t origin_context, uint32_t cookie)
{
    enum sent sent = SENT;

    cell->kind = (uint8_t)kind;
    cell->context = origin_context;
    cell->cookie = cookie;
    cell->credits = amg_flow_take_owed(&peer->calls, UINT16_MAX);
    if (!AMG_LIKELY(!amg_shm_out_push(&link->out, cell)))
        sent = cell_wake_locked(peer, link);
    amg_shm_out_prefetch(&link->out,
        atomic_load_explicit(&peer->domain->idle_polls, memory_order_relaxed));
    return sent;
}

/* Sends a buf, and takes it. SENT_NOT: it is still the caller's. */
static inline enum sent buf_send_locked(struct amg_shm_buf *buf)
{
    struct amg_shm_peer *peer = buf->peer;
    struct amg_shm_link *link = buf->to;
    struct amg_shm_cell *cell = amg_shm_out_next(&link->out);
    unsigned kind = buf->kind;
    uint8_t origin_context = buf->origin_context;
    uint32_t cookie = buf->post.cookie;
    uint32_t len = buf->len;
    struct amg_shm_buf *in_segment = NULL;
    enum sent sent = SENT_NOT;

    AMG_ASSERT(len <= buf->buf.cap);
    if (!AMG_LIKELY(cell != NULL))
        return SENT_NOT;
    if (AMG_LIKELY(len <= AMG_SHM_INLINE)) {
        cell->len = (uint16_t)len;
        amg_shm_inline_copy(cell->bytes, buf->buf.data, len, AMG_SHM_INLINE);
        sent = cell_send_locked(peer, link, cell, kind, origin_context, cookie);
        amg_shm_buf_put_locked(buf);
        return sent;
    }
    in_segment = buf_to_msgbuf_locked(buf);
    if (in_segment == NULL)
        return SENT_NOT;
    buf_lend_locked(in_segment, peer);
    cell->len = sizeof(cell->out_of_line);
    cell->out_of_line =
        (struct amg_shm_out_of_line){.msgbuf = in_segment->index, .len = len};
    return cell_send_locked(
        peer, link, cell, kind | AMG_SHM_OUT_OF_LINE, origin_context, cookie);
}

/* Writes the header of the message into the buf. */
static inline void buf_address(struct amg_shm_buf *buf,
    struct amg_shm_peer *peer, const struct amg_shm_msg_header *header,
    uint32_t len)
{
    buf->len = len;
    buf->kind = header->kind;
    buf->origin_context = header->origin_context;
    buf->target_context = header->target_context;
    buf->peer = peer;
    buf->post.cookie = header->cookie;
    buf->post.wants_reply = header->kind == AMG_SHM_REQUEST;
}

void amg_shm_send_end_locked(struct amg_op *op, hg_return_t ret)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(amg_call_ep(op));

    amg_shm_op_end_locked(ep, op, ret);
    amg_shm_doorbell_self_locked(ep);
}

/* The four functions in the table of the call engine. */

static hg_return_t request_send_locked(
    struct amg_calls *calls, struct amg_post *post)
{
    struct amg_shm_buf *buf = amg_shm_buf_of_post(post);
    struct amg_shm_peer *peer = buf->peer;
    struct amg_op *one_way = post->op;
    uint32_t cookie = post->cookie;
    enum sent sent = SENT_NOT;

    AMG_TEST_POINT("shm_request_checked");
    if (AMG_LIKELY(amg_shm_link_has_slot(buf->to)) ||
        amg_shm_link_slot_locked(peer, buf->to))
        sent = buf_send_locked(buf);
    if (!AMG_LIKELY(sent != SENT_NOT)) {
        amg_shm_peer_defer_locked(peer);
        return HG_AGAIN;
    }
    if (!AMG_LIKELY(one_way == NULL))
        amg_shm_send_end_locked(one_way, HG_SUCCESS);
    else if (!AMG_LIKELY(sent != SENT_TO_CLOSED))
        /* If that context is opened again, it refuses the messages in its
         * rings. */
        amg_calls_abandon_locked(
            calls, amg_table_at(&calls->table, cookie)->object, HG_NOENTRY);
    return HG_SUCCESS;
}

static void request_put_locked(struct amg_calls *calls, struct amg_post *post)
{
    (void)calls;
    amg_shm_buf_put_locked(amg_shm_buf_of_post(post));
}

/* Holds a reference to the peer: there may be no other one, and the search for
 * a msgbuf frees idle peers. */
static bool credits_pay_locked(
    struct amg_calls *calls, struct amg_flow_peer *owed)
{
    struct amg_shm_peer *peer =
        amg_container_of(owed, struct amg_shm_peer, calls);
    const struct amg_shm_msg_header header = {
        .kind = AMG_SHM_CREDIT, .target_context = peer->context};
    hg_return_t rc = HG_SUCCESS;

    (void)calls;
    peer->refs++;
    rc = amg_shm_send_short_locked(peer, &header, NULL, 0);
    amg_shm_peer_unref_locked(peer);
    return rc != HG_NOMEM;
}

static void peer_name(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, char ret_text[AMG_PEER_NAME_CAP])
{
    (void)calls;
    snprintf(ret_text, AMG_PEER_NAME_CAP, "na+sm://%s",
        amg_container_of(peer, struct amg_shm_peer, calls)->region.name);
}

static const struct amg_calls_ops calls_ops = {
    .send = request_send_locked,
    .put = request_put_locked,
    .end = amg_shm_send_end_locked,
    .pay = credits_pay_locked,
    .source = "shm",
    .name = peer_name,
};

hg_return_t amg_shm_send_init(struct amg_shm_domain *domain, uint16_t credits)
{
    amg_calls_init(&domain->calls, credits, &calls_ops);
    amg_list_init(&domain->lent_bufs);
    domain->bufs = amg_mem_zalloc(AMG_SHM_MSGBUFS * sizeof(*domain->bufs));
    return domain->bufs == NULL ? HG_NOMEM : HG_SUCCESS;
}

void amg_shm_send_fini(struct amg_shm_domain *domain)
{
    amg_mem_free(domain->bufs);
    amg_calls_fini(&domain->calls);
}

/* Whether polls of the context read the ring, as far as is known here. */
static inline bool link_is_read(const struct amg_shm_link *link)
{
    unsigned poll_state =
        atomic_load_explicit(&link->out.ring->poll_state, memory_order_relaxed);

    return poll_state - AMG_SHM_DORMANT <= AMG_SHM_POLLED - AMG_SHM_DORMANT;
}

/* The link for a request. Anything but HG_SUCCESS and HG_NOMEM is how the
 * operation ends. */
static inline hg_return_t request_link_locked(
    struct amg_shm_peer *peer, uint8_t context, struct amg_shm_link **ret_link)
{
    struct amg_shm_link *link = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_LIKELY(peer->state == AMG_SHM_PEER_ALIVE))
        return HG_HOSTUNREACH;
    rc = amg_shm_link_find_locked(peer, context, &link);
    if (!AMG_LIKELY(rc == HG_SUCCESS))
        return rc;
    if (!AMG_LIKELY(link_is_read(link)) && context_is_closed(link->context))
        return HG_NOENTRY;
    *ret_link = link;
    return HG_SUCCESS;
}

/* Ends a message that cannot be sent. HG_NOMEM: the buf stays the caller's. */
static hg_return_t buf_end_locked(struct amg_shm_buf *buf, hg_return_t ret)
{
    struct amg_op *op = buf->post.op;

    if (ret == HG_NOMEM)
        return ret;
    amg_shm_buf_put_locked(buf);
    if (op != NULL)
        amg_shm_send_end_locked(op, ret);
    return HG_SUCCESS;
}

hg_return_t amg_shm_send_request(struct amg_ep *base, struct amg_target to,
    struct amg_buf *buf_base, uint32_t len, bool wants_reply, struct amg_op *op)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base->domain);
    struct amg_shm_buf *buf = amg_shm_buf_of(buf_base);
    struct amg_shm_peer *peer = amg_shm_peer_of(to.peer);
    const struct amg_shm_msg_header header = {
        .kind = wants_reply ? AMG_SHM_REQUEST : AMG_SHM_ONEWAY,
        .origin_context = base->context_id,
        .target_context = to.context_id,
    };
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_LIKELY(len <= buf_base->cap))
        return HG_MSGSIZE;
    buf_address(buf, peer, &header, len);
    buf->post.op = op;
    buf->post.ep = base;
    buf->post.peer = &peer->calls;
    amg_bias_lock(&domain->lock);
    rc = request_link_locked(peer, to.context_id, &buf->to);
    if (AMG_LIKELY(rc == HG_SUCCESS)) {
        rc = amg_calls_post_locked(
            &domain->calls, &buf->post, peer->id, request_send_locked);
    } else {
        amg_call_begin(op, base);
        rc = buf_end_locked(buf, rc);
    }
    amg_bias_unlock(&domain->lock);
    return rc;
}

/* Sends a message that needs no credit, or queues it; takes the buf. */
static hg_return_t reply_post_locked(struct amg_shm_buf *buf)
{
    struct amg_shm_peer *peer = buf->peer;
    struct amg_op *op = buf->post.op;
    hg_return_t rc =
        AMG_LIKELY(peer->state == AMG_SHM_PEER_ALIVE)
            ? amg_shm_link_find_locked(peer, buf->target_context, &buf->to)
            : HG_HOSTUNREACH;

    if (!AMG_LIKELY(rc == HG_SUCCESS))
        return buf_end_locked(buf, rc);
    if (AMG_LIKELY(amg_list_is_empty(&buf->to->queue)) &&
        AMG_LIKELY(buf_send_locked(buf) != SENT_NOT)) {
        if (op != NULL)
            amg_shm_send_end_locked(op, HG_SUCCESS);
        return HG_SUCCESS;
    }
    if (op != NULL)
        amg_call_set(op, AMG_CALL_LEAVING, &buf->post, buf->post.ep);
    amg_list_push(&buf->to->queue, &buf->post.link);
    amg_shm_peer_defer_locked(peer);
    return HG_SUCCESS;
}

hg_return_t amg_shm_send_reply(struct amg_ep *base,
    const struct amg_arrival *arrival, struct amg_buf *buf_base, uint32_t len,
    struct amg_op *op)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base->domain);
    struct amg_shm_buf *buf = amg_shm_buf_of(buf_base);
    const struct amg_shm_msg_header header = {
        .kind = AMG_SHM_REPLY,
        .origin_context = base->context_id,
        .target_context = arrival->origin_context,
        .cookie = (uint32_t)arrival->token,
    };
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_LIKELY(len <= buf_base->cap))
        return HG_MSGSIZE;
    buf_address(buf, amg_shm_peer_of(arrival->from), &header, len);
    buf->post.op = op;
    buf->post.ep = base;
    amg_bias_lock(&domain->lock);
    if (op != NULL)
        amg_call_begin(op, base);
    rc = reply_post_locked(buf);
    amg_bias_unlock(&domain->lock);
    return rc;
}

hg_return_t amg_shm_send_short_locked(struct amg_shm_peer *peer,
    const struct amg_shm_msg_header *header, const void *bytes, uint16_t len)
{
    struct amg_shm_buf *buf = NULL;
    struct amg_shm_link *link = NULL;
    hg_return_t rc = HG_HOSTUNREACH;

    AMG_ASSERT(len <= AMG_SHM_INLINE);
    if (peer->state == AMG_SHM_PEER_ALIVE)
        rc = amg_shm_link_find_locked(peer, header->target_context, &link);
    if (rc != HG_SUCCESS)
        return rc;
    buf = buf_get_locked(peer->domain);
    if (buf == NULL)
        return HG_NOMEM;
    if (len > 0)
        memcpy(buf->buf.data, bytes, len);
    buf_address(buf, peer, header, len);
    buf->post.op = NULL;
    buf->post.ep = NULL;
    rc = reply_post_locked(buf);
    if (rc != HG_SUCCESS)
        amg_shm_buf_put_locked(buf);
    return rc;
}

/* Sends queued messages without credits. False: there is no room. */
static bool queue_send_locked(struct amg_shm_link *link)
{
    struct amg_link *first = NULL;

    while ((first = amg_list_first(&link->queue)) != NULL) {
        struct amg_shm_buf *buf =
            amg_container_of(first, struct amg_shm_buf, post.link);
        struct amg_op *op = buf->post.op;

        amg_list_remove(first);
        if (buf_send_locked(buf) == SENT_NOT) {
            amg_list_push_front(&link->queue, first);
            return false;
        }
        if (op != NULL)
            amg_shm_send_end_locked(op, HG_SUCCESS);
    }
    return true;
}

static bool peer_send_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_domain *domain = peer->domain;
    struct amg_shm_link *link = NULL;
    bool has_room = true;

    for (uint32_t i = 0; (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
        if (!amg_list_is_empty(&link->queue) &&
            (!amg_shm_link_slot_locked(peer, link) || !queue_send_locked(link)))
            has_room = false;
    if (peer->has_failed_wake) {
        peer->has_failed_wake = !amg_shm_link_raise_all(peer);
        domain->wants_retry = domain->wants_retry || peer->has_failed_wake;
        has_room = has_room && !peer->has_failed_wake;
    }
    amg_calls_go_locked(&domain->calls, &peer->calls);
    return has_room;
}

bool amg_shm_send_is_blocked_locked(const struct amg_shm_domain *domain)
{
    return !amg_list_is_empty(&domain->blocked);
}

void amg_shm_send_ask_for_room_locked(struct amg_shm_domain *domain)
{
    struct amg_link *at = amg_list_first(&domain->blocked);

    for (; at != NULL; at = amg_list_next(&domain->blocked, at)) {
        struct amg_shm_peer *peer =
            amg_container_of(at, struct amg_shm_peer, blocked);
        struct amg_shm_link *link = NULL;

        for (uint32_t i = 0;
             (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
            atomic_store_explicit(
                &link->out.ring->is_full, 1, memory_order_relaxed);
    }
    bufs_request_wake_locked(domain);
}

void amg_shm_send_deferred_locked(struct amg_shm_domain *domain)
{
    struct amg_list all;
    struct amg_link *link = NULL;

    amg_list_init(&all);
    amg_list_splice(&all, &domain->blocked);
    domain->wants_retry = false; /* set again where it is still needed */
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_shm_peer *peer =
            amg_container_of(link, struct amg_shm_peer, blocked);

        if (peer->state == AMG_SHM_PEER_ALIVE && !peer_send_locked(peer))
            amg_shm_peer_defer_locked(peer);
        else
            amg_shm_peer_reap_locked(peer);
    }
    while (amg_calls_pay_one_locked(&domain->calls))
        continue;
    atomic_store_explicit(&domain->has_deferred,
        amg_shm_send_is_blocked_locked(domain) ||
            domain->calls.flow.owing != NULL,
        memory_order_relaxed);
}
