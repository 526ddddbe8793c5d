/* SPDX-License-Identifier: BSD-3-Clause */
/* Received requests, replies and refusals, and how the call engine gets them.
 *
 * Bytes in cells are copied into an arrival or, for a short reply, into the
 * words of its operation, so that the cells are free at once. Bytes in a msgbuf
 * or block of the sender are used in place, or copied to the heap. */
#include "shm/shm_inbox.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "shm/shm_bulk.h"
#include "shm/shm_peer.h"
#include "shm/shm_send.h"

enum {
    BLOCK = 32, /* arrivals of one allocation, a struct amg_shm_block */
    /* Msgbufs and blocks of one peer that arrivals may point into. The bytes of
     * further msgbufs, and of all transit msgbufs, are copied, so that
     * receivers that keep arrivals do not exhaust the msgbufs of a sender.
     * Blocks count, but are never copied: a sender can do without blocks. */
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

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (block == NULL)
        return false;
    memset(block, 0, sizeof(*block));
    block->next = domain->arrivals.blocks;
    domain->arrivals.blocks = block;
    for (unsigned i = 0; i < BLOCK; i++) {
        struct amg_shm_arrival *arrival = &block->arrivals[i];

        arrival->domain = domain;
        arrival->base.data = arrival->bytes;
        arrival->next_free = domain->arrivals.free;
        domain->arrivals.free = arrival;
    }
    return true;
}

hg_return_t amg_shm_msg_init(struct amg_shm_domain *domain)
{
    bool is_added = false;

    amg_bias_lock(&domain->lock);
    is_added = block_add_locked(domain);
    amg_bias_unlock(&domain->lock);
    return is_added ? HG_SUCCESS : HG_NOMEM;
}

size_t amg_shm_msg_held_locked(const struct amg_shm_domain *domain)
{
    const struct amg_shm_block *block = domain->arrivals.blocks;
    const struct amg_shm_arrival *free = domain->arrivals.free;
    size_t count = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (; block != NULL; block = block->next)
        count += BLOCK;
    for (; free != NULL; free = free->next_free)
        count--;
    return count;
}

static inline struct amg_shm_arrival *arrival_of(
    const struct amg_arrival *arrival)
{
    return amg_container_of(arrival, struct amg_shm_arrival, base);
}

/* Returns a msgbuf to `peer`, and wakes the peer if it waits for a msgbuf. */
static void msgbuf_return(
    struct amg_shm_peer *peer, struct amg_shm_msgbuf *msgbuf)
{
    if (atomic_exchange_explicit(&msgbuf->is_lent, 0, memory_order_seq_cst) ==
        2)
        amg_shm_link_raise_all(peer);
}

void amg_shm_inring_report(struct amg_shm_inring *ring)
{
    if (!amg_shm_in_report(&ring->in))
        return;
    atomic_store_explicit(&ring->in.ring->is_full, 0, memory_order_relaxed);
    amg_shm_link_raise_all(ring->peer);
}

/* A free arrival; NULL: no memory. */
static inline struct amg_shm_arrival *arrival_get_locked(
    struct amg_shm_domain *domain)
{
    struct amg_shm_arrival *arrival = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!AMG_LIKELY(domain->arrivals.free != NULL) && !block_add_locked(domain))
        return NULL;
    arrival = domain->arrivals.free;
    domain->arrivals.free = arrival->next_free;
    return arrival;
}

/* Releases the bytes of an arrival that are outside of the arrival. */
AMG_NOINLINE static void bytes_release_locked(struct amg_shm_arrival *arrival)
{
    struct amg_shm_peer *peer = amg_shm_peer_of(arrival->base.from);

    AMG_ASSERT_HELD_BIAS(&arrival->domain->lock);
    if (arrival->has_msgbuf) {
        AMG_ASSERT(peer->msgbufs_held > 0);
        msgbuf_return(peer, arrival->msgbuf);
        peer->msgbufs_held--;
    } else {
        amg_mem_free(arrival->copy);
    }
    arrival->base.data = arrival->bytes;
}

/* Frees the arrival, its bytes, and its reference to the peer. */
static inline void arrival_put_locked(struct amg_shm_arrival *arrival)
{
    struct amg_shm_domain *domain = arrival->domain;

    AMG_ASSERT_HELD_BIAS(&arrival->domain->lock);
    if (!AMG_LIKELY(arrival->base.data == arrival->bytes))
        bytes_release_locked(arrival);
    arrival->next_free = domain->arrivals.free;
    domain->arrivals.free = arrival;
    amg_shm_peer_unref_locked(amg_shm_peer_of(arrival->base.from));
}

void amg_shm_msg_fini_locked(struct amg_shm_domain *domain)
{
    struct amg_link *late = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while ((late = amg_list_pop(&domain->calls.late)) != NULL)
        arrival_put_locked(
            arrival_of(amg_container_of(late, struct amg_arrival, link)));
    while (domain->arrivals.blocks != NULL) {
        struct amg_shm_block *next = domain->arrivals.blocks->next;

        amg_mem_free(domain->arrivals.blocks);
        domain->arrivals.blocks = next;
    }
}

/* The values of a cell, each read once, because a faulty peer may change a cell
 * between check and use. Inlined functions of the fast path get a pointer to
 * the struct, others a copy: so the compiler keeps the struct in registers. */
struct message {
    struct amg_shm_peer *peer;
    const struct amg_shm_in *in;     /* the ring, for bytes in further cells */
    const struct amg_shm_cell *cell; /* the first cell of the message */
    struct amg_shm_msgbuf *msgbuf;   /* with the bytes; NULL: in cells */
    uint32_t len;
    uint32_t cookie;
    uint16_t credits;
    uint8_t kind;
    uint8_t context;
};

/* Finds the bytes of a message in a msgbuf. False: no correct peer sends such a
 * message. */
static bool message_find_bytes(struct message *message)
{
    const volatile struct amg_shm_out_of_line *words =
        &message->cell->out_of_line;
    struct amg_shm_msgbuf *msgbuf = NULL;
    uint32_t cap =
        amg_shm_region_find(&message->peer->region, words->msgbuf, &msgbuf);

    message->kind &= (uint8_t)~AMG_SHM_OUT_OF_LINE;
    message->len = words->len;
    if (msgbuf == NULL || message->len > cap)
        return false;
    message->msgbuf = msgbuf;
    return true;
}

static void message_end(struct message message)
{
    if (message.msgbuf != NULL)
        msgbuf_return(message.peer, message.msgbuf);
}

/* Gives the bytes in a msgbuf or block to an arrival. False: no memory. */
AMG_NOINLINE static bool msgbuf_take_locked(
    struct amg_shm_arrival *arrival, struct message message)
{
    struct amg_shm_peer *peer = message.peer;

    AMG_ASSERT_HELD_BIAS(&arrival->domain->lock);
    arrival->has_msgbuf =
        message.len > peer->region.message_len ||
        (peer->msgbufs_held < MSGBUFS_HELD_MAX &&
            message.msgbuf >=
                amg_shm_region_msgbuf(&peer->region, AMG_SHM_TRANSIT));
    if (arrival->has_msgbuf) {
        peer->msgbufs_held++;
        arrival->msgbuf = message.msgbuf;
        arrival->base.data = message.msgbuf->bytes;
        return true;
    }
    arrival->copy = amg_mem_alloc(message.len);
    if (arrival->copy == NULL)
        return false;
    memcpy(arrival->copy, message.msgbuf->bytes, message.len);
    arrival->base.data = arrival->copy;
    message_end(message);
    return true;
}

/* An arrival with the bytes of a message; NULL: no memory. */
static AMG_INLINE struct amg_shm_arrival *arrival_make_locked(
    struct amg_shm_domain *domain, const struct message *message)
{
    struct amg_shm_arrival *arrival = arrival_get_locked(domain);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!AMG_LIKELY(arrival != NULL))
        return NULL;
    arrival->base.from = amg_shm_peer_base(message->peer);
    arrival->base.len = message->len;
    if (AMG_LIKELY(message->msgbuf == NULL)) {
        amg_shm_inline_copy(
            arrival->bytes, message->cell->bytes, message->len, AMG_SHM_INLINE);
        if (!AMG_LIKELY(message->len <= AMG_SHM_INLINE))
            amg_shm_in_continue(
                message->in, arrival->bytes, amg_shm_run_cells(message->len));
    } else if (!msgbuf_take_locked(arrival, *message)) {
        arrival->next_free = domain->arrivals.free;
        domain->arrivals.free = arrival;
        return NULL;
    }
    message->peer->refs++;
    return arrival;
}

static AMG_INLINE bool arrival_give_locked(struct amg_shm_domain *domain,
    const struct message *message, bool is_late, struct amg_list *list)
{
    struct amg_shm_arrival *arrival = arrival_make_locked(domain, message);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!AMG_LIKELY(arrival != NULL))
        return false;
    arrival->base.origin_context = message->context;
    arrival->base.is_one_way = message->kind == AMG_SHM_ONEWAY;
    arrival->base.is_late = is_late;
    arrival->base.is_long = false;
    arrival->base.token = message->cookie;
    amg_list_push(list, &arrival->base.link);
    return true;
}

/* Owes the peer one more credit; returns owed credits now if they are many. */
static void credit_owe_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (AMG_LIKELY(peer->state == AMG_SHM_PEER_ALIVE) &&
        !amg_calls_owe_locked(&domain->calls, &peer->calls))
        atomic_store_explicit(&domain->has_deferred, 1, memory_order_relaxed);
}

/* Refuses a request: sends a refusal if the origin waits for a reply; owes the
 * credit of a one-way request, except of an ACK. False: no memory. */
AMG_NOINLINE static bool request_refuse_locked(
    struct message message, uint32_t code)
{
    const struct amg_shm_msg_header header = {
        .kind = AMG_SHM_REFUSE,
        .target_context = message.context,
        .cookie = message.cookie,
    };

    AMG_ASSERT_HELD_BIAS(&message.peer->domain->lock);
    if (message.kind == AMG_SHM_ONEWAY && message.cookie != AMG_TOKEN_ACK) {
        amg_calls_violation(&message.peer->domain->calls, &message.peer->calls,
            AMG_VIOLATION_DROPPED, message.kind, message.context);
        credit_owe_locked(message.peer);
    } else if (message.kind != AMG_SHM_ONEWAY &&
               amg_shm_send_short_locked(
                   message.peer, &header, &code, sizeof(code)) == HG_NOMEM) {
        return false;
    }
    message_end(message);
    return true;
}

static AMG_INLINE bool on_request_locked(struct amg_shm_domain *domain,
    struct amg_shm_ep *ep, const struct message *message,
    struct amg_events *events)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    message->peer->context = message->context;
    if (!AMG_LIKELY(ep != NULL && domain->is_listening))
        return request_refuse_locked(
            *message, ep == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED);
    return arrival_give_locked(domain, message, false, &events->arrived);
}

/* Gives `op` an arrival with the bytes of a reply that is too long for the
 * words of `op`. False: no memory. */
AMG_NOINLINE static bool op_give_arrival_locked(
    struct amg_shm_domain *domain, struct amg_op *op, struct message message)
{
    struct amg_shm_arrival *arrival = arrival_make_locked(domain, &message);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (arrival == NULL)
        return false;
    op->priv[AMG_CALL_PRIV_STATE] = AMG_SHM_OP_HOLDING;
    op->priv[AMG_CALL_PRIV_PTR] = (uint64_t)(uintptr_t)arrival;
    op->data = arrival->base.data;
    return true;
}

/* Gives a reply to its operation. False: no memory. */
static AMG_INLINE bool op_give_locked(struct amg_shm_domain *domain,
    struct amg_op *op, const struct message *message)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (AMG_LIKELY(message->msgbuf == NULL && message->len <= IN_OP)) {
        amg_shm_inline_copy(
            &op->priv[1], message->cell->bytes, message->len, IN_OP);
        op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
        op->data = &op->priv[1];
    } else if (!op_give_arrival_locked(domain, op, *message)) {
        return false;
    }
    op->len = message->len;
    op->ret = HG_SUCCESS;
    return true;
}

/* Completes the operation: in the running poll if that is a poll of the
 * operation's endpoint, else in the next poll of that endpoint. */
static inline void op_finish_locked(struct amg_shm_ep *op_ep, struct amg_op *op,
    const struct amg_shm_ep *ep, struct amg_events *events)
{
    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(op_ep)->lock);
    if (AMG_LIKELY(op_ep == ep)) {
        amg_list_push(&events->done, &op->link);
        return;
    }
    amg_list_push(&op_ep->done, &op->link);
    amg_shm_due_set_locked(op_ep, AMG_SHM_DUE_DONE, true);
    amg_shm_doorbell_self_locked(op_ep);
}

static void refusal_read(struct amg_op *op, const struct amg_shm_cell *cell)
{
    uint32_t code = 0;

    memcpy(&code, cell->bytes, sizeof(code));
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->ret = amg_call_refusal(code);
}

/* Gives a late reply to the context that polls next; drops a refusal. */
static bool late_take_locked(
    struct amg_shm_domain *domain, struct message message)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (message.kind != AMG_SHM_REPLY) {
        message_end(message);
        return true;
    }
    if (!arrival_give_locked(domain, &message, true, &domain->calls.late))
        return false;
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        struct amg_shm_ep *ep = domain->eps[i];

        if (ep == NULL)
            continue;
        amg_shm_due_set_locked(ep, AMG_SHM_DUE_DONE, true);
        amg_shm_doorbell_self_locked(ep);
    }
    return true;
}

/* Ends a cancelled call, or drops an answer of no call. False: no memory. */
AMG_NOINLINE static bool on_unawaited_locked(
    struct amg_shm_domain *domain, struct amg_op *op, struct message message)
{
    struct amg_flow_peer *calls = &message.peer->calls;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (op == NULL) {
        amg_calls_violation(&domain->calls, calls, AMG_VIOLATION_ANSWER,
            message.kind, (long)message.cookie);
        message_end(message);
        return true;
    }
    AMG_ASSERT(op == &amg_call_cancelled);
    if (!late_take_locked(domain, message))
        return false;
    amg_calls_settle_locked(&domain->calls, message.cookie, calls);
    return true;
}

static AMG_INLINE bool on_answer_locked(struct amg_shm_domain *domain,
    struct amg_shm_ep *ep, const struct message *message,
    struct amg_events *events)
{
    struct amg_op *op = amg_calls_find_locked(
        &domain->calls, message->cookie, message->peer->id);
    struct amg_shm_ep *op_ep = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!AMG_LIKELY(op != NULL && op != &amg_call_cancelled))
        return on_unawaited_locked(domain, op, *message);
    op_ep = amg_shm_ep_of(amg_call_ep(op));
    if (!AMG_LIKELY(message->kind == AMG_SHM_REPLY))
        refusal_read(op, message->cell);
    else if (!AMG_LIKELY(op_give_locked(domain, op, message)))
        return false;
    op_finish_locked(op_ep, op, ep, events);
    amg_calls_settle_locked(
        &domain->calls, message->cookie, &message->peer->calls);
    return true;
}

/* Takes a message; false: no memory. */
static AMG_INLINE bool message_take_locked(struct amg_shm_domain *domain,
    struct amg_shm_ep *ep, const struct message *message,
    struct amg_events *events)
{
    struct amg_flow_peer *calls = &message->peer->calls;
    bool is_taken = true;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    message->peer->watched.is_heard = true;
    if (message->kind <= AMG_SHM_ONEWAY)
        is_taken = on_request_locked(domain, ep, message, events);
    else if (message->kind != AMG_SHM_CREDIT)
        is_taken = on_answer_locked(domain, ep, message, events);
    if (!AMG_LIKELY(message->credits == 0) && is_taken)
        amg_calls_credit_locked(&domain->calls, calls, message->credits);
    if (message->kind == AMG_SHM_CREDIT)
        amg_calls_on_note_locked(&domain->calls, calls, message->cookie);
    return is_taken;
}

static AMG_INLINE void message_read(
    struct message *message, const struct amg_shm_inring *ring)
{
    const volatile struct amg_shm_cell *words = ring->in.cell;

    message->peer = ring->peer;
    message->in = &ring->in;
    message->cell = ring->in.cell;
    message->msgbuf = NULL;
    message->len = words->len;
    message->cookie = words->cookie;
    message->credits = words->credits;
    message->kind = words->kind;
    message->context = words->context;
}

static inline bool message_is_of_transfer(const struct message *message)
{
    return (message->kind & ~(unsigned)AMG_SHM_OUT_OF_LINE) >= AMG_SHM_BULK;
}

/* Takes a rare message: a refusal, credits, or bytes that are not in one cell.
 * False: no memory, or a cell of a transfer. */
AMG_NOINLINE static bool rare_message_take_locked(struct amg_shm_ep *ep,
    struct amg_shm_inring *ring, struct amg_events *events)
{
    struct amg_shm_domain *domain = ring->peer->domain;
    struct message message;
    uint32_t cells = 1;
    bool is_right = false;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    message_read(&message, ring);
    if (message_is_of_transfer(&message))
        return false;
    if ((message.kind & AMG_SHM_OUT_OF_LINE) != 0) {
        is_right = message_find_bytes(&message);
    } else if (message.len <= AMG_SHM_INLINE ||
               (message.len <= AMG_SHM_RUN && message.kind <= AMG_SHM_REPLY)) {
        is_right = true;
        cells = amg_shm_run_cells(message.len);
    }
    if (!AMG_LIKELY(is_right))
        amg_calls_violation(&domain->calls, &ring->peer->calls,
            AMG_VIOLATION_FORM, message.kind, (long)message.len);
    else if (!message_take_locked(domain, ep, &message, events))
        return false;
    amg_shm_inring_pop(ring, cells);
    return true;
}

/* Takes the next message. False: no memory, or a cell of a transfer. */
static AMG_INLINE bool message_next_locked(struct amg_shm_ep *ep,
    struct amg_shm_inring *ring, struct amg_events *events)
{
    struct message message;

    AMG_ASSERT_HELD_BIAS(&ring->peer->domain->lock);
    message_read(&message, ring);
    if (!AMG_LIKELY(
            message.len <= AMG_SHM_INLINE && message.kind <= AMG_SHM_REPLY))
        return rare_message_take_locked(ep, ring, events);
    if (!AMG_LIKELY(
            message_take_locked(ring->peer->domain, ep, &message, events)))
        return false;
    amg_shm_inring_pop(ring, 1);
    return true;
}

/* Takes a cell of a transfer: its credits under the lock, and then its message,
 * which may cause a copy of 64 KiB, without the lock. For a closed context, the
 * lock stays held: it guards the inbox. False: not a cell of a transfer. */
AMG_NOINLINE static bool transfer_cell_take_locked(
    struct amg_shm_ep *ep, struct amg_shm_inring *ring)
{
    struct amg_shm_domain *domain = ring->peer->domain;
    struct message message;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    message_read(&message, ring);
    if (!message_is_of_transfer(&message))
        return false;
    ring->peer->watched.is_heard = true;
    if (message.credits > 0)
        amg_calls_credit_locked(
            &domain->calls, &ring->peer->calls, message.credits);
    if (ep != NULL)
        amg_bias_unlock(&domain->lock);
    amg_shm_transfer_message(
        domain, ring->peer, ring->context_id, ring->in.cell, ep == NULL);
    amg_shm_inring_pop(ring, 1);
    if (ep != NULL)
        amg_bias_lock(&domain->lock);
    return true;
}

/* Takes at most `left` messages of a ring that is not empty; stops if memory is
 * lacking. Returns `left` minus the number of messages taken. */
static AMG_INLINE unsigned ring_take_locked(struct amg_shm_ep *ep,
    struct amg_shm_inring *ring, unsigned left, struct amg_events *events)
{
    AMG_ASSERT_HELD_BIAS(&ring->peer->domain->lock);
    AMG_ASSERT(left > 0);
    do {
        if (!AMG_LIKELY(message_next_locked(ep, ring, events)) &&
            !transfer_cell_take_locked(ep, ring))
            break;
        left--;
    } while (!AMG_LIKELY(!amg_shm_in_has(&ring->in)) && left > 0);
    return left;
}

/* Calls ring_take_locked() for the active rings from index `at` on. */
static AMG_INLINE unsigned rings_take_locked(struct amg_shm_inbox *inbox,
    struct amg_shm_ep *ep, uint32_t at, unsigned left,
    struct amg_events *events)
{
    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    do {
        left = ring_take_locked(ep, inbox->active[at++], left, events);
    } while (!AMG_LIKELY(!amg_shm_inbox_find(inbox, &at)) && left > 0);
    return left;
}

unsigned amg_shm_msg_take_locked(struct amg_shm_inbox *inbox,
    struct amg_shm_ep *ep, uint32_t at, unsigned max, struct amg_events *events)
{
    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    return max - rings_take_locked(inbox, ep, at, max, events);
}

unsigned amg_shm_msg_take(
    struct amg_shm_ep *ep, uint32_t at, unsigned max, struct amg_events *events)
{
    struct amg_shm_inbox *inbox = ep->inbox;
    unsigned left = 0;

    amg_bias_lock(&inbox->domain->lock);
    left = rings_take_locked(inbox, ep, at, max, events);
    amg_bias_unlock(&inbox->domain->lock);
    return max - left;
}

void amg_shm_msg_release(struct amg_ep *ep, struct amg_arrival *base)
{
    struct amg_shm_arrival *arrival = arrival_of(base);
    struct amg_shm_domain *domain = arrival->domain;

    (void)ep; /* may be closed already */
    amg_bias_lock(&domain->lock);
    if (amg_arrival_has_credit(base))
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
