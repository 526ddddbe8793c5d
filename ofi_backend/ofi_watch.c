/* SPDX-License-Identifier: BSD-3-Clause */
/* Watch over silent peers.
 *
 * A dead process is silent on most networks. So who waits for an answer and
 * has heard nothing for a second says hello again: that fails where nobody is,
 * and tells of another token where somebody else is. A process that is only
 * busy answers late, and nothing follows from that. One that is silent without
 * being waited for is asked now and then, to forget those that are dead. */
#include "ofi_backend/ofi_watch.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ofi_backend/ofi_connect.h"
#include "ofi_backend/ofi_env.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_tcp_state.h"

enum {
    TICK_MS = 100,       /* see ofi_poll.c */
    SILENT_TICKS = 10,   /* a second */
    IDLE_TICKS = 600,    /* a minute */
    BUSY_TIMES = 11,     /* more of the time to connect; 2 minutes by default */
    LINE_LEN = 20 << 20, /* tcp;ofi_rxm maps 17 MiB for a connection */
};

/* The provider has taken messages to this peer that have not left yet: so there
 * is a connection, whose end would be told of. Who is only busy gets longer. */
static uint64_t patience_ns(const struct amg_peer *peer)
{
    return peer->state == AMG_OFI_PEER_OPEN && peer->busy > 0
               ? BUSY_TIMES * peer->domain->connect_ns
               : 0;
}

/* Has this process the memory for a connection, which is then used as it comes?
 */
static bool has_room(void)
{
    void *room = amg_mem_alloc(LINE_LEN);

    amg_mem_free(room);
    return room != NULL;
}

/* A process computes before it serves for the first time, as others do later.
 * Where its host has taken the connection, that would tell of its end; of other
 * networks nothing is known, but posts that fail for good. So ranks of a job
 * are waited for, and others as long as those that are busy. */
static bool is_granted_locked(struct amg_peer *peer)
{
    if (peer->state != AMG_OFI_PEER_ASKED ||
        (!peer->domain->is_joined && peer->graces >= BUSY_TIMES) ||
        (peer->domain->facts.is_tcp && !amg_ofi_tcp_is_there_locked(peer)) ||
        !has_room())
        return false;
    peer->graces += peer->graces < BUSY_TIMES ? 1 : 0;
    amg_ofi_peer_set_deadline(peer);
    return true;
}

/* What this process lacks itself for a connection, or "". */
static const char *lack_of(const struct amg_peer *peer)
{
    if (!has_room())
        return "this process has no memory left for a connection; ";
    switch (peer->probe_error) {
    case EMFILE:
        return "this process has no file descriptor left (ulimit -n); ";
    case ENFILE:
        return "this host has no file descriptor left; ";
    case ENOMEM:
    case ENOBUFS:
        return "this host has no memory left for a connection; ";
    default:
        return "";
    }
}

static void peer_time_out_locked(struct amg_peer *peer)
{
    const struct amg_ofi_domain *domain = peer->domain;
    char key[AMG_OFI_AUTH_TEXT_CAP];
    char why[512];

    snprintf(why, sizeof(why),
        "%sno answer in the time that AMALGAM_CONNECT_TIMEOUT_MS gives; is the "
        "address right, the program there running and making progress, its "
        "port not blocked, and does it use ofi+%s%s, too?",
        lack_of(peer), domain->facts.stack,
        amg_ofi_auth_text(domain->info, key));
    (void)amg_ofi_tcp_end_if_dead_locked(peer);
    amg_ofi_connect_lost_locked(peer, why);
}

/* Is it waited for, and for longer than an answer takes, so that it is worth
 * a connection to see whether anybody is there? */
static bool is_missing(const struct amg_peer *peer)
{
    unsigned tick = peer->domain->tick;

    if (peer->state == AMG_OFI_PEER_ASKED)
        return true;
    return peer->state == AMG_OFI_PEER_OPEN &&
           (amg_ofi_peer_is_awaited(peer) ||
               !amg_list_is_empty(&peer->unsent)) &&
           tick - peer->heard_tick >= SILENT_TICKS;
}

/* Has it been silent for so long that its host has to be asked after, and is
 * that gone? */
static bool host_is_gone_locked(struct amg_peer *peer)
{
    uint64_t silent_ms =
        (uint64_t)(peer->domain->tick - peer->heard_tick) * TICK_MS;

    return peer->state == AMG_OFI_PEER_OPEN &&
           (amg_ofi_peer_is_awaited(peer) ||
               !amg_list_is_empty(&peer->unsent)) &&
           silent_ms >= peer->domain->connect_ns / AMG_NS_PER_MS &&
           amg_ofi_tcp_end_if_dead_locked(peer);
}

static void peer_tick_locked(struct amg_peer *peer, uint64_t now_ns)
{
    unsigned tick = peer->domain->tick;

    if (host_is_gone_locked(peer)) {
        amg_ofi_connect_lost_locked(peer,
            "its host acknowledges nothing; is it down, or the link to it?");
        return;
    }
    if (is_missing(peer) && amg_ofi_tcp_is_refused_locked(peer)) {
        amg_ofi_connect_lost_locked(peer,
            "its host refuses connections to that port; is the address right, "
            "and the program there running?");
        return;
    }
    if (amg_ofi_peer_is_waiting(peer) &&
        now_ns >= peer->deadline_ns + patience_ns(peer) &&
        !is_granted_locked(peer)) {
        peer_time_out_locked(peer);
        return;
    }
    if (tick - peer->asked_tick < SILENT_TICKS)
        return;
    if (peer->state == AMG_OFI_PEER_ASKED) {
        peer->owes_hello = true; /* it may have had too much to do */
        amg_ofi_peer_try_later_locked(peer);
    } else if (tick - peer->heard_tick >=
               (amg_ofi_peer_is_awaited(peer) ? SILENT_TICKS : IDLE_TICKS)) {
        amg_ofi_peer_doubt_locked(peer);
    }
}

void amg_ofi_watch_resume_locked(
    struct amg_ofi_domain *domain, uint64_t now_ns, uint64_t away_ns)
{
    struct amg_link *link = amg_list_first(&domain->peers);

    for (; link != NULL; link = amg_list_next(&domain->peers, link)) {
        struct amg_peer *peer = AMG_OBJECT(link, struct amg_peer, all);

        peer->deadline_ns += away_ns;
        if (peer->deadline_ns > now_ns + domain->connect_ns)
            peer->deadline_ns = now_ns + domain->connect_ns;
    }
}

void amg_ofi_watch_tick_locked(struct amg_ofi_domain *domain, uint64_t now_ns)
{
    struct amg_link *link = amg_list_first(&domain->peers);

    while (link != NULL) {
        struct amg_peer *peer = AMG_OBJECT(link, struct amg_peer, all);

        (void)amg_ofi_peer_hold(peer);
        peer_tick_locked(peer, now_ns);
        link = amg_list_next(&domain->peers, link);
        amg_ofi_peer_drop_locked(peer);
    }
}
