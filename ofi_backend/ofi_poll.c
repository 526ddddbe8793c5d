/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: operations in flight, and silent peers.
 *
 * A dead process is silent on most networks. So a process that waits for a peer
 * and got no message from that peer for a second sends CONNECT again: the
 * CONNECT fails if no process has the address; the ACCEPT has another token if
 * another process has the address. A busy process answers late, without
 * consequences. A silent peer that no operation waits for gets a CONNECT every
 * one or two minutes, to free dead peers; ranks of the same job get none. */
#include "ofi_backend/ofi_ep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_rma.h"

enum {
    REST_TICKS = 600,    /* a minute */
    RESTS_MAX = 64,      /* resting peers that one tick checks */
    LEASE_TICKS = 3,     /* 0.3 s that an unused lease is kept */
    EXTENSIONS_MAX = 11, /* of the time to answer; 2 minutes by default */
    CONN_LEN = 20 << 20, /* tcp;ofi_rxm maps 17 MiB for a connection */
    BATCH = 16,          /* completions read at once */
    POLLS_MIN = 10,      /* fewest late polls until a deadline ends */
    CLOCK_MASK = 63,     /* when busy, one poll of 64 reads the clock */
};

static unsigned error_take_locked(struct amg_ofi_domain *domain)
{
    struct fi_cq_err_entry error = {.op_context = NULL};
    struct fi_cq_data_entry entry = {.op_context = NULL};
    struct amg_ofi_work *work = NULL;
    ssize_t count = amg_ofi_call->cq_readerr(domain->fi.cq, &error);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (count <= 0)
        return 0;
    AMG_LOG_DEBUG("ofi", "completion %p failed: %s, provider's code %d",
        error.op_context, amg_ofi_call->strerror(error.err), error.prov_errno);
    if (error.op_context == NULL)
        return 1;
    entry.flags = error.flags;
    entry.buf = error.err == FI_ETRUNC ? error.buf : NULL;
    work = amg_container_of(error.op_context, struct amg_ofi_work, context);
    work->done(domain, work, &entry, error.err == 0 ? FI_EIO : error.err);
    return 1;
}

/* Takes about `max` completions at most; returns their number. */
static unsigned completions_take_locked(
    struct amg_ofi_domain *domain, unsigned max)
{
    struct fi_cq_data_entry entries[BATCH];
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while (count < max) {
        ssize_t got = amg_ofi_call->cq_read(domain->fi.cq, entries, BATCH);

        if (got == -FI_EAVAIL && error_take_locked(domain) > 0) {
            count++;
            continue;
        }
        if (got <= 0)
            break;
        for (ssize_t i = 0; i < got; i++)
            amg_ofi_poll_on_completion_locked(domain, &entries[i]);
        count += (unsigned)got;
        if (got < BATCH)
            break;
    }
    return count;
}

/* Time beyond the deadline. While the provider still sends messages to the
 * peer, the peer has a connection, whose end the provider would report; so the
 * peer may be busy, and gets more time. */
static uint64_t grace_ns(const struct amg_peer *peer)
{
    return peer->state == AMG_OFI_PEER_OPEN && peer->posts_in_flight > 0
               ? EXTENSIONS_MAX * peer->domain->connect_ns
               : 0;
}

/* Has this process memory for a connection? */
static bool has_memory(void)
{
    void *memory = amg_mem_alloc(CONN_LEN);

    amg_mem_free(memory);
    return memory != NULL;
}

/* The resource that this process or host lacks for a connection, or "". */
static const char *lack_of(const struct amg_peer *peer)
{
    int error = peer->probe.error;

    if (error == ENOMEM || error == ENOBUFS || !has_memory())
        return "no memory left for a connection; ";
    return error == EMFILE   ? "no file descriptor left (ulimit -n); "
           : error == ENFILE ? "no descriptor left on this host (fs.file-max); "
                             : "";
}

/* Extends the deadline of a first contact. A process may compute before it
 * serves for the first time. A host that accepted a TCP connection would report
 * the end of the process; of other networks nothing is known unless posts fail.
 * So ranks of a job get extensions without limit, other processes
 * EXTENSIONS_MAX. Over TCP without an accepted connection, ranks get
 * EXTENSIONS_MAX, as a host drops requests for connections if many come at
 * once; other processes get none. False: no extension. */
static bool deadline_extend_locked(struct amg_peer *peer)
{
    bool is_joined = peer->domain->is_joined;
    bool may_live = !peer->domain->facts.is_tcp ||
                    amg_ofi_tcp_states_locked(peer) == AMG_OFI_TCP_LIVE;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->state != AMG_OFI_PEER_CONNECTING ||
        (!(is_joined && may_live) && peer->conn.extensions >= EXTENSIONS_MAX) ||
        (!may_live && (!is_joined || lack_of(peer)[0] != '\0')) ||
        !has_memory())
        return false;
    AMG_ASSERT(peer->conn.extensions <= EXTENSIONS_MAX);
    peer->conn.extensions += peer->conn.extensions < EXTENSIONS_MAX ? 1 : 0;
    amg_ofi_peer_set_deadline(peer);
    return true;
}

static void peer_time_out_locked(struct amg_peer *peer)
{
    const struct amg_ofi_domain *domain = peer->domain;
    char key[AMG_OFI_AUTH_TEXT_CAP];
    char why[512];

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    snprintf(why, sizeof(why),
        "%sno answer within AMALGAM_CONNECT_TIMEOUT_MS; is the address right, "
        "the program there running and making progress, its port not blocked, "
        "and does it use ofi+%s%s, too?",
        lack_of(peer), domain->facts.stack,
        amg_ofi_auth_text(domain->fi.info, key));
    amg_ofi_connect_lost_locked(peer, why);
}

/* Does this process wait for the peer, and has the peer been silent? */
static bool is_silent(const struct amg_peer *peer)
{
    return peer->state == AMG_OFI_PEER_OPEN &&
           (amg_ofi_peer_is_awaited(peer) ||
               !amg_list_is_empty(&peer->unsent)) &&
           peer->domain->clock.tick - peer->heard_tick >= AMG_OFI_SILENT_TICKS;
}

static void peer_check_locked(struct amg_peer *peer, uint64_t now_ns)
{
    unsigned tick = peer->domain->clock.tick;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    /* Shortens a deadline that was set while no thread polled. */
    if (peer->conn.deadline_ns > now_ns + peer->domain->connect_ns)
        peer->conn.deadline_ns = now_ns + peer->domain->connect_ns;
    if (is_silent(peer) &&
        amg_ofi_tcp_states_locked(peer) == AMG_OFI_TCP_DEAD) {
        amg_ofi_connect_lost_locked(peer,
            "its host acknowledges nothing; is it down, or the link to it?");
        return;
    }
    if ((peer->state == AMG_OFI_PEER_CONNECTING || is_silent(peer)) &&
        amg_ofi_tcp_is_refused_locked(peer)) {
        amg_ofi_connect_lost_locked(peer,
            "its host refuses connections to that port; is the address right, "
            "and the program there running?");
        return;
    }
    if (amg_ofi_peer_is_waiting(peer) &&
        now_ns >= peer->conn.deadline_ns + grace_ns(peer) &&
        !deadline_extend_locked(peer)) {
        peer_time_out_locked(peer);
        return;
    }
    if (tick - peer->conn.connect_tick < AMG_OFI_SILENT_TICKS)
        return;
    if (peer->state == AMG_OFI_PEER_CONNECTING) {
        peer->conn.owes_connect = true; /* the peer may have been too busy */
        amg_ofi_peer_set_pending_locked(peer);
    } else if (tick - peer->heard_tick >=
               (amg_ofi_peer_is_awaited(peer) ? (unsigned)AMG_OFI_SILENT_TICKS
                                              : (unsigned)REST_TICKS)) {
        amg_ofi_peer_check_locked(peer);
    }
}

/* A tick has checked the peer: schedules its next check, if any. */
static void look_next_locked(struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (peer->state == AMG_OFI_PEER_CONNECTING || amg_ofi_peer_is_waiting(peer))
        amg_ofi_peer_look_in_locked(peer, 1);
    else if (amg_ofi_peer_is_awaited(peer))
        amg_ofi_peer_look_in_locked(peer, 0);
    if (peer->look.is_watched || peer->state == AMG_OFI_PEER_UNKNOWN ||
        (peer->state == AMG_OFI_PEER_OPEN && domain->is_joined))
        return;
    peer->look.tick = domain->clock.tick;
    amg_list_push(&domain->peers.resting, &peer->look.link);
}

/* Checks a peer that was taken off its list. */
static void peer_look_locked(struct amg_peer *peer, uint64_t now_ns)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    (void)amg_ofi_peer_ref(peer);
    peer->look.is_watched = false;
    peer_check_locked(peer, now_ns);
    if (!peer->look.is_watched)
        look_next_locked(peer);
    amg_ofi_peer_unref_locked(peer);
}

static void peers_tick_locked(struct amg_ofi_domain *domain, uint64_t now_ns)
{
    struct amg_list due;
    struct amg_link *link = NULL;
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_list_init(&due);
    amg_list_splice(
        &due, &domain->peers.wheel[domain->clock.tick % AMG_OFI_WHEEL]);
    while ((link = amg_list_pop(&due)) != NULL)
        peer_look_locked(
            amg_container_of(link, struct amg_peer, look.link), now_ns);
    while (count++ < RESTS_MAX &&
           (link = amg_list_first(&domain->peers.resting)) != NULL) {
        struct amg_peer *peer =
            amg_container_of(link, struct amg_peer, look.link);

        if (domain->clock.tick - peer->look.tick < REST_TICKS)
            return;
        amg_list_remove(link);
        peer_look_locked(peer, now_ns);
    }
}

/* Time to leave out of deadlines. While no thread polls, answers are not
 * received, and no connection is made: so only a part of that time counts, but
 * enough that deadlines end even if a program polls rarely. */
static uint64_t away_ns(const struct amg_ofi_domain *domain, uint64_t now_ns)
{
    uint64_t late_ns = now_ns - domain->clock.tick_ns;
    uint64_t counted_ns = domain->connect_ns / POLLS_MIN;

    if (counted_ns < AMG_OFI_TICK_NS)
        counted_ns = AMG_OFI_TICK_NS;
    return domain->clock.tick_ns != 0 && late_ns > counted_ns
               ? late_ns - counted_ns
               : 0;
}

/* Logs the names of peers that have been silent for long. */
static void silent_check_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!amg_calls_watch_is_due_locked(&domain->calls, &domain->base))
        return;
    for (struct amg_link *link = amg_list_first(&domain->peers.all);
         link != NULL; link = amg_list_next(&domain->peers.all, link)) {
        struct amg_peer *peer = amg_container_of(link, struct amg_peer, all);

        amg_calls_watch_locked(&domain->calls, &peer->calls, &peer->watched,
            peer->number, (unsigned)amg_list_len(&peer->rma.transfers));
    }
    amg_calls_watched_locked(&domain->calls);
}

static void clock_read_locked(struct amg_ofi_domain *domain)
{
    uint64_t now_ns = amg_clock_ns();

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (now_ns < domain->clock.tick_ns)
        return;
    domain->clock.away_ns += away_ns(domain, now_ns);
    domain->clock.tick_ns = now_ns + AMG_OFI_TICK_NS;
    domain->clock.tick++;
    amg_ofi_receive_again_locked(domain);
    amg_ofi_wait_tick_locked(domain);
    peers_tick_locked(domain, now_ns - domain->clock.away_ns);
    amg_ofi_lease_return_idle_locked(domain, LEASE_TICKS);
    silent_check_locked(domain);
}

static unsigned progress_locked(struct amg_ofi_domain *domain, unsigned max)
{
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    /* Posts buffers first: providers may store messages that find no buffer. */
    if (domain->in.wants_receive)
        amg_ofi_receive_again_locked(domain);
    amg_packer_turn(&domain->packer);
    amg_ofi_send_kept_locked(domain);
    count = completions_take_locked(domain, max);
    if (!amg_list_is_empty(&domain->peers.pending))
        amg_ofi_connect_retry_locked(domain);
    if (!amg_list_is_empty(&domain->rma.transfers))
        amg_ofi_rma_move_locked(domain);
    if (count == 0 && amg_flow_is_owing(&domain->calls.flow))
        (void)amg_calls_pay_one_locked(&domain->calls);
    if (count == 0 || (++domain->clock.polls & CLOCK_MASK) == 0)
        clock_read_locked(domain);
    amg_ofi_send_kept_locked(domain); /* messages that this progress produced */
    return count;
}

unsigned amg_ofi_poll(
    struct amg_ep *base, unsigned max, struct amg_events *ret_events)
{
    struct amg_ofi_ep *ep = amg_ofi_ep_of(base);
    struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);
    unsigned count = 0;

    amg_bias_lock(&domain->lock);
    /* Disarms first: else messages for the context would signal its eventfd. */
    amg_ofi_wait_disarm_locked(ep);
    domain->is_always_polled |= amg_role.polls_always;
    (void)progress_locked(domain, max);
    count = amg_list_take(&ret_events->done, &ep->done, max);
    count += amg_list_take(&ret_events->arrived, &ep->arrived, max);
    count += amg_list_take(&ret_events->arrived, &domain->calls.late, max);
    amg_bias_unlock(&domain->lock);
    return count;
}

bool amg_ofi_arm(struct amg_ep *base)
{
    struct amg_ofi_ep *ep = amg_ofi_ep_of(base);
    struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);
    bool is_quiet = false;

    if (ep->wait_fd < 0)
        return true;
    amg_bias_lock(&domain->lock);
    amg_ofi_send_kept_locked(domain); /* kept by other threads since the poll */
    is_quiet =
        amg_list_is_empty(&ep->done) && amg_list_is_empty(&ep->arrived) &&
        amg_list_is_empty(&domain->calls.late) && amg_ofi_wait_arm_locked(ep);
    amg_bias_unlock(&domain->lock);
    return is_quiet;
}

unsigned amg_ofi_poll_domain_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    return progress_locked(domain, BATCH);
}
