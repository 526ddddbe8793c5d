/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues of flow control: waiting requests, peers that are owed credits, and
 * peers that share the budget of a target.
 *
 * Waiting requests form a ring without a head, so that a peer without waiting
 * requests costs one pointer and is valid when zero. A peer stays on the owing
 * list when a reply has carried its credits; amg_flow_next_owing() skips it. */
#include "transport/flow.h"

#include "base/assert.h"

void amg_flow_wait(struct amg_flow_peer *peer, struct amg_link *link)
{
    struct amg_link *first = peer->waiting;

    if (first == NULL) {
        link->next = link;
        link->prev = link;
        peer->waiting = link;
        return;
    }
    link->next = first;
    link->prev = first->prev;
    first->prev->next = link;
    first->prev = link;
}

void amg_flow_unwait(struct amg_flow_peer *peer, struct amg_link *link)
{
    AMG_ASSERT(peer->waiting != NULL && amg_link_is_listed(link));
    if (peer->waiting == link)
        peer->waiting = link->next == link ? NULL : link->next;
    amg_list_remove(link);
}

uint32_t amg_flow_waiting_count(const struct amg_flow_peer *peer)
{
    const struct amg_link *link = peer->waiting;
    uint32_t count = 0;

    while (link != NULL) {
        count++;
        link = link->next == peer->waiting ? NULL : link->next;
    }
    return count;
}

struct amg_link *amg_flow_evict(struct amg_flow_peer *peer)
{
    struct amg_link *link = peer->waiting;

    if (link != NULL)
        amg_flow_unwait(peer, link);
    return link;
}

struct amg_link *amg_flow_next(
    const struct amg_flow *flow, struct amg_flow_peer *peer)
{
    if (peer->waiting == NULL ||
        peer->unanswered >= amg_flow_credits(flow, peer))
        return NULL;
    peer->unanswered++;
    return amg_flow_evict(peer);
}

void amg_flow_unnext(struct amg_flow_peer *peer, struct amg_link *link)
{
    AMG_ASSERT(peer->unanswered > 0);
    peer->unanswered--;
    amg_flow_wait(peer, link);
    peer->waiting = link;
}

void amg_flow_owe_again(
    struct amg_flow *flow, struct amg_flow_peer *peer, uint16_t count)
{
    if (count == 0)
        return;
    peer->owed += count;
    amg_flow_owing_add(flow, peer);
}

struct amg_flow_peer *amg_flow_next_owing(struct amg_flow *flow)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&flow->owing)) != NULL) {
        struct amg_flow_peer *peer =
            amg_container_of(link, struct amg_flow_peer, owing);

        if (peer->owed > 0 || amg_flow_has_note(peer))
            return peer;
    }
    return NULL;
}

/* Origin: wishes for credits, and returns recalled ones. */

static int min_of(int one, int other)
{
    return one < other ? one : other;
}

bool amg_flow_wish(struct amg_flow *flow, struct amg_flow_peer *peer)
{
    int most = flow->limit - peer->reserve - amg_flow_credits(flow, peer);

    if (peer->waiting == NULL || peer->has_wished || peer->debt > 0 ||
        most <= 0)
        return false;
    peer->has_wished = true;
    peer->wishes = (uint16_t)most;
    amg_flow_owing_add(flow, peer);
    return true;
}

bool amg_flow_pay_debt(struct amg_flow *flow, struct amg_flow_peer *peer)
{
    int used = peer->unanswered > 0 ? peer->unanswered : 1;
    int count =
        min_of(peer->debt, amg_flow_credits(flow, peer) + peer->debt - used);

    if (count <= 0)
        return false;
    peer->debt -= (uint16_t)count;
    peer->returns += (uint16_t)count;
    amg_flow_owing_add(flow, peer);
    return true;
}

/* May the target send this change? A recall may pass an earlier raise. */
static bool change_is_right(
    const struct amg_flow *flow, const struct amg_flow_peer *peer, int change)
{
    if (change <= 0)
        return change >= -flow->limit && peer->extra + change > INT16_MIN &&
               peer->debt - change <= flow->limit;
    return amg_flow_credits(flow, peer) + change + peer->debt + peer->reserve <=
           flow->limit;
}

/* Applies a raise (> 0) or recall of credits by the target. */
static void change_read(
    struct amg_flow *flow, struct amg_flow_peer *peer, int change)
{
    peer->extra = (int16_t)(peer->extra + change);
    if (change < 0)
        peer->debt = (uint16_t)(peer->debt - change);
    if (change < 0 || !amg_flow_is_within(flow, peer,
                          (unsigned)amg_flow_credits(flow, peer) + 1))
        peer->has_wished = false; /* else the target may still raise more */
    (void)amg_flow_pay_debt(flow, peer);
}

/* Target: the pool. For a wish, pool_recall() checks at most RECALLS peers; for
 * each credit that it gives, pool_serve() passes over at most TURNS peers. */
enum { RECALLS = 4, TURNS = 8 };

void amg_flow_set_budget(struct amg_flow *flow, uint64_t budget, uint64_t peers)
{
    uint64_t half = budget / 2 < UINT32_MAX ? budget / 2 : UINT32_MAX;
    uint64_t first = half / (peers > 0 ? peers : 1);

    flow->pool = (uint32_t)half;
    flow->first = first == 0            ? 1
                  : first < flow->limit ? (uint16_t)first
                                        : flow->limit;
}

/* Equal part of the pool; at least one credit. */
static uint32_t share_of(const struct amg_flow *flow)
{
    uint32_t share = flow->sharers == 0 ? 0 : flow->pool / flow->sharers;

    return share == 0 ? 1 : share;
}

static bool is_sharer(const struct amg_flow_peer *peer)
{
    return amg_link_is_listed(&peer->wishing) ||
           amg_link_is_listed(&peer->sharing);
}

static void list_set(
    struct amg_list *list, struct amg_link *link, bool is_listed)
{
    if (amg_link_is_listed(link) == is_listed)
        return;
    if (is_listed)
        amg_list_push(list, link);
    else
        amg_list_remove(link);
}

/* Puts the peer on the lists that it belongs to. */
static void lists_update(struct amg_flow *flow, struct amg_flow_peer *peer)
{
    bool was_sharer = is_sharer(peer);

    list_set(&flow->wishing, &peer->wishing, peer->wish > 0);
    list_set(&flow->sharing, &peer->sharing, peer->granted > 0);
    flow->sharers += (is_sharer(peer) ? 1u : 0u) - (was_sharer ? 1u : 0u);
}

/* Credits of the pool that the peer may keep. */
static uint32_t kept_by(const struct amg_flow_peer *peer)
{
    return (uint32_t)peer->granted - peer->recalled;
}

/* Moves the first link of a list to its end. */
static struct amg_link *list_rotate(struct amg_list *list)
{
    struct amg_link *link = amg_list_pop(list);

    if (link != NULL)
        amg_list_push(list, link);
    return link;
}

static void raise_by(
    struct amg_flow *flow, struct amg_flow_peer *peer, uint32_t count)
{
    int unsaid = min_of(-peer->change, (int)count); /* undoes unsent recalls */

    AMG_ASSERT(count <= peer->wish && count <= flow->pool - flow->used);
    peer->wish -= (uint16_t)count;
    peer->change = (int16_t)(peer->change + (int)count);
    if (unsaid > 0) {
        peer->recalled -= (uint16_t)unsaid;
        count -= (uint32_t)unsaid;
    }
    flow->used += count;
    peer->granted += (uint16_t)count;
    amg_flow_owing_add(flow, peer);
    lists_update(flow, peer);
}

static void recall_by(
    struct amg_flow *flow, struct amg_flow_peer *peer, uint32_t count)
{
    int unsaid = min_of(peer->change, (int)count); /* undoes unsent raises */

    AMG_ASSERT(count <= kept_by(peer));
    peer->change = (int16_t)(peer->change - (int)count);
    if (unsaid > 0) {
        peer->granted -= (uint16_t)unsaid;
        flow->used -= (uint32_t)unsaid;
        count -= (uint32_t)unsaid;
    }
    peer->recalled += (uint16_t)count;
    amg_flow_owing_add(flow, peer);
    lists_update(flow, peer);
}

/* Gives what is left of the pool to the peers in the queue: one credit at a
 * time, while several wait, and first to peers with less than their share. */
static void pool_serve(struct amg_flow *flow)
{
    unsigned passed = 0;

    while (flow->used < flow->pool && !amg_list_is_empty(&flow->wishing)) {
        struct amg_link *link = list_rotate(&flow->wishing);
        struct amg_flow_peer *peer =
            amg_container_of(link, struct amg_flow_peer, wishing);
        bool is_alone = amg_list_first(&flow->wishing) == link;

        if (!is_alone && passed < TURNS && kept_by(peer) >= share_of(flow)) {
            passed++;
            continue;
        }
        passed = 0;
        raise_by(flow, peer,
            is_alone
                ? (uint32_t)min_of(peer->wish, (int)(flow->pool - flow->used))
                : 1);
    }
}

/* Asks some peers with more than their share to return the excess. */
static void pool_recall(struct amg_flow *flow)
{
    uint32_t share = share_of(flow);

    for (unsigned i = 0; i < RECALLS && !amg_list_is_empty(&flow->sharing);
         i++) {
        struct amg_flow_peer *peer = amg_container_of(
            list_rotate(&flow->sharing), struct amg_flow_peer, sharing);

        if (kept_by(peer) > share)
            recall_by(flow, peer, kept_by(peer) - share);
    }
    pool_serve(flow); /* recalling an unsent raise frees its credits */
}

/* Grants the peer `count` credits, or queues the wish and recalls credits. */
static void wish_read(
    struct amg_flow *flow, struct amg_flow_peer *peer, int count)
{
    int most = flow->limit - peer->reserve - flow->first - peer->granted;

    peer->wish = (uint16_t)(most <= 0 ? 0 : min_of(count, most));
    lists_update(flow, peer);
    pool_serve(flow);
    if (peer->wish > 0)
        pool_recall(flow);
}

/* Puts credits that the peer has returned back into the pool. */
static void return_read(
    struct amg_flow *flow, struct amg_flow_peer *peer, int count)
{
    peer->granted -= (uint16_t)count;
    peer->recalled -= (uint16_t)count;
    AMG_ASSERT(flow->used >= (uint32_t)count);
    flow->used -= (uint32_t)count;
    lists_update(flow, peer);
    pool_serve(flow);
}

/* Notes. */

uint32_t amg_flow_take_note(struct amg_flow *flow, struct amg_flow_peer *peer)
{
    uint16_t upper =
        peer->returns > 0 ? peer->returns : (uint16_t) - (int)peer->wishes;
    uint32_t note = (uint32_t)upper << 16 | (uint16_t)peer->change;

    peer->change = 0;
    if (peer->returns > 0)
        peer->returns = 0;
    else
        peer->wishes = 0;
    if (peer->wishes > 0)
        amg_flow_owing_add(flow, peer);
    return note;
}

/* The credits in the upper half of a note: > 0 returned, < 0 wished for. */
static int upper_of(uint32_t note)
{
    return (int16_t)(uint16_t)(note >> 16);
}

void amg_flow_note_again(struct amg_flow_peer *peer, uint32_t note)
{
    int upper = upper_of(note);

    peer->change = (int16_t)(peer->change + (int16_t)(uint16_t)note);
    if (upper > 0)
        peer->returns += (uint16_t)upper;
    else if (upper < 0)
        peer->wishes = (uint16_t)-upper;
}

bool amg_flow_read_note(
    struct amg_flow *flow, struct amg_flow_peer *peer, uint32_t note)
{
    int change = (int16_t)(uint16_t)note;
    int returned = upper_of(note);

    if (returned > peer->recalled || returned > peer->granted ||
        !change_is_right(flow, peer, change))
        return false;
    if (change != 0)
        change_read(flow, peer, change);
    if (returned > 0)
        return_read(flow, peer, returned);
    else if (returned < 0)
        wish_read(flow, peer, -returned);
    return true;
}

void amg_flow_forget(struct amg_flow *flow, struct amg_flow_peer *peer)
{
    if (amg_link_is_listed(&peer->owing))
        amg_list_remove(&peer->owing);
    AMG_ASSERT(flow->used >= peer->granted);
    flow->used -= peer->granted;
    peer->owed = 0;
    peer->granted = 0;
    peer->wish = 0;
    peer->recalled = 0;
    peer->change = 0;
    peer->returns = 0;
    peer->wishes = 0;
    peer->debt = 0;
    peer->has_wished = false;
    lists_update(flow, peer);
    pool_serve(flow);
}
