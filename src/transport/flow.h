/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control between an origin and its targets, for drivers with many peers.
 *
 * A pure data structure: it sends nothing and locks nothing; the driver calls
 * it with its own lock held.
 *
 *   origin side                             target side
 *   amg_flow_take()  a credit, or false     amg_flow_owe()   one-way released
 *   amg_flow_wait()  if false: queue it     amg_flow_take_owed()  into a header
 *   amg_flow_give()  credits came back      amg_flow_next_owing() when idle
 *   amg_flow_next()  next one to send
 *
 * A request takes one credit of its peer when it is sent. The reply returns
 * that credit, and those that the target owes for one-way requests it has
 * released. A target without a reply to send sends a separate message once it
 * owes half the limit, or when it is idle. A cancelled request keeps its credit
 * until the late reply: the target still holds the request, and the limit
 * bounds what the target holds.
 */
#ifndef AMG_TRANSPORT_FLOW_H
#define AMG_TRANSPORT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

/* Flow control state of a peer: 24 bytes, valid when all zero, so that a table
 * of many peers needs no initialisation. It must not move while in use. */
struct amg_flow_peer {
    struct amg_link *waiting; /* a ring: its oldest request, or NULL */
    struct amg_flow_peer *next_owing;
    uint16_t unanswered; /* credits taken and not given back */
    uint16_t owed;       /* credits this process owes the peer */
    uint16_t reserve;    /* credits below the limit not usable with this peer */
    uint8_t is_owing;    /* is on the list `owing` of struct amg_flow */
    uint8_t violations;  /* a bit for each kind that was logged (calls.h) */
};

/* State shared by all peers of a domain. */
struct amg_flow {
    struct amg_flow_peer *owing; /* single linked; some may owe 0 by now */
    uint16_t limit;              /* credits per peer, >= 1 */
};

/* `limit` is from 1 to 65535. */
static inline void amg_flow_init(struct amg_flow *flow, uint16_t limit)
{
    flow->owing = NULL;
    flow->limit = limit;
}

/* Lowers the credits of both sides to `limit` (at least 1), as the peer has
 * less room than this process. More may be in use already. */
static inline void amg_flow_bound(
    const struct amg_flow *flow, struct amg_flow_peer *peer, uint16_t limit)
{
    limit = limit == 0 ? 1 : limit;
    peer->reserve = limit < flow->limit ? flow->limit - limit : 0;
}

/* May `count` credits be in use with this peer? */
static inline bool amg_flow_is_within(const struct amg_flow *flow,
    const struct amg_flow_peer *peer, uint32_t count)
{
    return count + peer->reserve <= flow->limit;
}

/* Takes a credit for a new request. False: the request must wait, because no
 * credit is left or others wait before it. */
static inline bool amg_flow_take(
    const struct amg_flow *flow, struct amg_flow_peer *peer)
{
    if (peer->waiting != NULL ||
        !amg_flow_is_within(flow, peer, peer->unanswered + 1u))
        return false;
    peer->unanswered++;
    return true;
}

/* `count` credits came back. False: more than were taken, a protocol violation;
 * nothing has changed. */
static inline bool amg_flow_give(struct amg_flow_peer *peer, uint16_t count)
{
    if (count > peer->unanswered)
        return false;
    peer->unanswered -= count;
    return true;
}

/* Queues a request behind those that wait already. */
void amg_flow_wait(struct amg_flow_peer *peer, struct amg_link *link);

/* Removes a queued request that was cancelled, or whose peer is lost. */
void amg_flow_unwait(struct amg_flow_peer *peer, struct amg_link *link);

/* Takes a credit, and removes the oldest request from the queue; NULL when none
 * waits or no credit is left. Call until NULL after amg_flow_give(), and after
 * a request that had failed was sent. */
struct amg_link *amg_flow_next(
    const struct amg_flow *flow, struct amg_flow_peer *peer);

/* The medium had no room for what amg_flow_next() returned: puts it back as
 * the oldest, with its credit. */
void amg_flow_unnext(struct amg_flow_peer *peer, struct amg_link *link);

/* Removes the oldest request regardless of credits, or NULL: empties the queue
 * when an endpoint closes or a peer is lost. */
struct amg_link *amg_flow_evict(struct amg_flow_peer *peer);

/* One more credit is owed to the peer. True: enough for a message. */
static inline bool amg_flow_owe(
    struct amg_flow *flow, struct amg_flow_peer *peer)
{
    peer->owed++;
    if (!peer->is_owing) {
        peer->is_owing = 1;
        peer->next_owing = flow->owing;
        flow->owing = peer;
    }
    return !amg_flow_is_within(flow, peer, 2u * peer->owed + 2);
}

/* Takes at most `max` of the credits owed to the peer. The caller writes them
 * into the header of an outgoing message, and returns them with
 * amg_flow_owe_again() if that message is not sent. */
static inline uint16_t amg_flow_take_owed(
    struct amg_flow_peer *peer, uint16_t max)
{
    uint16_t taken = peer->owed < max ? peer->owed : max;

    peer->owed -= taken;
    return taken;
}

void amg_flow_owe_again(
    struct amg_flow *flow, struct amg_flow_peer *peer, uint16_t count);

/* Removes a peer that is owed credits from the list, or NULL. The caller sends
 * them all; amg_flow_owe_again() returns those that it cannot send. */
struct amg_flow_peer *amg_flow_next_owing(struct amg_flow *flow);

/* The peer is lost: nothing is owed to it, and its memory may be freed. */
void amg_flow_forget(struct amg_flow *flow, struct amg_flow_peer *peer);

#endif
