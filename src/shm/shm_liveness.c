/* SPDX-License-Identifier: BSD-3-Clause */
/* Liveness of peers: detects those that closed or died, and ends the operations
 * with them.
 *
 * A peer that closes says so in its segment, and sets the event bit of its
 * peers. When a peer dies, the kernel makes its pidfd readable; one epoll set
 * holds all pidfds, and the endpoints sleep on that set. A peer in another pid
 * namespace, or on a kernel without pidfd, is checked at intervals: a timer
 * wakes sleeping endpoints for it. The same timer wakes them for retries: a
 * doorbell that could not be rung, a slot that was not free.
 *
 * A peer may have answered before it went: a call to it ends when the ring for
 * its answers was read to the end (shm_inbox.c). A partly written cell does not
 * count, so that end is final. */
#include "shm/shm_inbox.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/shm_msg.h"
#include "shm/shm_peer.h"
#include "shm/shm_bulk.h"
#include "shm/shm_files.h"

#define RETRY_NS (10 * AMG_NS_PER_MS)
#define LOOK_NS  (100 * AMG_NS_PER_MS)

enum {
    EVENTS = 16,
    LOOKS = 16, /* at peers without a pidfd: 5 system calls each */
};

/* Rings of peers that have gone are read to their ends by those who own them:
 * then their calls end, so who sleeps is woken for it. */
static void inboxes_wake_locked(struct amg_shm_domain *domain)
{
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->inboxes[i] != NULL)
            atomic_fetch_or_explicit(&domain->region.contexts[i].events,
                AMG_SHM_EVENT_PEERS, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst); /* Dekker, see shm_doorbell.c */
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            amg_shm_doorbell_self_locked(domain->eps[i]);
}

/* Nothing is sent to the peer any more; what is under way ends, calls when the
 * answers that it left are read. */
static void peer_gone_locked(struct amg_shm_peer *peer, bool has_died)
{
    struct amg_shm_domain *domain = peer->domain;

    if (peer->state != AMG_SHM_PEER_ALIVE || peer == domain->self)
        return;
    peer->state = AMG_SHM_PEER_GONE;
    peer->has_died = has_died;
    AMG_LOG_INFO("shm", "na+sm://%s, process %u, has %s", peer->region.name,
        (unsigned)peer->region.pid, has_died ? "died" : "closed");
    amg_shm_peer_unwatch_locked(peer);
    peer->refs++;
    amg_shm_msg_end_unsent_locked(peer);
    amg_shm_bulk_peer_gone_locked(domain, peer);
    amg_shm_buf_reclaim_peer_locked(peer);
    amg_flow_forget(&domain->calls.flow, &peer->calls);
    inboxes_wake_locked(domain);
    amg_shm_peer_unref_locked(peer);
}

/* Has it still a ring in the inbox? Read to its end, it is freed. */
static bool has_ring_locked(
    const struct amg_shm_inbox *inbox, const struct amg_shm_peer *peer)
{
    const struct amg_link *link = NULL;

    if (inbox == NULL)
        return false;
    for (link = amg_list_first(&inbox->rings); link != NULL;
         link = amg_list_next(&inbox->rings, link))
        if (amg_container_of(link, struct amg_shm_inring, link)->peer == peer)
            return true;
    return false;
}

static bool has_rings_locked(const struct amg_shm_peer *peer)
{
    const struct amg_shm_domain *domain = peer->domain;

    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (has_ring_locked(domain->inboxes[i], peer))
            return true;
    return false;
}

void amg_shm_liveness_end_calls_locked(struct amg_shm_inbox *inbox)
{
    struct amg_list *peers = &inbox->domain->all_peers;
    struct amg_link *link = amg_list_first(peers);

    while (link != NULL) {
        struct amg_link *next = amg_list_next(peers, link);
        struct amg_shm_peer *peer =
            amg_container_of(link, struct amg_shm_peer, all);

        if (peer->state == AMG_SHM_PEER_GONE && peer->calls.unanswered > 0 &&
            !has_ring_locked(inbox, peer)) {
            amg_shm_msg_end_calls_locked(peer, inbox, !has_rings_locked(peer));
            amg_shm_peer_reap_locked(peer);
        }
        link = next;
    }
}

/* What has become of it, without a system call? */
static void peer_look_locked(struct amg_shm_peer *peer)
{
    if (peer->state != AMG_SHM_PEER_ALIVE || peer == peer->domain->self)
        return;
    if (amg_shm_region_is_closed(&peer->region)) {
        peer_gone_locked(peer, false);
    } else if (amg_shm_link_is_refused_locked(peer)) {
        if (amg_shm_refusal_is_new(
                peer->domain->refusing, peer->region.incarnation))
            AMG_LOG_WARNING("shm",
                "na+sm://%s cannot map the segment of this process: calls to "
                "it end",
                peer->region.name);
        amg_shm_link_leave_locked(peer);
        peer_gone_locked(peer, false);
    }
}

void amg_shm_liveness_check_closed_locked(struct amg_shm_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->all_peers);

    while (link != NULL) {
        struct amg_link *next = amg_list_next(&domain->all_peers, link);

        peer_look_locked(amg_container_of(link, struct amg_shm_peer, all));
        link = next;
    }
}

static void death_events_take_locked(struct amg_shm_domain *domain)
{
    struct epoll_event events[EVENTS];
    int count = domain->death_epoll < 0
                    ? 0
                    : epoll_wait(domain->death_epoll, events, EVENTS, 0);

    for (int i = 0; i < count; i++) {
        uint64_t times = 0;
        struct amg_shm_peer *peer =
            amg_map_get(&domain->peers, events[i].data.u64);

        if (events[i].data.u64 == 0)
            (void)!read(domain->tick_timer, &times, sizeof(times));
        if (peer != NULL)
            peer_gone_locked(peer, !amg_shm_region_is_closed(&peer->region));
    }
}

/* How often a sleep has to end; 0: never. */
static uint64_t tick_period_locked(struct amg_shm_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->all_peers);

    if (domain->wants_retry)
        return RETRY_NS;
    for (; link != NULL && domain->has_unseen;
         link = amg_list_next(&domain->all_peers, link)) {
        struct amg_shm_peer *peer =
            amg_container_of(link, struct amg_shm_peer, all);

        /* It may refuse us, and cannot ring. */
        if (peer != domain->self && peer->state == AMG_SHM_PEER_ALIVE &&
            !amg_shm_link_is_seen_locked(peer))
            return LOOK_NS;
    }
    domain->has_unseen = false;
    return domain->has_unwatched ? LOOK_NS : 0;
}

/* Makes the timer; false: no descriptor for it. */
static bool tick_timer_make(struct amg_shm_domain *domain)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};

    if (domain->tick_timer >= 0)
        return true;
    domain->tick_timer =
        timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (domain->tick_timer >= 0 && epoll_ctl(domain->death_epoll, EPOLL_CTL_ADD,
                                       domain->tick_timer, &event) != 0) {
        close(domain->tick_timer);
        domain->tick_timer = -1;
    }
    return domain->tick_timer >= 0;
}

bool amg_shm_liveness_tick_locked(struct amg_shm_domain *domain)
{
    uint64_t period_ns = tick_period_locked(domain);
    const struct timespec period = {.tv_nsec = (long)period_ns};
    const struct itimerspec when = {period, period};

    if (period_ns == domain->tick_ns)
        return true;
    if (domain->death_epoll < 0 || !tick_timer_make(domain) ||
        timerfd_settime(domain->tick_timer, 0, &when, NULL) != 0)
        return period_ns != RETRY_NS;
    domain->tick_ns = period_ns;
    return true;
}

void amg_shm_liveness_check_deaths_locked(struct amg_shm_domain *domain)
{
    death_events_take_locked(domain);
    amg_shm_liveness_check_closed_locked(domain);
}

/* Is it one whose death nobody tells of? */
static bool is_unwatched(const struct amg_shm_peer *peer)
{
    return peer->pidfd < 0 && peer->state == AMG_SHM_PEER_ALIVE &&
           !amg_shm_peer_is_own_process(peer);
}

/* Looks at LOOKS of these; the next call goes on with the others, as those
 * that were looked at stand at the end of the list then. */
static void unwatched_look_locked(struct amg_shm_domain *domain)
{
    struct amg_list *peers = &domain->all_peers;
    struct amg_link *link = amg_list_first(peers);
    struct amg_list seen;

    amg_list_init(&seen);
    for (unsigned looks = 0; link != NULL && looks < LOOKS;) {
        struct amg_link *next = amg_list_next(peers, link);
        struct amg_shm_peer *peer =
            amg_container_of(link, struct amg_shm_peer, all);

        if (is_unwatched(peer)) {
            looks++;
            amg_list_remove(link);
            amg_list_push(&seen, link);
            if (amg_shm_files_owner(&peer->region) == AMG_SHM_DEAD)
                peer_gone_locked(peer, true);
        }
        link = next;
    }
    domain->has_unwatched = link != NULL || !amg_list_is_empty(&seen);
    amg_list_splice(peers, &seen);
}

void amg_shm_liveness_check_all_locked(struct amg_shm_domain *domain)
{
    amg_shm_liveness_check_deaths_locked(domain);
    unwatched_look_locked(domain);
}

void amg_shm_liveness_init(struct amg_shm_domain *domain)
{
    /* Without it, peers are looked after by their pids. */
    domain->death_epoll = epoll_create1(EPOLL_CLOEXEC);
    domain->tick_timer = -1;
    domain->peer_gone_locked = peer_gone_locked;
}

void amg_shm_liveness_fini(struct amg_shm_domain *domain)
{
    if (domain->tick_timer >= 0)
        close(domain->tick_timer);
    if (domain->death_epoll >= 0)
        close(domain->death_epoll);
    domain->tick_timer = -1;
    domain->death_epoll = -1;
}
