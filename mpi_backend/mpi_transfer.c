/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfer: one put or get of this rank, its states and its completion.
 *
 * A transfer by messages lives until the peer's last message, because until
 * then the peer may use its number and tag; one through a window until MPI has
 * completed it. A cancelled operation ends earlier, as soon as MPI no longer
 * uses the user's memory: a put when its last fragment was sent, a get when its
 * receives were cancelled. A get gives the peer GRACE_MS to answer how much is
 * in flight before it cancels them; later fragments are received into memory
 * that is never read. A transfer that cancelled its receives without an answer
 * is withdrawn.
 *
 * At most AMG_MPI_TRANSFERS to one peer are in flight; others wait in order. */
#include "mpi_backend/mpi_transfer.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_msgbuf.h"

enum {
    GRACE_MS = 2000, /* far above a round trip, short for a user */
};

size_t amg_mpi_transfer_len(void)
{
    return sizeof(struct amg_mpi_transfer);
}

struct amg_flow_peer *amg_mpi_transfer_queue(
    struct amg_mpi_domain *domain, const struct amg_mpi_transfer *transfer)
{
    return &domain->peers[transfer->rank].bulk;
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

/* Frees it without starting the next in the queue or returning a credit. */
static void transfer_free_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    AMG_ASSERT(transfer->op == NULL);
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link);
    if (transfer->is_rma)
        amg_mpi_rma_access_release_locked(domain, transfer->rma.access);
    else
        amg_mpi_pipeline_fini(&transfer->pipeline, domain);
    amg_table_remove(&domain->transfers, transfer->cookie);
    amg_mem_free(transfer->scratch);
    amg_pool_put(&domain->transfer_pool, transfer);
}

void amg_mpi_transfer_list_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    if (!amg_link_is_listed(&transfer->link))
        amg_list_push(&domain->moving, &transfer->link);
}

/* The peer's last message was received, and nothing is in flight. */
void amg_mpi_transfer_finish_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len)
{
    struct amg_flow_peer *queue = amg_mpi_transfer_queue(domain, transfer);
    struct amg_link *next = NULL;

    AMG_ASSERT(transfer->state != AMG_MPI_TRANSFER_QUEUED);
    amg_mpi_transfer_op_end_locked(transfer, ret, len);
    transfer_free_locked(domain, transfer);
    (void)amg_flow_give(queue, 1);
    next = amg_flow_next(&domain->bulk, queue);
    if (next == NULL)
        return;
    AMG_ASSERT(amg_mpi_transfer_of(next)->state == AMG_MPI_TRANSFER_QUEUED);
    amg_mpi_transfer_of(next)->state = AMG_MPI_TRANSFER_UNSTARTED;
    amg_mpi_transfer_list_locked(domain, amg_mpi_transfer_of(next));
}

void amg_mpi_stop_sink_locked(struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_pipeline *pipeline = &transfer->pipeline;

    AMG_ASSERT(!transfer->is_put && transfer->scratch == NULL);
    amg_mpi_transfer_op_end_locked(transfer, HG_CANCELED, pipeline->done);
    transfer->scratch = amg_mem_alloc(pipeline->fragment_len);
    if (transfer->scratch == NULL)
        return; /* the next poll tries again */
    amg_mpi_pipeline_discard(
        pipeline, transfer->scratch, transfer->request.len);
}

void amg_mpi_stop_send_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, struct amg_mpi_msgbuf *msgbuf)
{
    struct amg_mpi_stop stop = {.is_put = transfer->is_put};

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

void amg_mpi_stop_withdraw_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    AMG_ASSERT(!transfer->is_rma);
    if (transfer->is_put || !transfer->is_cancelled || transfer->is_withdrawn ||
        amg_clock_ns() < transfer->deadline_ns)
        return;
    transfer->is_withdrawn = true;
    amg_mpi_pipeline_stop(&transfer->pipeline, transfer->pipeline.done);
    amg_mpi_pipeline_move(&transfer->pipeline, domain);
}

void amg_mpi_stop_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_pipeline *pipeline = &transfer->pipeline;

    if (!transfer->is_stopped)
        amg_mpi_stop_send_locked(domain, transfer, NULL);
    if (!transfer->is_stopped)
        return;
    if (pipeline->count > 0 || (!transfer->is_put && !transfer->is_withdrawn))
        return;
    amg_mpi_transfer_op_end_locked(transfer, HG_CANCELED, pipeline->done);
    amg_list_remove(&transfer->link); /* until the peer's last message */
}

void amg_mpi_stop_cancel_locked(
    struct amg_mpi_domain *domain, struct amg_op *op)
{
    struct amg_mpi_transfer *transfer = amg_call_ptr(op);

    AMG_ASSERT(transfer->op == op);
    if (transfer->is_cancelled)
        return;
    if (transfer->state == AMG_MPI_TRANSFER_QUEUED) {
        amg_flow_unwait(
            amg_mpi_transfer_queue(domain, transfer), &transfer->link);
        amg_mpi_transfer_op_end_locked(transfer, HG_CANCELED, 0);
        transfer_free_locked(domain, transfer);
    } else if (transfer->state == AMG_MPI_TRANSFER_UNSTARTED) {
        amg_mpi_transfer_finish_locked(domain, transfer, HG_CANCELED, 0);
    } else if (transfer->is_rma) {
        transfer->is_cancelled = true;
        if (transfer->rma.in_flight == 0 || !transfer->rma.is_direct)
            amg_mpi_transfer_op_end_locked(
                transfer, HG_CANCELED, transfer->rma.done);
    } else if (transfer->is_small) {
        amg_mpi_transfer_op_end_locked(transfer, HG_CANCELED, 0);
    } else {
        transfer->is_cancelled = true;
        transfer->deadline_ns = amg_clock_deadline_ns(GRACE_MS);
        if (!transfer->is_stopped &&
            transfer->state != AMG_MPI_TRANSFER_ANSWERED)
            amg_mpi_stop_send_locked(domain, transfer, NULL);
    }
}

bool amg_mpi_stop_drop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep, bool is_late)
{
    bool is_busy = false;

    for (uint32_t i = 0; i < domain->transfers.cap; i++) {
        struct amg_mpi_transfer *transfer = domain->transfers.places[i].object;

        if (transfer == NULL || transfer->op == NULL ||
            (ep != NULL && transfer->ep != ep))
            continue;
        amg_mpi_stop_cancel_locked(domain, transfer->op);
        transfer = domain->transfers.places[i].object;
        if (transfer == NULL || transfer->op == NULL)
            continue;
        if (is_late)
            transfer->deadline_ns = 0;
        is_busy = true;
    }
    return is_busy;
}

static uint64_t bytes_done(const struct amg_mpi_transfer *transfer)
{
    return transfer->is_rma ? transfer->rma.done : transfer->pipeline.done;
}

void amg_mpi_stop_force_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep)
{
    for (uint32_t i = 0; i < domain->transfers.cap; i++) {
        struct amg_mpi_transfer *transfer = domain->transfers.places[i].object;

        if (transfer == NULL || transfer->op == NULL ||
            (ep != NULL && transfer->ep != ep))
            continue;
        if (!transfer->is_rma)
            amg_mpi_pipeline_abandon(&transfer->pipeline);
        amg_mpi_transfer_op_end_locked(
            transfer, HG_CANCELED, bytes_done(transfer));
    }
}

unsigned amg_mpi_stop_forget_locked(struct amg_mpi_domain *domain)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < domain->transfers.cap; i++) {
        struct amg_mpi_transfer *transfer = domain->transfers.places[i].object;

        if (transfer == NULL)
            continue;
        amg_mpi_transfer_op_end_locked(
            transfer, HG_CANCELED, bytes_done(transfer));
        if (transfer->state >= AMG_MPI_TRANSFER_ACQUIRING)
            continue; /* amg_mpi_rma_close_locked() forgets it */
        if (!transfer->is_rma && transfer->pipeline.count > 0)
            transfer->scratch = NULL; /* MPI may still write there */
        transfer_free_locked(domain, transfer);
        count++;
    }
    return count;
}
