/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues of flow control: waiting requests, and peers that are owed credits.
 *
 * Waiting requests form a ring without a head, so that a peer with none costs
 * one pointer and is valid when zero. A peer stays on the owing list when a
 * reply took its credits away; amg_flow_next_owing() skips it later. */
#include "transport/flow.h"

#include "base/assert.h"

static void ring_insert_last(struct amg_link **ring, struct amg_link *link)
{
    struct amg_link *first = *ring;

    if (first == NULL) {
        link->next = link;
        link->prev = link;
        *ring = link;
        return;
    }
    link->next = first;
    link->prev = first->prev;
    first->prev->next = link;
    first->prev = link;
}

static void ring_remove(struct amg_link **ring, struct amg_link *link)
{
    bool is_only = link->next == link;

    if (*ring == link)
        *ring = is_only ? NULL : link->next;
    amg_list_remove(link);
}

void amg_flow_wait(struct amg_flow_peer *peer, struct amg_link *link)
{
    ring_insert_last(&peer->waiting, link);
}

void amg_flow_unwait(struct amg_flow_peer *peer, struct amg_link *link)
{
    AMG_ASSERT(peer->waiting != NULL && amg_link_is_listed(link));
    ring_remove(&peer->waiting, link);
}

struct amg_link *amg_flow_evict(struct amg_flow_peer *peer)
{
    struct amg_link *link = peer->waiting;

    if (link != NULL)
        ring_remove(&peer->waiting, link);
    return link;
}

struct amg_link *amg_flow_next(
    const struct amg_flow *flow, struct amg_flow_peer *peer)
{
    if (peer->waiting == NULL ||
        !amg_flow_is_within(flow, peer, peer->unanswered + 1u))
        return NULL;
    peer->unanswered++;
    return amg_flow_evict(peer);
}

void amg_flow_unnext(struct amg_flow_peer *peer, struct amg_link *link)
{
    AMG_ASSERT(peer->unanswered > 0);
    peer->unanswered--;
    ring_insert_last(&peer->waiting, link);
    peer->waiting = link;
}

void amg_flow_owe_again(
    struct amg_flow *flow, struct amg_flow_peer *peer, uint16_t count)
{
    if (count == 0)
        return;
    peer->owed += count - 1;
    (void)amg_flow_owe(flow, peer);
}

struct amg_flow_peer *amg_flow_next_owing(struct amg_flow *flow)
{
    while (flow->owing != NULL) {
        struct amg_flow_peer *peer = flow->owing;

        flow->owing = peer->next_owing;
        peer->next_owing = NULL;
        peer->is_owing = 0;
        if (peer->owed > 0)
            return peer;
    }
    return NULL;
}

void amg_flow_forget(struct amg_flow *flow, struct amg_flow_peer *peer)
{
    struct amg_flow_peer **at = &flow->owing;

    peer->owed = 0;
    if (!peer->is_owing)
        return;
    while (*at != NULL && *at != peer)
        at = &(*at)->next_owing;
    AMG_ASSERT(*at == peer);
    *at = peer->next_owing;
    peer->next_owing = NULL;
    peer->is_owing = 0;
}
