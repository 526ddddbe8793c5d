/* SPDX-License-Identifier: BSD-3-Clause */
/* First contact: who a peer is, whether it is still there, and its loss.
 *
 *   origin                                   target
 *   HELLO (address, incarnation, number) -->
 *                                        <-- WELCOME (the same of the target)
 *   what waited for that             -->
 *
 * Each tells the other a number, by which the other introduces every later
 * message: so the receiver finds its peer in a table, whatever its provider
 * knows of senders. An incarnation is drawn for every domain; when another one
 * answers at an address, the process that was there is gone.
 *
 * A dead process is silent on most networks. So who waits for an answer and
 * has heard nothing for a second says hello again: that fails where nobody is,
 * and tells of another incarnation where somebody else is. A process that is
 * only busy answers late, and nothing follows from that. */
#include "ofi_backend/ofi_hello.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "ofi_backend/ofi_addr.h"
#include "ofi_backend/ofi_lease.h"
#include "ofi_backend/ofi_mem.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_rma.h"
#include "ofi_backend/ofi_send.h"
#include "ofi_backend/ofi_slab.h"
#include "ofi_backend/ofi_text.h"

/* Each try where nobody is begins a connection (rxm), which takes a core. */
#define RETRY_NS (AMG_NS_PER_MS / 5)

enum { SILENT_TICKS = 10 }; /* a second; see ofi_poll.c */

void amg_ofi_hello_set_deadline(struct amg_peer *peer)
{
    peer->deadline_ns = amg_clock_ns() + peer->domain->connect_ns;
}

static void try_later_locked(struct amg_peer *peer)
{
    if (peer->is_trying)
        return;
    peer->is_trying = true;
    amg_list_push(&peer->domain->trying, &peer->trying);
}

/* False: no room, or no memory. */
static bool hello_post_locked(struct amg_peer *peer, enum amg_ofi_kind kind)
{
    struct amg_ofi_domain *domain = peer->domain;
    struct amg_ofi_slab *slab = amg_ofi_slab_get_locked(domain);
    struct amg_ofi_hello hello = {
        .magic = AMG_OFI_HELLO_MAGIC,
        .version = AMG_OFI_VERSION,
        .addr_len = domain->self->addr_len,
        .incarnation = domain->incarnation,
        .your_incarnation = peer->incarnation,
        .number = peer->number,
        .message_len = domain->room_len,
    };
    ssize_t code = 0;

    if (slab == NULL)
        return false;
    memcpy(hello.addr, domain->self->addr, domain->self->addr_len);
    memcpy(slab->data, &hello, sizeof(hello));
    slab->header.cookie = 0;
    slab->op = NULL;
    amg_ofi_send_address(slab, peer, 0, 0, kind, sizeof(hello));
    code = amg_ofi_send_post_locked(slab);
    if (code == 0)
        return true;
    amg_ofi_slab_put_locked(slab);
    peer->retry_ns = amg_clock_ns() + RETRY_NS;
    if (code != -FI_EAGAIN)
        amg_ofi_hello_lost_locked(peer, amg_ofi_call->strerror((int)-code));
    return false;
}

bool amg_ofi_hello_try_locked(struct amg_peer *peer)
{
    if (peer->retry_ns != 0 && amg_clock_ns() < peer->retry_ns)
        return false;
    peer->retry_ns = 0;
    if (amg_ofi_peer_insert_locked(peer) != HG_SUCCESS) {
        peer->owes_hello = false;
        peer->owes_welcome = false;
        amg_ofi_hello_lost_locked(peer, "its address is not taken");
        return false;
    }
    if (peer->owes_welcome) {
        if (!hello_post_locked(peer, AMG_OFI_WELCOME))
            return false;
        peer->owes_welcome = false;
    }
    if (peer->owes_hello) {
        if (!hello_post_locked(peer, AMG_OFI_HELLO))
            return false;
        peer->owes_hello = false;
        peer->asked_tick = peer->domain->tick;
    }
    return true;
}

void amg_ofi_hello_say_locked(struct amg_peer *peer)
{
    amg_ofi_peer_set_state(peer, AMG_OFI_PEER_ASKED);
    amg_ofi_hello_set_deadline(peer);
    peer->owes_hello = true;
    try_later_locked(peer);
}

/* Both sides know each other from now on. */
static void peer_open_locked(
    struct amg_peer *peer, const struct amg_ofi_hello *hello)
{
    if (peer->incarnation != 0 && peer->incarnation != hello->incarnation)
        amg_ofi_hello_lost_locked(
            peer, "another process is at its address now");
    peer->incarnation = hello->incarnation;
    peer->my_number = hello->number;
    peer->heard_tick = peer->domain->tick;
    if (peer->state != AMG_OFI_PEER_OPEN)
        amg_ofi_peer_set_state(peer, AMG_OFI_PEER_OPEN);
    amg_ofi_hello_set_deadline(peer);
}

static bool hello_is_ours(
    struct amg_ofi_domain *domain, const struct amg_ofi_hello *hello)
{
    if (hello->magic == AMG_OFI_HELLO_MAGIC && hello->incarnation != 0 &&
        amg_ofi_text_is_addr(&domain->facts, hello->addr, hello->addr_len,
            domain->self->addr_len))
        return true;
    if (!domain->has_warned)
        AMG_LOG_WARNING("ofi", "somebody said hello in a form that is none of "
                               "ours; more of this is not reported");
    domain->has_warned = true;
    return false;
}

/* False: `peer` speaks another version. */
static bool version_is_ours(
    struct amg_peer *peer, const struct amg_ofi_hello *hello)
{
    char text[AMG_OFI_TEXT_CAP];

    if (hello->version == AMG_OFI_VERSION &&
        hello->message_len == peer->domain->room_len)
        return true;
    if (hello->version != AMG_OFI_VERSION)
        AMG_LOG_ERROR("ofi",
            "%s speaks version %u, and this process %u; use the same release "
            "of the library on both sides",
            amg_ofi_peer_text(peer, text), hello->version, AMG_OFI_VERSION);
    else
        AMG_LOG_ERROR("ofi",
            "%s has messages of up to %u bytes, and this process %u; set "
            "AMALGAM_MESSAGE_BYTES, or the sizes of HG_Init_opt(), to the same "
            "on both sides",
            amg_ofi_peer_text(peer, text), hello->message_len,
            peer->domain->room_len);
    return false;
}

void amg_ofi_hello_on_hello_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_hello *hello)
{
    struct amg_peer *peer = NULL;

    if (!hello_is_ours(domain, hello) ||
        amg_ofi_peer_get_locked(domain, hello->addr, hello->addr_len, &peer) !=
            HG_SUCCESS)
        return;
    if (version_is_ours(peer, hello)) {
        peer_open_locked(peer, hello);
        peer->owes_welcome = true;
        try_later_locked(peer);
    } else if (peer->state == AMG_OFI_PEER_STRANGER) {
        /* It is told what is spoken here, and no more. */
        peer->my_number = hello->number;
        peer->incarnation = hello->incarnation;
        if (amg_ofi_peer_insert_locked(peer) == HG_SUCCESS)
            (void)hello_post_locked(peer, AMG_OFI_WELCOME);
        peer->incarnation = 0;
    }
    amg_ofi_peer_drop_locked(peer);
}

void amg_ofi_hello_on_welcome_locked(
    struct amg_peer *peer, const struct amg_ofi_hello *hello)
{
    if (!hello_is_ours(peer->domain, hello))
        return;
    if (!version_is_ours(peer, hello)) {
        amg_ofi_hello_lost_locked(peer, "it cannot be understood");
        return;
    }
    peer_open_locked(peer, hello);
    try_later_locked(peer);
}

void amg_ofi_hello_on_bye_locked(struct amg_peer *peer)
{
    amg_ofi_hello_lost_locked(peer, NULL);
}

void amg_ofi_hello_lost_locked(struct amg_peer *peer, const char *why)
{
    char text[AMG_OFI_TEXT_CAP];

    (void)amg_ofi_peer_hold(peer);
    if (why != NULL && peer->state != AMG_OFI_PEER_STRANGER)
        AMG_LOG_WARNING(
            "ofi", "%s is not reached: %s", amg_ofi_peer_text(peer, text), why);
    peer->epoch++;
    peer->incarnation = 0;
    peer->my_number = 0;
    peer->owes_hello = false;
    peer->owes_welcome = false;
    peer->is_stale = true;
    peer->broken = 0;
    amg_ofi_msg_lost_locked(peer);
    amg_ofi_lease_lost_locked(peer);
    amg_ofi_mem_lost_locked(peer);
    amg_ofi_rma_lost_locked(peer);
    if (peer->state != AMG_OFI_PEER_STRANGER)
        amg_ofi_peer_set_state(peer, AMG_OFI_PEER_STRANGER);
    amg_ofi_peer_drop_locked(peer);
}

void amg_ofi_hello_doubt_locked(struct amg_peer *peer)
{
    if (peer->state != AMG_OFI_PEER_OPEN || peer->owes_hello)
        return;
    peer->owes_hello = true;
    if (amg_list_is_empty(&peer->unsent))
        amg_ofi_hello_set_deadline(peer);
    try_later_locked(peer);
}

/* Does anything of ours wait for this peer to act? */
static bool is_awaited(const struct amg_peer *peer)
{
    return peer->calls.unanswered > 0 || !amg_list_is_empty(&peer->transfers) ||
           peer->revoked > 0 || peer->busy > 0;
}

static void peer_tick_locked(struct amg_peer *peer, uint64_t now_ns)
{
    unsigned tick = peer->domain->tick;
    bool is_waiting = peer->state == AMG_OFI_PEER_ASKED || peer->owes_hello ||
                      peer->owes_welcome || !amg_list_is_empty(&peer->unsent);

    if (is_waiting && now_ns >= peer->deadline_ns) {
        amg_ofi_hello_lost_locked(peer,
            "no answer in the time that AMALGAM_CONNECT_TIMEOUT_MS gives; is "
            "the address right, the program there running and making progress, "
            "and its port not blocked?");
        return;
    }
    if (is_awaited(peer) && tick - peer->heard_tick >= SILENT_TICKS &&
        tick - peer->asked_tick >= SILENT_TICKS)
        amg_ofi_hello_doubt_locked(peer);
}

void amg_ofi_hello_tick_locked(struct amg_ofi_domain *domain, uint64_t now_ns)
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
