/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to peers: first contact, messages that wait for it, and loss.
 *
 *   origin                                          target
 *   CONNECT (address, incarnation, token) -->
 *                                               <-- ACCEPT (the same of the
 *   messages that waited for it                 -->          target)
 *
 * Each sends the other a token, which the other puts into every later message:
 * so the receiver finds its peer in a table, even if its provider does not name
 * senders. An incarnation is drawn for every domain, and a token for every
 * first contact; so a new token means that the former process is gone, or has
 * given us up and connects anew.
 *
 * Anybody may send CONNECT in the name of any address. So it opens nothing, and
 * ends nothing that is under way: it is answered at that address, and a process
 * that then says the token is there. One that differs from the one before is
 * not answered: this process sends a CONNECT to that address and believes only
 * the ACCEPT that repeats our token.
 *
 * A CONNECT also tells how many requests each has room for, and how many
 * messages have come. When a connection breaks, the provider makes another
 * without a word, and what had left by the first may be lost. Messages keep
 * their order, so all that were posted before a CONNECT have come before it;
 * when the ACCEPT names fewer, they are lost, and all that is under way between
 * the two ends. A long message may still be leaving when a shorter one arrives,
 * and is not missed then; and it takes two in a row that find the same missing.
 */
#include "ofi_backend/ofi_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_rma.h"
#include "ofi_backend/ofi_select.h"

/* Each try where nobody is begins a connection (rxm), which takes a core; so
 * each waits twice as long as the one before, up to 50 ms. */
#define RETRY_NS (AMG_NS_PER_MS / 5)

enum {
    RETRY_SHIFT_MAX = 8,
    ACCEPTS_MAX = 256, /* owed at once: each may be a connection to nobody */
};

static void accept_owe(struct amg_peer *peer, bool is_owed)
{
    AMG_ASSERT(!peer->owes_accept || peer->domain->accepts > 0);
    if (peer->owes_accept != is_owed)
        peer->domain->accepts += is_owed ? 1u : -1u;
    peer->owes_accept = is_owed;
}

/* Is its loss logged? Not if the peer only sent CONNECT, and could not be told
 * ACCEPT, or was silent for long: nobody here wants anything of it. */
static bool is_missed(const struct amg_peer *peer)
{
    return peer->state == AMG_OFI_PEER_CONNECTING ||
           amg_ofi_peer_is_awaited(peer) || !amg_list_is_empty(&peer->unsent) ||
           peer->calls.waiting != NULL;
}

void amg_ofi_connect_lost_locked(struct amg_peer *peer, const char *why)
{
    char text[AMG_OFI_TEXT_CAP];

    (void)amg_ofi_peer_ref(peer);
    if (why != NULL && is_missed(peer) && !peer->domain->is_leaving)
        AMG_LOG_WARNING(
            "ofi", "%s is not reached: %s", amg_ofi_peer_name(peer, text), why);
    peer->epoch++;
    peer->incarnation = 0;
    peer->my_token = 0;
    amg_ofi_token_give_locked(peer, 0);
    peer->received = 0;
    peer->sent = 0;
    peer->leaving = 0;
    peer->short_ask = 0;
    peer->open = 0;
    peer->owes_connect = false;
    accept_owe(peer, false);
    peer->retry_ns = 0;
    peer->tries = 0;
    peer->is_stale = true;
    peer->broken = 0;
    amg_ofi_tcp_probe_end_locked(peer);
    amg_ofi_msg_lost_locked(peer);
    amg_ofi_lease_lost_locked(peer);
    amg_ofi_mem_lost_locked(peer);
    amg_ofi_rma_lost_locked(peer);
    AMG_ASSERT(amg_list_is_empty(&peer->unsent) && peer->granted == 0);
    amg_flow_bound(&peer->domain->calls.flow, &peer->calls, 1);
    if (peer->state != AMG_OFI_PEER_UNKNOWN)
        amg_ofi_peer_set_state(peer, AMG_OFI_PEER_UNKNOWN);
    amg_ofi_peer_unref_locked(peer);
}

static uint16_t ask_next(const struct amg_peer *peer)
{
    return peer->ask == UINT16_MAX ? 1 : peer->ask + 1u;
}

/* False: no room, or no memory. */
static bool connect_post_locked(struct amg_peer *peer, enum amg_ofi_kind kind)
{
    struct amg_ofi_domain *domain = peer->domain;
    struct amg_ofi_msgbuf *msgbuf = amg_ofi_msgbuf_get_locked(domain);
    struct amg_ofi_connect connect = {
        .magic = AMG_OFI_CONNECT_MAGIC,
        .version = AMG_OFI_VERSION,
        .addr_len = domain->self->addr_len,
        .token = peer->token,
        .incarnation = domain->incarnation,
        .message_len = domain->room_len,
        .credits = domain->calls.flow.limit,
        .ask = kind == AMG_OFI_CONNECT ? ask_next(peer) : peer->their_ask,
        .received = peer->received,
    };
    ssize_t code = 0;

    AMG_ASSERT(peer->token != 0 || peer->state == AMG_OFI_PEER_INCOMPATIBLE);
    if (msgbuf == NULL)
        return false;
    memcpy(connect.addr, domain->self->addr, domain->self->addr_len);
    memcpy(msgbuf->data, &connect, sizeof(connect));
    msgbuf->header.cookie = 0;
    msgbuf->post.op = NULL;
    amg_ofi_send_address(msgbuf, peer, 0, 0, kind, sizeof(connect));
    code = amg_ofi_send_post_locked(msgbuf);
    if (code == 0) {
        peer->tries = 0;
        if (kind == AMG_OFI_CONNECT) {
            peer->ask = connect.ask;
            peer->asked_sent = peer->sent;
        }
        return true;
    }
    amg_ofi_msgbuf_put_locked(msgbuf);
    peer->retry_ns = amg_clock_ns() + (RETRY_NS << peer->tries);
    if (peer->tries < RETRY_SHIFT_MAX)
        peer->tries++;
    if (code != -FI_EAGAIN)
        amg_ofi_connect_lost_locked(peer, amg_ofi_call->strerror((int)-code));
    return false;
}

/* Sends the CONNECT or ACCEPT that is owed. False: there was no room. */
static bool connect_try_locked(struct amg_peer *peer)
{
    if (peer->retry_ns != 0 && amg_clock_ns() < peer->retry_ns)
        return false;
    peer->retry_ns = 0;
    if (amg_ofi_peer_insert_locked(peer) != HG_SUCCESS) {
        amg_ofi_connect_lost_locked(peer, "its address is not taken");
        return false;
    }
    if (peer->owes_accept) {
        if (!connect_post_locked(peer, AMG_OFI_ACCEPT))
            return false;
        accept_owe(peer, false);
    }
    if (peer->owes_connect) {
        if (!connect_post_locked(peer, AMG_OFI_CONNECT))
            return false;
        peer->owes_connect = false;
        peer->asked_tick = peer->domain->tick;
    }
    return true;
}

static bool names_are_known(
    const struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    return peer->incarnation == connect->incarnation &&
           peer->my_token == connect->token;
}

static void names_take(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    if (!names_are_known(peer, connect)) {
        peer->sent = connect->received;
        peer->leaving = 0;
        peer->short_ask = 0;
    }
    peer->incarnation = connect->incarnation;
    peer->my_token = connect->token;
    peer->room = connect->credits;
    amg_ofi_tcp_probe_end_locked(peer);
    peer->heard_tick = peer->domain->tick;
}

/* Have fewer than `sent` messages come, and not because some still leave? */
static bool is_short(const struct amg_peer *peer,
    const struct amg_ofi_connect *connect, uint32_t sent)
{
    return (int32_t)(sent - peer->leaving - connect->received) > 0;
}

/* The ACCEPT to our last CONNECT: were messages lost that left before it? */
static bool is_lossy_locked(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    if (connect->ask != peer->ask || connect->ask == peer->short_ask)
        return false;
    if (peer->short_ask != 0 && is_short(peer, connect, peer->short_sent))
        return true;
    peer->short_ask = 0;
    if (is_short(peer, connect, peer->asked_sent)) {
        peer->short_ask = connect->ask;
        peer->short_sent = peer->asked_sent;
        amg_ofi_peer_check_locked(peer);
    }
    return false;
}

/* Both sides know each other from now on. */
static void peer_open_locked(struct amg_peer *peer)
{
    if (peer->state == AMG_OFI_PEER_OPEN)
        return;
    AMG_ASSERT(peer->my_token != 0 && peer->token != 0);
    amg_ofi_peer_set_state(peer, AMG_OFI_PEER_OPEN);
    amg_flow_bound(&peer->domain->calls.flow, &peer->calls, peer->room);
    amg_ofi_peer_set_deadline(peer);
    amg_ofi_peer_try_later_locked(peer);
    amg_ofi_msg_credit_locked(peer, 0); /* for those that waited for that */
}

bool amg_ofi_connect_prove_locked(struct amg_peer *peer)
{
    if ((peer->state != AMG_OFI_PEER_CONNECTING &&
            peer->state != AMG_OFI_PEER_CLAIMED) ||
        peer->my_token == 0)
        return false;
    peer_open_locked(peer);
    return true;
}

/* Those of other versions may be shorter or longer. */
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
        (connect->token != 0 || connect->version != AMG_OFI_VERSION) &&
        amg_ofi_addrstr_is_addr(&domain->facts, connect->addr,
            connect->addr_len, domain->self->addr_len))
        return true;
    if (!domain->has_warned)
        AMG_LOG_WARNING("ofi", "somebody connected in a form that is none of "
                               "ours; more of this is not reported");
    domain->has_warned = true;
    return false;
}

/* False: `peer` speaks another version. */
static bool version_is_ours(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    char text[AMG_OFI_TEXT_CAP];

    if (connect->version == AMG_OFI_VERSION &&
        connect->message_len == peer->domain->room_len)
        return true;
    if (!amg_ofi_peer_may_warn(peer->domain))
        return false;
    if (connect->version != AMG_OFI_VERSION)
        AMG_LOG_ERROR("ofi",
            "%s speaks version %u, and this process %u; use the same release "
            "of the library on both sides",
            amg_ofi_peer_name(peer, text), connect->version, AMG_OFI_VERSION);
    else
        AMG_LOG_ERROR("ofi",
            "%s has messages of up to %u bytes, and this process %u; set "
            "AMALGAM_MESSAGE_BYTES, or the sizes of HG_Init_opt(), to the same "
            "on both sides",
            amg_ofi_peer_name(peer, text), connect->message_len,
            peer->domain->room_len);
    return false;
}

/* It is told what is spoken here, and no more. */
static void incompatible_note_locked(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    if (peer->state != AMG_OFI_PEER_UNKNOWN)
        return; /* who is there is being asked, or was told */
    amg_ofi_peer_set_state(peer, AMG_OFI_PEER_INCOMPATIBLE);
    names_take(peer, connect);
    amg_ofi_peer_set_deadline(peer);
    accept_owe(peer, true);
    amg_ofi_peer_try_later_locked(peer);
}

static void claim_note_locked(
    struct amg_peer *peer, const struct amg_ofi_connect *connect)
{
    struct amg_ofi_domain *domain = peer->domain;

    if (peer == domain->self && connect->incarnation != domain->incarnation)
        return; /* nobody else is here */
    if (peer->state == AMG_OFI_PEER_INCOMPATIBLE)
        amg_ofi_connect_lost_locked(peer, NULL);
    if (peer->my_token != 0 && !names_are_known(peer, connect)) {
        amg_ofi_peer_check_locked(peer);
        return;
    }
    names_take(peer, connect);
    peer->their_ask = connect->ask;
    if (!amg_ofi_peer_is_waiting(peer))
        amg_ofi_peer_set_deadline(peer);
    /* Those may be on their way, so it is asked. */
    if (peer->state == AMG_OFI_PEER_OPEN &&
        is_short(peer, connect, peer->sent) && peer->asked_tick != domain->tick)
        amg_ofi_peer_check_locked(peer);
    if (peer->state == AMG_OFI_PEER_UNKNOWN) {
        amg_ofi_token_give_locked(peer, amg_ofi_token_draw());
        amg_ofi_peer_set_state(peer, AMG_OFI_PEER_CLAIMED);
    }
    accept_owe(peer, true);
    amg_ofi_peer_try_later_locked(peer);
}

void amg_ofi_connect_on_connect_locked(
    struct amg_ofi_domain *domain, const unsigned char *body, uint32_t len)
{
    const struct amg_ofi_connect read = connect_read(body, len);
    const struct amg_ofi_connect *connect = &read;
    struct amg_peer *peer = NULL;

    /* When too many are to be answered, others may ask again in a second. */
    if (!connect_is_ours(domain, connect) || domain->accepts >= ACCEPTS_MAX ||
        amg_ofi_peer_get_locked(
            domain, connect->addr, connect->addr_len, &peer) != HG_SUCCESS)
        return;
    if (version_is_ours(peer, connect))
        claim_note_locked(peer, connect);
    else
        incompatible_note_locked(peer, connect);
    amg_ofi_peer_unref_locked(peer);
}

void amg_ofi_connect_on_accept_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    const struct amg_ofi_connect read =
        connect_read(message->body, message->len);
    const struct amg_ofi_connect *connect = &read;
    struct amg_peer *peer = message->peer;
    uint64_t token = peer->token;
    uint32_t received = peer->received;
    bool is_new = peer->my_token != 0 && !names_are_known(peer, connect);

    (void)domain;
    if (!connect_is_ours(peer->domain, connect))
        return;
    if (!version_is_ours(peer, connect)) {
        amg_ofi_connect_lost_locked(peer, "it cannot be understood");
        return;
    }
    if (is_new && peer->state == AMG_OFI_PEER_OPEN) {
        amg_ofi_connect_lost_locked(
            peer, peer->incarnation != connect->incarnation
                      ? "another process is at its address now"
                      : "it has given this process up, and begins anew");
        amg_ofi_token_give_locked(peer, token); /* it goes by that by now */
        peer->received = received;
    }
    if (!is_new && peer->state == AMG_OFI_PEER_OPEN &&
        is_lossy_locked(peer, connect)) {
        amg_ofi_connect_lost_locked(
            peer, "a connection to it broke, and messages were lost with it");
        return;
    }
    if (is_new)
        accept_owe(peer, true); /* its CONNECT may not have been answered */
    names_take(peer, connect);
    peer->is_stale = false; /* whoever is there now has answered */
    peer_open_locked(peer);
    amg_ofi_peer_try_later_locked(peer);
}

void amg_ofi_connect_on_disconnect_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    (void)domain;
    amg_ofi_connect_lost_locked(message->peer, NULL);
}

/* All that waits for this peer, until it waits again. True: some has left. */
static bool send_try_locked(struct amg_peer *peer)
{
    bool has_left = false;

    if (peer->broken != 0) {
        amg_ofi_connect_lost_locked(peer, amg_ofi_call->strerror(peer->broken));
        return false;
    }
    if ((peer->owes_connect || peer->owes_accept ||
            peer->at == FI_ADDR_NOTAVAIL) &&
        !connect_try_locked(peer))
        return false;
    if (peer->state == AMG_OFI_PEER_INCOMPATIBLE)
        amg_ofi_connect_lost_locked(peer, NULL); /* it was told why */
    while (peer->state == AMG_OFI_PEER_OPEN) {
        struct amg_link *link = amg_list_pop(&peer->unsent);
        struct amg_ofi_msgbuf *msgbuf = NULL;
        ssize_t code = 0;

        if (link == NULL)
            break;
        msgbuf = amg_container_of(link, struct amg_ofi_msgbuf, post.link);
        code = amg_ofi_send_post_locked(msgbuf);
        if (code == 0) {
            has_left = true;
            amg_ofi_peer_set_deadline(peer);
            continue;
        }
        amg_list_push_front(&peer->unsent, link);
        if (code != -FI_EAGAIN)
            amg_ofi_connect_lost_locked(
                peer, amg_ofi_call->strerror((int)-code));
        break;
    }
    return has_left;
}

void amg_ofi_connect_retry_locked(struct amg_ofi_domain *domain)
{
    struct amg_list all;
    struct amg_list served;
    struct amg_link *link = NULL;

    amg_list_init(&all);
    amg_list_init(&served);
    amg_list_splice(&all, &domain->trying);
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_peer *peer = amg_container_of(link, struct amg_peer, trying);
        bool has_left = false;

        AMG_ASSERT(peer->is_trying);
        peer->is_trying = false;
        (void)amg_ofi_peer_ref(peer);
        has_left = send_try_locked(peer);
        if ((peer->owes_connect || peer->owes_accept ||
                !amg_list_is_empty(&peer->unsent)) &&
            !peer->is_trying) {
            peer->is_trying = true;
            amg_list_push(has_left ? &served : &domain->trying, link);
        }
        amg_ofi_peer_unref_locked(peer);
    }
    /* Peers share the room: one that got some goes behind those that got none.
     */
    amg_list_splice(&domain->trying, &served);
}
