/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control between an origin and its targets, for drivers with many peers.
 *
 * A pure data structure, which sends nothing and locks nothing: the driver
 * calls its functions with the driver's lock held.
 *
 *   origin side                             target side
 *   amg_flow_take()  a credit, or false     amg_flow_owe()   one-way released
 *   amg_flow_wait()  if false: wait         amg_flow_take_owed()  into a header
 *   amg_flow_give()  credits came back      amg_flow_next_owing() when idle
 *   amg_flow_next()  next request to send
 *
 * A request takes one credit of its peer when it is sent. The reply returns
 * that credit, and the credits owed for one-way requests that the target has
 * released. A target without a reply to send sends a separate message once it
 * owes half the credits, or when it is idle. A cancelled request keeps its
 * credit until the late reply: the target still holds the request, and the
 * credits bound what the target holds.
 *
 * All peers of a target share its memory for requests, the budget. Half of the
 * budget is for the peers that may come: each has `first` credits from the
 * start, at least one. The other half is the pool: an origin that runs out of
 * credits wishes for more, and the target raises the origin's credits while the
 * pool lasts. When the pool is empty, wishes are queued: the target recalls
 * credits from peers that have more than an equal share of the pool, and gives
 * single credits to the peers in the queue, in turn. An origin returns recalled
 * credits when they are unused. So a target holds at most the budget or, if its
 * peers outnumber half of the budget, the pool and one request of each peer.
 *
 * Both sides exchange notes of one word: the lower half is a raise or recall by
 * the target, the upper half is what the origin returns (positive) or wishes
 * (negative). Notes may arrive in any order (tests/models/credits.pml). */
#ifndef AMG_TRANSPORT_FLOW_H
#define AMG_TRANSPORT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

/* Flow control state of a peer, valid when all zero, so that a table of many
 * peers needs no initialisation. The struct must not move while in use. */
struct amg_flow_peer {
    struct amg_link *waiting; /* oldest of a ring of requests, or NULL */
    struct amg_link owing;    /* in `owing` of struct amg_flow */
    uint16_t unanswered;      /* credits taken and not given back */
    uint16_t owed;            /* credits this process owes the peer */
    uint16_t reserve;         /* limit of struct amg_flow - the peer's limit */
    int16_t extra;            /* credits beyond `first` of struct amg_flow */
    uint16_t debt;      /* credits recalled by the peer, but still in use */
    uint8_t violations; /* bits of enum amg_violation, once logged */
    bool has_wished;    /* the peer knows that this process wants more */
    /* Credits of the peer at this process. */
    uint16_t granted;  /* credits from the pool */
    uint16_t wish;     /* credits that the peer wants in addition */
    uint16_t recalled; /* credits of `granted` to be returned */
    /* The next note to the peer. */
    int16_t change;          /* raise (> 0) or recall of the peer's credits */
    uint16_t returns;        /* recalled credits that go back to the peer */
    uint16_t wishes;         /* credits that this process wants in addition */
    struct amg_link wishing; /* in `wishing` of struct amg_flow */
    struct amg_link sharing; /* in `sharing` of struct amg_flow */
};

/* State shared by all peers of a domain. */
struct amg_flow {
    struct amg_list owing;   /* peers that may be owed credits or a note */
    uint16_t limit;          /* credits per peer, >= 1 */
    uint16_t first;          /* credits per peer from the start, >= 1 */
    uint32_t pool;           /* credits for all peers to share */
    uint32_t used;           /* credits of the pool that peers have */
    uint32_t sharers;        /* peers in `wishing`, `sharing` or both */
    struct amg_list wishing; /* queue of peers that wait for the pool */
    struct amg_list sharing; /* peers with credits of the pool */
};

/* `limit` is from 1 to 32767. Each peer has all its credits from the start. */
static inline void amg_flow_init(struct amg_flow *flow, uint16_t limit)
{
    *flow = (struct amg_flow){.limit = limit, .first = limit};
    amg_list_init(&flow->owing);
    amg_list_init(&flow->wishing);
    amg_list_init(&flow->sharing);
}

/* Limits the requests of all peers, of which `peers` are expected, to `budget`
 * messages. Called before any peer is used. */
void amg_flow_set_budget(
    struct amg_flow *flow, uint64_t budget, uint64_t peers);

/* The peer has died: it gives no credits any more, so that posts take the ways
 * of requests that must wait. No note of a peer makes `extra` that small. */
static inline void amg_flow_close(struct amg_flow_peer *peer)
{
    peer->extra = INT16_MIN;
}
static inline bool amg_flow_is_closed(const struct amg_flow_peer *peer)
{
    return peer->extra == INT16_MIN;
}

/* Lowers the limit of credits in both directions to `limit` (at least 1), for a
 * peer with less room than this process. The peer gives `first` credits from
 * the start; more than the limit may be in use already. */
static inline void amg_flow_bound(const struct amg_flow *flow,
    struct amg_flow_peer *peer, uint16_t limit, uint16_t first)
{
    limit = limit == 0 ? 1 : limit;
    limit = limit < flow->limit ? limit : flow->limit;
    first = first == 0 || first > limit ? limit : first;
    peer->reserve = flow->limit - limit;
    if (!amg_flow_is_closed(peer))
        peer->extra = (int16_t)(first - flow->first);
}

/* Is `count` within the limit of credits between this process and the peer? */
static inline bool amg_flow_is_within(const struct amg_flow *flow,
    const struct amg_flow_peer *peer, uint32_t count)
{
    return count + peer->reserve <= flow->limit;
}

/* Credits of this process at the peer, used or not. */
static inline int amg_flow_credits(
    const struct amg_flow *flow, const struct amg_flow_peer *peer)
{
    return flow->first + peer->extra;
}

/* May a new request leave? False: the request must wait, because no credit is
 * left or older requests wait. */
static inline bool amg_flow_may_take(
    const struct amg_flow *flow, const struct amg_flow_peer *peer)
{
    return peer->waiting == NULL &&
           peer->unanswered < amg_flow_credits(flow, peer);
}

/* Takes a credit for a new request. False: amg_flow_may_take() is false. */
static inline bool amg_flow_take(
    const struct amg_flow *flow, struct amg_flow_peer *peer)
{
    if (!amg_flow_may_take(flow, peer))
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

/* Queues a request behind the waiting requests. */
void amg_flow_wait(struct amg_flow_peer *peer, struct amg_link *link);

/* Removes a queued request that was cancelled, or whose peer is lost. */
void amg_flow_unwait(struct amg_flow_peer *peer, struct amg_link *link);

/* Length of the queue. */
uint32_t amg_flow_waiting_count(const struct amg_flow_peer *peer);

/* Takes a credit, and removes the oldest request from the queue; NULL when none
 * waits or no credit is left. Call until NULL after amg_flow_give(), and when
 * the medium has room again. */
struct amg_link *amg_flow_next(
    const struct amg_flow *flow, struct amg_flow_peer *peer);

/* The medium had no room for the request of amg_flow_next(): puts the request
 * back as the oldest, and gives its credit back. */
void amg_flow_unnext(struct amg_flow_peer *peer, struct amg_link *link);

/* Removes the oldest request regardless of credits, or NULL: empties the queue
 * when an endpoint closes or a peer is lost. */
struct amg_link *amg_flow_evict(struct amg_flow_peer *peer);

/* Puts the peer on the list that amg_flow_next_owing() reads. */
static inline void amg_flow_owing_add(
    struct amg_flow *flow, struct amg_flow_peer *peer)
{
    if (!amg_link_is_listed(&peer->owing))
        amg_list_push(&flow->owing, &peer->owing);
}

/* Are the credits owed to the peer, plus one, enough for a message? */
static inline bool amg_flow_owes_enough(
    const struct amg_flow *flow, const struct amg_flow_peer *peer)
{
    unsigned twice = 2u * peer->owed + 4;

    return twice > (unsigned)flow->first + peer->granted ||
           !amg_flow_is_within(flow, peer, twice);
}

/* Owes the peer a further credit. True: enough for a message. */
static inline bool amg_flow_owe(
    struct amg_flow *flow, struct amg_flow_peer *peer)
{
    bool is_enough = amg_flow_owes_enough(flow, peer);

    peer->owed++;
    amg_flow_owing_add(flow, peer);
    return is_enough;
}

/* Takes at most `max` of the credits owed to the peer. The caller writes the
 * result into the header of an outgoing message, and gives the result to
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

/* Takes from the list a peer that is owed credits or a note; NULL: no peer. The
 * caller sends credits and note; what could not be sent goes back by
 * amg_flow_owe_again(), amg_flow_note_again() and amg_flow_owing_add(). */
struct amg_flow_peer *amg_flow_next_owing(struct amg_flow *flow);

/* May amg_flow_next_owing() return a peer? */
static inline bool amg_flow_is_owing(const struct amg_flow *flow)
{
    return !amg_list_is_empty(&flow->owing);
}

/* Wishes for all credits that the peer could give, if requests wait and the
 * peer does not know of the wish yet. False: no note is due. */
bool amg_flow_wish(struct amg_flow *flow, struct amg_flow_peer *peer);

/* Returns recalled credits that are not in use any more. False: no note is
 * due. */
bool amg_flow_pay_debt(struct amg_flow *flow, struct amg_flow_peer *peer);

/* Is a note due to the peer? */
static inline bool amg_flow_has_note(const struct amg_flow_peer *peer)
{
    return peer->change != 0 || peer->returns > 0 || peer->wishes > 0;
}

/* Takes the note that is due to the peer; 0: none. The caller sends it. */
uint32_t amg_flow_take_note(struct amg_flow *flow, struct amg_flow_peer *peer);

/* The note was not sent: it is due again. */
void amg_flow_note_again(struct amg_flow_peer *peer, uint32_t note);

/* Reads a note of the peer. Afterwards further notes may be due, and waiting
 * requests may get credits. False: a protocol violation, no change. */
bool amg_flow_read_note(
    struct amg_flow *flow, struct amg_flow_peer *peer, uint32_t note);

/* Is the state that of a new peer which gives `first` credits? */
static inline bool amg_flow_is_idle(const struct amg_flow *flow,
    const struct amg_flow_peer *peer, uint16_t first)
{
    return peer->waiting == NULL && peer->unanswered == 0 &&
           peer->granted == 0 && peer->wish == 0 && !peer->has_wished &&
           amg_flow_credits(flow, peer) ==
               (first == 0 || first > flow->limit ? flow->limit : first);
}

/* The peer is lost: nothing is owed to it, its credits go to other peers, and
 * its memory may be freed. */
void amg_flow_forget(struct amg_flow *flow, struct amg_flow_peer *peer);

#endif
