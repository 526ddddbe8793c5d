/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and credits that could not leave when posted: polls send them again.
 * Model: tests/models/shm_ring.pml. */
#include "base/assert.h"
#include "shm/shm_buf.h"
#include "shm/shm_msg.h"
#include "shm/shm_peer.h"

/* Sends the queued messages, which take no credit. False: no room. */
static bool queue_send_locked(
    const struct amg_shm_peer *peer, struct amg_list *queue)
{
    struct amg_link *first = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    while ((first = amg_list_first(queue)) != NULL) {
        struct amg_shm_buf *buf =
            amg_container_of(first, struct amg_shm_buf, post.link);
        struct amg_op *op = buf->post.op;

        AMG_ASSERT(buf->msgbuf == NULL || buf->index >= AMG_SHM_MSGBUFS);
        amg_list_remove(first);
        if (!amg_shm_send_buf_locked(buf)) {
            amg_list_push_front(queue, first);
            return false;
        }
        if (op != NULL)
            amg_shm_send_end_locked(op, HG_SUCCESS);
    }
    return true;
}

static bool peer_send_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_domain *domain = peer->domain;
    struct amg_shm_link *link = NULL;
    bool has_room = true;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (uint32_t i = 0; (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
        if (amg_shm_link_is_waiting(link) &&
            (!amg_shm_link_slot_locked(peer, link) ||
                !queue_send_locked(peer, &link->control) ||
                !queue_send_locked(peer, &link->queue)))
            has_room = false;
    if (peer->has_failed_wake) {
        peer->has_failed_wake = !amg_shm_link_raise_all(peer);
        domain->wants_retry = domain->wants_retry || peer->has_failed_wake;
        has_room = has_room && !peer->has_failed_wake;
    }
    amg_calls_go_locked(&domain->calls, &peer->calls);
    return has_room;
}

bool amg_shm_send_is_blocked_locked(const struct amg_shm_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    return !amg_list_is_empty(&domain->blocked);
}

void amg_shm_send_ask_for_room_locked(struct amg_shm_domain *domain)
{
    struct amg_link *at = amg_list_first(&domain->blocked);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (; at != NULL; at = amg_list_next(&domain->blocked, at)) {
        struct amg_shm_peer *peer =
            amg_container_of(at, struct amg_shm_peer, blocked);
        struct amg_shm_link *link = NULL;

        for (uint32_t i = 0;
             (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
            atomic_store_explicit(
                &link->out.ring->is_full, 1, memory_order_relaxed);
    }
    amg_shm_bufs_request_wake_locked(domain);
}

void amg_shm_send_deferred_locked(struct amg_shm_domain *domain)
{
    struct amg_list all;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_list_init(&all);
    amg_list_splice(&all, &domain->blocked);
    domain->wants_retry = false; /* set again where it is still needed */
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_shm_peer *peer =
            amg_container_of(link, struct amg_shm_peer, blocked);

        if (peer->state == AMG_SHM_PEER_ALIVE && !peer_send_locked(peer))
            amg_shm_peer_defer_locked(peer);
        else
            amg_shm_peer_reap_locked(peer);
    }
    while (amg_calls_pay_one_locked(&domain->calls))
        continue;
    atomic_store_explicit(&domain->has_deferred,
        amg_shm_send_is_blocked_locked(domain) ||
            amg_flow_is_owing(&domain->calls.flow),
        memory_order_relaxed);
}
