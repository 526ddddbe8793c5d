/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers: puts and gets that polls move, by copies or through the segment.
 *
 * A transfer that can proceed is on the list `ready` of its endpoint. Each poll
 * moves the first transfers of `ready`: copies (shm_copy.c), or asks the peer
 * to copy. After such a request the transfer is on no list until an answer
 * comes. A transfer that lacks a bounce buffer for a request is on `blocked`.
 * While a poll moves a transfer, the transfer is on no list, and the poll does
 * not hold the lock, so that posts and cancels can run; a cancel then only sets
 * a flag. Values from a peer are checked before use: an answer must be for a
 * fragment in flight. */
#include "shm/shm_bulk.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "shm/shm_peer.h"
#include "shm/shm_send.h"

enum { POLL_TRANSFERS = 16 }; /* transfers that one poll moves */

void amg_shm_transfer_wake_locked(struct amg_shm_transfer *transfer)
{
    struct amg_shm_bulk_ep *bulk = &transfer->ep->bulk;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    transfer->state = AMG_SHM_TRANSFER_READY;
    amg_list_push(&bulk->ready, &transfer->link);
    amg_shm_due_set_locked(transfer->ep, AMG_SHM_DUE_BULK, true);
    amg_shm_doorbell_self_locked(transfer->ep);
}

/* Frees an ended transfer that waits for no further answer of the peer. */
static void transfer_free_locked(struct amg_shm_transfer *transfer)
{
    struct amg_shm_domain *domain = transfer->domain;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    AMG_ASSERT(transfer->op == NULL && transfer->in_flight == 0);
    if (transfer->is_by_message)
        amg_table_remove(&domain->bulk.transfers, transfer->cookie);
    amg_shm_peer_unref_locked(transfer->peer);
    /* NOTE(not a leaf lock): takes the pool's lock under the domain's. */
    amg_pool_put(&domain->bulk.pool, transfer);
}

/* Whether a bounce buffer with pages is free for the transfer. Called after
 * bounce_take_locked() failed: a buffer may have been freed meanwhile. */
static bool bounce_is_free_locked(const struct amg_shm_transfer *transfer)
{
    const struct amg_shm_bulk *bulk = &transfer->domain->bulk;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    return (~bulk->bounce_used & bulk->bounce_reserved) != 0 &&
           transfer->peer->bulk.bounce_used < AMG_SHM_PEER_BOUNCE_MAX;
}

/* Takes a bounce buffer for a fragment to `peer`, if possible a buffer that has
 * pages. HG_BUSY: wait until a buffer in use becomes free; HG_NOMEM: /dev/shm
 * has no room, and no buffer is in use. */
static hg_return_t bounce_take_locked(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint32_t *ret_bounce)
{
    uint32_t free = ~domain->bulk.bounce_used;
    uint32_t bounce = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (free == 0 || peer->bulk.bounce_used >= AMG_SHM_PEER_BOUNCE_MAX)
        return HG_BUSY;
    if ((free & domain->bulk.bounce_reserved) != 0)
        free &= domain->bulk.bounce_reserved;
    bounce = (uint32_t)__builtin_ctz(free);
    if ((domain->bulk.bounce_reserved & 1u << bounce) == 0 &&
        !amg_shm_region_reserve(&domain->region,
            amg_shm_bounce_buf(&domain->region, bounce), AMG_SHM_BOUNCE_LEN))
        return domain->bulk.bounce_used != 0 ? HG_BUSY : HG_NOMEM;
    domain->bulk.bounce_reserved |= 1u << bounce;
    domain->bulk.bounce_used |= 1u << bounce;
    peer->bulk.bounce_used++;
    *ret_bounce = bounce;
    return HG_SUCCESS;
}

/* Continues the transfers that waited for a bounce buffer. */
static void blocked_wake_locked(struct amg_shm_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (unsigned i = 0; i < domain->max_contexts; i++) {
        struct amg_shm_ep *ep = domain->eps[i];
        struct amg_link *link = NULL;

        while (ep != NULL && (link = amg_list_pop(&ep->bulk.blocked)) != NULL)
            amg_shm_transfer_wake_locked(amg_shm_transfer_of(link));
    }
}

static void fragment_end_locked(
    struct amg_shm_transfer *transfer, struct amg_shm_fragment *fragment)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    AMG_ASSERT(fragment->len > 0 && transfer->in_flight > 0);
    transfer->domain->bulk.bounce_used &= ~(1u << fragment->bounce);
    transfer->peer->bulk.bounce_used--;
    transfer->in_flight--;
    fragment->len = 0;
}

/* Frees the bounce buffers of fragments that will not be answered. */
static void fragments_drop_locked(struct amg_shm_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    for (unsigned i = 0; i < AMG_SHM_FRAGMENTS; i++)
        if (transfer->fragments[i].len > 0)
            fragment_end_locked(transfer, &transfer->fragments[i]);
    blocked_wake_locked(transfer->domain);
}

/* Bytes from the start of the segment to the next fragment. UINT64_MAX if the
 * sum exceeds 64 bits: the peer refuses that offset as too large. */
static uint64_t fragment_offset(const struct amg_shm_transfer *transfer)
{
    uint64_t offset = transfer->access.offset;

    return transfer->begun <= UINT64_MAX - offset ? offset + transfer->begun
                                                  : UINT64_MAX;
}

static hg_return_t fragment_send_locked(
    struct amg_shm_transfer *transfer, const struct amg_shm_fragment *fragment)
{
    bool is_get = transfer->access.direction == AMG_MEM_READ;
    const struct amg_shm_msg_header header = {
        .kind = is_get ? AMG_SHM_BULK_GET : AMG_SHM_BULK_PUT,
        .origin_context = transfer->origin_context,
        .target_context = transfer->access.context,
        .cookie = transfer->cookie,
    };
    const struct amg_shm_bulk_request request = {
        .key = transfer->access.key,
        .offset = fragment_offset(transfer),
        .rest = transfer->access.len - transfer->begun,
        .segment = transfer->access.segment,
        .len = fragment->len,
        .bounce = fragment->bounce,
        .goes_on = transfer->begun > 0,
    };

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    return amg_shm_send_short_locked(
        transfer->peer, &header, &request, sizeof(request));
}

/* Sets the result HG_NOMEM, and logs the cause: /dev/shm has no room for a
 * bounce buffer, and no buffer is in use that the transfer could wait for. */
static void bounce_lacks(struct amg_shm_transfer *transfer)
{
    AMG_ASSERT(transfer->in_flight == 0);
    transfer->ret = HG_NOMEM;
    AMG_LOG_ERROR("bulk",
        "shm: a transfer of %llu bytes with na+sm://%s ends: /dev/shm has no "
        "room for %d bytes to copy through; free some, or let the processes "
        "copy by process_vm_readv",
        (unsigned long long)transfer->access.len, transfer->peer->region.name,
        AMG_SHM_BOUNCE_LEN);
}

/* Begins a fragment. HG_AGAIN: wait for answers to other fragments, or the
 * transfer failed. HG_BUSY: no fragment is in flight, no bounce buffer is
 * free. */
static hg_return_t fragment_begin(struct amg_shm_transfer *transfer)
{
    struct amg_shm_domain *domain = transfer->domain;
    uint64_t left = transfer->access.len - transfer->begun;
    struct amg_shm_fragment *fragment = transfer->fragments;
    struct amg_seg_iter behind = transfer->local;
    hg_return_t rc = HG_SUCCESS;
    uint32_t bounce = 0;

    AMG_ASSERT(transfer->state == AMG_SHM_TRANSFER_POLLED);
    if (transfer->in_flight == AMG_SHM_FRAGMENTS)
        return HG_AGAIN;
    while (fragment->len > 0)
        fragment++;
    amg_bias_lock(&domain->lock);
    rc = bounce_take_locked(domain, transfer->peer, &bounce);
    amg_bias_unlock(&domain->lock);
    if (rc == HG_NOMEM)
        bounce_lacks(transfer);
    if (rc != HG_SUCCESS)
        return rc == HG_BUSY && transfer->in_flight == 0 ? rc : HG_AGAIN;
    *fragment = (struct amg_shm_fragment){.bounce = bounce,
        .len = left < AMG_SHM_BOUNCE_LEN ? (uint32_t)left : AMG_SHM_BOUNCE_LEN,
        .local = transfer->local};
    if (transfer->access.direction == AMG_MEM_WRITE)
        amg_seg_iter_gather(amg_shm_bounce_buf(&domain->region, bounce),
            &behind, fragment->len);
    else
        amg_seg_iter_skip(&behind, fragment->len);
    amg_bias_lock(&domain->lock);
    transfer->in_flight++;
    rc = fragment_send_locked(transfer, fragment);
    if (rc == HG_SUCCESS) {
        transfer->begun += fragment->len;
        transfer->local = behind;
    } else {
        fragment_end_locked(transfer, fragment);
    }
    amg_bias_unlock(&domain->lock);
    return rc;
}

/* The fragment to which an answer belongs, and its transfer; NULL: none. */
static struct amg_shm_fragment *fragment_find_locked(
    struct amg_shm_domain *domain, const struct amg_shm_peer *peer,
    uint8_t context_id, const struct amg_shm_cell *cell,
    const struct amg_shm_bulk_done *done,
    struct amg_shm_transfer **ret_transfer)
{
    struct amg_table_slot *slot =
        amg_table_find(&domain->bulk.transfers, cell->cookie, peer->id);
    struct amg_shm_transfer *transfer = slot == NULL ? NULL : slot->object;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (transfer == NULL || transfer->origin_context != context_id)
        return NULL;
    *ret_transfer = transfer;
    for (unsigned i = 0; i < AMG_SHM_FRAGMENTS; i++)
        if (transfer->fragments[i].len > 0 &&
            transfer->fragments[i].bounce == done->bounce)
            return &transfer->fragments[i];
    return NULL;
}

/* Ends a fragment that the peer has copied (HG_SUCCESS) or refused. */
static void fragment_done_locked(struct amg_shm_transfer *transfer,
    struct amg_shm_fragment *fragment, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    if (ret == HG_SUCCESS)
        transfer->arrived += fragment->len;
    else if (transfer->ret == HG_SUCCESS)
        transfer->ret = ret;
    AMG_ASSERT(transfer->arrived <= transfer->begun);
    fragment_end_locked(transfer, fragment);
    blocked_wake_locked(transfer->domain);
    if (transfer->state == AMG_SHM_TRANSFER_WAITING)
        amg_shm_transfer_wake_locked(transfer);
    else if (transfer->state == AMG_SHM_TRANSFER_ENDED &&
             transfer->in_flight == 0)
        transfer_free_locked(transfer);
}

void amg_shm_transfer_done(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock)
{
    struct amg_shm_transfer *transfer = NULL;
    struct amg_shm_fragment *fragment = NULL;
    struct amg_shm_bulk_done done;
    bool is_over = false;

    memcpy(&done, cell->bytes, sizeof(done));
    if (done.code >= HG_RETURN_MAX)
        done.code = HG_PROTOCOL_ERROR;
    amg_shm_bulk_lock(domain, has_lock);
    fragment =
        fragment_find_locked(domain, peer, context_id, cell, &done, &transfer);
    is_over = fragment == NULL || transfer->state == AMG_SHM_TRANSFER_ENDED;
    if (fragment != NULL && is_over) /* ended: the user owns the memory again */
        fragment_done_locked(transfer, fragment, (hg_return_t)done.code);
    amg_shm_bulk_unlock(domain, has_lock);
    if (fragment == NULL)
        AMG_LOG_WARNING("bulk",
            "shm: %s answered for a transfer that does not wait (cookie %x, "
            "bounce %u, code %u)",
            peer->region.name, cell->cookie, done.bounce, done.code);
    if (is_over)
        return;
    /* No lock: only this progress owner can end the transfer. */
    if (done.code == HG_SUCCESS && transfer->access.direction == AMG_MEM_READ)
        amg_seg_iter_scatter(&fragment->local,
            amg_shm_bounce_buf(&domain->region, done.bounce), fragment->len);
    amg_shm_bulk_lock(domain, has_lock);
    fragment_done_locked(transfer, fragment, (hg_return_t)done.code);
    amg_shm_bulk_unlock(domain, has_lock);
}

void amg_shm_transfers_drop_locked(struct amg_shm_domain *domain)
{
    struct amg_table *table = &domain->bulk.transfers;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < table->cap; i++) {
        struct amg_shm_transfer *transfer = table->slots[i].object;

        if (transfer == NULL)
            continue;
        AMG_ASSERT(transfer->state == AMG_SHM_TRANSFER_ENDED);
        fragments_drop_locked(transfer);
        transfer_free_locked(transfer);
    }
}

/* Ends the operation; frees the transfer if no fragment is in flight. */
static void transfer_end_locked(
    struct amg_shm_transfer *transfer, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    AMG_ASSERT(transfer->state != AMG_SHM_TRANSFER_ENDED);
    transfer->op->len = transfer->arrived;
    transfer->op->data = NULL;
    amg_shm_op_end_locked(transfer->ep, transfer->op, ret);
    transfer->op = NULL;
    transfer->ep = NULL;
    transfer->state = AMG_SHM_TRANSFER_ENDED;
    if (transfer->is_gone)
        fragments_drop_locked(transfer);
    if (transfer->in_flight == 0)
        transfer_free_locked(transfer);
}

/* Makes one step of copying, within `*budget`. HG_AGAIN: more steps are needed;
 * HG_OPNOTSUPPORTED: only the peer can copy. */
static hg_return_t transfer_copy(
    struct amg_shm_transfer *transfer, uint64_t *budget)
{
    struct amg_shm_access rest = transfer->access;
    uint64_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(transfer->begun == transfer->arrived);
    rest.offset += transfer->arrived;
    rest.len -= transfer->arrived;
    rest.goes_on = transfer->arrived > 0;
    rc = amg_shm_copy_step(transfer->domain, transfer->peer, &rest,
        &transfer->local, budget, &len);
    if (rc != HG_SUCCESS)
        return rc;
    transfer->arrived += len;
    transfer->begun += len;
    return transfer->arrived == transfer->access.len ? HG_SUCCESS : HG_AGAIN;
}

/* Asks the peer to copy the next fragments of a POLLED transfer, as many as the
 * limits allow; after the first request, only the peer copies. HG_SUCCESS: all
 * bytes arrived; HG_AGAIN: continue when answers arrive; HG_BUSY: wait for a
 * bounce buffer; HG_NOMEM: try again. Other codes end the transfer. */
static hg_return_t transfer_request(struct amg_shm_transfer *transfer)
{
    struct amg_shm_domain *domain = transfer->domain;
    hg_return_t rc = HG_SUCCESS;

    if (!transfer->is_by_message) {
        amg_bias_lock(&domain->lock);
        rc = amg_table_add(&domain->bulk.transfers, transfer,
            transfer->peer->id, &transfer->cookie);
        transfer->is_by_message = rc == HG_SUCCESS;
        amg_bias_unlock(&domain->lock);
    }
    while (rc == HG_SUCCESS && transfer->begun < transfer->access.len)
        rc = fragment_begin(transfer);
    if (rc == HG_SUCCESS && transfer->arrived < transfer->access.len)
        rc = HG_AGAIN;
    return rc;
}

/* The step of a poll for a POLLED transfer, without the lock. */
static hg_return_t transfer_move(
    struct amg_shm_transfer *transfer, uint64_t *budget)
{
    hg_return_t rc = HG_OPNOTSUPPORTED;

    if (!transfer->is_by_message)
        rc = transfer_copy(transfer, budget);
    if (rc == HG_OPNOTSUPPORTED)
        rc = transfer_request(transfer);
    return rc;
}

/* Whether the transfer is over; then `*ret` is its result. */
static bool transfer_is_over_locked(
    const struct amg_shm_transfer *transfer, hg_return_t *ret)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    *ret = transfer->ret;
    if (transfer->arrived == transfer->access.len)
        *ret = HG_SUCCESS;
    else if (transfer->is_gone || transfer->peer->state != AMG_SHM_PEER_ALIVE)
        *ret = HG_HOSTUNREACH;
    else if (transfer->is_cancelled)
        *ret = HG_CANCELED;
    else /* refused: ends after the answers to the fragments in flight */
        return transfer->ret != HG_SUCCESS && transfer->in_flight == 0;
    return true;
}

/* Gives a transfer its state after transfer_move() returned `rc`. */
static void transfer_set_state_locked(
    struct amg_shm_transfer *transfer, hg_return_t rc)
{
    hg_return_t ret = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    AMG_ASSERT(transfer->state == AMG_SHM_TRANSFER_POLLED);
    if (rc != HG_SUCCESS && rc != HG_AGAIN && rc != HG_BUSY && rc != HG_NOMEM &&
        transfer->ret == HG_SUCCESS)
        transfer->ret = rc;
    if (transfer_is_over_locked(transfer, &ret)) {
        transfer_end_locked(transfer, ret);
    } else if (rc == HG_BUSY && !bounce_is_free_locked(transfer)) {
        transfer->state = AMG_SHM_TRANSFER_BLOCKED;
        amg_list_push(&transfer->ep->bulk.blocked, &transfer->link);
    } else if (transfer->in_flight > 0 && rc != HG_NOMEM) {
        transfer->state = AMG_SHM_TRANSFER_WAITING;
    } else {
        amg_shm_transfer_wake_locked(transfer);
    }
}

void amg_shm_bulk_poll(struct amg_shm_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    uint64_t budget = AMG_SHM_POLL_LEN;

    amg_bias_lock(&domain->lock);
    for (unsigned i = 0; i < POLL_TRANSFERS && budget > 0; i++) {
        struct amg_link *link = amg_list_pop(&ep->bulk.ready);
        struct amg_shm_transfer *transfer = NULL;
        hg_return_t rc = HG_AGAIN;
        hg_return_t ret = HG_SUCCESS;

        if (link == NULL)
            break;
        transfer = amg_shm_transfer_of(link);
        AMG_ASSERT(transfer->state == AMG_SHM_TRANSFER_READY);
        transfer->state = AMG_SHM_TRANSFER_POLLED;
        if (!transfer_is_over_locked(transfer, &ret)) {
            amg_bias_unlock(&domain->lock);
            rc = transfer_move(transfer, &budget);
            AMG_TEST_POINT("shm_transfer_moved");
            amg_bias_lock(&domain->lock);
        }
        transfer_set_state_locked(transfer, rc);
    }
    amg_shm_due_set_locked(
        ep, AMG_SHM_DUE_BULK, !amg_list_is_empty(&ep->bulk.ready));
    amg_bias_unlock(&domain->lock);
}

/* Lets the next poll check a transfer that waits. */
static void transfer_requeue_locked(struct amg_shm_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    if (transfer->state == AMG_SHM_TRANSFER_BLOCKED)
        amg_list_remove(&transfer->link);
    if (transfer->state == AMG_SHM_TRANSFER_BLOCKED ||
        transfer->state == AMG_SHM_TRANSFER_WAITING)
        amg_shm_transfer_wake_locked(transfer);
}

void amg_shm_bulk_cancel_locked(struct amg_shm_ep *ep, struct amg_op *op)
{
    struct amg_shm_transfer *transfer = amg_call_ptr(op);

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    AMG_ASSERT(transfer->op == op && transfer->ep == ep);
    transfer->is_cancelled = true;
    transfer_requeue_locked(transfer);
}

void amg_shm_bulk_peer_gone_locked(
    struct amg_shm_domain *domain, struct amg_shm_peer *peer)
{
    struct amg_table *table = &domain->bulk.transfers;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    atomic_store_explicit(&peer->bulk.is_gone, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < table->cap; i++) {
        struct amg_shm_transfer *transfer = table->slots[i].object;

        if (transfer == NULL || transfer->peer != peer)
            continue;
        transfer->is_gone = true;
        if (transfer->state != AMG_SHM_TRANSFER_ENDED) {
            transfer_requeue_locked(transfer);
            continue;
        }
        fragments_drop_locked(transfer);
        transfer_free_locked(transfer);
    }
}

void amg_shm_bulk_ep_close_locked(struct amg_shm_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    struct amg_table *table = &domain->bulk.transfers;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    for (uint32_t i = 0; i < table->cap; i++) {
        struct amg_shm_transfer *transfer = table->slots[i].object;

        if (transfer != NULL && transfer->ep == ep)
            transfer_requeue_locked(transfer);
    }
    while ((link = amg_list_pop(&ep->bulk.ready)) != NULL)
        transfer_end_locked(amg_shm_transfer_of(link), HG_CANCELED);
    AMG_ASSERT(amg_list_is_empty(&ep->bulk.blocked));
    amg_shm_due_set_locked(ep, AMG_SHM_DUE_BULK, false);
}
