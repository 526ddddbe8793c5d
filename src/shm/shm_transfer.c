/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfer through the segment: the peer does its part of the copy, asked by
 * message.
 *
 * All values of a peer are checked before use: a chunk is inside the segment,
 * an answer is for a piece in flight. */
#include "shm/shm_bulk.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "shm/shm_peer.h"
#include "shm/shm_msg.h"

void amg_shm_transfer_wake_locked(struct amg_shm_transfer *transfer)
{
    struct amg_shm_bulk_ep *bulk = &transfer->ep->bulk;

    transfer->state = AMG_SHM_TRANSFER_MOVING;
    amg_list_push(&bulk->moving, &transfer->link);
    atomic_store_explicit(&bulk->has_moving, 1, memory_order_relaxed);
    amg_shm_doorbell_self_locked(transfer->ep);
}

void amg_shm_transfer_free_locked(struct amg_shm_transfer *transfer)
{
    struct amg_shm_domain *domain = transfer->domain;

    AMG_ASSERT(transfer->op == NULL && transfer->in_motion == 0);
    if (transfer->is_by_message)
        amg_table_remove(&domain->bulk.transfers, transfer->cookie);
    amg_shm_peer_drop_locked(transfer->peer);
    /* NOTE(not a leaf lock): the pool's own is taken inside. */
    amg_pool_put(&domain->bulk.pool, transfer);
}

static char *chunk_at(const struct amg_shm_region *region, uint32_t chunk)
{
    return (char *)region->chunks + (size_t)chunk * AMG_SHM_CHUNK_LEN;
}

bool amg_shm_chunk_is_free_locked(const struct amg_shm_transfer *transfer)
{
    return ~transfer->domain->bulk.chunks_used != 0 &&
           transfer->peer->bulk.chunks_used < AMG_SHM_PEER_CHUNKS;
}

/* A chunk of ours for a piece to `peer`. */
static bool chunk_take_locked(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint32_t *ret_chunk)
{
    uint32_t free = ~domain->bulk.chunks_used;

    if (~domain->bulk.chunks_used == 0 ||
        peer->bulk.chunks_used >= AMG_SHM_PEER_CHUNKS)
        return false;
    *ret_chunk = (uint32_t)__builtin_ctz(free);
    if ((domain->bulk.chunks_reserved & 1u << *ret_chunk) == 0 &&
        !amg_shm_region_reserve(&domain->region,
            chunk_at(&domain->region, *ret_chunk), AMG_SHM_CHUNK_LEN))
        return false; /* polls try again */
    domain->bulk.chunks_reserved |= 1u << *ret_chunk;
    domain->bulk.chunks_used |= 1u << *ret_chunk;
    peer->bulk.chunks_used++;
    return true;
}

/* Brings those on that waited for a chunk. */
static void starving_wake_locked(struct amg_shm_domain *domain)
{
    for (unsigned i = 0; i < domain->max_contexts; i++) {
        struct amg_shm_ep *ep = domain->eps[i];
        struct amg_link *link = NULL;

        while (ep != NULL && (link = amg_list_pop(&ep->bulk.starving)) != NULL)
            amg_shm_transfer_wake_locked(amg_shm_transfer_of(link));
    }
}

static void piece_end_locked(
    struct amg_shm_transfer *transfer, struct amg_shm_piece *piece)
{
    AMG_ASSERT(piece->len > 0 && transfer->in_motion > 0);
    transfer->domain->bulk.chunks_used &= ~(1u << piece->chunk);
    transfer->peer->bulk.chunks_used--;
    transfer->in_motion--;
    piece->len = 0;
}

void amg_shm_chunk_forget_locked(struct amg_shm_transfer *transfer)
{
    for (unsigned i = 0; i < AMG_SHM_PIECES; i++)
        if (transfer->pieces[i].len > 0)
            piece_end_locked(transfer, &transfer->pieces[i]);
    starving_wake_locked(transfer->domain);
}

/* Bytes from the start of the segment to the next piece. An offset beyond 64
 * bits must not wrap to 0: it is refused like the first piece. */
static uint64_t piece_offset(const struct amg_shm_transfer *transfer)
{
    uint64_t offset = transfer->access.offset;

    return transfer->begun <= UINT64_MAX - offset ? offset + transfer->begun
                                                  : UINT64_MAX;
}

/* The piece begins where the transfer has come to. */
static hg_return_t piece_send_locked(
    struct amg_shm_transfer *transfer, const struct amg_shm_piece *piece)
{
    bool is_get = transfer->access.direction == AMG_MEM_READ;
    const struct amg_shm_note note = {
        .kind = is_get ? AMG_SHM_BULK_GET : AMG_SHM_BULK_PUT,
        .origin_context = transfer->origin_context,
        .target_context = transfer->context,
        .cookie = transfer->cookie,
    };
    const struct amg_shm_ask ask = {
        .key = transfer->access.key,
        .offset = piece_offset(transfer),
        .rest = transfer->access.len - transfer->begun,
        .segment = transfer->access.segment,
        .len = piece->len,
        .chunk = piece->chunk,
        .goes_on = transfer->begun > 0,
    };

    return amg_shm_send_word_locked(transfer->peer, &note, &ask, sizeof(ask));
}

/* Begins one piece more. HG_AGAIN: as many as may be are in motion. */
static hg_return_t piece_begin(struct amg_shm_transfer *transfer)
{
    struct amg_shm_domain *domain = transfer->domain;
    uint64_t left = transfer->access.len - transfer->begun;
    struct amg_shm_piece *piece = transfer->pieces;
    struct amg_seg_iter behind = transfer->local;
    hg_return_t rc = HG_SUCCESS;
    uint32_t chunk = 0;
    bool has_chunk = false;

    if (transfer->in_motion == AMG_SHM_PIECES)
        return HG_AGAIN;
    while (piece->len > 0)
        piece++;
    amg_bias_take(&domain->lock);
    has_chunk = chunk_take_locked(domain, transfer->peer, &chunk);
    amg_bias_give(&domain->lock);
    if (!has_chunk)
        return transfer->in_motion > 0 ? HG_AGAIN : HG_BUSY;
    *piece = (struct amg_shm_piece){.chunk = chunk,
        .len = left < AMG_SHM_CHUNK_LEN ? (uint32_t)left : AMG_SHM_CHUNK_LEN,
        .local = transfer->local};
    if (transfer->access.direction == AMG_MEM_WRITE)
        amg_seg_iter_gather(
            chunk_at(&domain->region, chunk), &behind, piece->len);
    else
        amg_seg_iter_skip(&behind, piece->len);
    amg_bias_take(&domain->lock);
    transfer->in_motion++;
    rc = piece_send_locked(transfer, piece);
    if (rc == HG_SUCCESS) {
        transfer->begun += piece->len;
        transfer->local = behind;
    } else {
        piece_end_locked(transfer, piece);
    }
    amg_bias_give(&domain->lock);
    return rc;
}

hg_return_t amg_shm_chunk_move(struct amg_shm_transfer *transfer)
{
    while (transfer->begun < transfer->access.len) {
        hg_return_t rc = piece_begin(transfer);

        if (rc != HG_SUCCESS)
            return rc;
    }
    return transfer->landed == transfer->access.len ? HG_SUCCESS : HG_AGAIN;
}

/* The exposer's part: copies between its memory and the chunk of who asks. */
static hg_return_t ask_serve(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint32_t direction,
    const struct amg_shm_ask *ask)
{
    const struct amg_shm_access access = {.key = ask->key,
        .segment = ask->segment,
        .direction = direction,
        .offset = ask->offset,
        .len = ask->rest,
        .goes_on = ask->goes_on != 0};
    struct amg_shm_mem *mem = NULL;
    struct amg_seg_iter at;
    char *chunk = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (ask->chunk >= AMG_SHM_CHUNKS || ask->len == 0 ||
        ask->len > AMG_SHM_CHUNK_LEN || ask->len > ask->rest)
        return HG_PROTOCOL_ERROR;
    rc = amg_shm_keys_enter(&domain->bulk.keys, &access, &mem, &at);
    if (rc != HG_SUCCESS) {
        amg_shm_copy_blame(&peer->region, &access, rc);
        return rc;
    }
    chunk = chunk_at(&peer->region, ask->chunk);
    if (direction == AMG_MEM_READ)
        amg_seg_iter_gather(chunk, &at, ask->len);
    else
        amg_seg_iter_scatter(&at, chunk, ask->len);
    amg_shm_keys_leave(&domain->bulk.keys, mem);
    return HG_SUCCESS;
}

/* A context that is open belongs to who calls, who has not got the lock; one
 * that is closed belongs to the lock, which is not let go then. */
static void message_lock(struct amg_shm_domain *domain, bool has_lock)
{
    if (!has_lock)
        amg_bias_take(&domain->lock);
}

static void message_unlock(struct amg_shm_domain *domain, bool has_lock)
{
    if (!has_lock)
        amg_bias_give(&domain->lock);
}

static void on_ask(struct amg_shm_domain *domain, struct amg_shm_peer *peer,
    uint8_t context_id, const struct amg_shm_cell *cell, bool has_lock)
{
    struct amg_shm_ask ask;
    const struct amg_shm_note note = {
        .kind = AMG_SHM_BULK_DONE,
        .origin_context = context_id,
        .target_context = cell->context,
        .cookie = cell->cookie,
    };
    struct amg_shm_told told;
    hg_return_t rc = HG_SUCCESS;

    memcpy(&ask, cell->bytes, sizeof(ask));
    told.chunk = ask.chunk;
    told.code = ask_serve(domain, peer,
        cell->kind == AMG_SHM_BULK_GET ? AMG_MEM_READ : AMG_MEM_WRITE, &ask);
    message_lock(domain, has_lock);
    rc = amg_shm_send_word_locked(peer, &note, &told, sizeof(told));
    message_unlock(domain, has_lock);
    if (rc != HG_SUCCESS && rc != HG_HOSTUNREACH)
        AMG_LOG_ERROR("bulk",
            "shm: the answer to a transfer of %s is lost (code %d): it ends "
            "only when that process does",
            peer->region.name, (int)rc);
}

/* The piece that this answer is for, of the transfer that waits for it. */
static struct amg_shm_piece *piece_find_locked(struct amg_shm_domain *domain,
    const struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, const struct amg_shm_told *told,
    struct amg_shm_transfer **ret_transfer)
{
    struct amg_table_slot *place =
        amg_table_find(&domain->bulk.transfers, cell->cookie, peer->id);
    struct amg_shm_transfer *transfer = place == NULL ? NULL : place->object;

    if (transfer == NULL || transfer->origin_context != context_id)
        return NULL;
    *ret_transfer = transfer;
    for (unsigned i = 0; i < AMG_SHM_PIECES; i++)
        if (transfer->pieces[i].len > 0 &&
            transfer->pieces[i].chunk == told->chunk)
            return &transfer->pieces[i];
    return NULL;
}

/* A piece has been moved, or refused. */
static void told_locked(struct amg_shm_transfer *transfer,
    struct amg_shm_piece *piece, hg_return_t ret)
{
    if (ret == HG_SUCCESS)
        transfer->landed += piece->len;
    else if (transfer->ret == HG_SUCCESS)
        transfer->ret = ret;
    piece_end_locked(transfer, piece);
    starving_wake_locked(transfer->domain);
    if (transfer->state == AMG_SHM_TRANSFER_WAITING)
        amg_shm_transfer_wake_locked(transfer);
    else if (transfer->state == AMG_SHM_TRANSFER_ENDED &&
             transfer->in_motion == 0)
        amg_shm_transfer_free_locked(transfer);
}

static void on_told(struct amg_shm_domain *domain, struct amg_shm_peer *peer,
    uint8_t context_id, const struct amg_shm_cell *cell, bool has_lock)
{
    struct amg_shm_transfer *transfer = NULL;
    struct amg_shm_piece *piece = NULL;
    struct amg_shm_told told;
    bool is_over = false;

    memcpy(&told, cell->bytes, sizeof(told));
    if (told.code >= HG_RETURN_MAX)
        told.code = HG_PROTOCOL_ERROR;
    message_lock(domain, has_lock);
    piece = piece_find_locked(domain, peer, context_id, cell, &told, &transfer);
    is_over = piece == NULL || transfer->state == AMG_SHM_TRANSFER_ENDED;
    if (piece != NULL && is_over) /* the user's memory is left alone */
        told_locked(transfer, piece, (hg_return_t)told.code);
    message_unlock(domain, has_lock);
    if (piece == NULL)
        AMG_LOG_WARNING("bulk",
            "shm: %s answers for a transfer that does not wait (cookie %x, "
            "chunk %u, code %u)",
            peer->region.name, cell->cookie, told.chunk, told.code);
    if (is_over)
        return;
    /* It ends by nobody but the progress owner of its context: by us. */
    if (told.code == HG_SUCCESS && transfer->access.direction == AMG_MEM_READ)
        amg_seg_iter_scatter(
            &piece->local, chunk_at(&domain->region, told.chunk), piece->len);
    message_lock(domain, has_lock);
    told_locked(transfer, piece, (hg_return_t)told.code);
    message_unlock(domain, has_lock);
}

void amg_shm_transfer_message(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock)
{
    uint8_t kind = cell->kind;

    if ((kind == AMG_SHM_BULK_GET || kind == AMG_SHM_BULK_PUT) &&
        cell->len == sizeof(struct amg_shm_ask))
        on_ask(domain, peer, context_id, cell, has_lock);
    else if (kind == AMG_SHM_BULK_DONE &&
             cell->len == sizeof(struct amg_shm_told))
        on_told(domain, peer, context_id, cell, has_lock);
    else
        AMG_LOG_WARNING("bulk",
            "shm: a message of %s is dropped: kind %u with %u bytes is none",
            peer->region.name, kind, cell->len);
}
