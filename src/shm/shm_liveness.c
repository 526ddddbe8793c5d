/* SPDX-License-Identifier: BSD-3-Clause */
/* Liveness of peers: detects peers that closed or died, and ends the operations
 * with them.
 *
 * A peer that closes marks its segment, and sets an event bit at its peers.
 * When a peer dies, the kernel makes its pidfd readable. One epoll set holds
 * all pidfds, and is itself in the epoll set on which each endpoint blocks. A
 * peer without a pidfd (another pid namespace, an old kernel, too many peers)
 * is checked at intervals. A timer wakes blocked endpoints for these checks,
 * for retries of failed wakeups, and for new attempts to claim a slot. A peer
 * that called exec() keeps its pid: silent_check_locked() detects the exec().
 *
 * A peer may have replied before it closed or died. So a call to the peer ends
 * only when the ring with the peer's replies was read to the end
 * (shm_inring.c). A partly written cell lacks its number, and is not read.
 * Model: tests/models/shm_ring.pml. */
#include "shm/shm_inbox.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "shm/shm_bulk.h"
#include "shm/shm_files.h"
#include "shm/shm_peer.h"
#include "shm/shm_send.h"

#define RETRY_NS (10 * AMG_NS_PER_MS)
#define CHECK_NS (100 * AMG_NS_PER_MS)

enum {
    EVENTS = 16,
    CHECKS = 16, /* peers without a pidfd per step: 5 system calls each */
};

/* Wakes the owners of all inboxes, because a peer is GONE: the owners read the
 * peer's rings to their ends, which ends the calls to the peer. */
static void inboxes_wake_locked(struct amg_shm_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->inboxes[i] != NULL)
            atomic_fetch_or_explicit(&domain->region.contexts[i].events,
                AMG_SHM_EVENT_PEERS, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst); /* Dekker, see shm_link.c */
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            amg_shm_doorbell_self_locked(domain->eps[i]);
}

/* Makes a peer GONE, and ends everything in flight to the peer except calls,
 * whose answers may be in a ring (amg_shm_liveness_end_calls_locked). */
static void peer_gone_locked(struct amg_shm_peer *peer, bool has_died)
{
    struct amg_shm_domain *domain = peer->domain;
    uint32_t owed = 0;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->state != AMG_SHM_PEER_ALIVE || peer == domain->self)
        return;
    owed = amg_calls_owed_locked(&domain->calls, &peer->calls, peer->id);
    peer->state = AMG_SHM_PEER_GONE;
    AMG_LOG(owed > 0 && has_died ? HG_LOG_LEVEL_WARNING : HG_LOG_LEVEL_INFO,
        "shm", "na+sm://%s, process %u, has %s; %u calls to it had not ended",
        peer->region.name, (unsigned)peer->region.pid,
        has_died ? "died, or called exec()" : "closed", (unsigned)owed);
    amg_shm_peer_pidfd_close_locked(peer);
    peer->refs++;
    amg_shm_send_peer_gone_locked(peer);
    amg_shm_bulk_peer_gone_locked(domain, peer);
    amg_flow_forget(&domain->calls.flow, &peer->calls);
    amg_flow_bound(&domain->calls.flow, &peer->calls, domain->calls.flow.limit,
        peer->region.first_credits);
    /* Polls must send notes to the peers that get the freed credits now. */
    atomic_store_explicit(&domain->has_deferred, 1, memory_order_relaxed);
    /* Suppresses a warning: messages left in the ring may return credits. */
    peer->calls.violations |= 1u << AMG_VIOLATION_CREDITS;
    inboxes_wake_locked(domain);
    AMG_ASSERT(peer->refs > 0 && peer->msgbufs_lent == 0);
    amg_shm_peer_unref_locked(peer);
}

/* Whether the inbox has a ring of the peer that is not read to the end yet. */
static bool has_ring_locked(
    const struct amg_shm_inbox *inbox, const struct amg_shm_peer *peer)
{
    const struct amg_link *link = amg_list_first(&inbox->rings);

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (; link != NULL; link = amg_list_next(&inbox->rings, link))
        if (amg_container_of(link, struct amg_shm_inring, link)->peer == peer)
            return true;
    return false;
}

static bool has_rings_locked(const struct amg_shm_peer *peer)
{
    const struct amg_shm_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->inboxes[i] != NULL &&
            has_ring_locked(domain->inboxes[i], peer))
            return true;
    return false;
}

/* Selects the calls to a peer that end with HG_HOSTUNREACH: the calls of
 * `inbox`, where all cells of the peer were read. `is_last`: the cells in all
 * other inboxes were read, too, so cancelled calls of any context also end. */
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

void amg_shm_liveness_end_calls_locked(struct amg_shm_inbox *inbox)
{
    struct amg_shm_domain *domain = inbox->domain;
    struct amg_shm_peer *peer = amg_shm_peer_next_locked(domain, NULL);

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    while (peer != NULL) {
        struct amg_shm_peer *next = amg_shm_peer_next_locked(domain, peer);

        if (peer->state == AMG_SHM_PEER_GONE && peer->calls.unanswered > 0 &&
            !has_ring_locked(inbox, peer)) {
            const struct silence silence = {inbox, !has_rings_locked(peer)};

            amg_calls_lost_asked_locked(
                &domain->calls, &peer->calls, peer->id, is_silent, &silence);
            amg_shm_peer_reap_locked(peer);
        }
        peer = next;
    }
}

/* Checks without a system call whether the peer closed, or refuses us. */
static void peer_check_locked(struct amg_shm_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->state != AMG_SHM_PEER_ALIVE || peer == peer->domain->self)
        return;
    if (amg_shm_region_is_closed(&peer->region)) {
        peer_gone_locked(peer, false);
    } else if (amg_shm_link_has_state_locked(peer, AMG_SHM_REFUSED)) {
        if (peer->domain->refusing != peer->region.incarnation &&
            amg_calls_may_warn(&peer->domain->calls))
            AMG_LOG_WARNING("shm",
                "na+sm://%s cannot map the segment of this process: calls to "
                "it end",
                peer->region.name);
        peer->domain->refusing = peer->region.incarnation;
        peer->has_refused = true;
        amg_shm_link_leave_locked(peer);
        peer_gone_locked(peer, false);
    }
}

void amg_shm_liveness_check_closed_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_peer *peer = amg_shm_peer_next_locked(domain, NULL);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while (peer != NULL) {
        struct amg_shm_peer *next = amg_shm_peer_next_locked(domain, peer);

        peer_check_locked(peer);
        peer = next;
    }
}

static void death_events_take_locked(struct amg_shm_domain *domain)
{
    struct epoll_event events[EVENTS];
    int count = domain->deaths.epoll < 0
                    ? 0
                    : epoll_wait(domain->deaths.epoll, events, EVENTS, 0);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (int i = 0; i < count; i++) {
        uint64_t times = 0;
        struct amg_shm_peer *peer =
            amg_map_get(&domain->peers, events[i].data.u64);

        if (events[i].data.u64 == 0)
            (void)!read(domain->deaths.timer, &times, sizeof(times));
        if (peer != NULL)
            peer_gone_locked(peer, !amg_shm_region_is_closed(&peer->region));
    }
}

/* Period after which a blocked endpoint must wake up; 0: no limit. */
static uint64_t tick_period_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->wants_retry)
        return RETRY_NS;
    while (domain->deaths.has_unseen &&
           (peer = amg_shm_peer_next_locked(domain, peer)) != NULL)
        /* When UNSEEN becomes REFUSED, the peer does not wake this process. */
        if (peer != domain->self && peer->state == AMG_SHM_PEER_ALIVE &&
            amg_shm_link_has_state_locked(peer, AMG_SHM_UNSEEN))
            return CHECK_NS;
    domain->deaths.has_unseen = false;
    return domain->deaths.lacks_pidfds ? CHECK_NS : 0;
}

/* Creates the timer if needed; false: no descriptor is left. */
static bool tick_timer_make(struct amg_shm_domain *domain)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};

    AMG_ASSERT(domain->deaths.epoll >= 0);
    if (domain->deaths.timer >= 0)
        return true;
    domain->deaths.timer =
        timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (domain->deaths.timer >= 0 &&
        epoll_ctl(domain->deaths.epoll, EPOLL_CTL_ADD, domain->deaths.timer,
            &event) != 0) {
        close(domain->deaths.timer);
        domain->deaths.timer = -1;
    }
    return domain->deaths.timer >= 0;
}

bool amg_shm_liveness_tick_locked(struct amg_shm_domain *domain)
{
    uint64_t period_ns = tick_period_locked(domain);
    const struct timespec period = {.tv_nsec = (long)period_ns};
    const struct itimerspec when = {period, period};

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (period_ns == domain->deaths.tick_ns)
        return true;
    if (domain->deaths.epoll < 0 || !tick_timer_make(domain) ||
        timerfd_settime(domain->deaths.timer, 0, &when, NULL) != 0)
        return period_ns != RETRY_NS;
    domain->deaths.tick_ns = period_ns;
    return true;
}

void amg_shm_liveness_check_deaths_locked(struct amg_shm_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    death_events_take_locked(domain);
    amg_shm_liveness_check_closed_locked(domain);
}

/* Checks at most CHECKS peers without a pidfd, and moves them to the end of the
 * list, so that the next call checks other peers. */
static void no_pidfd_check_locked(struct amg_shm_domain *domain)
{
    struct amg_list *peers = &domain->all_peers;
    struct amg_link *link = amg_list_first(peers);
    struct amg_list checked;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_list_init(&checked);
    for (unsigned checks = 0; link != NULL && checks < CHECKS;) {
        struct amg_link *next = amg_list_next(peers, link);
        struct amg_shm_peer *peer =
            amg_container_of(link, struct amg_shm_peer, all);

        if (peer->pidfd < 0 && peer->state == AMG_SHM_PEER_ALIVE &&
            !amg_shm_peer_is_own_process(peer)) {
            checks++;
            amg_list_remove(link);
            amg_list_push(&checked, link);
            if (amg_shm_files_owner(&peer->region) == AMG_LIFE_DEAD)
                peer_gone_locked(peer, true);
        }
        link = next;
    }
    domain->deaths.lacks_pidfds = link != NULL || !amg_list_is_empty(&checked);
    amg_list_splice(peers, &checked);
}

void amg_shm_liveness_check_all_locked(struct amg_shm_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_shm_liveness_check_deaths_locked(domain);
    no_pidfd_check_locked(domain);
}

void amg_shm_liveness_init(struct amg_shm_domain *domain)
{
    /* -1, no epoll set: no peer gets a pidfd, all are checked at intervals. */
    domain->deaths.epoll = epoll_create1(EPOLL_CLOEXEC);
    domain->deaths.timer = -1;
    domain->peer_gone_locked = peer_gone_locked;
}

void amg_shm_liveness_fini(struct amg_shm_domain *domain)
{
    if (domain->deaths.timer >= 0)
        close(domain->deaths.timer);
    if (domain->deaths.epoll >= 0)
        close(domain->deaths.epoll);
}
