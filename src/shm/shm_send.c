/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on their way out.
 *
 * A request takes a credit and then a cell; without one of the two it waits in
 * the peer's flow control, in order. What needs no credit (replies, words of
 * transfers) waits in the link's own queue. A peer with messages that wait for
 * a cell or a slab is on the list of stuck ones, and polls try again. */
#include "shm/shm_send.h"

#include <string.h>

#include "base/assert.h"
#include "base/test_point.h"
#include "shm/shm_addr.h"
#include "shm/shm_bell.h"
#include "shm/shm_buf.h"
#include "shm/shm_link.h"

enum { CELL_HALF = 16 };

struct amg_op amg_shm_call_over;

/* What became of a message. */
enum sent {
    SENT_NOT, /* no room */
    SENT,
    SENT_LATE, /* it left, to a context that is closed */
};

static bool context_is_closed(const struct amg_shm_context *context)
{
    return atomic_load_explicit(&context->is_open, memory_order_acquire) ==
           AMG_SHM_CONTEXT_CLOSED;
}

static void errands_note_locked(struct amg_shm_domain *domain)
{
    atomic_store_explicit(&domain->has_errands, 1, memory_order_relaxed);
}

static void stuck_note_locked(struct amg_shm_peer *peer)
{
    if (!amg_link_is_listed(&peer->stuck))
        amg_list_push(&peer->domain->stuck, &peer->stuck);
    errands_note_locked(peer->domain);
}

/* The reader does not look at the ring, and is told. Its context may have
 * closed since we looked; what it did not read by then nobody reads. */
AMG_APART static enum sent cell_tell_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    amg_shm_link_raise_locked(peer, link);
    AMG_TEST_POINT("shm_request_told");
    return context_is_closed(link->context) && amg_shm_out_is_unread(&link->out)
               ? SENT_LATE
               : SENT;
}

/* Fills in all but the bytes, hands the cell over, and wakes who sleeps. */
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
        sent = cell_tell_locked(peer, link);
    amg_shm_out_prefetch(&link->out,
        atomic_load_explicit(&peer->domain->lull, memory_order_relaxed));
    return sent;
}

/* Copies a line's worth: whole words are quicker than the exact length, and
 * every buf is longer. */
static inline void cell_fill(
    struct amg_shm_cell *cell, const void *bytes, uint32_t len)
{
    cell->len = (uint16_t)len;
    memcpy(cell->bytes, bytes, CELL_HALF);
    if (len > CELL_HALF)
        memcpy(cell->bytes + CELL_HALF, (const char *)bytes + CELL_HALF,
            AMG_SHM_INLINE - CELL_HALF);
}

/* Sends a buf, and takes it. SENT_NOT: it is still the caller's, which may be
 * another one now. */
static inline enum sent buf_send_locked(struct amg_shm_peer *peer,
    struct amg_shm_link *link, struct amg_shm_buf **buf, unsigned kind,
    uint8_t origin_context, uint32_t cookie, uint32_t len)
{
    struct amg_shm_cell *cell = amg_shm_out_next(&link->out);
    struct amg_shm_buf *settled = NULL;
    enum sent sent = SENT_NOT;

    if (!AMG_LIKELY(cell != NULL))
        return SENT_NOT;
    if (AMG_LIKELY(len <= AMG_SHM_INLINE)) {
        cell_fill(cell, (*buf)->buf.data, len);
        sent = cell_send_locked(peer, link, cell, kind, origin_context, cookie);
        amg_shm_buf_put_locked(*buf);
        return sent;
    }
    (*buf)->len = len;
    settled = amg_shm_buf_settle_locked(*buf);
    if (settled == NULL)
        return SENT_NOT;
    amg_shm_buf_out_locked(settled, peer);
    cell->len = sizeof(cell->far);
    cell->far = (struct amg_shm_far){.slab = settled->index, .len = len};
    return cell_send_locked(
        peer, link, cell, kind | AMG_SHM_FAR, origin_context, cookie);
}

/* What a message needs to know while it waits. */
static void buf_note(struct amg_shm_buf *buf, struct amg_shm_peer *peer,
    const struct amg_shm_note *note, uint32_t len, struct amg_shm_ep *ep,
    struct amg_op *op)
{
    buf->peer = peer;
    buf->kind = note->kind;
    buf->origin_context = note->origin_context;
    buf->target_context = note->target_context;
    buf->cookie = note->cookie;
    buf->len = len;
    buf->ep = ep;
    buf->op = op;
}

/* It has left, or never will: tells who waits for that. */
static void op_end_locked(
    struct amg_shm_ep *ep, struct amg_op *op, hg_return_t ret)
{
    amg_shm_op_end_locked(ep, op, ret);
    amg_shm_bell_self_locked(ep);
}

/* A request has left. */
static inline void request_gone_locked(struct amg_shm_ep *ep, struct amg_op *op,
    unsigned kind, uint32_t cookie, enum sent sent)
{
    if (!AMG_LIKELY(sent != SENT_LATE) && kind == AMG_SHM_REQUEST) {
        /* Whoever opens that context again refuses what is in its rings. */
        amg_table_at(&amg_shm_domain_of_ep(ep)->calls, cookie)->object =
            &amg_shm_call_over;
        op_end_locked(ep, op, HG_NOENTRY);
        return;
    }
    if (AMG_LIKELY(kind == AMG_SHM_REQUEST)) {
        op->priv[AMG_SHM_PRIV_STATE] = AMG_SHM_OP_ASKED;
        op->priv[AMG_SHM_PRIV_PTR] = cookie;
    } else {
        op_end_locked(ep, op, HG_SUCCESS);
    }
}

/* Do polls of the context look there, as far as can be seen here? */
static inline bool link_is_read(const struct amg_shm_link *link)
{
    unsigned watch =
        atomic_load_explicit(&link->out.ring->watch, memory_order_relaxed);

    return watch - AMG_SHM_DORMANT <= AMG_SHM_WATCHED - AMG_SHM_DORMANT;
}

/* A link that its reader has not opened yet, or reads no more. */
AMG_APART static hg_return_t link_check_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    if (context_is_closed(link->context))
        return HG_NOENTRY;
    (void)amg_shm_link_slot_locked(peer, link); /* else it waits for one */
    return HG_SUCCESS;
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
    *ret_link = link;
    return AMG_LIKELY(link_is_read(link)) ? HG_SUCCESS
                                          : link_check_locked(peer, link);
}

static inline hg_return_t request_post_locked(struct amg_shm_ep *ep,
    struct amg_shm_peer *peer, struct amg_shm_buf *buf,
    struct amg_shm_note *note, uint32_t len, struct amg_op *op)
{
    struct amg_shm_domain *domain = buf->domain;
    struct amg_shm_link *link = NULL;
    hg_return_t rc = request_link_locked(peer, note->target_context, &link);

    if (!AMG_LIKELY(rc == HG_SUCCESS)) {
        if (rc == HG_NOMEM)
            return rc;
        amg_shm_buf_put_locked(buf);
        op_end_locked(ep, op, rc);
        return HG_SUCCESS;
    }
    if (note->kind == AMG_SHM_REQUEST) {
        rc = amg_table_add(&domain->calls, op, peer->id, &note->cookie);
        if (rc != HG_SUCCESS)
            return rc;
    }
    if (AMG_LIKELY(amg_flow_take(&domain->flow, &peer->calls))) {
        enum sent sent = SENT;

        AMG_TEST_POINT("shm_request_checked");
        sent = buf_send_locked(peer, link, &buf, note->kind,
            note->origin_context, note->cookie, len);
        if (AMG_LIKELY(sent != SENT_NOT)) {
            request_gone_locked(ep, op, note->kind, note->cookie, sent);
            return HG_SUCCESS;
        }
        (void)amg_flow_give(&peer->calls, 1);
        stuck_note_locked(peer);
    }
    buf_note(buf, peer, note, len, ep, op);
    op->priv[AMG_SHM_PRIV_STATE] = AMG_SHM_OP_WAITING;
    op->priv[AMG_SHM_PRIV_PTR] = (uint64_t)(uintptr_t)buf;
    amg_flow_wait(&peer->calls, &buf->link);
    return HG_SUCCESS;
}

hg_return_t amg_shm_send_request(struct amg_ep *base, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    struct amg_shm_note note = {
        .kind = wants_reply ? AMG_SHM_REQUEST : AMG_SHM_ONEWAY,
        .origin_context = base->context_id,
        .target_context = target_context,
    };
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_LIKELY(len <= buf->cap))
        return HG_MSGSIZE;
    amg_bias_take(&domain->lock);
    /* Under the lock: a cancel may come before the post, and finds it done. */
    op->data = NULL;
    op->len = 0;
    op->priv[AMG_SHM_PRIV_STATE] = AMG_SHM_OP_DONE;
    op->priv[AMG_SHM_PRIV_EP] = (uint64_t)(uintptr_t)ep;
    rc = request_post_locked(
        ep, amg_shm_peer_of(peer), amg_shm_buf_of(buf), &note, len, op);
    amg_bias_give(&domain->lock);
    return rc;
}

/* Sends what needs no credit, or queues it; takes the buf. */
static hg_return_t reply_post_locked(struct amg_shm_ep *ep,
    struct amg_shm_peer *peer, struct amg_shm_buf *buf,
    const struct amg_shm_note *note, uint32_t len, struct amg_op *op)
{
    struct amg_shm_link *link = NULL;
    hg_return_t rc =
        AMG_LIKELY(peer->state == AMG_SHM_PEER_ALIVE)
            ? amg_shm_link_find_locked(peer, note->target_context, &link)
            : HG_HOSTUNREACH;

    if (!AMG_LIKELY(rc == HG_SUCCESS)) {
        if (rc == HG_NOMEM)
            return rc;
        amg_shm_buf_put_locked(buf);
        if (op != NULL)
            op_end_locked(ep, op, rc);
        return HG_SUCCESS;
    }
    if (AMG_LIKELY(amg_list_is_empty(&link->queue)) &&
        AMG_LIKELY(buf_send_locked(peer, link, &buf, note->kind,
            note->origin_context, note->cookie, len))) {
        if (op != NULL)
            op_end_locked(ep, op, HG_SUCCESS);
        return HG_SUCCESS;
    }
    buf_note(buf, peer, note, len, ep, op);
    if (op != NULL)
        amg_shm_op_set(op, AMG_SHM_OP_LEAVING, buf, ep);
    amg_list_push(&link->queue, &buf->link);
    stuck_note_locked(peer);
    return HG_SUCCESS;
}

hg_return_t amg_shm_send_reply(struct amg_ep *base,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    struct amg_shm_note note = {
        .kind = AMG_SHM_REPLY,
        .origin_context = base->context_id,
        .target_context = arrival->origin_context,
        .cookie = (uint32_t)arrival->token,
    };
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_LIKELY(len <= buf->cap))
        return HG_MSGSIZE;
    amg_bias_take(&domain->lock);
    if (op != NULL) {
        op->data = NULL;
        op->len = 0;
        amg_shm_op_set(op, AMG_SHM_OP_DONE, NULL, ep);
    }
    rc = reply_post_locked(ep, amg_shm_peer_of(arrival->from),
        amg_shm_buf_of(buf), &note, len, op);
    amg_bias_give(&domain->lock);
    return rc;
}

hg_return_t amg_shm_send_word_locked(struct amg_shm_peer *peer,
    const struct amg_shm_note *note, const void *bytes, uint16_t len)
{
    struct amg_shm_buf *buf = NULL;
    struct amg_shm_link *link = NULL;
    hg_return_t rc = HG_HOSTUNREACH;

    AMG_ASSERT(len <= AMG_SHM_INLINE);
    if (peer->state == AMG_SHM_PEER_ALIVE)
        rc = amg_shm_link_find_locked(peer, note->target_context, &link);
    if (rc != HG_SUCCESS)
        return rc;
    buf = amg_shm_buf_get_locked(peer->domain);
    if (buf == NULL)
        return HG_NOMEM;
    if (len > 0)
        memcpy(buf->buf.data, bytes, len);
    rc = reply_post_locked(NULL, peer, buf, note, len, NULL);
    if (rc != HG_SUCCESS)
        amg_shm_buf_put_locked(buf);
    return rc;
}

/* Requests that may go now. False: there is no room. */
static bool requests_go_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_domain *domain = peer->domain;
    struct amg_link *link = NULL;

    while ((link = amg_flow_next(&domain->flow, &peer->calls)) != NULL) {
        struct amg_shm_buf *buf = AMG_OBJECT(link, struct amg_shm_buf, link);
        struct amg_op *op = buf->op;
        struct amg_shm_ep *ep = buf->ep;
        unsigned kind = buf->kind;
        uint32_t cookie = buf->cookie;
        struct amg_shm_link *to =
            amg_shm_link_at_locked(peer, buf->target_context);
        enum sent sent = SENT_NOT;

        if (amg_shm_link_slot_locked(peer, to))
            sent = buf_send_locked(
                peer, to, &buf, kind, buf->origin_context, cookie, buf->len);
        if (sent == SENT_NOT) {
            amg_flow_unnext(&peer->calls, &buf->link);
            return false;
        }
        request_gone_locked(ep, op, kind, cookie, sent);
    }
    return true;
}

void amg_shm_send_credit_locked(struct amg_shm_peer *peer, uint16_t count)
{
    if (!AMG_LIKELY(amg_flow_give(&peer->calls, count))) {
        if (peer->state == AMG_SHM_PEER_ALIVE) /* else they were forgotten */
            amg_shm_addr_blame(peer, AMG_SHM_FAULT_CREDITS, 0, count);
        return;
    }
    if (!AMG_LIKELY(peer->calls.waiting == NULL) && !requests_go_locked(peer))
        stuck_note_locked(peer);
}

/* Replies and words that may go now. False: there is no room. */
static bool queue_go_locked(struct amg_shm_link *link)
{
    struct amg_link *first = NULL;

    while ((first = amg_list_first(&link->queue)) != NULL) {
        struct amg_shm_buf *buf = AMG_OBJECT(first, struct amg_shm_buf, link);
        struct amg_op *op = buf->op;
        struct amg_shm_ep *ep = buf->ep;

        amg_list_remove(first);
        if (!buf_send_locked(buf->peer, link, &buf, buf->kind,
                buf->origin_context, buf->cookie, buf->len)) {
            amg_list_push_front(&link->queue, &buf->link);
            return false;
        }
        if (op != NULL)
            op_end_locked(ep, op, HG_SUCCESS);
    }
    return true;
}

static bool peer_go_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_domain *domain = peer->domain;
    bool is_free = true;

    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        struct amg_shm_link *link = amg_shm_link_at_locked(peer, (uint8_t)i);

        if (link == NULL || amg_list_is_empty(&link->queue))
            continue;
        if (!amg_shm_link_slot_locked(peer, link) || !queue_go_locked(link))
            is_free = false;
    }
    if (peer->is_unrung) {
        peer->is_unrung = !amg_shm_link_raise_all(peer);
        domain->wants_retry = domain->wants_retry || peer->is_unrung;
        is_free = is_free && !peer->is_unrung;
    }
    return requests_go_locked(peer) && is_free;
}

/* Credits that no message took along. Nobody else may have a share of the peer,
 * and looking for room reaps those that are done with. */
static void owed_go_locked(struct amg_shm_domain *domain)
{
    struct amg_flow_peer *owed = NULL;
    bool has_room = true;

    while (has_room && (owed = amg_flow_next_owing(&domain->flow)) != NULL) {
        struct amg_shm_peer *peer =
            AMG_OBJECT(owed, struct amg_shm_peer, calls);
        const struct amg_shm_note note = {
            .kind = AMG_SHM_CREDIT, .target_context = peer->context};

        peer->shares++;
        if (amg_shm_send_word_locked(peer, &note, NULL, 0) == HG_NOMEM) {
            has_room = false;
            amg_flow_owe_again(
                &domain->flow, owed, amg_flow_take_owed(owed, UINT16_MAX));
        }
        amg_shm_peer_drop_locked(peer);
    }
}

bool amg_shm_send_is_stuck_locked(const struct amg_shm_domain *domain)
{
    return !amg_list_is_empty(&domain->stuck);
}

void amg_shm_send_wait_locked(struct amg_shm_domain *domain)
{
    struct amg_link *at = amg_list_first(&domain->stuck);

    for (; at != NULL; at = amg_list_next(&domain->stuck, at)) {
        struct amg_shm_peer *peer = AMG_OBJECT(at, struct amg_shm_peer, stuck);

        for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
            struct amg_shm_link *link =
                amg_shm_link_at_locked(peer, (uint8_t)i);

            if (link != NULL)
                atomic_store_explicit(
                    &link->out.ring->is_full, 1, memory_order_relaxed);
        }
    }
    amg_shm_buf_want_locked(domain);
}

void amg_shm_send_errands_locked(struct amg_shm_domain *domain)
{
    struct amg_list again;
    struct amg_link *link = NULL;

    amg_list_init(&again);
    domain->wants_retry = false; /* those who want it say so again */
    while ((link = amg_list_pop(&domain->stuck)) != NULL) {
        struct amg_shm_peer *peer =
            AMG_OBJECT(link, struct amg_shm_peer, stuck);

        if (peer->state == AMG_SHM_PEER_ALIVE && !peer_go_locked(peer))
            amg_list_push(&again, link);
        else
            amg_shm_peer_reap_locked(peer);
    }
    amg_list_splice(&domain->stuck, &again);
    owed_go_locked(domain);
    atomic_store_explicit(&domain->has_errands,
        amg_shm_send_is_stuck_locked(domain) || domain->flow.owing != NULL,
        memory_order_relaxed);
}
