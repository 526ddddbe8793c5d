/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, replies and refusals that come in, and the end of calls.
 *
 * A request that wants a reply stands in the table of calls from its post, and
 * the number of its place is the cookie that the reply brings back. When it is
 * cancelled its place stays taken, by nobody, until the late reply: that reply
 * returns the credit, because until then the target holds the request.
 *
 *     waiting (in flow) --credit, cell--> asked (in calls) --reply--> done
 *          |                                   |
 *          +------------- cancel --------------+--------------------> done
 *
 * Short bytes are copied out of the cell, into an arrival or, of a reply, into
 * the words of its operation, so that the cell is free at once. Long ones are
 * read where they are, in the slab of their sender. */
#include "shm/shm_msg.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "shm/shm_addr.h"
#include "shm/shm_bell.h"
#include "shm/shm_buf.h"
#include "shm/shm_link.h"
#include "shm/shm_send.h"

enum {
    CELL_HALF = 16,
    /* Bytes of a reply that fit behind the first word of amg_op.priv. */
    IN_OP = (AMG_OP_PRIV_WORDS - 1) * 8,
};

/* A cell with what was checked of it. */
struct message {
    const struct amg_shm_cell *cell;
    struct amg_shm_peer *peer;
    struct amg_shm_slab *slab; /* NULL: the bytes are in the cell */
    uint32_t len;
    unsigned kind;
};

/* Is the cell one that a peer can have sent? Each word of it is read once: a
 * peer gone mad may change it between a check and its use. */
static inline bool message_read(struct amg_shm_peer *peer,
    const struct amg_shm_cell *cell, struct message *ret_message)
{
    const volatile struct amg_shm_cell *words = cell;
    unsigned kind = words->kind;
    uint32_t slab = 0;

    *ret_message = (struct message){.cell = cell,
        .peer = peer,
        .len = words->len,
        .kind = kind & ~(unsigned)AMG_SHM_FAR};
    if (AMG_LIKELY((kind & AMG_SHM_FAR) == 0))
        return ret_message->len <= AMG_SHM_INLINE && kind < AMG_SHM_BULK;
    ret_message->len = words->far.len;
    slab = words->far.slab;
    if (slab >= AMG_SHM_SLABS || ret_message->len > peer->region.message_len ||
        ret_message->kind >= AMG_SHM_BULK)
        return false;
    ret_message->slab = amg_shm_region_slab(&peer->region, slab);
    return true;
}

static void slab_return(const struct message *message)
{
    if (message->slab != NULL)
        amg_shm_slab_return(message->peer, message->slab);
}

/* Gives the bytes of a message to an arrival. False: no memory. */
static inline bool bytes_take_locked(
    struct amg_shm_arrival *arrival, const struct message *message)
{
    struct amg_shm_peer *peer = message->peer;

    arrival->base.len = message->len;
    arrival->base.from = amg_shm_peer_base(peer);
    if (AMG_LIKELY(message->slab == NULL)) {
        memcpy(arrival->bytes, message->cell->bytes, CELL_HALF);
        if (message->len > CELL_HALF)
            memcpy(arrival->bytes + CELL_HALF, message->cell->bytes + CELL_HALF,
                AMG_SHM_INLINE - CELL_HALF);
        arrival->base.data = arrival->bytes;
    } else if (peer->slabs_held < AMG_SHM_HELD_MAX) {
        peer->slabs_held++;
        arrival->slab = message->slab;
        arrival->base.data = message->slab->bytes;
    } else {
        arrival->copy = amg_mem_alloc(message->len);
        if (arrival->copy == NULL)
            return false;
        memcpy(arrival->copy, message->slab->bytes, message->len);
        arrival->base.data = arrival->copy;
        slab_return(message);
    }
    peer->shares++;
    return true;
}

/* An arrival with the bytes of a message; NULL: no memory. */
static inline struct amg_shm_arrival *arrival_make_locked(
    struct amg_shm_domain *domain, const struct message *message)
{
    struct amg_shm_arrival *arrival = amg_shm_arrival_get_locked(domain);

    if (!AMG_LIKELY(arrival != NULL))
        return NULL;
    if (AMG_LIKELY(bytes_take_locked(arrival, message)))
        return arrival;
    arrival->next_free = domain->free_arrivals;
    domain->free_arrivals = arrival;
    return NULL;
}

static bool arrival_give_locked(struct amg_shm_domain *domain,
    const struct message *message, bool is_late, struct amg_list *list)
{
    struct amg_shm_arrival *arrival = arrival_make_locked(domain, message);

    if (!AMG_LIKELY(arrival != NULL))
        return false;
    arrival->base.origin_context = message->cell->context;
    arrival->base.is_one_way = message->kind == AMG_SHM_ONEWAY;
    arrival->base.is_late = is_late;
    arrival->base.token = message->cell->cookie;
    amg_list_push(list, &arrival->base.link);
    return true;
}

/* One more credit is owed to the peer; enough of them are worth a message. */
static void credit_owe_locked(struct amg_shm_peer *peer, uint8_t context)
{
    struct amg_shm_domain *domain = peer->domain;
    const struct amg_shm_note note = {
        .kind = AMG_SHM_CREDIT, .target_context = context};

    if (peer->state != AMG_SHM_PEER_ALIVE)
        return;
    if (!amg_flow_owe(&domain->flow, &peer->calls) ||
        amg_shm_send_word_locked(peer, &note, NULL, 0) == HG_NOMEM)
        atomic_store_explicit(&domain->has_errands, 1, memory_order_relaxed);
}

/* The request will not be served; its origin is told. */
static bool request_refuse_locked(const struct message *message, uint32_t code)
{
    const struct amg_shm_note note = {
        .kind = AMG_SHM_REFUSE,
        .target_context = message->cell->context,
        .cookie = message->cell->cookie,
    };

    if (message->kind == AMG_SHM_ONEWAY)
        credit_owe_locked(message->peer, message->cell->context);
    else if (amg_shm_send_word_locked(
                 message->peer, &note, &code, sizeof(code)) == HG_NOMEM)
        return false;
    slab_return(message);
    return true;
}

static inline bool on_request_locked(struct amg_shm_inbox *inbox,
    struct amg_shm_ep *ep, const struct message *message, struct amg_news *news)
{
    message->peer->context = message->cell->context;
    if (!AMG_LIKELY(ep != NULL && inbox->domain->is_listening))
        return request_refuse_locked(
            message, ep == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED);
    return arrival_give_locked(inbox->domain, message, false, &news->arrived);
}

/* A reply is given to the operation that waits for it. */
static inline bool op_give_locked(struct amg_shm_domain *domain,
    struct amg_op *op, const struct message *message)
{
    if (AMG_LIKELY(message->slab == NULL && message->len <= IN_OP)) {
        memcpy(&op->priv[1], message->cell->bytes, CELL_HALF);
        if (message->len > CELL_HALF)
            memcpy(&op->priv[3], message->cell->bytes + CELL_HALF,
                IN_OP - CELL_HALF);
        op->priv[AMG_SHM_PRIV_STATE] = AMG_SHM_OP_DONE;
        op->data = &op->priv[1];
    } else {
        struct amg_shm_arrival *arrival = arrival_make_locked(domain, message);

        if (arrival == NULL)
            return false;
        op->priv[AMG_SHM_PRIV_STATE] = AMG_SHM_OP_HOLDING;
        op->priv[AMG_SHM_PRIV_PTR] = (uint64_t)(uintptr_t)arrival;
        op->data = arrival->base.data;
    }
    op->len = message->len;
    op->ret = HG_SUCCESS;
    return true;
}

/* It is finished: by the poll that is running, or by the next one of its own
 * endpoint. */
static inline void op_finish_locked(struct amg_shm_ep *op_ep, struct amg_op *op,
    const struct amg_shm_ep *ep, struct amg_news *news)
{
    if (AMG_LIKELY(op_ep == ep)) {
        amg_list_push(&news->done, &op->link);
        return;
    }
    amg_list_push(&op_ep->done, &op->link);
    atomic_store_explicit(&op_ep->has_done, 1, memory_order_relaxed);
    amg_shm_bell_self_locked(op_ep);
}

static void refusal_read(struct amg_op *op, const struct amg_shm_cell *cell)
{
    uint32_t code = 0;

    memcpy(&code, cell->bytes, sizeof(code));
    if (code == HG_SUCCESS || code >= HG_RETURN_MAX)
        code = HG_NA_ERROR;
    op->priv[AMG_SHM_PRIV_STATE] = AMG_SHM_OP_DONE;
    op->ret = (hg_return_t)code;
}

/* The reply to a call that was cancelled, for whichever context polls next. */
static bool late_take_locked(
    struct amg_shm_domain *domain, const struct message *message)
{
    if (message->kind != AMG_SHM_REPLY) {
        slab_return(message);
        return true;
    }
    if (!arrival_give_locked(domain, message, true, &domain->late))
        return false;
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        struct amg_shm_ep *ep = domain->eps[i];

        if (ep == NULL)
            continue;
        atomic_store_explicit(&ep->has_done, 1, memory_order_relaxed);
        amg_shm_bell_self_locked(ep);
    }
    return true;
}

static inline bool on_answer_locked(struct amg_shm_inbox *inbox,
    struct amg_shm_ep *ep, const struct message *message, struct amg_news *news)
{
    struct amg_shm_domain *domain = inbox->domain;
    uint32_t cookie = message->cell->cookie;
    struct amg_table_place *place =
        amg_table_find(&domain->calls, cookie, message->peer->id);
    struct amg_op *op = place == NULL ? NULL : place->object;

    if (!AMG_LIKELY(op != NULL) ||
        op->priv[AMG_SHM_PRIV_STATE] == AMG_SHM_OP_WAITING) {
        amg_shm_addr_blame(
            message->peer, AMG_SHM_FAULT_ANSWER, message->kind, (long)cookie);
        slab_return(message);
        return true;
    }
    if (!AMG_LIKELY(op != &amg_shm_call_over)) {
        if (!late_take_locked(domain, message))
            return false;
    } else {
        struct amg_shm_ep *op_ep = amg_shm_op_ep(op);

        if (!AMG_LIKELY(message->kind == AMG_SHM_REPLY))
            refusal_read(op, message->cell);
        else if (!AMG_LIKELY(op_give_locked(domain, op, message)))
            return false;
        op_finish_locked(op_ep, op, ep, news);
    }
    amg_table_remove(&domain->calls, cookie);
    amg_shm_send_credit_locked(message->peer, 1);
    return true;
}

bool amg_shm_msg_take_locked(struct amg_shm_inbox *inbox, struct amg_shm_ep *ep,
    struct amg_shm_inring *ring, const struct amg_shm_cell *cell,
    struct amg_news *news)
{
    uint16_t credits = cell->credits;
    struct message message;
    bool is_taken = true;

    if (!AMG_LIKELY(message_read(ring->peer, cell, &message))) {
        amg_shm_addr_blame(
            ring->peer, AMG_SHM_FAULT_FORM, cell->kind, (long)message.len);
        return true;
    }
    if (message.kind == AMG_SHM_REPLY || message.kind == AMG_SHM_REFUSE)
        is_taken = on_answer_locked(inbox, ep, &message, news);
    else if (message.kind != AMG_SHM_CREDIT)
        is_taken = on_request_locked(inbox, ep, &message, news);
    if (!AMG_LIKELY(credits == 0) && is_taken)
        amg_shm_send_credit_locked(ring->peer, credits);
    return is_taken;
}

void amg_shm_msg_release(struct amg_ep *ep, struct amg_arrival *base)
{
    struct amg_shm_arrival *arrival = amg_shm_arrival_of(base);
    struct amg_shm_domain *domain = arrival->domain;

    (void)ep; /* may be closed already */
    amg_bias_take(&domain->lock);
    if (base->is_one_way)
        credit_owe_locked(amg_shm_peer_of(base->from), base->origin_context);
    amg_shm_arrival_put_locked(arrival);
    amg_bias_give(&domain->lock);
}

void amg_shm_msg_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    struct amg_shm_arrival *arrival = amg_shm_op_ptr(op);

    (void)ep; /* may be closed already */
    op->data = NULL;
    if (AMG_LIKELY(op->priv[AMG_SHM_PRIV_STATE] != AMG_SHM_OP_HOLDING))
        return;
    op->priv[AMG_SHM_PRIV_STATE] = AMG_SHM_OP_DONE;
    amg_bias_take(&arrival->domain->lock);
    amg_shm_arrival_put_locked(arrival);
    amg_bias_give(&arrival->domain->lock);
}

/* Ends an operation of a call or reply before its time. */
static void op_end_locked(struct amg_op *op, hg_return_t ret)
{
    struct amg_shm_ep *ep = amg_shm_op_ep(op);

    amg_shm_op_end_locked(ep, op, ret);
    amg_shm_bell_self_locked(ep);
}

/* A request that has not left; it is on no queue any more. */
static void request_end_locked(struct amg_shm_buf *buf, hg_return_t ret)
{
    struct amg_op *op = buf->op;

    if (buf->kind == AMG_SHM_REQUEST)
        amg_table_remove(&buf->domain->calls, buf->cookie);
    amg_shm_buf_put_locked(buf);
    op_end_locked(op, ret);
}

void amg_shm_msg_cancel_locked(struct amg_shm_domain *domain, struct amg_op *op)
{
    struct amg_shm_buf *buf = amg_shm_op_ptr(op);

    switch (op->priv[AMG_SHM_PRIV_STATE]) {
    case AMG_SHM_OP_WAITING:
        amg_flow_unwait(&buf->peer->calls, &buf->link);
        request_end_locked(buf, HG_CANCELED);
        return;
    case AMG_SHM_OP_ASKED:
        amg_table_at(&domain->calls, (uint32_t)op->priv[AMG_SHM_PRIV_PTR])
            ->object = &amg_shm_call_over;
        op_end_locked(op, HG_CANCELED);
        return;
    case AMG_SHM_OP_LEAVING:
        buf->op = NULL;
        op_end_locked(op, HG_CANCELED);
        return;
    default:
        return;
    }
}

/* The requests that wait at `peer`: those of `ep`, or all. */
static void waiting_end_locked(
    struct amg_shm_peer *peer, const struct amg_shm_ep *ep, hg_return_t ret)
{
    struct amg_list kept;
    struct amg_link *link = NULL;

    amg_list_init(&kept);
    while ((link = amg_flow_evict(&peer->calls)) != NULL)
        amg_list_push(&kept, link);
    while ((link = amg_list_pop(&kept)) != NULL) {
        struct amg_shm_buf *buf = AMG_OBJECT(link, struct amg_shm_buf, link);

        if (ep != NULL && buf->ep != ep)
            amg_flow_wait(&peer->calls, link);
        else
            request_end_locked(buf, ret);
    }
}

/* The operations of replies that wait in a link: those of `ep`. */
static void queue_detach_locked(
    struct amg_shm_link *link, const struct amg_shm_ep *ep)
{
    struct amg_link *at = amg_list_first(&link->queue);

    for (; at != NULL; at = amg_list_next(&link->queue, at)) {
        struct amg_shm_buf *buf = AMG_OBJECT(at, struct amg_shm_buf, link);

        if (buf->op != NULL && buf->ep == ep) {
            op_end_locked(buf->op, HG_CANCELED);
            buf->op = NULL;
        }
    }
}

static void queue_end_locked(struct amg_shm_link *link)
{
    struct amg_link *at = NULL;

    while ((at = amg_list_pop(&link->queue)) != NULL) {
        struct amg_shm_buf *buf = AMG_OBJECT(at, struct amg_shm_buf, link);

        if (buf->op != NULL)
            op_end_locked(buf->op, HG_HOSTUNREACH);
        amg_shm_buf_put_locked(buf);
    }
}

void amg_shm_msg_drop_locked(
    struct amg_shm_domain *domain, struct amg_shm_ep *ep)
{
    struct amg_link *at = amg_list_first(&domain->all_peers);

    for (; at != NULL; at = amg_list_next(&domain->all_peers, at)) {
        struct amg_shm_peer *peer = AMG_OBJECT(at, struct amg_shm_peer, all);

        waiting_end_locked(peer, ep, HG_CANCELED);
        for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
            struct amg_shm_link *link =
                amg_shm_link_at_locked(peer, (uint8_t)i);

            if (link != NULL)
                queue_detach_locked(link, ep);
        }
    }
    for (uint32_t i = 0; i < domain->calls.cap; i++) {
        struct amg_op *op = domain->calls.places[i].object;

        if (op != NULL && op != &amg_shm_call_over && amg_shm_op_ep(op) == ep)
            amg_shm_msg_cancel_locked(domain, op);
    }
}

void amg_shm_msg_gone_locked(struct amg_shm_peer *peer)
{
    waiting_end_locked(peer, NULL, HG_HOSTUNREACH);
    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        struct amg_shm_link *link = amg_shm_link_at_locked(peer, (uint8_t)i);

        if (link != NULL)
            queue_end_locked(link);
    }
}

void amg_shm_msg_silent_locked(
    struct amg_shm_peer *peer, const struct amg_shm_inbox *inbox, bool is_last)
{
    struct amg_table *calls = &peer->domain->calls;
    uint16_t left = 0;

    for (uint32_t i = 0; i < calls->cap; i++) {
        struct amg_table_place *place = &calls->places[i];
        struct amg_op *op = place->object;

        if (op == NULL || place->owner_or_next != peer->id)
            continue;
        if (op == &amg_shm_call_over ? !is_last
                                     : amg_shm_op_ep(op)->inbox != inbox) {
            left++;
            continue;
        }
        amg_table_remove(
            calls, i | place->generation % (1u << (32 - AMG_TABLE_INDEX_BITS))
                           << AMG_TABLE_INDEX_BITS);
        if (op != &amg_shm_call_over)
            op_end_locked(op, HG_HOSTUNREACH);
    }
    peer->calls.unanswered = left;
}
