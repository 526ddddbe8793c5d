/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfer through the segment: the peer copies between its memory and a bounce
 * buffer, on request by message.
 *
 * All values of a peer are checked before use: a bounce buffer must be inside
 * the segment, and an answer for a fragment in flight. */
#include "shm/shm_bulk.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/log.h"
#include "shm/shm_msg.h"
#include "shm/shm_peer.h"

void amg_shm_transfer_wake_locked(struct amg_shm_transfer *transfer)
{
    struct amg_shm_bulk_ep *bulk = &transfer->ep->bulk;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    transfer->state = AMG_SHM_TRANSFER_READY;
    amg_list_push(&bulk->ready, &transfer->link);
    amg_shm_due_set_locked(transfer->ep, AMG_SHM_DUE_BULK, true);
    amg_shm_doorbell_self_locked(transfer->ep);
}

void amg_shm_transfer_free_locked(struct amg_shm_transfer *transfer)
{
    struct amg_shm_domain *domain = transfer->domain;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    AMG_ASSERT(transfer->op == NULL && transfer->in_flight == 0);
    if (transfer->is_by_message)
        amg_table_remove(&domain->bulk.transfers, transfer->cookie);
    amg_shm_peer_unref_locked(transfer->peer);
    /* NOTE(not a leaf lock): the pool's lock is taken inside. */
    amg_pool_put(&domain->bulk.pool, transfer);
}

static char *bounce_buf(const struct amg_shm_region *region, uint32_t bounce)
{
    AMG_ASSERT(bounce < AMG_SHM_BOUNCE_COUNT);
    return (char *)region->bounce_bufs + (size_t)bounce * AMG_SHM_BOUNCE_LEN;
}

bool amg_shm_bounce_is_free_locked(const struct amg_shm_transfer *transfer)
{
    const struct amg_shm_bulk *bulk = &transfer->domain->bulk;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    return (~bulk->bounce_used & bulk->bounce_reserved) != 0 &&
           transfer->peer->bulk.bounce_used < AMG_SHM_PEER_BOUNCE_MAX;
}

/* Takes a bounce buffer for a fragment to `peer`, if possible a buffer with
 * pages. HG_BUSY: all possible ones are in use; HG_NOMEM: none is possible. */
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
            bounce_buf(&domain->region, bounce), AMG_SHM_BOUNCE_LEN))
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

void amg_shm_transfer_drop_fragments_locked(struct amg_shm_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    for (unsigned i = 0; i < AMG_SHM_FRAGMENTS; i++)
        if (transfer->fragments[i].len > 0)
            fragment_end_locked(transfer, &transfer->fragments[i]);
    blocked_wake_locked(transfer->domain);
}

/* Bytes from the start of the segment to the next fragment. An offset beyond 64
 * bits must not wrap to 0: the peer refuses UINT64_MAX as too large. */
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

/* /dev/shm has no room for a bounce buffer, and none is in use for which the
 * transfer could wait. */
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

/* Begins one more fragment. HG_AGAIN: no more may be in flight now, or the
 * transfer has failed. */
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
        amg_seg_iter_gather(
            bounce_buf(&domain->region, bounce), &behind, fragment->len);
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

hg_return_t amg_shm_transfer_request(struct amg_shm_transfer *transfer)
{
    while (transfer->begun < transfer->access.len) {
        hg_return_t rc = fragment_begin(transfer);

        if (rc != HG_SUCCESS)
            return rc;
    }
    return transfer->arrived == transfer->access.len ? HG_SUCCESS : HG_AGAIN;
}

static bool pages_are_there(const void *at, uint64_t len, int advice)
{
    uintptr_t first = (uintptr_t)at / AMG_SHM_PAGE * AMG_SHM_PAGE;

    return madvise((void *)first, (uintptr_t)at + len - first, advice) == 0;
}

/* Whether this process can access the bytes. A program may have protected or
 * unmapped exposed memory, or truncated its file: then a plain copy would end
 * the process by a signal. A kernel before 5.14 refuses the advice even for the
 * bounce buffer, which is accessible: then the copy is made unchecked. */
static bool memory_is_there(struct amg_seg_iter at, uint64_t len,
    uint32_t direction, const void *bounce)
{
    int advice =
        direction == AMG_MEM_READ ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
    void *run = NULL;

    while (len > 0) {
        uint64_t taken = amg_seg_iter_take(&at, len, &run);

        AMG_ASSERT(taken > 0);
        if (!pages_are_there(run, taken, advice))
            return !pages_are_there(bounce, 1, advice);
        len -= taken;
    }
    return true;
}

/* Copies between memory of this process and a bounce buffer of the peer. */
static hg_return_t request_serve(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint32_t direction,
    const struct amg_shm_bulk_request *request)
{
    const struct amg_shm_access access = {.key = request->key,
        .segment = request->segment,
        .direction = direction,
        .offset = request->offset,
        .len = request->rest,
        .goes_on = request->goes_on != 0};
    struct amg_shm_mem *mem = NULL;
    struct amg_seg_iter at;
    char *bounce = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (request->bounce >= AMG_SHM_BOUNCE_COUNT || request->len == 0 ||
        request->len > AMG_SHM_BOUNCE_LEN || request->len > request->rest)
        return HG_PROTOCOL_ERROR;
    rc = amg_shm_exposer_enter(&domain->bulk.exposer, &access, &mem, &at);
    if (rc != HG_SUCCESS) {
        amg_shm_access_refused(&peer->region, &access, rc);
        return rc;
    }
    bounce = bounce_buf(&peer->region, request->bounce);
    if (!memory_is_there(at, request->len, direction, bounce)) {
        AMG_LOG_ERROR("bulk",
            "shm: %" PRIu32 " bytes of exposed memory cannot be accessed any "
            "more; a transfer of na+sm://%s ends; call HG_Bulk_free() before "
            "the memory is unmapped or protected",
            request->len, peer->region.name);
        rc = HG_NA_ERROR;
    } else if (direction == AMG_MEM_READ)
        amg_seg_iter_gather(bounce, &at, request->len);
    else
        amg_seg_iter_scatter(&at, bounce, request->len);
    amg_shm_exposer_leave(&domain->bulk.exposer, mem);
    return rc;
}

/* If the context is closed, the caller has the lock, and keeps it. */
static void message_lock(struct amg_shm_domain *domain, bool has_lock)
{
    if (!has_lock)
        amg_bias_lock(&domain->lock);
}

static void message_unlock(struct amg_shm_domain *domain, bool has_lock)
{
    if (!has_lock)
        amg_bias_unlock(&domain->lock);
}

static void on_bulk_request(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock)
{
    struct amg_shm_bulk_request request;
    const struct amg_shm_msg_header header = {
        .kind = AMG_SHM_BULK_DONE,
        .origin_context = context_id,
        .target_context = cell->context,
        .cookie = cell->cookie,
    };
    struct amg_shm_bulk_done done;
    hg_return_t rc = HG_SUCCESS;

    memcpy(&request, cell->bytes, sizeof(request));
    done.bounce = request.bounce;
    done.code = request_serve(domain, peer,
        cell->kind == AMG_SHM_BULK_GET ? AMG_MEM_READ : AMG_MEM_WRITE,
        &request);
    message_lock(domain, has_lock);
    rc = amg_shm_send_short_locked(peer, &header, &done, sizeof(done));
    message_unlock(domain, has_lock);
    if (rc != HG_SUCCESS && rc != HG_HOSTUNREACH)
        AMG_LOG_ERROR("bulk",
            "shm: the answer to a transfer of process %s is lost (code %d): "
            "the transfer ends only with that process",
            peer->region.name, (int)rc);
}

/* The fragment that the answer is for, and its transfer; NULL: none. */
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

/* The peer has copied a fragment, or refused it. */
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
        amg_shm_transfer_free_locked(transfer);
}

static void on_bulk_done(struct amg_shm_domain *domain,
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
    message_lock(domain, has_lock);
    fragment =
        fragment_find_locked(domain, peer, context_id, cell, &done, &transfer);
    is_over = fragment == NULL || transfer->state == AMG_SHM_TRANSFER_ENDED;
    if (fragment != NULL && is_over) /* the user may reuse the memory */
        fragment_done_locked(transfer, fragment, (hg_return_t)done.code);
    message_unlock(domain, has_lock);
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
            bounce_buf(&domain->region, done.bounce), fragment->len);
    message_lock(domain, has_lock);
    fragment_done_locked(transfer, fragment, (hg_return_t)done.code);
    message_unlock(domain, has_lock);
}

void amg_shm_transfer_message(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock)
{
    uint8_t kind = cell->kind;

    if ((kind == AMG_SHM_BULK_GET || kind == AMG_SHM_BULK_PUT) &&
        cell->len == sizeof(struct amg_shm_bulk_request))
        on_bulk_request(domain, peer, context_id, cell, has_lock);
    else if (kind == AMG_SHM_BULK_DONE &&
             cell->len == sizeof(struct amg_shm_bulk_done))
        on_bulk_done(domain, peer, context_id, cell, has_lock);
    else
        AMG_LOG_WARNING("bulk",
            "shm: a message of %s is dropped: unknown kind %u with %u bytes",
            peer->region.name, kind, cell->len);
}
