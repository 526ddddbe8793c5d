/* SPDX-License-Identifier: BSD-3-Clause */
/* Call engine: queue of waiting posts, calls that end before their answer,
 * protocol violations, and a watch over silent peers.
 *
 * No call waits without a line in the log: every AMALGAM_SILENT_MS a poll
 * checks the peers that this process waits for. A received message costs one
 * store, to a flag of its peer. The log names a peer when it has been silent
 * for 1, 2, 4, 8 ... periods, at most NAMED_MAX peers per check. */
#include "transport/calls.h"

#include <string.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"

enum {
    WARNINGS_MAX = 100, /* so that peers cannot flood the log */
    NAMED_MAX = 4,
    SILENT_MAX = 130, /* checks; afterwards a peer is not named again */
};

struct amg_op amg_call_cancelled;

void amg_calls_init(struct amg_calls *calls, const struct amg_bias *lock,
    uint16_t credits, const struct amg_calls_ops *ops)
{
    calls->ops = ops;
    calls->lock = lock;
    amg_flow_init(&calls->flow, credits);
    amg_table_init(&calls->table, AMG_TABLE_INDEX_MASK + 1u, "calls in flight");
    amg_list_init(&calls->waiting);
    amg_list_init(&calls->late);
    calls->watch = (struct amg_calls_watch){
        .period_ns = amg_env_number(AMG_ENV_SILENT) * AMG_NS_PER_MS};
    calls->warnings = 0;
    memset(&calls->counts, 0, sizeof(calls->counts));
}

void amg_calls_limit(struct amg_calls *calls, uint64_t max_bytes,
    uint32_t message_len, uint64_t peers)
{
    AMG_ASSERT(message_len > 0);
    amg_flow_set_budget(&calls->flow, max_bytes / message_len, peers);
}

void amg_calls_fini(struct amg_calls *calls)
{
    amg_table_fini(&calls->table);
}

bool amg_calls_may_warn(struct amg_calls *calls)
{
    if (calls->warnings >= WARNINGS_MAX)
        return false;
    if (++calls->warnings == WARNINGS_MAX)
        AMG_LOG_WARNING(calls->ops->source,
            "%u faults of peers were reported; further faults are not",
            (unsigned)WARNINGS_MAX);
    return true;
}

void amg_calls_violation(struct amg_calls *calls, struct amg_flow_peer *peer,
    enum amg_violation what, unsigned kind, long number)
{
    static const char *const texts[] = {
        [AMG_VIOLATION_FORM] =
            "a message of unknown form or wrong length was dropped",
        [AMG_VIOLATION_CREDITS] = "more credits came back than were taken",
        [AMG_VIOLATION_LIMIT] =
            "more requests came than it has credits for, or more leases were "
            "asked for than one process may have, and were refused",
        [AMG_VIOLATION_ANSWER] =
            "an answer that matches no call or transfer was dropped",
        [AMG_VIOLATION_ACCESS] = "an access to memory was refused",
        [AMG_VIOLATION_DROPPED] =
            "a one-way call was dropped: its context is closed here, or this "
            "process does not listen or has no memory",
    };
    char name[AMG_PEER_NAME_CAP];

    AMG_ASSERT(what < sizeof(texts) / sizeof(texts[0]));
    if ((peer->violations & 1u << what) != 0 || !amg_calls_may_warn(calls))
        return;
    peer->violations |= (uint8_t)(1u << what);
    calls->ops->name(calls, peer, name);
    AMG_LOG_WARNING(calls->ops->source,
        "from %s: %s (kind %u, number %ld); further cases of that peer are not "
        "reported",
        name, texts[what], kind, number);
}

bool amg_calls_watch_is_due_locked(
    struct amg_calls *calls, struct amg_domain *domain)
{
    struct amg_calls_watch *watch = &calls->watch;
    atomic_uint_fast64_t *look_ns =
        atomic_load_explicit(&domain->look_ns, memory_order_relaxed);
    uint64_t now_ns =
        watch->period_ns == 0 && look_ns == NULL ? 0 : amg_clock_ns();

    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (look_ns != NULL && now_ns >= watch->tick_ns) {
        watch->tick_ns = now_ns + AMG_TICK_NS;
        atomic_store_explicit(look_ns, 0, memory_order_relaxed);
    }
    if (watch->period_ns == 0 || now_ns < watch->next_ns)
        return false;
    watch->next_ns = now_ns + watch->period_ns;
    watch->named = 0;
    return watch->checks++ > 0;
}

unsigned amg_calls_waiting(const struct amg_table *table, uint32_t owner)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < table->cap; i++)
        count += table->slots[i].object != NULL &&
                 table->slots[i].object != &amg_call_cancelled &&
                 table->slots[i].owner_or_next == owner;
    return count;
}

/* Logs that the peer has sent nothing in the last `periods` checks. */
static void silent_log(struct amg_calls *calls,
    const struct amg_flow_peer *peer, unsigned periods, unsigned count)
{
    char name[AMG_PEER_NAME_CAP];

    if (++calls->watch.named > NAMED_MAX)
        return;
    calls->ops->name(calls, peer, name);
    AMG_LOG_WARNING(calls->ops->source,
        "%s has answered nothing for %.1f s; %u calls and transfers of this "
        "process wait for it. Is that process in an MPI call or a long "
        "handler, does it compute, or is it dead? AMALGAM_PROGRESS=thread "
        "(Margo: use_progress_thread) serves calls meanwhile; HG_Cancel() ends "
        "waiting calls",
        name, (double)(periods * calls->watch.period_ns) / 1e9, count);
}

void amg_calls_watch_locked(struct amg_calls *calls, struct amg_flow_peer *peer,
    struct amg_watched *watched, uint32_t owner, unsigned transfers)
{
    unsigned count = transfers;
    unsigned periods = 0;

    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (peer->unanswered > 0 || peer->waiting != NULL)
        count += amg_calls_waiting(&calls->table, owner);
    if (count == 0 && peer->waiting != NULL)
        count = amg_flow_waiting_count(peer); /* one-way: not in the table */
    if (count == 0 || watched->is_heard)
        watched->silent = 0;
    watched->is_heard = false;
    if (count > 0 && watched->silent < SILENT_MAX)
        watched->silent++;
    periods = watched->silent == 0 ? 0 : watched->silent - 1u;
    if (periods > 0 && periods < SILENT_MAX - 1 &&
        (periods & (periods - 1)) == 0)
        silent_log(calls, peer, periods, count);
}

void amg_calls_watched_locked(const struct amg_calls *calls)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (calls->watch.named > NAMED_MAX)
        AMG_LOG_WARNING(calls->ops->source,
            "%u further peers have answered nothing for as long",
            calls->watch.named - NAMED_MAX);
}

/* Makes the post WAITING; the caller then queues it by flow control. */
static void waiting_note_locked(
    struct amg_calls *calls, struct amg_post *post, struct amg_op *op)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    AMG_ASSERT(op != NULL);
    post->op = op;
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_WAITING;
    op->priv[AMG_CALL_PRIV_PTR] = (uint64_t)(uintptr_t)post;
    amg_list_push(&calls->waiting, &post->waiting);
}

/* Wishes for credits. If the note cannot be sent now, a later poll sends it. */
static void wish_locked(struct amg_calls *calls, struct amg_flow_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (amg_flow_wish(&calls->flow, peer))
        (void)calls->ops->pay(calls, peer);
}

/* Ends the operation of a message that is never sent, with `ret`. */
static void post_end_locked(struct amg_calls *calls, struct amg_post *post,
    struct amg_op *op, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (post->wants_reply)
        amg_table_remove(&calls->table, post->cookie);
    calls->ops->put(calls, post);
    calls->ops->end(op, ret);
}

void amg_calls_wait_locked(struct amg_calls *calls, struct amg_post *post)
{
    bool has_credit =
        post->peer->unanswered < amg_flow_credits(&calls->flow, post->peer);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (amg_flow_is_closed(post->peer)) {
        post_end_locked(calls, post, post->op, HG_HOSTUNREACH);
        return;
    }
    waiting_note_locked(calls, post, post->op);
    amg_flow_wait(post->peer, &post->link);
    /* With a credit, older requests to the peer wait for room. */
    amg_driver_count(
        has_credit ? &calls->counts.retries : &calls->counts.credits_short);
    wish_locked(calls, post->peer);
}

void amg_calls_not_sent_locked(struct amg_calls *calls, struct amg_post *post,
    struct amg_op *op, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (ret == HG_AGAIN) {
        waiting_note_locked(calls, post, op);
        amg_flow_unnext(post->peer, &post->link);
        return;
    }
    (void)amg_flow_give(post->peer, 1);
    post_end_locked(calls, post, op, ret);
}

void amg_calls_go_locked(struct amg_calls *calls, struct amg_flow_peer *peer)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(calls->lock);
    while ((link = amg_flow_next(&calls->flow, peer)) != NULL) {
        struct amg_post *post = amg_container_of(link, struct amg_post, link);

        amg_list_remove(&post->waiting);
        if (!amg_calls_send_locked(calls, post, calls->ops->send))
            return;
    }
    if (amg_flow_pay_debt(&calls->flow, peer))
        (void)calls->ops->pay(calls, peer);
    wish_locked(calls, peer);
}

void amg_calls_on_note_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer, uint32_t note)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (note == 0 || amg_flow_is_closed(peer))
        return;
    if (!amg_flow_read_note(&calls->flow, peer, note)) {
        amg_calls_violation(
            calls, peer, AMG_VIOLATION_CREDITS, 0, (long)(int32_t)note);
        return;
    }
    if (peer->waiting != NULL)
        amg_calls_go_locked(calls, peer);
    while (amg_calls_pay_one_locked(calls))
        continue;
}

bool amg_calls_pay_one_locked(struct amg_calls *calls)
{
    struct amg_flow_peer *peer = amg_flow_next_owing(&calls->flow);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (peer == NULL)
        return false;
    if (calls->ops->pay(calls, peer))
        return true;
    amg_flow_owing_add(&calls->flow, peer);
    return false;
}

void amg_calls_abandon_locked(
    struct amg_calls *calls, struct amg_op *op, hg_return_t ret)
{
    struct amg_table_slot *slot =
        amg_table_at(&calls->table, (uint32_t)op->priv[AMG_CALL_PRIV_PTR]);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    AMG_ASSERT(slot->object == op);
    slot->object = &amg_call_cancelled;
    calls->ops->end(op, ret);
}

void amg_calls_end_waiting_locked(
    struct amg_calls *calls, struct amg_post *post, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    AMG_ASSERT(post->op->priv[AMG_CALL_PRIV_STATE] == AMG_CALL_WAITING);
    amg_flow_unwait(post->peer, &post->link);
    amg_list_remove(&post->waiting);
    post_end_locked(calls, post, post->op, ret);
}

void amg_calls_cancel_locked(struct amg_calls *calls, struct amg_op *op)
{
    struct amg_post *post = amg_call_ptr(op);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    switch (op->priv[AMG_CALL_PRIV_STATE]) {
    case AMG_CALL_WAITING:
        amg_calls_end_waiting_locked(calls, post, HG_CANCELED);
        return;
    case AMG_CALL_ASKED:
        amg_calls_abandon_locked(calls, op, HG_CANCELED);
        return;
    case AMG_CALL_LEAVING:
        AMG_ASSERT(post->op == op);
        post->op = NULL;
        calls->ops->end(op, HG_CANCELED);
        return;
    default:
        return;
    }
}

void amg_calls_drop_locked(struct amg_calls *calls, const struct amg_ep *ep)
{
    struct amg_link *link = amg_list_first(&calls->waiting);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    while (link != NULL) {
        struct amg_post *post =
            amg_container_of(link, struct amg_post, waiting);

        link = amg_list_next(&calls->waiting, link);
        if (post->ep == ep)
            amg_calls_cancel_locked(calls, post->op);
    }
    for (uint32_t i = 0; i < calls->table.cap; i++) {
        struct amg_op *op = calls->table.slots[i].object;

        if (op != NULL && op != &amg_call_cancelled && amg_call_ep(op) == ep)
            amg_calls_cancel_locked(calls, op);
    }
}

void amg_calls_detach_locked(struct amg_calls *calls,
    const struct amg_list *posts, const struct amg_ep *ep)
{
    struct amg_link *link = amg_list_first(posts);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    for (; link != NULL; link = amg_list_next(posts, link)) {
        struct amg_post *post = amg_container_of(link, struct amg_post, link);

        if (post->op != NULL && post->ep == ep)
            amg_calls_cancel_locked(calls, post->op);
    }
}

void amg_calls_unsent_locked(struct amg_calls *calls, struct amg_post *post,
    uint32_t owner, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(calls->lock);
    if (post->wants_reply) {
        struct amg_op *op = amg_calls_find_locked(calls, post->cookie, owner);

        if (op == NULL)
            return;
        amg_table_remove(&calls->table, post->cookie);
        if (op != &amg_call_cancelled)
            calls->ops->end(op, ret);
    }
    amg_calls_credit_locked(calls, post->peer, 1);
}

void amg_calls_lost_waiting_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(calls->lock);
    while ((link = amg_flow_evict(peer)) != NULL) {
        struct amg_post *post = amg_container_of(link, struct amg_post, link);

        amg_list_remove(&post->waiting);
        post_end_locked(calls, post, post->op, HG_HOSTUNREACH);
    }
}

void amg_calls_lost_at_locked(struct amg_calls *calls, uint32_t index)
{
    struct amg_op *op = calls->table.slots[index].object;

    AMG_ASSERT_HELD_BIAS(calls->lock);
    amg_table_remove(&calls->table, index);
    if (op != &amg_call_cancelled)
        calls->ops->end(op, HG_HOSTUNREACH);
}

void amg_calls_lost_asked_locked(struct amg_calls *calls,
    struct amg_flow_peer *peer, uint32_t owner,
    bool (*is_lost)(const struct amg_op *op, const void *arg), const void *arg)
{
    uint16_t left = 0;

    AMG_ASSERT_HELD_BIAS(calls->lock);
    for (uint32_t i = 0; i < calls->table.cap; i++) {
        struct amg_table_slot *slot = &calls->table.slots[i];
        struct amg_op *op = slot->object;

        if (op == NULL || slot->owner_or_next != owner)
            continue;
        if (is_lost != NULL && !is_lost(op, arg))
            left++;
        else
            amg_calls_lost_at_locked(calls, i);
    }
    peer->unanswered = left;
}

unsigned amg_calls_lose_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer, uint32_t owner)
{
    unsigned oneways = peer->unanswered;

    AMG_ASSERT_HELD_BIAS(calls->lock);
    amg_calls_lost_waiting_locked(calls, peer);
    for (uint32_t i = 0; i < calls->table.cap; i++)
        oneways -= calls->table.slots[i].object != NULL &&
                   calls->table.slots[i].owner_or_next == owner;
    amg_calls_lost_asked_locked(calls, peer, owner, NULL, NULL);
    amg_flow_forget(&calls->flow, peer);
    amg_flow_close(peer);
    peer->violations = UINT8_MAX; /* late messages are no faults */
    return oneways;
}

void amg_lost_ignore(struct amg_domain *domain, struct amg_peer *peer)
{
    (void)domain;
    (void)peer;
}

uint32_t amg_calls_owed_locked(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, uint32_t owner)
{
    const struct amg_table *table = &calls->table;
    uint32_t count = peer->unanswered + amg_flow_waiting_count(peer);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    for (uint32_t i = 0; i < table->cap && count > 0; i++)
        if (table->slots[i].object == &amg_call_cancelled &&
            table->slots[i].owner_or_next == owner)
            count--;
    return count;
}

enum amg_stage amg_calls_stage_locked(const struct amg_calls *calls,
    const struct amg_op *op, struct amg_flow_peer **ret_peer,
    uint32_t *ret_owner)
{
    const struct amg_table *table = &calls->table;
    const struct amg_link *link = amg_list_first(&calls->waiting);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    for (; link != NULL; link = amg_list_next(&calls->waiting, link)) {
        const struct amg_post *post =
            amg_container_of(link, struct amg_post, waiting);

        if (post->op != op)
            continue;
        *ret_peer = post->peer;
        return post->peer->unanswered <
                       amg_flow_credits(&calls->flow, post->peer)
                   ? AMG_STAGE_ROOM
                   : AMG_STAGE_CREDIT;
    }
    *ret_peer = NULL;
    for (uint32_t i = 0; i < table->cap; i++)
        if (table->slots[i].object == op) {
            *ret_owner = table->slots[i].owner_or_next;
            return AMG_STAGE_SENT;
        }
    return AMG_STAGE_NONE;
}

void amg_calls_where_locked(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, enum amg_stage stage,
    struct amg_whereabouts *ret_where)
{
    int credits = amg_flow_credits(&calls->flow, peer);

    AMG_ASSERT_HELD_BIAS(calls->lock);
    *ret_where = (struct amg_whereabouts){.rank = UINT32_MAX,
        .stage = (uint8_t)stage,
        .taken = peer->unanswered,
        .credits = (uint16_t)(credits > 0 ? credits : 0),
        .waiting = amg_flow_waiting_count(peer)};
    calls->ops->name(calls, peer, ret_where->name);
}

const struct amg_table_slot *amg_calls_pending_locked(
    const struct amg_calls *calls, uint32_t *at)
{
    const struct amg_table *table = &calls->table;

    AMG_ASSERT_HELD_BIAS(calls->lock);
    for (uint32_t i = 0; i < table->cap; i++) {
        const struct amg_table_slot *slot = &table->slots[*at];

        if (slot->object != NULL && slot->object != &amg_call_cancelled)
            return slot;
        *at = *at + 1 < table->cap ? *at + 1 : 0;
    }
    return NULL;
}

/* Copies `len` bytes; the usual two words without a call of memcpy(). */
static inline void bytes_copy(void *to, const void *from, uint32_t len)
{
    if (AMG_LIKELY(len == 2 * sizeof(uint64_t)))
        memcpy(to, from, 2 * sizeof(uint64_t));
    else
        memcpy(to, from, len);
}

bool amg_request_by_buf(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, bool wants_reply, struct amg_op *op)
{
    const struct amg_msg_ops *msg = &ep->transport->msg;
    struct amg_buf *buf = NULL;

    if (msg->get_buf(ep, to.peer, &buf) != HG_SUCCESS)
        return false;
    bytes_copy(buf->data, bytes, len);
    if (msg->send_request(ep, to, buf, len, wants_reply, op) == HG_SUCCESS)
        return true;
    msg->put_buf(ep, buf);
    return false;
}

bool amg_reply_by_buf(struct amg_ep *ep, const struct amg_arrival *arrival,
    const void *bytes, uint32_t len)
{
    const struct amg_msg_ops *msg = &ep->transport->msg;
    struct amg_buf *buf = NULL;

    if (msg->get_buf(ep, arrival->from, &buf) != HG_SUCCESS)
        return false;
    bytes_copy(buf->data, bytes, len);
    if (msg->send_reply(ep, arrival, buf, len, NULL) == HG_SUCCESS)
        return true;
    msg->put_buf(ep, buf);
    return false;
}
