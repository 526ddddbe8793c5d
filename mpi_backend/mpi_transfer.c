/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers: puts and gets of this rank, by messages or through a window.
 *
 *   get, small   GET ------------->   <------------- GET_DATA (the bytes)
 *   get, large   GET ------------->   <============= fragments
 *   put, small   PUT_NOW (bytes) ->   <------------- DONE
 *   put, large   PUT ------------->   <------------- PUT_READY
 *                fragments =======>   <------------- DONE
 *   put, ahead   PUT_AHEAD ------->
 *                first fragments =>   <------------- PUT_READY, if more follow
 *                fragments =======>   <------------- DONE
 *   refused                           <------------- DONE (a code, 0 bytes)
 *   cancelled    STOP ------------>   <------------- DONE (so many bytes)
 *   memory of a get is unregistered   <------------- DONE (so many bytes)
 *   PUT_AHEAD refused, or memory of a put unregistered <-- HALT
 *                STOP ------------>   <------------- DONE (a code, bytes)
 *
 * Only a put that cannot be cancelled sends its first fragments ahead, because
 * MPI cannot cancel sends: sends to a silent peer keep the user's memory in
 * use. Such fragments have at most AMG_MPI_AHEAD_MAX bytes, so that an exposer
 * that refuses the put has memory to receive them; longer fragments are not
 * faster. Without sending ahead, 64 KiB took 1.2 times as long.
 *
 * A message that fits no waiting transfer is dropped with one warning. A HALT,
 * or a DONE without a transfer, is dropped silently: STOP may have come late.
 *
 * A transfer by messages lives until the peer's last message, because the peer
 * may use the transfer's cookie and tag until then; a transfer through a window
 * lives until MPI has completed it. A cancelled operation ends earlier, as soon
 * as MPI no longer uses the user's memory: a put when its last fragment was
 * sent, a get when its receives were cancelled. A cancelled get gives the peer
 * AMG_MPI_GRACE_MS to answer how much is in flight, and to deliver that. Then
 * the get is withdrawn: it cancels its receives, and receives later fragments
 * into memory that is never read.
 *
 * At most AMG_MPI_TRANSFERS transfers are in flight to a peer; others queue. */
#include "mpi_backend/mpi_transfer.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_peer.h"

/* The queue of all transfers to the peer of `transfer`. */
static struct amg_flow_peer *transfer_queue(
    struct amg_mpi_domain *domain, const struct amg_mpi_transfer *transfer)
{
    return &amg_mpi_peer_of_locked(domain, (uint32_t)transfer->rank)->bulk;
}

void amg_mpi_transfer_op_end_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (transfer->op == NULL)
        return;
    if (ret != HG_SUCCESS && amg_mpi_peer_is_dead(domain, transfer->rank))
        ret = HG_HOSTUNREACH;
    transfer->op->len = len;
    amg_mpi_op_end_locked(transfer->op, ret);
    transfer->op = NULL;
}

/* Frees the transfer, but keeps its place in flight taken. */
static void transfer_free_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(transfer->op == NULL);
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link);
    if (transfer->is_rma)
        amg_mpi_rma_access_release_locked(domain, transfer->rma.access);
    else
        amg_mpi_pipeline_fini(&transfer->pipeline, domain);
    amg_table_remove(&domain->transfers.all, transfer->cookie);
    amg_mem_free(transfer->scratch);
    amg_pool_put(&domain->transfers.pool, transfer);
}

/* Puts the transfer on the moving list, if it is not there. */
static void transfer_list_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!amg_link_is_listed(&transfer->link))
        amg_list_push(&domain->transfers.moving, &transfer->link);
}

void amg_mpi_transfer_finish_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len)
{
    struct amg_flow_peer *queue = transfer_queue(domain, transfer);
    struct amg_link *next = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(transfer->state != AMG_MPI_TRANSFER_QUEUED);
    amg_mpi_transfer_op_end_locked(domain, transfer, ret, len);
    transfer_free_locked(domain, transfer);
    (void)amg_flow_give(queue, 1);
    next = amg_flow_next(&domain->transfers.flow, queue);
    if (next == NULL)
        return;
    AMG_ASSERT(amg_mpi_transfer_of(next)->state == AMG_MPI_TRANSFER_QUEUED);
    amg_mpi_transfer_of(next)->state = AMG_MPI_TRANSFER_UNSTARTED;
    transfer_list_locked(domain, amg_mpi_transfer_of(next));
}

/* Ends the operation of a withdrawn get, and receives its late fragments. */
static void late_discard_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_pipeline *pipeline = &transfer->pipeline;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(!transfer->is_put && transfer->scratch == NULL);
    amg_mpi_transfer_op_end_locked(
        domain, transfer, HG_CANCELED, pipeline->done);
    transfer->scratch = amg_mem_alloc(pipeline->fragment_len);
    if (transfer->scratch == NULL)
        return; /* the next poll tries again */
    amg_mpi_pipeline_discard(
        pipeline, transfer->scratch, transfer->request.len);
}

/* Sends STOP, to end early. Uses `msgbuf`; NULL: gets another msgbuf. */
static void stop_send_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, struct amg_mpi_msgbuf *msgbuf)
{
    struct amg_mpi_stop stop = {.is_put = transfer->is_put};

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(!transfer->is_rma && !transfer->is_stopped);
    if (msgbuf == NULL)
        msgbuf = amg_mpi_msgbuf_get_locked(domain);
    if (msgbuf == NULL)
        return; /* is_stopped stays false, so the next poll tries again */
    if (transfer->is_put)
        amg_mpi_pipeline_stop(&transfer->pipeline, transfer->pipeline.posted);
    stop.len =
        transfer->is_put ? transfer->pipeline.posted : transfer->pipeline.len;
    memcpy(msgbuf->data, &stop, sizeof(stop));
    msgbuf->header.context = transfer->origin_context;
    amg_mpi_send_control_locked(msgbuf, (uint32_t)transfer->rank,
        transfer->context, AMG_MPI_STOP, transfer->cookie, sizeof(stop));
    transfer->is_stopped = true;
}

/* Withdraws a cancelled get whose bytes have not come in time. */
static void receives_withdraw_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(!transfer->is_rma);
    if (transfer->is_put || !transfer->is_cancelled || transfer->is_withdrawn ||
        amg_clock_ns() < transfer->deadline_ns)
        return;
    transfer->is_withdrawn = true;
    amg_mpi_pipeline_stop(&transfer->pipeline, transfer->pipeline.done);
    amg_mpi_pipeline_move(&transfer->pipeline, domain);
}

/* A cancelled transfer: ends its operation as soon as MPI no longer uses the
 * user's memory, even if the peer has not answered. */
static void cancelled_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_pipeline *pipeline = &transfer->pipeline;
    bool is_lost = amg_mpi_peer_is_dead(domain, transfer->rank);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(transfer->is_cancelled && !transfer->is_rma);
    if (!transfer->is_stopped)
        stop_send_locked(domain, transfer, NULL);
    if (!transfer->is_stopped)
        return;
    /* MPI ends no send to a dead rank, and moves no bytes of it any more. */
    if ((pipeline->count > 0 && !is_lost) ||
        (!transfer->is_put && !transfer->is_withdrawn))
        return;
    pipeline->is_abandoned = pipeline->is_abandoned || is_lost;
    amg_mpi_transfer_op_end_locked(
        domain, transfer, HG_CANCELED, pipeline->done);
    amg_list_remove(&transfer->link); /* until the peer's last message */
}

void amg_mpi_transfer_cancel_locked(
    struct amg_mpi_domain *domain, struct amg_op *op)
{
    struct amg_mpi_transfer *transfer = amg_call_ptr(op);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(transfer->op == op);
    if (transfer->is_cancelled)
        return;
    if (transfer->state == AMG_MPI_TRANSFER_QUEUED) {
        amg_flow_unwait(transfer_queue(domain, transfer), &transfer->link);
        amg_mpi_transfer_op_end_locked(domain, transfer, HG_CANCELED, 0);
        transfer_free_locked(domain, transfer);
    } else if (transfer->state == AMG_MPI_TRANSFER_UNSTARTED ||
               transfer->state == AMG_MPI_TRANSFER_ACQUIRING) {
        amg_mpi_transfer_finish_locked(domain, transfer, HG_CANCELED, 0);
    } else if (transfer->is_rma) {
        amg_mpi_transfer_hurry(transfer);
    } else if (transfer->is_small) {
        amg_mpi_transfer_op_end_locked(domain, transfer, HG_CANCELED, 0);
    } else {
        amg_mpi_transfer_hurry(transfer);
        if (!transfer->is_stopped &&
            transfer->state != AMG_MPI_TRANSFER_ANSWERED)
            stop_send_locked(domain, transfer, NULL);
    }
}

/* The transfer in slot `i` of the table, or NULL if its operation has ended or
 * it is not of `ep` (NULL: any endpoint). */
static struct amg_mpi_transfer *posted_at(const struct amg_mpi_domain *domain,
    uint32_t i, const struct amg_mpi_ep *ep)
{
    struct amg_mpi_transfer *transfer = domain->transfers.all.slots[i].object;

    return transfer != NULL && transfer->op != NULL &&
                   (ep == NULL || transfer->ep == ep)
               ? transfer
               : NULL;
}

bool amg_mpi_transfers_cancel_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_ep *ep, int rank, bool is_late)
{
    bool is_busy = false;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (uint32_t i = 0; i < domain->transfers.all.cap; i++) {
        struct amg_mpi_transfer *transfer = posted_at(domain, i, ep);

        if (transfer != NULL && rank >= 0 && transfer->rank != rank)
            continue;
        if (transfer != NULL)
            amg_mpi_transfer_cancel_locked(domain, transfer->op);
        transfer = posted_at(domain, i, ep);
        if (transfer == NULL)
            continue;
        if (is_late)
            transfer->deadline_ns = 0;
        is_busy = true;
    }
    return is_busy;
}

static void op_cancel_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_transfer_op_end_locked(domain, transfer, HG_CANCELED,
        transfer->is_rma ? transfer->rma.done : transfer->pipeline.done);
}

void amg_mpi_transfers_abandon_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (uint32_t i = 0; i < domain->transfers.all.cap; i++) {
        struct amg_mpi_transfer *transfer = posted_at(domain, i, ep);

        if (transfer == NULL)
            continue;
        if (!transfer->is_rma) { /* no further use of the user's segments */
            transfer->pipeline.is_abandoned = true;
            amg_mpi_pipeline_stop(
                &transfer->pipeline, transfer->pipeline.posted);
        }
        op_cancel_locked(domain, transfer);
    }
}

bool amg_mpi_transfers_drop_locked(struct amg_mpi_domain *domain)
{
    bool was_quiet = true;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (uint32_t i = 0; i < domain->transfers.all.cap; i++) {
        struct amg_mpi_transfer *transfer =
            domain->transfers.all.slots[i].object;

        if (transfer == NULL)
            continue;
        was_quiet = false;
        op_cancel_locked(domain, transfer);
        if (transfer->state >= AMG_MPI_TRANSFER_ACQUIRING)
            continue; /* amg_mpi_rma_close_locked() forgets it */
        if (!transfer->is_rma && transfer->pipeline.count > 0)
            transfer->scratch = NULL; /* MPI may still write there */
        transfer_free_locked(domain, transfer);
    }
    return was_quiet;
}

/* Writes the first message; returns its kind. */
static enum amg_mpi_kind message_write(const struct amg_mpi_transfer *transfer,
    struct amg_mpi_msgbuf *msgbuf, uint32_t *ret_len)
{
    struct amg_seg_iter from = transfer->pipeline.to_post;

    memcpy(msgbuf->data, &transfer->request, sizeof(transfer->request));
    *ret_len = sizeof(transfer->request);
    if (!transfer->is_put)
        return AMG_MPI_GET;
    if (!transfer->is_small)
        return transfer->is_ahead ? AMG_MPI_PUT_AHEAD : AMG_MPI_PUT;
    AMG_ASSERT(transfer->pipeline.len <= msgbuf->buf.cap - *ret_len);
    amg_seg_iter_gather(msgbuf->data + *ret_len, &from, transfer->pipeline.len);
    *ret_len += (uint32_t)transfer->pipeline.len;
    return AMG_MPI_PUT_NOW;
}

/* Sends the first message, or acquires an access. Error: nothing was sent. */
static hg_return_t transfer_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_pipeline *pipeline = &transfer->pipeline;
    struct amg_mpi_msgbuf *msgbuf = NULL;
    uint32_t body_len = 0;
    enum amg_mpi_kind kind = AMG_MPI_GET;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(transfer->state == AMG_MPI_TRANSFER_QUEUED ||
               transfer->state == AMG_MPI_TRANSFER_UNSTARTED);
    if (transfer->is_rma)
        return amg_mpi_rma_op_start_locked(domain, transfer);
    msgbuf = amg_mpi_msgbuf_get_locked(domain);
    if (msgbuf == NULL)
        return HG_NOMEM;
    if (!transfer->is_small)
        rc = amg_mpi_pipeline_ready(pipeline, domain);
    if (rc != HG_SUCCESS) {
        amg_mpi_msgbuf_put_locked(msgbuf);
        return rc;
    }
    kind = message_write(transfer, msgbuf, &body_len);
    /* While other transfers move, a get posts its receives before its request,
     * because fragments that arrive before their receives cost more; otherwise
     * the request leaves first, so that the peer can start sooner. */
    if (kind == AMG_MPI_GET && !transfer->is_small &&
        !amg_list_is_empty(&domain->transfers.moving))
        amg_mpi_pipeline_post(pipeline, domain);
    msgbuf->post.op = NULL;
    msgbuf->header.context = transfer->origin_context;
    msgbuf->header.cookie = transfer->cookie;
    amg_mpi_send_address(
        msgbuf, (uint32_t)pipeline->rank, transfer->context, kind, body_len);
    rc = amg_mpi_send_locked(msgbuf);
    transfer->state = AMG_MPI_TRANSFER_REQUESTED;
    if (!transfer->is_small)
        transfer_list_locked(domain, transfer);
    if (rc == HG_SUCCESS && !transfer->is_small && kind != AMG_MPI_PUT)
        amg_mpi_pipeline_post(pipeline, domain);
    if (rc == HG_SUCCESS)
        return HG_SUCCESS;
    amg_mpi_msgbuf_put_locked(msgbuf);
    transfer->state = AMG_MPI_TRANSFER_ANSWERED;
    transfer->ret = rc;
    amg_mpi_pipeline_stop(pipeline, 0);
    transfer_list_locked(domain, transfer);
    return HG_SUCCESS;
}

/* Begins or queues the transfer, which stays the caller's on an error. */
static hg_return_t transfer_post_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_flow_peer *queue = transfer_queue(domain, transfer);
    struct amg_mpi_pipeline *pipeline = &transfer->pipeline;
    hg_return_t rc = amg_table_add(&domain->transfers.all, transfer,
        (uint32_t)transfer->rank, &transfer->cookie);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (rc != HG_SUCCESS)
        return rc;
    if (!transfer->is_rma)
        pipeline->tag = (int)(transfer->cookie & AMG_TABLE_INDEX_MASK) +
                        (transfer->is_put ? domain->transfers.tags_half : 0);
    if (!amg_flow_take(&domain->transfers.flow, queue)) {
        if (amg_flow_is_closed(queue)) {
            amg_table_remove(&domain->transfers.all, transfer->cookie);
            return HG_HOSTUNREACH;
        }
        transfer->state = AMG_MPI_TRANSFER_QUEUED;
        amg_flow_wait(queue, &transfer->link);
        return HG_SUCCESS;
    }
    if (!amg_mpi_comm_may_call(&domain->comm)) {
        transfer->state = AMG_MPI_TRANSFER_UNSTARTED;
        transfer_list_locked(domain, transfer);
        return HG_SUCCESS;
    }
    rc = transfer_start_locked(domain, transfer);
    if (rc != HG_SUCCESS) {
        (void)amg_flow_give(queue, 1);
        amg_table_remove(&domain->transfers.all, transfer->cookie);
    }
    return rc;
}

/* Fragment length. `remote`, from a descriptor, may be wrong: then the exposer
 * refuses fragments too long for its bounce buffers. */
static uint32_t fragment_len_choose(const struct amg_mpi_domain *domain,
    const struct amg_seg_iter *local, const struct amg_seg_iter *remote,
    uint64_t len)
{
    if (domain->transfers.fragment_len <= AMG_MPI_BOUNCE_LEN ||
        (amg_seg_iter_is_whole(local, len) &&
            amg_seg_iter_is_whole(remote, len)))
        return domain->transfers.fragment_len;
    return AMG_MPI_BOUNCE_LEN;
}

/* Fills in the fields of a transfer by messages. */
static void transfer_set_pipeline(struct amg_mpi_transfer *transfer,
    const struct amg_seg_iter *local, uint64_t len)
{
    uint32_t fragment_len = transfer->request.fragment_len;

    transfer->is_ahead =
        transfer->is_put && transfer->op->is_uncancellable &&
        !transfer->is_small &&
        (len <= AMG_MPI_AHEAD_MAX || fragment_len <= AMG_MPI_AHEAD_MAX);
    amg_mpi_pipeline_init(
        &transfer->pipeline, local, len, fragment_len, transfer->is_put);
    transfer->pipeline.rank = transfer->rank;
    if (transfer->is_ahead)
        transfer->pipeline.limit = amg_mpi_pipeline_ahead(len, fragment_len);
}

/* Arguments of a put or get. */
struct post {
    struct amg_ep *ep;
    struct amg_target to;
    const struct amg_seg_iter *local;
    const struct amg_remote *remote;
    uint64_t len;
    bool is_put;
};

static hg_return_t transfer_begin(const struct post *post, struct amg_op *op)
{
    struct amg_mpi_ep *ep = amg_mpi_ep_of(post->ep);
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    const struct amg_remote *remote = post->remote;
    uint64_t len = post->len;
    struct amg_mpi_bulk_request request = {.segment = remote->at.segment,
        .fragment_len =
            fragment_len_choose(domain, post->local, &remote->at, len),
        .offset = remote->at.into,
        .len = len};
    struct amg_mpi_transfer *transfer = NULL;
    hg_return_t rc = amg_mpi_send_check(domain);

    if (rc != HG_SUCCESS)
        return rc;
    if (!AMG_CONTRACT_OF("HG_Bulk_transfer",
            len > 0 && remote->key.len == sizeof(request.key),
            "the key of the remote memory has %u bytes, but this transport "
            "makes keys of %u",
            (unsigned)remote->key.len, (unsigned)sizeof(request.key)))
        return HG_INVALID_ARG;
    memcpy(&request.key, remote->key.bytes, sizeof(request.key));
    transfer = amg_pool_get(&domain->transfers.pool);
    if (transfer == NULL)
        return HG_NOMEM;
    /* amg_mpi_rma_op_plan() or transfer_set_pipeline() fills in the union. */
    memset(transfer, 0, offsetof(struct amg_mpi_transfer, pipeline));
    transfer->ep = ep;
    transfer->op = op;
    transfer->rank = (int)amg_mpi_rank_of(domain, post->to.peer);
    transfer->context = post->to.context_id;
    transfer->origin_context = ep->base.context_id;
    transfer->is_put = post->is_put;
    transfer->is_small = len <= domain->transfers.small_len;
    transfer->request = request;
    transfer->is_rma =
        domain->rma != NULL && !transfer->is_small &&
        amg_mpi_rma_op_plan(domain, transfer, post->local, remote, len);
    if (!transfer->is_rma)
        transfer_set_pipeline(transfer, post->local, len);
    amg_bias_lock(domain->lock);
    /* Set under the lock, so that a concurrent cancel finds all fields set. */
    op->len = 0;
    op->data = NULL;
    amg_call_set(op, AMG_MPI_OP_TRANSFER, transfer, &ep->base);
    rc = amg_mpi_peer_get_locked(domain, (uint32_t)transfer->rank) == NULL
             ? HG_NOMEM
             : transfer_post_locked(domain, transfer);
    if (rc != HG_SUCCESS)
        op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    amg_bias_unlock(domain->lock);
    if (rc != HG_SUCCESS)
        amg_pool_put(&domain->transfers.pool, transfer);
    return rc;
}

hg_return_t amg_mpi_transfer_put(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    const struct post post = {ep, to, local, remote, len, true};

    return transfer_begin(&post, op);
}

hg_return_t amg_mpi_transfer_get(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    const struct post post = {ep, to, local, remote, len, false};

    return transfer_begin(&post, op);
}

/* The transfer that this answer is for; NULL: no transfer waits for it. */
static struct amg_mpi_transfer *answer_find_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_table_slot *slot = amg_table_find(
        &domain->transfers.all, message->msgbuf->header.cookie, message->rank);
    struct amg_mpi_transfer *transfer = slot == NULL ? NULL : slot->object;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (transfer != NULL && (transfer->state == AMG_MPI_TRANSFER_REQUESTED ||
                                transfer->state == AMG_MPI_TRANSFER_MOVING))
        return transfer;
    return NULL;
}

static void answer_fault_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_ANSWER,
        message->kind, (long)message->len);
}

void amg_mpi_transfer_on_data_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (transfer == NULL || transfer->is_put || !transfer->is_small) {
        answer_fault_locked(domain, message);
    } else if (message->len != transfer->pipeline.len) {
        answer_fault_locked(domain, message);
        amg_mpi_transfer_finish_locked(domain, transfer, HG_PROTOCOL_ERROR, 0);
    } else {
        if (transfer->op != NULL)
            amg_seg_iter_scatter(&transfer->pipeline.to_fill,
                message->msgbuf->data, message->len);
        amg_mpi_transfer_finish_locked(
            domain, transfer, HG_SUCCESS, message->len);
    }
    amg_mpi_msgbuf_put_locked(message->msgbuf);
}

void amg_mpi_transfer_on_ready_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_msgbuf_put_locked(message->msgbuf);
    if (transfer == NULL || !transfer->is_put || transfer->is_small ||
        transfer->state != AMG_MPI_TRANSFER_REQUESTED) {
        answer_fault_locked(domain, message);
        return;
    }
    AMG_ASSERT(!transfer->is_rma);
    transfer->state = AMG_MPI_TRANSFER_MOVING;
    if (!transfer->is_stopped && !transfer->pipeline.is_abandoned)
        transfer->pipeline.limit = transfer->pipeline.len;
}

void amg_mpi_transfer_on_done_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);
    struct amg_mpi_pipeline *pipeline = NULL;
    struct amg_mpi_done done;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    memcpy(&done, message->msgbuf->data, sizeof(done));
    amg_mpi_msgbuf_put_locked(message->msgbuf);
    if (transfer == NULL || done.code >= HG_RETURN_MAX ||
        !amg_mpi_pipeline_is_cut(&transfer->pipeline, done.len)) {
        /* Without a transfer, DONE answers a STOP that came too late. */
        if (transfer != NULL)
            answer_fault_locked(domain, message);
        return;
    }
    pipeline = &transfer->pipeline;
    transfer->ret = (hg_return_t)done.code;
    if (transfer->ret == HG_SUCCESS && done.len != pipeline->len)
        transfer->ret = HG_PROTOCOL_ERROR;
    transfer->state = AMG_MPI_TRANSFER_ANSWERED;
    if (transfer->is_small) {
        amg_mpi_transfer_finish_locked(
            domain, transfer, transfer->ret, done.len);
        return;
    }
    transfer->request.len = done.len; /* bytes that have arrived, or will */
    if (transfer->is_put)
        amg_mpi_pipeline_stop(pipeline, pipeline->posted);
    else if (!transfer->is_withdrawn)
        amg_mpi_pipeline_stop(pipeline, done.len);
    transfer_list_locked(domain, transfer);
}

void amg_mpi_transfer_on_halt_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (transfer == NULL || !transfer->is_put || transfer->is_small ||
        transfer->is_stopped) {
        amg_mpi_msgbuf_put_locked(message->msgbuf); /* our STOP is in flight */
        return;
    }
    stop_send_locked(domain, transfer, message->msgbuf);
}

/* The peer has answered: ends the transfer when nothing is in flight. */
static void answered_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_pipeline *pipeline = &transfer->pipeline;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(transfer->state == AMG_MPI_TRANSFER_ANSWERED);
    if (!transfer->is_small && pipeline->count > 0)
        return;
    if (transfer->is_withdrawn && pipeline->done < transfer->request.len) {
        if (pipeline->sink == NULL)
            late_discard_locked(domain, transfer);
        return;
    }
    if (!transfer->is_small && !amg_mpi_pipeline_is_over(pipeline))
        return;
    if (pipeline->ret != HG_SUCCESS)
        transfer->ret = pipeline->ret;
    else if (!transfer->is_put && pipeline->done == pipeline->len)
        transfer->ret = HG_SUCCESS; /* all bytes came before STOP took effect */
    amg_mpi_transfer_finish_locked(domain, transfer, transfer->ret,
        transfer->is_put ? transfer->request.len : pipeline->done);
}

void amg_mpi_transfer_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_pipeline *pipeline = &transfer->pipeline;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (transfer->state == AMG_MPI_TRANSFER_UNSTARTED) {
        hg_return_t rc = transfer_start_locked(domain, transfer);

        if (rc != HG_SUCCESS)
            amg_mpi_transfer_finish_locked(domain, transfer, rc, 0);
        else if (transfer->is_small &&
                 transfer->state == AMG_MPI_TRANSFER_REQUESTED)
            amg_list_remove(&transfer->link);
        return;
    }
    AMG_ASSERT(!transfer->is_rma);
    if (!transfer->is_small &&
        !(transfer->is_put && !transfer->is_ahead &&
            transfer->state == AMG_MPI_TRANSFER_REQUESTED))
        amg_mpi_pipeline_post(pipeline, domain);
    receives_withdraw_locked(domain, transfer);
    if (transfer->state == AMG_MPI_TRANSFER_ANSWERED) {
        answered_move_locked(domain, transfer);
        return;
    }
    if (!transfer->is_put && pipeline->done >= pipeline->len) {
        amg_mpi_transfer_finish_locked(
            domain, transfer, pipeline->ret, pipeline->done);
        return;
    }
    if (pipeline->ret == HG_NA_ERROR && !transfer->is_stopped)
        stop_send_locked(domain, transfer, NULL);
    if (transfer->is_cancelled)
        cancelled_move_locked(domain, transfer);
}
