/* SPDX-License-Identifier: BSD-3-Clause */
/* Notices peers that close or die, and ends what was under way with them.
 *
 * Who closes says so in its segment, and raises the news of its peers. Who
 * dies is told of by the kernel: a pidfd becomes readable, and all of them are
 * in one epoll set, which is in those that the endpoints sleep on. A peer of
 * another pid namespace, or where the kernel has no pidfd, is looked after
 * from time to time, for which a sleeper wakes by its own upper bound.
 *
 * Who has gone may have answered before: a call to it ends when the ring by
 * which its answer would come was read to the end (shm_inbox.c). A cell that
 * was not written to its end is none, so that end is there already. */
#include "shm/shm_watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "shm/shm_addr.h"
#include "shm/shm_bell.h"
#include "shm/shm_buf.h"
#include "shm/shm_files.h"
#include "shm/shm_link.h"
#include "shm/shm_msg.h"

enum {
    EVENTS = 16,
    LOOKS = 16, /* at peers without a pidfd: 5 system calls each */
};

hg_return_t amg_shm_watch_init(struct amg_shm_domain *domain)
{
    domain->deaths = epoll_create1(EPOLL_CLOEXEC);
    return HG_SUCCESS; /* without it, peers are looked after by their pids */
}

void amg_shm_watch_fini(struct amg_shm_domain *domain)
{
    if (domain->deaths >= 0)
        close(domain->deaths);
    domain->deaths = -1;
}

/* Another class of this very process: it dies with us. */
static bool is_own_process(const struct amg_shm_peer *peer)
{
    const struct amg_shm_region *own = &peer->domain->region;

    return peer->region.pid == own->pid && peer->region.pid_ns == own->pid_ns;
}

void amg_shm_watch_start_locked(struct amg_shm_peer *peer)
{
    const struct amg_shm_domain *domain = peer->domain;
    struct epoll_event event = {
        .events = EPOLLIN, .data.u64 = peer->region.incarnation};

    if (domain->deaths < 0 || peer->region.pid_ns != domain->region.pid_ns ||
        is_own_process(peer))
        return;
    peer->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)peer->region.pid, 0);
    if (peer->pidfd < 0)
        return;
    /* The pid may have been another's by the time it was opened. */
    if (amg_shm_files_owner(&peer->region) != AMG_SHM_ALIVE ||
        epoll_ctl(domain->deaths, EPOLL_CTL_ADD, peer->pidfd, &event) != 0)
        amg_shm_watch_stop_locked(peer);
}

void amg_shm_watch_stop_locked(struct amg_shm_peer *peer)
{
    if (peer->pidfd < 0)
        return;
    /* Closing does not do it where a forked child has the descriptor, too. */
    (void)epoll_ctl(peer->domain->deaths, EPOLL_CTL_DEL, peer->pidfd, NULL);
    close(peer->pidfd);
    peer->pidfd = -1;
}

/* Rings of peers that have gone are read to their ends by those who own them:
 * then their calls end, so who sleeps is woken for it. */
static void inboxes_tell_locked(struct amg_shm_domain *domain)
{
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->inboxes[i] != NULL)
            atomic_fetch_or_explicit(&domain->region.contexts[i].news,
                AMG_SHM_NEWS_PEERS, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst); /* Dekker, see shm_bell.c */
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            amg_shm_bell_self_locked(domain->eps[i]);
}

void amg_shm_watch_gone_locked(struct amg_shm_peer *peer, bool has_died)
{
    struct amg_shm_domain *domain = peer->domain;

    if (peer->state != AMG_SHM_PEER_ALIVE || peer == domain->self)
        return;
    peer->state = AMG_SHM_PEER_GONE;
    peer->has_died = has_died;
    AMG_LOG_INFO("shm", "na+sm://%s, process %u, has %s", peer->region.name,
        (unsigned)peer->region.pid, has_died ? "died" : "closed");
    amg_shm_watch_stop_locked(peer);
    peer->shares++;
    amg_shm_msg_gone_locked(peer);
    amg_shm_bulk_peer_gone_locked(domain, peer);
    amg_shm_buf_gone_locked(peer);
    amg_flow_forget(&domain->flow, &peer->calls);
    inboxes_tell_locked(domain);
    amg_shm_peer_drop_locked(peer);
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
        if (AMG_OBJECT(link, struct amg_shm_inring, link)->peer == peer)
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

void amg_shm_watch_silent_locked(struct amg_shm_inbox *inbox)
{
    struct amg_list *peers = &inbox->domain->all_peers;
    struct amg_link *link = amg_list_first(peers);

    while (link != NULL) {
        struct amg_link *next = amg_list_next(peers, link);
        struct amg_shm_peer *peer = AMG_OBJECT(link, struct amg_shm_peer, all);

        if (peer->state == AMG_SHM_PEER_GONE && peer->calls.unanswered > 0 &&
            !has_ring_locked(inbox, peer)) {
            amg_shm_msg_silent_locked(peer, inbox, !has_rings_locked(peer));
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
        amg_shm_watch_gone_locked(peer, false);
    } else if (amg_shm_link_is_refused_locked(peer)) {
        AMG_LOG_WARNING("shm",
            "na+sm://%s cannot map the segment of this process: calls to it "
            "end",
            peer->region.name);
        amg_shm_link_leave_locked(peer);
        amg_shm_watch_gone_locked(peer, false);
    }
}

void amg_shm_watch_closed_locked(struct amg_shm_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->all_peers);

    while (link != NULL) {
        struct amg_link *next = amg_list_next(&domain->all_peers, link);

        peer_look_locked(AMG_OBJECT(link, struct amg_shm_peer, all));
        link = next;
    }
}

static void deaths_take_locked(struct amg_shm_domain *domain)
{
    struct epoll_event events[EVENTS];
    int count =
        domain->deaths < 0 ? 0 : epoll_wait(domain->deaths, events, EVENTS, 0);

    for (int i = 0; i < count; i++) {
        struct amg_shm_peer *peer =
            amg_map_get(&domain->peers, events[i].data.u64);

        if (peer != NULL)
            amg_shm_watch_gone_locked(
                peer, !amg_shm_region_is_closed(&peer->region));
    }
}

void amg_shm_watch_told_locked(struct amg_shm_domain *domain)
{
    deaths_take_locked(domain);
    amg_shm_watch_closed_locked(domain);
}

/* Is it one whose death nobody tells of? */
static bool is_unwatched(const struct amg_shm_peer *peer)
{
    return peer->pidfd < 0 && peer->state == AMG_SHM_PEER_ALIVE &&
           !is_own_process(peer);
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
        struct amg_shm_peer *peer = AMG_OBJECT(link, struct amg_shm_peer, all);

        if (is_unwatched(peer)) {
            looks++;
            amg_list_remove(link);
            amg_list_push(&seen, link);
            if (amg_shm_files_owner(&peer->region) == AMG_SHM_DEAD)
                amg_shm_watch_gone_locked(peer, true);
        }
        link = next;
    }
    amg_list_splice(peers, &seen);
}

void amg_shm_watch_all_locked(struct amg_shm_domain *domain)
{
    amg_shm_watch_told_locked(domain);
    unwatched_look_locked(domain);
}
