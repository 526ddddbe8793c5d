/* SPDX-License-Identifier: BSD-3-Clause */
/* The answers to our puts and gets, and what follows from them.
 *
 * Nothing a peer says is believed before it fits a transfer that waits for it;
 * what does not fit is dropped with one warning. */
#include "mpi_backend/mpi_origin.h"

#include <string.h>

#include "mpi_backend/mpi_slab.h"
#include "mpi_backend/mpi_stop.h"
#include "mpi_backend/mpi_transfer.h"

/* The transfer that this answer is for; NULL: for none that waits. */
static struct amg_mpi_transfer *answer_find_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_table_place *place = amg_table_find(
        &domain->transfers, message->slab->header.cookie, message->rank);
    struct amg_mpi_transfer *transfer = place == NULL ? NULL : place->object;

    if (transfer != NULL && (transfer->state == AMG_MPI_TRANSFER_ASKED ||
                                transfer->state == AMG_MPI_TRANSFER_MOVING))
        return transfer;
    return NULL;
}

static void answer_blame_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    amg_mpi_addr_blame(domain, message->rank, AMG_MPI_FAULT_ANSWER,
        message->slab->header.kind & ~AMG_MPI_MAGIC_MASK, (long)message->len);
}

void amg_mpi_origin_on_data_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);

    if (transfer == NULL || transfer->is_put || !transfer->is_small) {
        answer_blame_locked(domain, message);
    } else if (message->len != transfer->stream.len) {
        answer_blame_locked(domain, message);
        amg_mpi_transfer_finish_locked(domain, transfer, HG_PROTOCOL_ERROR, 0);
    } else {
        if (transfer->op != NULL)
            amg_place_scatter(
                &transfer->stream.to_fill, message->slab->data, message->len);
        amg_mpi_transfer_finish_locked(
            domain, transfer, HG_SUCCESS, message->len);
    }
    amg_mpi_slab_put_locked(message->slab);
}

static void go_locked(struct amg_mpi_transfer *transfer)
{
    transfer->state = AMG_MPI_TRANSFER_MOVING;
    if (!transfer->is_stopped && !transfer->stream.is_blind)
        transfer->stream.limit = transfer->stream.len;
}

void amg_mpi_origin_on_go_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);

    if (transfer == NULL || !transfer->is_put || transfer->is_small ||
        transfer->state != AMG_MPI_TRANSFER_ASKED)
        answer_blame_locked(domain, message);
    else
        go_locked(transfer);
    amg_mpi_slab_put_locked(message->slab);
}

void amg_mpi_origin_on_done_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);
    struct amg_mpi_stream *stream = NULL;
    struct amg_mpi_done done;

    memcpy(&done, message->slab->data, sizeof(done));
    if (transfer == NULL || done.code >= HG_RETURN_MAX ||
        !amg_mpi_stream_is_cut(&transfer->stream, done.len)) {
        /* It answers a STOP that came too late, when no transfer is there. */
        if (transfer != NULL)
            answer_blame_locked(domain, message);
        amg_mpi_slab_put_locked(message->slab);
        return;
    }
    amg_mpi_slab_put_locked(message->slab);
    stream = &transfer->stream;
    transfer->ret = (hg_return_t)done.code;
    if (transfer->ret == HG_SUCCESS && done.len != stream->len)
        transfer->ret = HG_PROTOCOL_ERROR;
    transfer->state = AMG_MPI_TRANSFER_ANSWERED;
    if (transfer->is_small) {
        amg_mpi_transfer_finish_locked(
            domain, transfer, transfer->ret, done.len);
        return;
    }
    transfer->access.len = done.len; /* what has arrived, or will */
    if (transfer->is_put)
        amg_mpi_stream_stop(stream, stream->posted);
    else if (!transfer->is_withdrawn)
        amg_mpi_stream_stop(stream, done.len);
    amg_mpi_transfer_list_locked(domain, transfer);
}

void amg_mpi_origin_on_halt_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);

    if (transfer == NULL || !transfer->is_put || transfer->is_small ||
        transfer->is_stopped) {
        amg_mpi_slab_put_locked(message->slab); /* our word is on its way */
        return;
    }
    amg_mpi_stop_send_locked(domain, transfer, message->slab);
}

/* The peer has answered: ends the transfer when nothing is in motion. */
static void answered_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;

    if (!transfer->is_small && stream->count > 0)
        return;
    if (transfer->is_withdrawn && stream->done < transfer->access.len) {
        if (stream->sink == NULL)
            amg_mpi_stop_sink_locked(transfer);
        return;
    }
    if (!transfer->is_small && !amg_mpi_stream_is_over(stream))
        return;
    if (stream->ret != HG_SUCCESS)
        transfer->ret = stream->ret;
    else if (!transfer->is_put && stream->done == stream->len)
        transfer->ret = HG_SUCCESS; /* it was too late to stop */
    amg_mpi_transfer_finish_locked(domain, transfer, transfer->ret,
        transfer->is_put ? transfer->access.len : stream->done);
}

static void unstarted_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    hg_return_t rc = amg_mpi_transfer_start_locked(domain, transfer);

    if (rc != HG_SUCCESS)
        amg_mpi_transfer_finish_locked(domain, transfer, rc, 0);
    else if (transfer->is_small && transfer->state == AMG_MPI_TRANSFER_ASKED)
        amg_list_remove(&transfer->link);
}

static void transfer_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;

    if (transfer->state == AMG_MPI_TRANSFER_UNSTARTED) {
        unstarted_move_locked(domain, transfer);
        return;
    }
    if (!transfer->is_small && !(transfer->is_put && !transfer->is_ahead &&
                                   transfer->state == AMG_MPI_TRANSFER_ASKED))
        amg_mpi_stream_post(stream, domain);
    amg_mpi_stop_withdraw_locked(domain, transfer);
    if (transfer->state == AMG_MPI_TRANSFER_ANSWERED) {
        answered_move_locked(domain, transfer);
        return;
    }
    if (!transfer->is_put && stream->done >= stream->len) {
        amg_mpi_transfer_finish_locked(
            domain, transfer, stream->ret, stream->done);
        return;
    }
    if (stream->ret == HG_NA_ERROR && !transfer->is_stopped)
        amg_mpi_stop_send_locked(domain, transfer, NULL);
    if (transfer->is_cancelled)
        amg_mpi_stop_move_locked(domain, transfer);
}

void amg_mpi_origin_look_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_look *look)
{
    struct amg_link *link = amg_list_first(&domain->moving);

    for (; link != NULL; link = amg_list_next(&domain->moving, link))
        amg_mpi_look_add(look, &amg_mpi_transfer_of(link)->stream);
}

void amg_mpi_origin_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->moving);

    while (link != NULL) {
        /* One that ends may put another one last, but takes only itself off. */
        struct amg_link *next = amg_list_next(&domain->moving, link);

        transfer_move_locked(domain, amg_mpi_transfer_of(link));
        link = next;
    }
}
