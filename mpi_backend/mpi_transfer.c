/* SPDX-License-Identifier: BSD-3-Clause */
/* One put or get of ours: how it begins, and how it ends.
 *
 *   get, small   GET ------------->   <------------- GET_DATA (the bytes)
 *   get, large   GET ------------->   <============= pieces, receives posted
 *   put, small   PUT_NOW (bytes) ->   <------------- DONE
 *   put, large   PUT ------------->   <------------- PUT_GO
 *                pieces ==========>   <------------- DONE
 *   put, ahead   PUT_AHEAD -------->
 *                first pieces ====>   <------------- PUT_GO, if more follow
 *                pieces ==========>   <------------- DONE
 *   refused                           <------------- DONE (a code, 0 bytes)
 *   refused, ahead                    <------------- HALT
 *                STOP ------------>   <------------- DONE (a code, 0 bytes)
 *   cancelled    STOP ------------>   <------------- DONE (so many bytes)
 *   exposer ends the exposure         <------------- HALT (of a put), DONE
 *
 * A transfer lives until the peer's last word on it, because until then the
 * peer may use its number and its tag; its operation may end before. That is
 * so when it was cancelled and MPI does not use the user's memory any more: a
 * put when its last piece has left, a get when its receives were taken back.
 * A get gives the peer GRACE_MS to say how much is on its way, before it takes
 * them back; pieces that come later are received into memory nobody reads.
 *
 * A put goes ahead if nobody will cancel it, because what MPI was given to send
 * it does not give back: a peer that is silent would keep the user's memory.
 * Its pieces are at most AMG_MPI_AHEAD_MAX long, so that an exposer that
 * refuses them has memory to receive them into; longer ones gain nothing by it.
 * Without it, 64 KiB took 1.2 times as long.
 *
 * At most AMG_MPI_TRANSFERS to one peer are in motion; others wait in order. */
#include "mpi_backend/mpi_transfer.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "mpi_backend/mpi_mem.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_slab.h"
#include "mpi_backend/mpi_trip.h"

size_t amg_mpi_transfer_len(void)
{
    return sizeof(struct amg_mpi_transfer);
}

struct amg_flow_peer *amg_mpi_transfer_queue(
    struct amg_mpi_domain *domain, const struct amg_mpi_transfer *transfer)
{
    return &domain->peers[transfer->stream.rank].bulk;
}

void amg_mpi_transfer_op_end_locked(
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len)
{
    if (transfer->op == NULL)
        return;
    transfer->op->len = len;
    amg_mpi_op_end_locked(transfer->op, ret);
    transfer->op = NULL;
}

void amg_mpi_transfer_free_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link);
    amg_mpi_stream_fini(&transfer->stream, domain);
    amg_table_remove(&domain->transfers, transfer->cookie);
    amg_mpi_trip_drop_locked(domain, transfer);
    amg_mem_free(transfer->scratch);
    amg_pool_put(&domain->transfer_pool, transfer);
}

void amg_mpi_transfer_list_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    if (!amg_link_is_listed(&transfer->link))
        amg_list_push(&domain->moving, &transfer->link);
}

/* The peer has said its last word, and nothing is in motion. */
void amg_mpi_transfer_finish_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len)
{
    struct amg_flow_peer *queue = amg_mpi_transfer_queue(domain, transfer);
    struct amg_link *next = NULL;

    amg_mpi_transfer_op_end_locked(transfer, ret, len);
    amg_mpi_transfer_free_locked(domain, transfer);
    (void)amg_flow_give(queue, 1);
    next = amg_flow_next(&domain->bulk, queue);
    if (next == NULL)
        return;
    amg_mpi_transfer_of(next)->state = AMG_MPI_TRANSFER_UNSTARTED;
    amg_mpi_transfer_list_locked(domain, amg_mpi_transfer_of(next));
}

/* Writes the first message; returns its kind. */
static enum amg_mpi_kind message_write(const struct amg_mpi_transfer *transfer,
    struct amg_mpi_slab *slab, uint32_t *ret_len)
{
    struct amg_place from = transfer->stream.to_post;

    memcpy(slab->data, &transfer->access, sizeof(transfer->access));
    *ret_len = sizeof(transfer->access);
    if (!transfer->is_put)
        return AMG_MPI_GET;
    if (!transfer->is_small)
        return transfer->is_ahead ? AMG_MPI_PUT_AHEAD : AMG_MPI_PUT;
    amg_place_gather(slab->data + *ret_len, &from, transfer->stream.len);
    *ret_len += (uint32_t)transfer->stream.len;
    return AMG_MPI_PUT_NOW;
}

/* Sends the first message. HG_NOMEM: nothing was sent. */
hg_return_t amg_mpi_transfer_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;
    struct amg_mpi_slab *slab = NULL;
    uint32_t body_len = 0;
    enum amg_mpi_kind kind = AMG_MPI_GET;
    hg_return_t rc = HG_SUCCESS;

    if (transfer->trip != NULL && amg_mpi_trip_start_locked(domain, transfer))
        return HG_SUCCESS;
    slab = amg_mpi_slab_get_locked(domain);
    if (slab == NULL)
        return HG_NOMEM;
    if (!transfer->is_small)
        rc = amg_mpi_stream_ready(stream, domain);
    if (rc != HG_SUCCESS) {
        amg_mpi_slab_put_locked(slab);
        return rc;
    }
    kind = message_write(transfer, slab, &body_len);
    /* A lone get asks first, so that its peer has work meanwhile; others might
     * find their pieces there before the receives, which costs more. */
    if (kind == AMG_MPI_GET && !transfer->is_small &&
        !amg_list_is_empty(&domain->moving))
        amg_mpi_stream_post(stream, domain);
    slab->post.op = NULL;
    slab->header.context = transfer->origin_context;
    slab->header.cookie = transfer->cookie;
    amg_mpi_send_address(
        slab, (uint32_t)stream->rank, transfer->context, kind, body_len);
    rc = amg_mpi_send_locked(slab);
    transfer->state = AMG_MPI_TRANSFER_ASKED;
    if (!transfer->is_small)
        amg_mpi_transfer_list_locked(domain, transfer);
    if (rc == HG_SUCCESS && !transfer->is_small && kind != AMG_MPI_PUT)
        amg_mpi_stream_post(stream, domain);
    if (rc == HG_SUCCESS)
        return HG_SUCCESS;
    amg_mpi_slab_put_locked(slab);
    transfer->state = AMG_MPI_TRANSFER_ANSWERED;
    transfer->ret = rc;
    amg_mpi_stream_stop(stream, 0);
    amg_mpi_transfer_list_locked(domain, transfer);
    return HG_SUCCESS;
}

/* The transfer is in its peer's queue, or begins. HG_NOMEM: neither. */
static hg_return_t transfer_post_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_flow_peer *queue = amg_mpi_transfer_queue(domain, transfer);
    struct amg_mpi_stream *stream = &transfer->stream;
    hg_return_t rc = amg_table_add(&domain->transfers, transfer,
        (uint32_t)stream->rank, &transfer->cookie);

    if (rc != HG_SUCCESS)
        return rc;
    stream->tag = (int)(transfer->cookie & AMG_TABLE_INDEX_MASK) +
                  (transfer->is_put ? domain->tags_half : 0);
    if (!amg_flow_take(&domain->bulk, queue)) {
        transfer->state = AMG_MPI_TRANSFER_QUEUED;
        amg_flow_wait(queue, &transfer->link);
        return HG_SUCCESS;
    }
    if (!amg_mpi_comm_may_call(&domain->comm)) {
        transfer->state = AMG_MPI_TRANSFER_UNSTARTED;
        amg_mpi_transfer_list_locked(domain, transfer);
        return HG_SUCCESS;
    }
    rc = amg_mpi_transfer_start_locked(domain, transfer);
    if (rc != HG_SUCCESS) {
        (void)amg_flow_give(queue, 1);
        amg_table_remove(&domain->transfers, transfer->cookie);
    }
    return rc;
}

/* The exposer's list is only what its descriptor says; but who cuts too long
 * pieces for it is refused. */
static uint32_t piece_len_choose(const struct amg_mpi_domain *domain,
    const struct amg_place *local, const struct amg_place *remote, uint64_t len)
{
    if (domain->piece_len <= AMG_MPI_STAGE_LEN ||
        (amg_place_is_whole(local, len) && amg_place_is_whole(remote, len)))
        return domain->piece_len;
    return AMG_MPI_STAGE_LEN;
}

static hg_return_t transfer_begin(struct amg_ep *base, struct amg_peer *peer,
    uint8_t context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, bool is_put,
    struct amg_op *op)
{
    struct amg_mpi_ep *ep = amg_mpi_ep_of(base);
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    struct amg_mpi_access access = {.segment = remote->at.segment,
        .piece_len = piece_len_choose(domain, local, &remote->at, len),
        .offset = remote->at.into,
        .len = len};
    struct amg_mpi_transfer *transfer = NULL;
    hg_return_t rc = amg_mpi_send_check(domain);

    if (rc == HG_SUCCESS)
        rc = amg_mpi_mem_key_read(&remote->key, &access);
    if (rc != HG_SUCCESS)
        return rc;
    if (!AMG_CONTRACT(len > 0))
        return HG_INVALID_ARG;
    transfer = amg_pool_get(&domain->transfer_pool);
    if (transfer == NULL)
        return HG_NOMEM;
    *transfer = (struct amg_mpi_transfer){.ep = ep,
        .op = op,
        .context = context,
        .origin_context = ep->base.context_id,
        .is_put = is_put,
        .is_small = len <= domain->small_len,
        .access = access};
    transfer->is_ahead =
        is_put && op->is_final && !transfer->is_small &&
        (len <= AMG_MPI_AHEAD_MAX || access.piece_len <= AMG_MPI_AHEAD_MAX);
    amg_mpi_stream_init(&transfer->stream, local, len, access.piece_len, is_put,
        (int)amg_mpi_rank_of(domain, peer), 0);
    if (transfer->is_ahead)
        transfer->stream.limit = amg_mpi_stream_ahead(len, access.piece_len);
    if (domain->rma != NULL && !transfer->is_small)
        transfer->trip = amg_mpi_trip_plan(domain,
            &(struct amg_mpi_errand){local, remote, len,
                (int)amg_mpi_rank_of(domain, peer), is_put, op->is_final});
    amg_bias_take(domain->lock);
    /* Under the lock: a cancel may come before the post, and finds it done. */
    op->len = 0;
    op->data = NULL;
    amg_call_set(op, AMG_MPI_OP_TRANSFER, transfer, &ep->base);
    rc = transfer_post_locked(domain, transfer);
    if (rc != HG_SUCCESS) {
        op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
        amg_mpi_trip_drop_locked(domain, transfer);
    }
    amg_bias_give(domain->lock);
    if (rc != HG_SUCCESS)
        amg_pool_put(&domain->transfer_pool, transfer);
    return rc;
}

hg_return_t amg_mpi_transfer_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op)
{
    return transfer_begin(
        ep, peer, target_context, local, remote, len, true, op);
}

hg_return_t amg_mpi_transfer_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op)
{
    return transfer_begin(
        ep, peer, target_context, local, remote, len, false, op);
}
