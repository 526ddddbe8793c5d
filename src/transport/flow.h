/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control between an origin and its targets, for drivers with many peers.
 *
 * A pure data structure: it sends nothing and locks nothing; the driver calls
 * it with its own lock held.
 *
 *   origin side                             target side
 *   amg_flow_take()  a credit, or no        amg_flow_owe()   one-way released
 *   amg_flow_wait()  then: queue it         amg_flow_take_owed()  into a header
 *   amg_flow_give()  credits came back      amg_flow_next_owing() when idle
 *   amg_flow_next()  what may go now
 *
 * A request takes one credit of its peer when it leaves. The reply gives that
 * credit back, and with it as many as the target owes for one-way requests
 * that it released; a target that has no reply to send them with sends a
 * message of its own once they are half the limit, or when it is idle.
 * A request whose caller gave up keeps its credit until the late reply: the
 * target still holds it, and the limit bounds what the target holds.
 */
#ifndef AMG_TRANSPORT_FLOW_H
#define AMG_TRANSPORT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

/* What a driver keeps per peer: 24 bytes, valid when all zero, so a table of
 * many peers needs no pass over it. It must not move while it is in use. */
struct amg_flow_peer {
    struct amg_link *waiting; /* a ring: the oldest one, or NULL */
    struct amg_flow_peer *next_owing;
    uint16_t unanswered; /* credits taken and not given back */
    uint16_t owed;       /* credits this process owes the peer */
    uint16_t reserve;    /* of the limit, those that the two do not use */
    uint8_t is_owing;    /* stands on the list of those that may be owed */
};

/* What all peers of one domain share. */
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

/* The two have no more than `limit` credits at each other: the peer has less
 * room than this process, which may have taken more already. At least 1. */
static inline void amg_flow_bound(
    const struct amg_flow *flow, struct amg_flow_peer *peer, uint16_t limit)
{
    limit = limit == 0 ? 1 : limit;
    peer->reserve = limit < flow->limit ? flow->limit - limit : 0;
}

/* May so many be in use with this peer? */
static inline bool amg_flow_is_within(const struct amg_flow *flow,
    const struct amg_flow_peer *peer, uint32_t count)
{
    return count + peer->reserve <= flow->limit;
}

/* Takes a credit for a new request. False: it has to wait, because there is
 * no credit or because others wait before it. */
static inline bool amg_flow_take(
    const struct amg_flow *flow, struct amg_flow_peer *peer)
{
    if (peer->waiting != NULL ||
        !amg_flow_is_within(flow, peer, peer->unanswered + 1u))
        return false;
    peer->unanswered++;
    return true;
}

/* `count` credits came back. False: more than were taken, so the peer lies
 * (or we do); nothing has changed then. */
static inline bool amg_flow_give(struct amg_flow_peer *peer, uint16_t count)
{
    if (count > peer->unanswered)
        return false;
    peer->unanswered -= count;
    return true;
}

/* Queues a request behind those that wait already. */
void amg_flow_wait(struct amg_flow_peer *peer, struct amg_link *link);

/* Takes a queued request out again (it was cancelled, or the peer is gone). */
void amg_flow_unwait(struct amg_flow_peer *peer, struct amg_link *link);

/* Takes the credit out of the way and the oldest waiting request off the
 * queue; NULL when none waits or no credit is there. To be called until NULL
 * after amg_flow_give() and after a request went that failed to. */
struct amg_link *amg_flow_next(
    const struct amg_flow *flow, struct amg_flow_peer *peer);

/* The medium had no room for what amg_flow_next() returned: puts it back as
 * the oldest, with its credit. */
void amg_flow_unnext(struct amg_flow_peer *peer, struct amg_link *link);

/* The oldest waiting request whatever the credits are, off the queue, or NULL:
 * to empty the queue when an endpoint or a peer ends. */
struct amg_link *amg_flow_evict(struct amg_flow_peer *peer);

/* One more credit is owed to the peer. True: enough to be worth a message. */
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

/* At most `max` of the credits owed to the peer; they are owed no more. The
 * caller writes them into the header of the message that leaves now, and adds
 * them again by amg_flow_owe_again() if that message did not leave. */
static inline uint16_t amg_flow_take_owed(
    struct amg_flow_peer *peer, uint16_t max)
{
    uint16_t taken = peer->owed < max ? peer->owed : max;

    peer->owed -= taken;
    return taken;
}

void amg_flow_owe_again(
    struct amg_flow *flow, struct amg_flow_peer *peer, uint16_t count);

/* A peer that is owed credits, off the list, or NULL. The caller sends it all
 * of them; what it does not take it gives to amg_flow_owe_again(). */
struct amg_flow_peer *amg_flow_next_owing(struct amg_flow *flow);

/* The peer is gone: nothing is owed to it any more, and its memory may go. */
void amg_flow_forget(struct amg_flow *flow, struct amg_flow_peer *peer);

#endif
