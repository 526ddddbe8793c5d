/* SPDX-License-Identifier: BSD-3-Clause */
/* One long run of bytes, moved as messages of bounded length.
 *
 * Sender and receiver cut in the same places and use one tag, so MPI's order
 * is the order of the pieces, and the n-th receive gets the n-th piece; no
 * piece needs a header, and all go straight from and into user memory.
 *
 * A cancelled receive may have been matched already; then it ends like any
 * other, in its own time. So after a stop nobody waits: the stream is over
 * when the last request has ended one way or the other. */
#include "mpi_backend/mpi_stream.h"

#include "base/assert.h"
#include "mpi_backend/mpi_comm.h"

void amg_mpi_stream_init(struct amg_mpi_stream *stream, void *base,
    uint64_t len, uint32_t piece_len, bool is_send, int rank, int tag)
{
    stream->base = base;
    stream->len = len;
    stream->limit = len;
    stream->posted = 0;
    stream->done = 0;
    stream->piece_len = piece_len;
    stream->rank = rank;
    stream->tag = tag;
    stream->is_send = is_send;
    stream->is_sink = false;
    stream->first = 0;
    stream->count = 0;
    stream->ret = HG_SUCCESS;
}

bool amg_mpi_stream_is_cut(const struct amg_mpi_stream *stream, uint64_t at)
{
    return at == stream->len ||
           (at < stream->len && at % stream->piece_len == 0);
}

static void piece_post(struct amg_mpi_stream *stream, MPI_Comm comm)
{
    unsigned last = (stream->first + stream->count) % AMG_MPI_WINDOW;
    unsigned char *at =
        stream->is_sink ? stream->base : stream->base + stream->posted;
    uint64_t left = stream->len - stream->posted;
    uint32_t len =
        left < stream->piece_len ? (uint32_t)left : stream->piece_len;
    int rc = MPI_SUCCESS;

    if (stream->is_send)
        rc = MPI_Isend(at, (int)len, MPI_BYTE, stream->rank, stream->tag, comm,
            &stream->requests[last]);
    else
        rc = MPI_Irecv(at, (int)len, MPI_BYTE, stream->rank, stream->tag, comm,
            &stream->requests[last]);
    if (rc != MPI_SUCCESS) {
        stream->ret = amg_mpi_comm_error(rc, "posting a piece of a transfer");
        stream->limit = stream->posted;
        return;
    }
    stream->lens[last] = len;
    stream->posted += len;
    stream->count++;
}

/* False: the oldest piece is still in motion. */
static bool piece_take(struct amg_mpi_stream *stream)
{
    MPI_Status status;
    uint32_t len = stream->lens[stream->first];
    int is_cancelled = 0;
    int count = 0;
    int flag = 0;
    int rc = MPI_Test(&stream->requests[stream->first], &flag, &status);

    if (rc == MPI_SUCCESS && !flag)
        return false;
    stream->first = (stream->first + 1) % AMG_MPI_WINDOW;
    stream->count--;
    if (rc != MPI_SUCCESS) {
        stream->ret = amg_mpi_comm_error(rc, "moving a piece of a transfer");
        stream->done += len;
        return true;
    }
    if (!stream->is_send) {
        MPI_Test_cancelled(&status, &is_cancelled);
        if (is_cancelled)
            return true; /* its count means nothing */
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (count != (int)len && stream->ret == HG_SUCCESS)
            stream->ret = HG_PROTOCOL_ERROR;
    }
    stream->done += len;
    return true;
}

void amg_mpi_stream_move(struct amg_mpi_stream *stream, MPI_Comm comm)
{
    unsigned window = stream->is_sink ? 1 : AMG_MPI_WINDOW;

    do {
        while (stream->count < window && stream->posted < stream->limit)
            piece_post(stream, comm);
    } while (stream->count > 0 && piece_take(stream));
}

void amg_mpi_stream_stop(struct amg_mpi_stream *stream, uint64_t limit)
{
    uint64_t at = stream->posted;

    if (limit >= stream->limit)
        return;
    stream->limit = limit;
    if (stream->is_send)
        return;
    for (unsigned i = stream->count; i > 0; i--) {
        unsigned place = (stream->first + i - 1) % AMG_MPI_WINDOW;

        at -= stream->lens[place];
        if (at < limit)
            break;
        MPI_Cancel(&stream->requests[place]);
    }
}
