/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and credits that could not leave when they were posted: polls and
 * the call engine send them when there is room.
 *
 * Requests that lack a credit or a cell wait in the flow control of the peer,
 * in the order of their posts. Messages without credits wait in the link: a
 * retry sends messages of the library (credits, refusals, ACKs, transfers)
 * before replies. A peer with messages that wait for a cell or a msgbuf is on
 * domain->blocked, and polls try again. Model: tests/models/shm_ring.pml. */
#include "shm/shm_send.h"

#include <stdio.h>

#include "base/assert.h"
#include "shm/shm_peer.h"

/* Functions of calls_ops, the table for the call engine. */

static void request_put_locked(struct amg_calls *calls, struct amg_post *post)
{
    struct amg_shm_buf *buf = amg_container_of(post, struct amg_shm_buf, post);

    (void)calls;
    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    amg_shm_buf_put_locked(buf);
}

/* Sends owed credits, holding a reference to the peer: the send may open a
 * link, which frees a closed peer that has no reference. */
static bool credits_pay_locked(
    struct amg_calls *calls, struct amg_flow_peer *owed)
{
    struct amg_shm_peer *peer =
        amg_container_of(owed, struct amg_shm_peer, calls);
    struct amg_shm_msg_header header = {
        .kind = AMG_SHM_CREDIT, .target_context = peer->context};
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (owed->wishes > 0 && owed->waiting != NULL)
        header.target_context =
            amg_container_of(owed->waiting, struct amg_shm_buf, post.link)
                ->target_context;
    header.cookie = amg_calls_note_locked(calls, owed);
    peer->refs++;
    rc = amg_shm_send_short_locked(peer, &header, NULL, 0);
    if (rc == HG_NOMEM) {
        amg_flow_note_again(owed, header.cookie);
        atomic_store_explicit(
            &peer->domain->has_deferred, 1, memory_order_relaxed);
    }
    amg_shm_peer_unref_locked(peer);
    return rc != HG_NOMEM;
}

/* Writes "rank 3 (na+sm://1515-0.7)"; outside of a job, only the address. */
static void peer_name(const struct amg_calls *calls,
    const struct amg_flow_peer *flow, char ret_text[AMG_PEER_NAME_CAP])
{
    const struct amg_shm_peer *peer =
        amg_container_of(flow, struct amg_shm_peer, calls);
    uint32_t rank = amg_shm_peer_rank(peer);

    (void)calls;
    if (rank != UINT32_MAX)
        snprintf(ret_text, AMG_PEER_NAME_CAP, "rank %u (na+sm://%s)",
            (unsigned)rank, peer->region.name);
    else
        snprintf(ret_text, AMG_PEER_NAME_CAP, "na+sm://%s", peer->region.name);
}

static const struct amg_calls_ops calls_ops = {
    .send = amg_shm_send_waiting_locked,
    .put = request_put_locked,
    .end = amg_shm_send_end_locked,
    .pay = credits_pay_locked,
    .source = "shm",
    .name = peer_name,
};

hg_return_t amg_shm_send_init(struct amg_shm_domain *domain, uint16_t credits)
{
    amg_calls_init(&domain->calls, &domain->lock, credits, &calls_ops);
    domain->base.counts = &domain->calls.counts;
    return amg_shm_bufs_init(domain);
}

void amg_shm_send_fini(struct amg_shm_domain *domain)
{
    amg_shm_bufs_fini(domain);
    amg_calls_fini(&domain->calls);
}

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
    domain->wants_retry = false; /* the retries below set it again if needed */
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

static void queue_end_locked(
    const struct amg_shm_peer *peer, struct amg_list *queue)
{
    struct amg_link *at = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    while ((at = amg_list_pop(queue)) != NULL) {
        struct amg_shm_buf *buf =
            amg_container_of(at, struct amg_shm_buf, post.link);

        if (buf->post.op != NULL)
            amg_shm_send_end_locked(buf->post.op, HG_HOSTUNREACH);
        amg_shm_buf_put_locked(buf);
    }
}

void amg_shm_send_peer_gone_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    amg_calls_lost_waiting_locked(&peer->domain->calls, &peer->calls);
    for (uint32_t i = 0; (link = amg_shm_link_next_locked(peer, &i)) != NULL;) {
        queue_end_locked(peer, &link->control);
        queue_end_locked(peer, &link->queue);
    }
    amg_shm_bufs_reclaim_peer_locked(peer);
}
