/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of ours that end early; what is said is in mpi_transfer.c.
 *
 * A transfer that is withdrawn has taken its receives back, because the peer
 * gave no word in time. It lives on without its operation. */
#include "mpi_backend/mpi_stop.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_slab.h"
#include "mpi_backend/mpi_trip.h"

enum {
    GRACE_MS = 2000, /* far above a round trip, far below a person's patience */
};

void amg_mpi_stop_sink_locked(struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;

    amg_mpi_transfer_op_end_locked(transfer, HG_CANCELED, stream->done);
    transfer->scratch = amg_mem_alloc(stream->piece_len);
    if (transfer->scratch == NULL)
        return; /* the next poll tries again */
    amg_mpi_stream_divert(stream, transfer->scratch, transfer->access.len);
}

void amg_mpi_stop_send_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, struct amg_mpi_slab *slab)
{
    struct amg_mpi_stop stop = {.is_put = transfer->is_put};

    if (slab == NULL)
        slab = amg_mpi_slab_get_locked(domain);
    if (slab == NULL)
        return; /* is_stopped stays false, so the next poll tries again */
    if (transfer->is_put)
        amg_mpi_stream_stop(&transfer->stream, transfer->stream.posted);
    stop.len =
        transfer->is_put ? transfer->stream.posted : transfer->stream.len;
    memcpy(slab->data, &stop, sizeof(stop));
    slab->header.context = transfer->origin_context;
    amg_mpi_send_control_locked(slab, (uint32_t)transfer->stream.rank,
        transfer->context, AMG_MPI_STOP, transfer->cookie, sizeof(stop));
    transfer->is_stopped = true;
}

void amg_mpi_stop_withdraw_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    if (transfer->is_put || !transfer->is_cancelled || transfer->is_withdrawn ||
        amg_clock_ns() < transfer->deadline_ns)
        return;
    transfer->is_withdrawn = true;
    amg_mpi_stream_stop(&transfer->stream, transfer->stream.done);
    amg_mpi_stream_move(&transfer->stream, domain);
}

void amg_mpi_stop_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;

    if (!transfer->is_stopped)
        amg_mpi_stop_send_locked(domain, transfer, NULL);
    if (!transfer->is_stopped)
        return;
    if (stream->count > 0 || (!transfer->is_put && !transfer->is_withdrawn))
        return;
    amg_mpi_transfer_op_end_locked(transfer, HG_CANCELED, stream->done);
    amg_list_remove(&transfer->link); /* until the peer's last word */
}

void amg_mpi_stop_cancel_locked(
    struct amg_mpi_domain *domain, struct amg_op *op)
{
    struct amg_mpi_transfer *transfer = amg_call_ptr(op);

    if (transfer->is_cancelled)
        return;
    if (transfer->state == AMG_MPI_TRANSFER_QUEUED) {
        amg_flow_unwait(
            amg_mpi_transfer_queue(domain, transfer), &transfer->link);
        amg_mpi_transfer_op_end_locked(transfer, HG_CANCELED, 0);
        amg_mpi_transfer_free_locked(domain, transfer);
    } else if (transfer->state == AMG_MPI_TRANSFER_UNSTARTED) {
        amg_mpi_transfer_finish_locked(domain, transfer, HG_CANCELED, 0);
    } else if (transfer->state == AMG_MPI_TRANSFER_AWAY) {
        amg_mpi_trip_cancel_locked(transfer);
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

void amg_mpi_stop_force_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep)
{
    for (uint32_t i = 0; i < domain->transfers.cap; i++) {
        struct amg_mpi_transfer *transfer = domain->transfers.places[i].object;

        if (transfer == NULL || transfer->op == NULL ||
            (ep != NULL && transfer->ep != ep))
            continue;
        amg_mpi_stream_abandon(&transfer->stream);
        amg_mpi_transfer_op_end_locked(
            transfer, HG_CANCELED, transfer->stream.done);
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
            transfer, HG_CANCELED, transfer->stream.done);
        if (transfer->stream.count > 0)
            transfer->scratch = NULL; /* MPI may still write there */
        amg_mpi_transfer_free_locked(domain, transfer);
        count++;
    }
    return count;
}
