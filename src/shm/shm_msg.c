/* SPDX-License-Identifier: BSD-3-Clause */
/* Received requests, replies and refusals, as passed to the call engine.
 *
 * Short bytes are copied out of the cell, so that it is free at once: into an
 * arrival or, for a reply, into the words of its operation. Long ones are read
 * in the msgbuf of their sender. */
#include "shm/shm_msg.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "shm/shm_peer.h"

enum {
    BLOCK = 32, /* arrivals cut from one allocation */
    /* Msgbufs of one peer that arrivals may point into at once. Further
     * messages are copied, so that a receiver that keeps arrivals does not
     * exhaust the msgbufs of the sender; 64 such receivers would. */
    MSGBUFS_HELD_MAX = 16,
    /* Bytes of a reply that fit behind the first word of amg_op.priv. */
    IN_OP = (AMG_OP_PRIV_WORDS - 1) * 8,
};

struct amg_shm_block {
    struct amg_shm_block *next;
    struct amg_shm_arrival arrivals[BLOCK];
};

static bool block_add_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_block *block =
        amg_mem_alloc_aligned(AMG_SHM_LINE, sizeof(*block));

    if (block == NULL)
        return false;
    memset(block, 0, sizeof(*block));
    block->next = domain->blocks;
    domain->blocks = block;
    for (unsigned i = 0; i < BLOCK; i++) {
        block->arrivals[i].domain = domain;
        block->arrivals[i].next_free = domain->free_arrivals;
        domain->free_arrivals = &block->arrivals[i];
    }
    return true;
}

hg_return_t amg_shm_msg_init(struct amg_shm_domain *domain)
{
    return block_add_locked(domain) ? HG_SUCCESS : HG_NOMEM;
}

void amg_shm_msg_fini(struct amg_shm_domain *domain)
{
    while (domain->blocks != NULL) {
        struct amg_shm_block *next = domain->blocks->next;

        amg_mem_free(domain->blocks);
        domain->blocks = next;
    }
}

/* Returns a msgbuf of `peer` whose bytes were read. */
static void msgbuf_return(
    struct amg_shm_peer *peer, struct amg_shm_msgbuf *msgbuf)
{
    if (atomic_exchange_explicit(&msgbuf->is_lent, 0, memory_order_seq_cst) ==
        2)
        amg_shm_link_raise_all(peer);
}

/* An arrival without bytes; NULL: no memory. */
static inline struct amg_shm_arrival *arrival_get_locked(
    struct amg_shm_domain *domain)
{
    struct amg_shm_arrival *arrival = NULL;

    if (domain->free_arrivals == NULL && !block_add_locked(domain))
        return NULL;
    arrival = domain->free_arrivals;
    domain->free_arrivals = arrival->next_free;
    arrival->msgbuf = NULL;
    arrival->copy = NULL;
    return arrival;
}

/* Frees the arrival, its reference to the peer, and its bytes. */
static void arrival_put_locked(struct amg_shm_arrival *arrival)
{
    struct amg_shm_peer *peer = amg_shm_peer_of(arrival->base.from);

    if (arrival->msgbuf != NULL) {
        AMG_ASSERT(arrival->copy == NULL && peer->msgbufs_held > 0);
        msgbuf_return(peer, arrival->msgbuf);
        peer->msgbufs_held--;
    } else if (arrival->copy != NULL) {
        amg_mem_free(arrival->copy);
    }
    arrival->next_free = arrival->domain->free_arrivals;
    arrival->domain->free_arrivals = arrival;
    amg_shm_peer_unref_locked(peer);
}

void amg_shm_msg_drop_late_locked(struct amg_shm_domain *domain)
{
    struct amg_link *late = NULL;

    while ((late = amg_list_pop(&domain->calls.late)) != NULL)
        arrival_put_locked(amg_shm_arrival_of(
            amg_container_of(late, struct amg_arrival, link)));
}

/* A cell, and the checked values of it. */
struct message {
    const struct amg_shm_cell *cell;
    struct amg_shm_peer *peer;
    struct amg_shm_msgbuf *msgbuf; /* NULL: the bytes are in the cell */
    uint32_t len;
    unsigned kind;
};

/* Checks a cell; false: a correct peer does not send it. Reads each word once,
 * because a faulty peer may change it between the check and the use. */
static inline bool message_read(struct amg_shm_peer *peer,
    const struct amg_shm_cell *cell, struct message *ret_message)
{
    const volatile struct amg_shm_cell *words = cell;
    unsigned kind = words->kind;
    uint32_t msgbuf = 0;

    *ret_message = (struct message){.cell = cell,
        .peer = peer,
        .len = words->len,
        .kind = kind & ~(unsigned)AMG_SHM_OUT_OF_LINE};
    if (AMG_LIKELY((kind & AMG_SHM_OUT_OF_LINE) == 0))
        return ret_message->len <= AMG_SHM_INLINE && kind < AMG_SHM_BULK;
    ret_message->len = words->out_of_line.len;
    msgbuf = words->out_of_line.msgbuf;
    if (msgbuf >= AMG_SHM_MSGBUFS ||
        ret_message->len > peer->region.message_len ||
        ret_message->kind >= AMG_SHM_BULK)
        return false;
    ret_message->msgbuf = amg_shm_region_msgbuf(&peer->region, msgbuf);
    return true;
}

static void message_end(const struct message *message)
{
    if (message->msgbuf != NULL)
        msgbuf_return(message->peer, message->msgbuf);
}

/* Gives the bytes of a message to an arrival. False: no memory. */
static inline bool bytes_take_locked(
    struct amg_shm_arrival *arrival, const struct message *message)
{
    struct amg_shm_peer *peer = message->peer;

    AMG_ASSERT(message->msgbuf != NULL || message->len <= AMG_SHM_INLINE);
    arrival->base.len = message->len;
    arrival->base.from = amg_shm_peer_base(peer);
    if (AMG_LIKELY(message->msgbuf == NULL)) {
        amg_shm_inline_copy(
            arrival->bytes, message->cell->bytes, message->len, AMG_SHM_INLINE);
        arrival->base.data = arrival->bytes;
    } else if (peer->msgbufs_held < MSGBUFS_HELD_MAX) {
        peer->msgbufs_held++;
        arrival->msgbuf = message->msgbuf;
        arrival->base.data = message->msgbuf->bytes;
    } else {
        arrival->copy = amg_mem_alloc(message->len);
        if (arrival->copy == NULL)
            return false;
        memcpy(arrival->copy, message->msgbuf->bytes, message->len);
        arrival->base.data = arrival->copy;
        message_end(message);
    }
    peer->refs++;
    return true;
}

/* An arrival with the bytes of a message; NULL: no memory. */
static inline struct amg_shm_arrival *arrival_make_locked(
    struct amg_shm_domain *domain, const struct message *message)
{
    struct amg_shm_arrival *arrival = arrival_get_locked(domain);

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

/* Owes the peer one more credit; one message returns several of them. */
static void credit_owe_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_domain *domain = peer->domain;

    if (peer->state == AMG_SHM_PEER_ALIVE &&
        !amg_calls_owe_locked(&domain->calls, &peer->calls))
        atomic_store_explicit(&domain->has_deferred, 1, memory_order_relaxed);
}

/* Tells the origin that its request will not be served. False: no memory. */
static bool request_refuse_locked(const struct message *message, uint32_t code)
{
    const struct amg_shm_msg_header header = {
        .kind = AMG_SHM_REFUSE,
        .target_context = message->cell->context,
        .cookie = message->cell->cookie,
    };

    if (message->kind == AMG_SHM_ONEWAY)
        credit_owe_locked(message->peer);
    else if (amg_shm_send_short_locked(
                 message->peer, &header, &code, sizeof(code)) == HG_NOMEM)
        return false;
    message_end(message);
    return true;
}

static inline bool on_request_locked(struct amg_shm_inbox *inbox,
    struct amg_shm_ep *ep, const struct message *message,
    struct amg_events *events)
{
    message->peer->context = message->cell->context;
    if (!AMG_LIKELY(ep != NULL && inbox->domain->is_listening))
        return request_refuse_locked(
            message, ep == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED);
    return arrival_give_locked(inbox->domain, message, false, &events->arrived);
}

/* Gives a reply to its operation. False: no memory. */
static inline bool op_give_locked(struct amg_shm_domain *domain,
    struct amg_op *op, const struct message *message)
{
    if (AMG_LIKELY(message->msgbuf == NULL && message->len <= IN_OP)) {
        amg_shm_inline_copy(
            &op->priv[1], message->cell->bytes, message->len, IN_OP);
        op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
        op->data = &op->priv[1];
    } else {
        struct amg_shm_arrival *arrival = arrival_make_locked(domain, message);

        if (arrival == NULL)
            return false;
        op->priv[AMG_CALL_PRIV_STATE] = AMG_SHM_OP_HOLDING;
        op->priv[AMG_CALL_PRIV_PTR] = (uint64_t)(uintptr_t)arrival;
        op->data = arrival->base.data;
    }
    op->len = message->len;
    op->ret = HG_SUCCESS;
    return true;
}

/* Completes the operation: in the running poll, or in the next one of its own
 * endpoint. */
static inline void op_finish_locked(struct amg_shm_ep *op_ep, struct amg_op *op,
    const struct amg_shm_ep *ep, struct amg_events *events)
{
    if (AMG_LIKELY(op_ep == ep)) {
        amg_list_push(&events->done, &op->link);
        return;
    }
    amg_list_push(&op_ep->done, &op->link);
    atomic_store_explicit(&op_ep->has_done, 1, memory_order_relaxed);
    amg_shm_doorbell_self_locked(op_ep);
}

static void refusal_read(struct amg_op *op, const struct amg_shm_cell *cell)
{
    uint32_t code = 0;

    memcpy(&code, cell->bytes, sizeof(code));
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->ret = amg_call_refusal(code);
}

/* Gives the reply to a cancelled call to the context that polls next. */
static bool late_take_locked(
    struct amg_shm_domain *domain, const struct message *message)
{
    if (message->kind != AMG_SHM_REPLY) {
        message_end(message);
        return true;
    }
    if (!arrival_give_locked(domain, message, true, &domain->calls.late))
        return false;
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        struct amg_shm_ep *ep = domain->eps[i];

        if (ep == NULL)
            continue;
        atomic_store_explicit(&ep->has_done, 1, memory_order_relaxed);
        amg_shm_doorbell_self_locked(ep);
    }
    return true;
}

static inline bool on_answer_locked(struct amg_shm_inbox *inbox,
    struct amg_shm_ep *ep, const struct message *message,
    struct amg_events *events)
{
    struct amg_shm_domain *domain = inbox->domain;
    uint32_t cookie = message->cell->cookie;
    struct amg_op *op =
        amg_calls_find_locked(&domain->calls, cookie, message->peer->id);

    if (!AMG_LIKELY(op != NULL)) {
        amg_calls_violation(&domain->calls, &message->peer->calls,
            AMG_VIOLATION_ANSWER, message->kind, (long)cookie);
        message_end(message);
        return true;
    }
    if (!AMG_LIKELY(op != &amg_call_cancelled)) {
        if (!late_take_locked(domain, message))
            return false;
    } else {
        struct amg_shm_ep *op_ep = amg_shm_ep_of(amg_call_ep(op));

        if (!AMG_LIKELY(message->kind == AMG_SHM_REPLY))
            refusal_read(op, message->cell);
        else if (!AMG_LIKELY(op_give_locked(domain, op, message)))
            return false;
        op_finish_locked(op_ep, op, ep, events);
    }
    amg_calls_settle_locked(&domain->calls, cookie, &message->peer->calls);
    return true;
}

bool amg_shm_msg_take_locked(struct amg_shm_inbox *inbox, struct amg_shm_ep *ep,
    struct amg_shm_inring *ring, const struct amg_shm_cell *cell,
    struct amg_events *events)
{
    uint16_t credits = cell->credits;
    struct message message;
    bool is_taken = true;

    if (!AMG_LIKELY(message_read(ring->peer, cell, &message))) {
        amg_calls_violation(&inbox->domain->calls, &ring->peer->calls,
            AMG_VIOLATION_FORM, cell->kind, (long)message.len);
        return true;
    }
    if (message.kind == AMG_SHM_REPLY || message.kind == AMG_SHM_REFUSE)
        is_taken = on_answer_locked(inbox, ep, &message, events);
    else if (message.kind != AMG_SHM_CREDIT)
        is_taken = on_request_locked(inbox, ep, &message, events);
    if (!AMG_LIKELY(credits == 0) && is_taken)
        amg_calls_credit_locked(
            &inbox->domain->calls, &ring->peer->calls, credits);
    return is_taken;
}

void amg_shm_msg_release(struct amg_ep *ep, struct amg_arrival *base)
{
    struct amg_shm_arrival *arrival = amg_shm_arrival_of(base);
    struct amg_shm_domain *domain = arrival->domain;

    (void)ep; /* may be closed already */
    amg_bias_lock(&domain->lock);
    if (base->is_one_way)
        credit_owe_locked(amg_shm_peer_of(base->from));
    arrival_put_locked(arrival);
    amg_bias_unlock(&domain->lock);
}

void amg_shm_msg_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    struct amg_shm_arrival *arrival = amg_call_ptr(op);

    (void)ep; /* may be closed already */
    op->data = NULL;
    if (AMG_LIKELY(op->priv[AMG_CALL_PRIV_STATE] != AMG_SHM_OP_HOLDING))
        return;
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    amg_bias_lock(&arrival->domain->lock);
    arrival_put_locked(arrival);
    amg_bias_unlock(&arrival->domain->lock);
}

static void queue_end_locked(struct amg_shm_link *link)
{
    struct amg_link *at = NULL;

    while ((at = amg_list_pop(&link->queue)) != NULL) {
        struct amg_shm_buf *buf =
            amg_container_of(at, struct amg_shm_buf, post.link);

        if (buf->post.op != NULL)
            amg_shm_send_end_locked(buf->post.op, HG_HOSTUNREACH);
        amg_shm_buf_put_locked(buf);
    }
}

void amg_shm_msg_cancel_all_locked(
    struct amg_shm_domain *domain, struct amg_shm_ep *ep)
{
    struct amg_shm_peer *peer = NULL;
    struct amg_shm_link *link = NULL;

    amg_calls_drop_locked(&domain->calls, &ep->base);
    while ((peer = amg_shm_peer_next_locked(domain, peer)) != NULL)
        for (uint32_t i = 0;
             (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
            amg_calls_detach_locked(&domain->calls, &link->queue, &ep->base);
}

void amg_shm_msg_end_unsent_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_link *link = NULL;

    amg_calls_lost_waiting_locked(&peer->domain->calls, &peer->calls);
    for (uint32_t i = 0; (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
        queue_end_locked(link);
}

/* The inbox whose ring was read to its end. */
struct silence {
    const struct amg_shm_inbox *inbox;
    bool is_last;
};

static bool is_silent(const struct amg_op *op, const void *arg)
{
    const struct silence *silence = arg;

    if (op == &amg_call_cancelled)
        return silence->is_last;
    return amg_shm_ep_of(amg_call_ep(op))->inbox == silence->inbox;
}

void amg_shm_msg_end_calls_locked(
    struct amg_shm_peer *peer, const struct amg_shm_inbox *inbox, bool is_last)
{
    const struct silence silence = {inbox, is_last};

    amg_calls_lost_asked_locked(
        &peer->domain->calls, &peer->calls, peer->id, is_silent, &silence);
}
