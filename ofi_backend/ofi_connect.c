/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to peers: first contact, waiting messages, and loss.
 *
 *   origin                                       target
 *   CONNECT (address, incarnation, token) -->
 *                                            <-- ACCEPT (those of the target)
 *   messages that waited for the ACCEPT   -->
 *
 * Each process sends its peer a token, which the peer puts into every later
 * message: so the receiver finds the sender in a table, even if the provider
 * does not name senders. A domain draws a random number when it opens, its
 * incarnation, and a token for each first contact. So a new token means that
 * the former peer is gone, or has given up this process and connects anew.
 *
 * Any process may send CONNECT in the name of any address. So a CONNECT opens
 * nothing, and ends nothing in flight: this process sends ACCEPT to that
 * address, and a message with the token of the ACCEPT proves the peer. If a
 * CONNECT has another incarnation or token than this process knows of the peer,
 * this process sends that address its own CONNECT instead of an ACCEPT, and
 * trusts only an ACCEPT with the token of its own CONNECT.
 *
 * A CONNECT or ACCEPT also states how many requests its sender has room for,
 * and how many messages its sender has received. When a connection breaks, the
 * provider makes another without notice, and may lose messages that had left by
 * the broken connection. Messages keep their order, so all messages that were
 * posted before a CONNECT arrive before that CONNECT; if the ACCEPT counts
 * fewer, messages are missing. Messages that the provider still sends do not
 * count as missing, as shorter messages may arrive first. If two ACCEPTs in a
 * row miss the same messages, all operations with the peer end.
 *
 * A process that gives up a peer tells the peer by a DISCONNECT, which names
 * the connection, as it may arrive after the CONNECT of the next connection. */
#include "ofi_backend/ofi_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_rma.h"

/* Each post to an address where no process listens begins a connection (rxm),
 * which costs CPU time; so each retry waits twice as long, up to 51 ms. */
#define RETRY_NS (AMG_NS_PER_MS / 5)

enum {
    RETRY_SHIFT_MAX = 8,
    RETRIES_MAX = 256, /* peers in one poll; the next poll continues */
    ACCEPTS_MAX = 256, /* ACCEPTs owed at once; above that, only ranks of this
                        * job get an ACCEPT: other addresses may be forged */
};

static void accept_owe_locked(struct amg_peer *peer, bool is_owed)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(!peer->conn.owes_accept || peer->domain->peers.accepts > 0);
    if (peer->conn.owes_accept != is_owed)
        peer->domain->peers.accepts += is_owed ? 1u : -1u;
    peer->conn.owes_accept = is_owed;
}

/* Is the loss logged? Not if this process wants nothing of the peer. */
static bool is_loss_logged(const struct amg_peer *peer)
{
    return peer->state == AMG_OFI_PEER_CONNECTING ||
           amg_ofi_peer_is_awaited(peer) || !amg_list_is_empty(&peer->unsent) ||
           peer->calls.waiting != NULL;
}

void amg_ofi_connect_lost_locked(struct amg_peer *peer, const char *why)
{
    char text[AMG_OFI_TEXT_CAP];

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    (void)amg_ofi_peer_ref(peer);
    if (why != NULL && is_loss_logged(peer) && !peer->domain->peers_may_close)
        AMG_LOG_WARNING(
            "ofi", "%s is not reached: %s", amg_ofi_peer_name(peer, text), why);
    amg_ofi_token_set_locked(peer, 0);
    accept_owe_locked(peer, false);
    peer->conn = (struct amg_ofi_conn){
        .epoch = peer->conn.epoch + 1, .seq = peer->conn.seq};
    peer->requests.open = 0;
    peer->requests.open_longs = 0;
    peer->is_stale = true;
    peer->broken = 0;
    amg_ofi_tcp_probe_end_locked(peer);
    amg_ofi_msg_lost_locked(peer);
    amg_ofi_mem_lost_locked(peer);
    amg_ofi_rma_lost_locked(peer);
    AMG_ASSERT(amg_list_is_empty(&peer->unsent) && peer->rma.granted == 0);
    amg_flow_bound(&peer->domain->calls.flow, &peer->calls, 1, 1);
    if (peer->state != AMG_OFI_PEER_UNKNOWN)
        amg_ofi_peer_set_state_locked(peer, AMG_OFI_PEER_UNKNOWN);
    amg_ofi_peer_unref_locked(peer);
}

/* Posts the message. False: no room or memory, or the peer was lost. */
static bool connect_post_locked(struct amg_peer *peer, enum amg_ofi_kind kind)
{
    struct amg_ofi_domain *domain = peer->domain;
    struct amg_ofi_msgbuf *msgbuf = amg_ofi_msgbuf_get_locked(domain, false);
    struct amg_ofi_connect connect = {
        .magic = AMG_OFI_CONNECT_MAGIC,
        .version = AMG_OFI_VERSION,
        .addr_len = domain->self->addr_len,
        .token = peer->conn.token,
        .incarnation = domain->incarnation,
        .message_len = domain->message_max,
        .credits = domain->calls.flow.limit,
        .first = domain->calls.flow.first,
        .longs = domain->long_limit,
        .seq = kind == AMG_OFI_ACCEPT         ? peer->conn.their_seq
               : peer->conn.seq == UINT16_MAX ? 1
                                              : peer->conn.seq + 1u,
        .received = peer->conn.received,
    };
    ssize_t code = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(
        peer->conn.token != 0 || peer->state == AMG_OFI_PEER_INCOMPATIBLE);
    if (msgbuf == NULL)
        return false;
    memcpy(connect.addr, domain->self->addr, domain->self->addr_len);
    memcpy(msgbuf->data, &connect, sizeof(connect));
    msgbuf->header.cookie =
        kind == AMG_OFI_DISCONNECT ? (uint32_t)connect.token : 0;
    msgbuf->post.op = NULL;
    amg_ofi_send_address_locked(msgbuf, peer, 0, 0, kind,
        kind == AMG_OFI_DISCONNECT ? 0 : sizeof(connect));
    code = amg_ofi_send_post_locked(msgbuf);
    if (code == 0) {
        peer->conn.tries = 0;
        if (kind == AMG_OFI_CONNECT) {
            peer->conn.seq = connect.seq;
            peer->conn.connect_sent = peer->conn.sent;
        }
        return true;
    }
    amg_ofi_msgbuf_put_locked(msgbuf);
    peer->conn.retry_ns = amg_clock_ns() + (RETRY_NS << peer->conn.tries);
    if (peer->conn.tries < RETRY_SHIFT_MAX)
        peer->conn.tries++;
    if (code != -FI_EAGAIN && kind != AMG_OFI_DISCONNECT)
        amg_ofi_connect_lost_locked(peer, amg_ofi_call->strerror((int)-code));
    return false;
}

/* Loses a peer that may live, and tells the peer, if the provider has room:
 * calls that an untold peer posts later would fail. */
static void give_up_locked(struct amg_peer *peer, const char *why)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->state == AMG_OFI_PEER_OPEN && peer != peer->domain->self &&
        peer->fi_addr != FI_ADDR_NOTAVAIL && !peer->domain->peers_may_close)
        (void)connect_post_locked(peer, AMG_OFI_DISCONNECT);
    amg_ofi_connect_lost_locked(peer, why);
}

/* Inserts the address of the peer into the provider's table. */
static hg_return_t peer_insert_locked(struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = peer->domain;
    char text[AMG_OFI_TEXT_CAP];
    int count = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (peer->is_stale && peer->posts_in_flight == 0) {
        /* The provider must not use the old connection for the process that now
         * has the address. */
        if (peer->fi_addr != FI_ADDR_NOTAVAIL)
            (void)amg_ofi_call->av_remove(domain->fi.av, peer->fi_addr);
        peer->fi_addr = FI_ADDR_NOTAVAIL;
        peer->is_stale = false;
    }
    if (peer->fi_addr != FI_ADDR_NOTAVAIL)
        return HG_SUCCESS;
    count = amg_ofi_call->av_insert(domain->fi.av, peer->addr, &peer->fi_addr);
    if (count == 1)
        return HG_SUCCESS;
    peer->fi_addr = FI_ADDR_NOTAVAIL;
    if (count < 0)
        return amg_ofi_error(count, "inserting an address");
    AMG_LOG_ERROR("addr", "ofi: the provider does not accept the address %s",
        amg_ofi_peer_text(peer, text));
    return HG_ADDRNOTAVAIL;
}

/* Sends the CONNECT and ACCEPT due. False: not sent, or the peer is lost. */
static bool connect_try_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->conn.retry_ns != 0 && amg_clock_ns() < peer->conn.retry_ns)
        return false;
    peer->conn.retry_ns = 0;
    if (peer_insert_locked(peer) != HG_SUCCESS) {
        amg_ofi_connect_lost_locked(peer, "the provider refuses its address");
        return false;
    }
    if (peer->conn.owes_accept) {
        if (!connect_post_locked(peer, AMG_OFI_ACCEPT))
            return false;
        accept_owe_locked(peer, false);
    }
    if (peer->conn.owes_connect) {
        if (!connect_post_locked(peer, AMG_OFI_CONNECT))
            return false;
        peer->conn.owes_connect = false;
        peer->conn.connect_tick = peer->domain->clock.tick;
    }
    return true;
}

static bool identity_is_known(
    const struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    return peer->conn.incarnation == connect->incarnation &&
           peer->conn.my_token == connect->token;
}

static void identity_set_locked(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (!identity_is_known(peer, connect)) {
        peer->conn.sent = connect->received;
        peer->conn.sending = 0;
        peer->conn.short_seq = 0;
    }
    peer->conn.incarnation = connect->incarnation;
    peer->conn.my_token = connect->token;
    peer->requests.limit = connect->credits;
    peer->requests.first = connect->first;
    peer->requests.long_limit = connect->longs;
    amg_ofi_tcp_probe_end_locked(peer);
    peer->heard_tick = peer->domain->clock.tick;
}

/* Has the peer received fewer than `sent` messages, not counting those that the
 * provider still sends? */
static bool is_short(const struct amg_peer *peer,
    const struct amg_ofi_connect *connect, uint32_t sent)
{
    return (int32_t)(sent - peer->conn.sending - connect->received) > 0;
}

/* Does the ACCEPT to our last CONNECT show that earlier messages were lost? */
static bool has_lost_messages_locked(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (connect->seq != peer->conn.seq || connect->seq == peer->conn.short_seq)
        return false;
    if (peer->conn.short_seq != 0 &&
        is_short(peer, connect, peer->conn.short_sent))
        return true;
    peer->conn.short_seq = 0;
    if (is_short(peer, connect, peer->conn.connect_sent)) {
        peer->conn.short_seq = connect->seq;
        peer->conn.short_sent = peer->conn.connect_sent;
        amg_ofi_peer_check_locked(peer);
    }
    return false;
}

static void peer_open_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->state == AMG_OFI_PEER_OPEN)
        return;
    AMG_ASSERT(peer->conn.my_token != 0 && peer->conn.token != 0);
    amg_ofi_peer_set_state_locked(peer, AMG_OFI_PEER_OPEN);
    amg_flow_bound(&peer->domain->calls.flow, &peer->calls,
        peer->requests.limit, peer->requests.first);
    amg_ofi_peer_set_deadline(peer);
    amg_ofi_peer_set_pending_locked(peer);
    /* Sends requests that waited. */
    amg_calls_credit_locked(&peer->domain->calls, &peer->calls, 0);
}

bool amg_ofi_connect_prove_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if ((peer->state != AMG_OFI_PEER_CONNECTING &&
            peer->state != AMG_OFI_PEER_CLAIMED) ||
        peer->conn.my_token == 0)
        return false;
    peer_open_locked(peer);
    return true;
}

/* Copies a CONNECT or ACCEPT, whose length differs between versions. */
static struct amg_ofi_connect connect_read(
    const unsigned char *body, uint32_t len)
{
    struct amg_ofi_connect connect;

    AMG_ASSERT(len >= AMG_OFI_CONNECT_MIN);
    memset(&connect, 0, sizeof(connect));
    memcpy(&connect, body, len < sizeof(connect) ? len : sizeof(connect));
    return connect;
}

static bool connect_is_ours(
    struct amg_ofi_domain *domain, const struct amg_ofi_connect *connect)
{
    if (connect->magic == AMG_OFI_CONNECT_MAGIC && connect->incarnation != 0 &&
        (connect->token != 0 || connect->version != AMG_OFI_VERSION ||
            connect->message_len != domain->message_max) &&
        amg_ofi_addrstr_is_addr(&domain->facts, connect->addr,
            connect->addr_len, domain->self->addr_len))
        return true;
    if (!domain->peers.has_warned)
        AMG_LOG_WARNING("ofi", "dropped a malformed request to connect; "
                               "further ones are not reported");
    domain->peers.has_warned = true;
    return false;
}

/* False: `peer` has another version, or another length of messages. */
static bool version_is_ours(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    char text[AMG_OFI_TEXT_CAP];

    if (connect->version == AMG_OFI_VERSION &&
        connect->message_len == peer->domain->message_max)
        return true;
    if (!amg_calls_may_warn(&peer->domain->calls))
        return false;
    AMG_LOG_ERROR("ofi",
        "%s has protocol version %u and messages of up to %u bytes, and this "
        "process %u and %u; use the same release of the library, and the same "
        "AMALGAM_MESSAGE_BYTES or sizes of HG_Init_opt(), on both sides",
        amg_ofi_peer_name(peer, text), connect->version, connect->message_len,
        AMG_OFI_VERSION, peer->domain->message_max);
    return false;
}

/* Sends the peer an ACCEPT with our version, and nothing more. */
static void incompatible_note_locked(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->state != AMG_OFI_PEER_UNKNOWN)
        return; /* the peer was told, or the address may be forged */
    amg_ofi_peer_set_state_locked(peer, AMG_OFI_PEER_INCOMPATIBLE);
    identity_set_locked(peer, connect);
    amg_ofi_peer_set_deadline(peer);
    accept_owe_locked(peer, true);
    amg_ofi_peer_set_pending_locked(peer);
}

static void claim_note_locked(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    struct amg_ofi_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (peer == domain->self && connect->incarnation != domain->incarnation)
        return; /* no other process has our address */
    if (peer->state == AMG_OFI_PEER_INCOMPATIBLE)
        amg_ofi_connect_lost_locked(peer, NULL);
    if (peer->conn.my_token != 0 && !identity_is_known(peer, connect)) {
        amg_ofi_peer_check_locked(peer);
        return;
    }
    identity_set_locked(peer, connect);
    peer->conn.their_seq = connect->seq;
    if (!amg_ofi_peer_is_waiting(peer))
        amg_ofi_peer_set_deadline(peer);
    /* The ACCEPT to a new CONNECT tells whether missing messages are lost. */
    if (peer->state == AMG_OFI_PEER_OPEN &&
        is_short(peer, connect, peer->conn.sent) &&
        peer->conn.connect_tick != domain->clock.tick)
        amg_ofi_peer_check_locked(peer);
    if (peer->state == AMG_OFI_PEER_UNKNOWN) {
        amg_ofi_token_set_locked(peer, amg_ofi_token_draw());
        amg_ofi_peer_set_state_locked(peer, AMG_OFI_PEER_CLAIMED);
    }
    accept_owe_locked(peer, true);
    amg_ofi_peer_set_pending_locked(peer);
}

/* May the peer get an ACCEPT? If not, the peer repeats CONNECT in a second. */
static bool may_accept(const struct amg_peer *peer)
{
    const struct amg_domain *base = &peer->domain->base;

    return peer->domain->peers.accepts < ACCEPTS_MAX ||
           (base->rank_of != NULL &&
               base->rank_of(base->ranks, peer) != UINT32_MAX);
}

void amg_ofi_connect_on_connect_locked(
    struct amg_ofi_domain *domain, const unsigned char *body, uint32_t len)
{
    const struct amg_ofi_connect connect = connect_read(body, len);
    struct amg_peer *peer = NULL;
    bool may = false;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!connect_is_ours(domain, &connect) ||
        amg_ofi_peer_get_locked(
            domain, connect.addr, connect.addr_len, &peer) != HG_SUCCESS)
        return;
    may = may_accept(peer);
    if (may && version_is_ours(peer, &connect))
        claim_note_locked(peer, &connect);
    else if (may)
        incompatible_note_locked(peer, &connect);
    amg_ofi_peer_unref_locked(peer);
}

void amg_ofi_connect_on_accept_locked(const struct amg_ofi_message *message)
{
    const struct amg_ofi_connect connect =
        connect_read(message->body, message->len);
    struct amg_peer *peer = message->peer;
    uint64_t token = peer->conn.token;
    uint32_t received = peer->conn.received;
    bool is_new =
        peer->conn.my_token != 0 && !identity_is_known(peer, &connect);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (!connect_is_ours(message->domain, &connect))
        return;
    if (!version_is_ours(peer, &connect)) {
        amg_ofi_connect_lost_locked(peer, "its version or sizes differ");
        return;
    }
    if (is_new && peer->state == AMG_OFI_PEER_OPEN) {
        amg_ofi_connect_lost_locked(
            peer, peer->conn.incarnation != connect.incarnation
                      ? "another process is at its address now"
                      : "it has given this process up, and begins anew");
        amg_ofi_token_set_locked(peer, token); /* the peer uses this token */
        peer->conn.received = received;
    }
    if (!is_new && peer->state == AMG_OFI_PEER_OPEN &&
        has_lost_messages_locked(peer, &connect)) {
        give_up_locked(
            peer, "a connection to it broke, and messages were lost with it");
        return;
    }
    if (is_new)
        accept_owe_locked(peer, true); /* perhaps the peer got no ACCEPT */
    identity_set_locked(peer, &connect);
    peer->is_stale = false; /* the process at the address has answered */
    peer_open_locked(peer);
    amg_ofi_peer_set_pending_locked(peer);
}

void amg_ofi_connect_on_disconnect_locked(const struct amg_ofi_message *message)
{
    uint32_t given_up = message->header->cookie;

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (given_up == 0 || given_up == (uint32_t)message->peer->conn.my_token)
        amg_ofi_connect_lost_locked(message->peer,
            given_up == 0 ? NULL : "it has given this process up");
}

/* Sends what waits for the peer, until the provider has no room. True: a
 * message of `unsent` was sent. */
static bool send_try_locked(struct amg_peer *peer)
{
    bool has_left = false;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->broken != 0) {
        give_up_locked(peer, amg_ofi_call->strerror(peer->broken));
        return false;
    }
    if ((peer->conn.owes_connect || peer->conn.owes_accept ||
            peer->fi_addr == FI_ADDR_NOTAVAIL) &&
        !connect_try_locked(peer))
        return false;
    if (peer->state == AMG_OFI_PEER_INCOMPATIBLE)
        amg_ofi_connect_lost_locked(peer, NULL); /* the ACCEPT was sent */
    while (peer->state == AMG_OFI_PEER_OPEN) {
        struct amg_link *link = amg_list_pop(&peer->unsent);
        struct amg_ofi_msgbuf *msgbuf = NULL;
        ssize_t code = 0;

        if (link == NULL)
            break;
        msgbuf = amg_container_of(link, struct amg_ofi_msgbuf, post.link);
        code = amg_ofi_send_post_locked(msgbuf);
        if (code == 0) {
            peer->domain->peers.unsent_count--;
            has_left = true;
            amg_ofi_peer_set_deadline(peer);
            continue;
        }
        amg_list_push_front(&peer->unsent, link);
        if (code != -FI_EAGAIN)
            give_up_locked(peer, amg_ofi_call->strerror((int)-code));
        break;
    }
    return has_left;
}

/* Is there something to send as soon as there is room? Messages to a peer that
 * is not OPEN wait for its ACCEPT. */
static bool has_more(const struct amg_peer *peer)
{
    return peer->conn.owes_connect || peer->conn.owes_accept ||
           (peer->state == AMG_OFI_PEER_OPEN &&
               !amg_list_is_empty(&peer->unsent));
}

void amg_ofi_connect_retry_locked(struct amg_ofi_domain *domain)
{
    struct amg_list all;
    struct amg_list sent;
    struct amg_link *link = NULL;
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_list_init(&all);
    amg_list_init(&sent);
    amg_list_splice(&all, &domain->peers.pending);
    while (count++ < RETRIES_MAX && (link = amg_list_pop(&all)) != NULL) {
        struct amg_peer *peer =
            amg_container_of(link, struct amg_peer, pending);
        bool has_left = false;

        AMG_ASSERT(peer->is_pending);
        peer->is_pending = false;
        (void)amg_ofi_peer_ref(peer);
        has_left = send_try_locked(peer);
        if (has_more(peer) && !peer->is_pending) {
            peer->is_pending = true;
            amg_list_push(has_left ? &sent : &domain->peers.pending, link);
        }
        amg_ofi_peer_unref_locked(peer);
    }
    /* Peers share the room: peers that sent messages go behind the others. */
    amg_list_splice(&all, &domain->peers.pending);
    amg_list_splice(&all, &sent);
    amg_list_splice(&domain->peers.pending, &all);
}
