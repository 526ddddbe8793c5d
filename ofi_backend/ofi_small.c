/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets by messages, both sides.
 *
 * A short transfer costs one round trip, and no registration; many small
 * segments are gathered and scattered instead of posted to the NIC one by one.
 * The exposer checks key, permission and bounds before the first byte moves:
 * the first message has the length of the whole transfer. */
#include "ofi_backend/ofi_small.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_mem.h"
#include "ofi_backend/ofi_send.h"

/* Limit of unanswered messages to a peer; other transfers wait here. Messages
 * without a buffer at the peer use up resources that it needs to post one (shm,
 * 1.17, has 256 of both together). */
enum { ASKED_MAX = 16 };

uint64_t amg_ofi_small_max(const struct amg_ofi_domain *domain)
{
    return domain->room_len - sizeof(struct amg_ofi_header) -
           sizeof(struct amg_ofi_access);
}

hg_return_t amg_ofi_small_post_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_domain *domain = transfer->peer->domain;
    uint64_t left = transfer->len - transfer->posted;
    uint64_t max = amg_ofi_small_max(domain);
    uint64_t len = left < max ? left : max;
    const struct amg_ofi_access access = {
        .key = transfer->key,
        .segment = transfer->there.segment,
        .into = transfer->there.into,
        .len = len,
        .left = transfer->posted == 0 ? left : len,
    };
    struct amg_ofi_piece *piece = NULL;
    struct amg_ofi_msgbuf *msgbuf = NULL;
    uint32_t body_len = sizeof(access);

    if (transfer->peer->asked >= ASKED_MAX)
        return HG_AGAIN;
    piece = amg_ofi_rma_piece_get_locked(transfer, len);
    msgbuf = amg_ofi_msgbuf_get_locked(domain);
    if (piece == NULL || msgbuf == NULL ||
        amg_table_add(&domain->pieces, piece, transfer->peer->number,
            &piece->cookie) != HG_SUCCESS) {
        if (piece != NULL)
            amg_pool_put(&domain->piece_pool, piece);
        if (msgbuf != NULL)
            amg_ofi_msgbuf_put_locked(msgbuf);
        return HG_NOMEM;
    }
    piece->here = transfer->here;
    memcpy(msgbuf->data, &access, sizeof(access));
    if (transfer->is_put) {
        amg_seg_iter_gather(msgbuf->data + body_len, &transfer->here, len);
        body_len += (uint32_t)len;
    } else {
        amg_seg_iter_skip(&transfer->here, len);
    }
    amg_seg_iter_skip(&transfer->there, len);
    transfer->posted += len;
    transfer->piece_count++;
    transfer->peer->asked++;
    amg_list_push(&transfer->pieces, &piece->link);
    msgbuf->header.cookie = piece->cookie;
    amg_ofi_send_address(msgbuf, transfer->peer, transfer->ep->base.context_id,
        transfer->target_context, transfer->is_put ? AMG_OFI_PUT : AMG_OFI_GET,
        body_len);
    amg_ofi_send_locked(msgbuf);
    return HG_SUCCESS;
}

void amg_ofi_small_next_locked(struct amg_peer *peer)
{
    if (peer->asked < ASKED_MAX && !amg_list_is_empty(&peer->crowd))
        amg_list_push(&peer->domain->transfers, amg_list_pop(&peer->crowd));
}

void amg_ofi_small_forget_locked(struct amg_ofi_piece *piece)
{
    struct amg_peer *peer = piece->transfer->peer;

    amg_table_remove(&peer->domain->pieces, piece->cookie);
    AMG_ASSERT(peer->asked > 0);
    peer->asked--;
    amg_ofi_small_next_locked(peer);
}

/* Finds the memory of an access, after all checks. */
static hg_return_t access_check_locked(struct amg_ofi_domain *domain,
    const struct amg_ofi_access *access, enum amg_mem_flags direction,
    struct amg_seg_iter *ret_place)
{
    const struct amg_ofi_mem *mem =
        amg_ofi_mem_find_locked(domain, &access->key);
    struct amg_seg_iter place = {
        .segment = access->segment,
        .into = access->into,
    };

    if (mem == NULL)
        return HG_NOENTRY;
    if ((mem->flags & direction) == 0)
        return HG_PERMISSION;
    place.segments = mem->segments;
    place.count = mem->count;
    if (access->len == 0 || access->len > access->left ||
        !amg_seg_iter_has(&place, access->left))
        return HG_OVERFLOW;
    *ret_place = place;
    return HG_SUCCESS;
}

static void done_send_locked(
    const struct amg_ofi_message *message, hg_return_t ret)
{
    if (ret != HG_SUCCESS)
        amg_ofi_peer_violation(message->peer, AMG_OFI_FAULT_ACCESS,
            message->header->kind & ~AMG_OFI_MAGIC_MASK, (long)ret);
    amg_ofi_send_answer_locked(message->peer, message->header->target,
        message->header->context, AMG_OFI_DONE, message->header->cookie, ret);
}

void amg_ofi_small_on_get_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    struct amg_ofi_access access;
    struct amg_ofi_msgbuf *msgbuf = NULL;
    struct amg_seg_iter place;
    hg_return_t rc = HG_SUCCESS;

    memcpy(&access, message->body, sizeof(access));
    rc = access_check_locked(domain, &access, AMG_MEM_READ, &place);
    if (rc == HG_SUCCESS && access.len > amg_ofi_small_max(domain))
        rc = HG_MSGSIZE;
    if (rc == HG_SUCCESS)
        msgbuf = amg_ofi_msgbuf_get_locked(domain);
    if (rc == HG_SUCCESS && msgbuf == NULL)
        rc = HG_NOMEM;
    if (rc != HG_SUCCESS) {
        done_send_locked(message, rc);
        return;
    }
    amg_seg_iter_gather(msgbuf->data, &place, access.len);
    msgbuf->header.cookie = message->header->cookie;
    amg_ofi_send_address(msgbuf, message->peer, message->header->target,
        message->header->context, AMG_OFI_DATA, (uint32_t)access.len);
    amg_ofi_send_locked(msgbuf);
}

void amg_ofi_small_on_put_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    struct amg_ofi_access access;
    struct amg_seg_iter place;
    hg_return_t rc = HG_SUCCESS;

    memcpy(&access, message->body, sizeof(access));
    rc = access_check_locked(domain, &access, AMG_MEM_WRITE, &place);
    if (rc == HG_SUCCESS && access.len != message->len - sizeof(access))
        rc = HG_MSGSIZE;
    if (rc == HG_SUCCESS)
        amg_seg_iter_scatter(
            &place, message->body + sizeof(access), access.len);
    done_send_locked(message, rc);
}

/* The piece that this answer is for; NULL: it is not waited for any more. */
static struct amg_ofi_piece *piece_find_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    struct amg_table_slot *place = amg_table_find(
        &domain->pieces, message->header->cookie, message->peer->number);

    return place == NULL ? NULL : place->object;
}

void amg_ofi_small_on_data_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    struct amg_ofi_piece *piece = piece_find_locked(domain, message);

    if (piece == NULL)
        return;
    if (piece->transfer->is_put || piece->len != message->len) {
        amg_ofi_peer_violation(message->peer, AMG_OFI_FAULT_ANSWER,
            AMG_OFI_DATA, (long)message->len);
        amg_ofi_rma_piece_end_locked(piece, HG_PROTOCOL_ERROR);
        return;
    }
    amg_seg_iter_scatter(&piece->here, message->body, message->len);
    amg_ofi_rma_piece_end_locked(piece, HG_SUCCESS);
}

void amg_ofi_small_on_done_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message)
{
    struct amg_ofi_piece *piece = piece_find_locked(domain, message);
    struct amg_ofi_refuse refuse;

    memcpy(&refuse, message->body, sizeof(refuse));
    if (piece == NULL)
        return;
    if (refuse.code >= HG_RETURN_MAX ||
        (refuse.code == HG_SUCCESS && !piece->transfer->is_put))
        refuse.code = HG_PROTOCOL_ERROR;
    amg_ofi_rma_piece_end_locked(piece, (hg_return_t)refuse.code);
}
