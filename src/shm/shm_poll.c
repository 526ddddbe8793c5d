/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and blocking of an endpoint.
 *
 * A poll that finds nothing reads the event bits of its context, the next cell
 * of each active ring and some words of its own, and takes no lock. Rare events
 * (silent rings, closed contexts, dead peers) are checked in few polls. */
#include "shm/shm_inbox.h"

#include <sched.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "shm/shm_bulk.h"
#include "shm/shm_msg.h"
#include "shm/shm_peer.h"

#define LIVENESS_NS (100 * AMG_NS_PER_MS)

enum {
    RARE_MASK = 63,   /* one of 64 polls checks closed contexts, */
    PRUNE_MASK = 511, /* one of 512 polls silent rings, */
    CLOCK_MASK = 1023 /* and one of 1024 the clock */
};

/* State of one poll. */
struct poll {
    struct amg_shm_domain *domain;
    struct amg_shm_inbox *inbox;
    struct amg_shm_ep *ep; /* NULL: the context is closed */
    struct amg_events *events;
    bool has_lock;
};

static inline void poll_lock(struct poll *poll)
{
    if (!poll->has_lock)
        amg_bias_lock(&poll->domain->lock);
    poll->has_lock = true;
}

static inline void poll_unlock(struct poll *poll)
{
    if (poll->has_lock)
        amg_bias_unlock(&poll->domain->lock);
    poll->has_lock = false;
}

/* Takes a cell of a transfer, without the lock because it may copy much; with
 * the lock where the context is closed, as that guards its inbox then. */
static void transfer_cell_take(struct poll *poll, struct amg_shm_inring *ring,
    const struct amg_shm_cell *cell)
{
    if (poll->ep != NULL)
        poll_unlock(poll);
    amg_shm_transfer_message(poll->domain, ring->peer, poll->inbox->context_id,
        cell, poll->has_lock);
}

/* Takes up to `max` cells of one ring. */
static inline unsigned ring_take(
    struct poll *poll, struct amg_shm_inring *ring, unsigned max)
{
    const struct amg_shm_cell *cell = amg_shm_in_peek(&ring->in);
    unsigned count = 0;

    while (cell != NULL && count < max) {
        if (AMG_LIKELY(
                (cell->kind & ~(unsigned)AMG_SHM_OUT_OF_LINE) < AMG_SHM_BULK)) {
            poll_lock(poll);
            if (!AMG_LIKELY(amg_shm_msg_take_locked(
                    poll->inbox, poll->ep, ring, cell, poll->events)))
                break;
        } else {
            transfer_cell_take(poll, ring, cell);
        }
        if (!AMG_LIKELY(!amg_shm_in_pop(&ring->in)))
            amg_shm_inbox_report(ring);
        count++;
        cell = amg_shm_in_peek(&ring->in);
    }
    return count;
}

static inline unsigned rings_take(struct poll *poll, unsigned max)
{
    struct amg_shm_inbox *inbox = poll->inbox;
    unsigned count = 0;

    for (uint32_t i = 0; i < inbox->active_count && count < max; i++)
        count += ring_take(poll, inbox->active[i], max - count);
    return count;
}

/* Takes operations that ended outside of polls, and late replies. */
static unsigned done_take_locked(struct poll *poll, unsigned max)
{
    struct amg_shm_ep *ep = poll->ep;
    struct amg_list *late = &poll->domain->calls.late;
    unsigned count = 0;

    AMG_ASSERT(poll->has_lock);
    atomic_store_explicit(&ep->bulk.copied, 0, memory_order_relaxed);
    count = amg_list_take(&poll->events->done, &ep->done, max);
    count += amg_list_take(&poll->events->arrived, late, max - count);
    if (amg_list_is_empty(&ep->done) && amg_list_is_empty(late))
        atomic_store_explicit(&ep->has_done, 0, memory_order_relaxed);
    return count;
}

void amg_shm_poll_closed_locked(struct amg_shm_inbox *inbox)
{
    struct poll poll = {
        .domain = inbox->domain, .inbox = inbox, .has_lock = true};

    AMG_ASSERT(!inbox->is_open);
    if (amg_shm_inbox_has_events(inbox))
        amg_shm_inbox_events_locked(inbox);
    /* All cells that are there, but no endless stream of a busy peer. */
    (void)rings_take(&poll, inbox->active_count * AMG_SHM_CELLS);
    if (inbox->leaving_count > 0)
        amg_shm_inbox_reap_locked(inbox);
}

void amg_shm_poll_all_closed_locked(struct amg_shm_domain *domain, bool is_last)
{
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        if (domain->inboxes[i] == NULL && is_last)
            amg_shm_inbox_refuse_unopened_locked(domain, (uint8_t)i);
        if (domain->inboxes[i] != NULL && !domain->inboxes[i]->is_open)
            amg_shm_poll_closed_locked(domain->inboxes[i]);
    }
}

/* Checks from time to time whether the peers are alive. */
static void liveness_step(struct poll *poll)
{
    uint64_t now_ns = amg_clock_ns();

    if (now_ns - poll->ep->checked_ns < LIVENESS_NS)
        return;
    poll->ep->checked_ns = now_ns;
    poll_lock(poll);
    amg_shm_liveness_check_all_locked(poll->domain);
}

/* Counts a poll that found nothing. */
static inline void idle_poll_count(struct amg_shm_domain *domain)
{
    atomic_store_explicit(&domain->idle_polls,
        atomic_load_explicit(&domain->idle_polls, memory_order_relaxed) + 1u,
        memory_order_relaxed);
}

/* Retries messages that wait for room, and sends owed credits. */
static void deferred_step(struct poll *poll)
{
    struct amg_shm_domain *domain = poll->domain;

    if (atomic_load_explicit(&domain->has_deferred, memory_order_relaxed) == 0)
        return;
    poll_lock(poll);
    amg_shm_send_deferred_locked(domain);
}

/* The work of a poll that found nothing. */
static void idle_step(struct poll *poll, bool was_blocked)
{
    idle_poll_count(poll->domain);
    deferred_step(poll);
    if (was_blocked) { /* not woken by a message: perhaps by a death */
        poll_lock(poll);
        amg_shm_liveness_check_deaths_locked(poll->domain);
        liveness_step(poll);
    }
}

/* The work of one poll of many, also of those that find messages: a peer that
 * keeps this context busy must not keep others from their replies and slots. */
static void rare_step(struct poll *poll)
{
    struct amg_shm_domain *domain = poll->domain;
    struct amg_shm_inbox *inbox = poll->inbox;

    deferred_step(poll);
    for (uint32_t i = 0; i < inbox->active_count; i++)
        if (inbox->active[i]->in.reported != inbox->active[i]->in.head)
            amg_shm_inbox_report(inbox->active[i]);
    poll_lock(poll);
    if (domain->closed_inboxes > 0)
        amg_shm_poll_all_closed_locked(domain, false);
}

void amg_shm_poll_disarm(struct amg_shm_ep *ep)
{
    struct amg_shm_inbox *inbox = ep->inbox;
    char bytes[16];
    ssize_t len = 0;

    AMG_ASSERT(ep->is_armed);
    ep->is_armed = false;
    if ((atomic_exchange_explicit(
             &inbox->context->sleep, AMG_SHM_AWAKE, memory_order_acq_rel) &
            AMG_SHM_SLEEP_MASK) == AMG_SHM_WOKEN)
        inbox->bytes_due++;
    if (inbox->bytes_due == 0)
        return;
    /* The byte of a sender may come later; then a later wait takes it. None may
     * stay in the FIFO for ever, or no wait would block any more. */
    len = read(inbox->doorbell, bytes,
        inbox->bytes_due < sizeof(bytes) ? inbox->bytes_due : sizeof(bytes));
    if (len > 0)
        inbox->bytes_due -= (uint32_t)len;
}

static unsigned ep_poll(
    struct amg_shm_ep *ep, unsigned max, struct amg_events *ret_events)
{
    struct poll poll = {
        .domain = amg_shm_domain_of_ep(ep),
        .inbox = ep->inbox,
        .ep = ep,
        .events = ret_events,
    };
    bool was_blocked = false;
    unsigned count = 0;

    if (!AMG_LIKELY(!ep->is_armed)) {
        amg_shm_poll_disarm(ep);
        was_blocked = true;
    }
    if (!AMG_LIKELY(!amg_shm_inbox_has_events(poll.inbox))) {
        poll_lock(&poll);
        amg_shm_inbox_events_locked(poll.inbox);
    }
    count = rings_take(&poll, max);
    if (!AMG_LIKELY(poll.inbox->leaving_count == 0)) {
        poll_lock(&poll);
        amg_shm_inbox_reap_locked(poll.inbox);
    }
    if (amg_shm_bulk_has_ready(&ep->bulk)) {
        poll_unlock(&poll);
        amg_shm_bulk_poll(ep);
    }
    ep->polls++;
    if (count == 0)
        idle_step(&poll, was_blocked);
    if (!AMG_LIKELY((ep->polls & RARE_MASK) != 0))
        rare_step(&poll);
    if (!AMG_LIKELY((ep->polls & PRUNE_MASK) != 0)) {
        amg_shm_inbox_prune(poll.inbox);
        if ((ep->polls & CLOCK_MASK) == 0)
            liveness_step(&poll);
    }
    if (atomic_load_explicit(&ep->has_done, memory_order_relaxed) != 0 &&
        count < max) {
        poll_lock(&poll);
        count += done_take_locked(&poll, max - count);
    }
    poll_unlock(&poll);
    return count;
}

/* Whether this poll has nothing to do. */
static inline bool ep_is_quiet(const struct amg_shm_ep *ep)
{
    const struct amg_shm_inbox *inbox = ep->inbox;
    const struct amg_shm_domain *domain = inbox->domain;

    if (ep->is_armed || amg_shm_inbox_has_events(inbox) ||
        amg_shm_bulk_has_ready(&ep->bulk) ||
        atomic_load_explicit(&ep->has_done, memory_order_relaxed) != 0 ||
        atomic_load_explicit(&domain->has_deferred, memory_order_relaxed) != 0)
        return false;
    for (uint32_t i = 0; i < inbox->active_count; i++)
        if (amg_shm_in_peek(&inbox->active[i]->in) != NULL)
            return false;
    return ((ep->polls + 1) & RARE_MASK) != 0;
}

unsigned amg_shm_poll(
    struct amg_ep *base, unsigned max, struct amg_events *ret_events)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);

    if (!ep_is_quiet(ep))
        return ep_poll(ep, max, ret_events);
    ep->polls++;
    idle_poll_count(ep->inbox->domain);
    return 0;
}

int amg_shm_poll_fd(const struct amg_ep *base)
{
    return amg_container_of(base, const struct amg_shm_ep, base)->epoll;
}

static void cpu_publish(struct amg_shm_ep *ep)
{
    int cpu = sched_getcpu();

    atomic_store_explicit(&ep->inbox->context->cpu,
        cpu < 0 ? 0 : (uint32_t)cpu + 1, memory_order_relaxed);
}

/* Whether a poll would find something now. */
static bool ep_is_busy_locked(struct amg_shm_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);

    if (atomic_load_explicit(&domain->has_deferred, memory_order_relaxed) != 0)
        amg_shm_send_deferred_locked(domain);
    return atomic_load_explicit(&ep->has_done, memory_order_relaxed) != 0 ||
           amg_shm_bulk_has_ready(&ep->bulk);
}

/* Announces that the owner is about to block. False: there is something to do.
 * `*ret_is_blocked`: a message waits for room at a peer. */
static bool block_announce(struct amg_shm_ep *ep, bool *ret_is_blocked)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    bool is_busy = false;

    amg_bias_lock(&domain->lock);
    is_busy = ep_is_busy_locked(ep);
    if (!is_busy) {
        *ret_is_blocked = amg_shm_send_is_blocked_locked(domain);
        if (*ret_is_blocked)
            amg_shm_send_ask_for_room_locked(domain);
        is_busy = !amg_shm_liveness_tick_locked(domain);
    }
    if (!is_busy) {
        ep->is_armed = true;
        ep->inbox->sleeps += AMG_SHM_SLEEP_NEXT;
        atomic_store_explicit(&ep->inbox->context->sleep,
            ep->inbox->sleeps | AMG_SHM_ASLEEP, memory_order_release);
    }
    amg_bias_unlock(&domain->lock);
    return !is_busy;
}

/* The last check, after the fence. False: deferred messages have room now. */
static bool block_confirm(struct amg_shm_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    bool is_busy = false;

    if (atomic_load_explicit(&domain->has_deferred, memory_order_relaxed) == 0)
        return true;
    amg_bias_lock(&domain->lock);
    is_busy = ep_is_busy_locked(ep);
    amg_bias_unlock(&domain->lock);
    return !is_busy;
}

bool amg_shm_poll_arm(struct amg_ep *base)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    bool is_blocked = false;

    cpu_publish(ep);
    if (!block_announce(ep, &is_blocked))
        return false;
    /* Executes a fence, too. */
    if (amg_shm_inbox_prepare_block(ep->inbox, is_blocked) && block_confirm(ep))
        return true;
    amg_shm_poll_disarm(ep);
    return false;
}

/* Whether a context of the peer last waited on that cpu. */
static bool peer_is_on(const struct amg_shm_peer *peer, uint32_t cpu)
{
    for (uint32_t i = 0; i < peer->region.max_contexts; i++)
        if (atomic_load_explicit(
                &peer->region.contexts[i].cpu, memory_order_relaxed) == cpu)
            return true;
    return false;
}

bool amg_shm_poll_is_oversubscribed(struct amg_ep *base)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    const struct amg_shm_inbox *inbox = ep->inbox;
    uint32_t cpu = 0;

    cpu_publish(ep);
    cpu = atomic_load_explicit(&inbox->context->cpu, memory_order_relaxed);
    for (uint32_t i = 0; cpu != 0 && i < inbox->active_count; i++)
        if (inbox->active[i]->peer != amg_shm_domain_of_ep(ep)->self &&
            peer_is_on(inbox->active[i]->peer, cpu))
            return true;
    return false;
}
