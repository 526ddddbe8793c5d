/* SPDX-License-Identifier: BSD-3-Clause */
/* Stream: the bytes of a segment list as messages of bounded length.
 *
 * Sender and receiver cut in the same places and use one tag, so MPI's order is
 * the order of the pieces, and the n-th receive gets the n-th piece; no piece
 * needs a header. Both cut the sequence of bytes, wherever they are in memory.
 * A contiguous piece is sent from or received into user memory; another one is
 * gathered into a stage, or scattered from it, while those before and after it
 * are in flight.
 *
 * One MPI call tests all streams: a test that finds nothing makes progress each
 * time, for 0.07 us. MPI copies a long piece inside of such a call, so a test
 * ends with the first stream that is over: its poster may have the next one,
 * and should not wait for the others.
 *
 * A cancelled receive may have been matched already; then it completes
 * normally, later. So a stop does not wait: the stream is over when the last
 * request has completed or was cancelled. */
#include "mpi_backend/mpi_stream.h"

#include "base/assert.h"
#include "mpi_backend/mpi_buf.h"
#include "mpi_backend/mpi_comm.h"
#include "mpi_backend/mpi_peer.h"

enum {
    TAKES_MAX = 8, /* by one test, to bound it */
};

void amg_mpi_stream_init(struct amg_mpi_stream *stream,
    const struct amg_seg_iter *place, uint64_t len, uint32_t piece_len,
    bool is_send, int rank, int tag)
{
    stream->to_post = *place;
    stream->to_fill = *place;
    stream->len = len;
    stream->limit = len;
    stream->posted = 0;
    stream->done = 0;
    stream->piece_len = piece_len;
    stream->rank = rank;
    stream->tag = tag;
    stream->is_send = is_send;
    stream->is_whole = amg_seg_iter_is_whole(place, len);
    stream->is_blind = false;
    stream->first = 0;
    stream->count = 0;
    stream->ret = HG_SUCCESS;
    stream->sink = NULL;
    stream->spare = NULL;
}

static uint32_t piece_len_at(const struct amg_mpi_stream *stream, uint64_t at)
{
    uint64_t left = stream->len - at;

    return left < stream->piece_len ? (uint32_t)left : stream->piece_len;
}

hg_return_t amg_mpi_stream_ready(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain)
{
    if (stream->is_whole || stream->spare != NULL)
        return HG_SUCCESS;
    if (piece_len_at(stream, 0) > AMG_MPI_STAGE_LEN)
        return HG_PROTOCOL_ERROR;
    stream->spare = amg_mpi_stage_get(&domain->stages, true);
    if (stream->spare == NULL)
        return HG_NOMEM;
    stream->spare->next = NULL;
    return HG_SUCCESS;
}

bool amg_mpi_stream_is_cut(const struct amg_mpi_stream *stream, uint64_t at)
{
    return at == stream->len ||
           (at < stream->len && at % stream->piece_len == 0);
}

static struct amg_mpi_stage *stage_take(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain)
{
    struct amg_mpi_stage *stage = stream->spare;

    if (stage == NULL)
        return amg_mpi_stage_get(&domain->stages, false);
    stream->spare = stage->next;
    return stage;
}

static void stage_give(
    struct amg_mpi_stream *stream, struct amg_mpi_stage *stage)
{
    stage->next = stream->spare;
    stream->spare = stage;
}

/* Memory of the next piece, in slot `last` of the ring. NULL: there is no stage
 * for it now. */
static void *piece_memory(struct amg_mpi_stream *stream,
    struct amg_mpi_domain *domain, unsigned last, uint32_t len)
{
    struct amg_seg_iter next = stream->to_post;
    struct amg_mpi_stage *stage = NULL;
    void *at = NULL;

    stream->stages[last] = NULL;
    if (stream->sink != NULL)
        return stream->sink;
    if (amg_seg_iter_take(&next, len, &at) == len) {
        stream->to_post = next;
        return at;
    }
    stage = stage_take(stream, domain);
    if (stage == NULL)
        return NULL;
    if (stream->is_send)
        amg_seg_iter_gather(stage->bytes, &stream->to_post, len);
    else
        amg_seg_iter_skip(&stream->to_post, len);
    stream->stages[last] = stage;
    return stage->bytes;
}

/* False: it has to wait. */
static bool piece_post(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain)
{
    unsigned last = (stream->first + stream->count) % AMG_MPI_WINDOW;
    uint32_t len = piece_len_at(stream, stream->posted);
    void *at = piece_memory(stream, domain, last, len);
    int rc = MPI_SUCCESS;

    AMG_ASSERT(stream->count < AMG_MPI_WINDOW);
    AMG_ASSERT(stream->posted < stream->limit);
    if (at == NULL)
        return false;
    if (stream->is_send)
        rc = MPI_Isend(at, (int)len, MPI_BYTE, stream->rank, stream->tag,
            domain->comm.data, &stream->requests[last]);
    else
        rc = MPI_Irecv(at, (int)len, MPI_BYTE, stream->rank, stream->tag,
            domain->comm.data, &stream->requests[last]);
    if (rc != MPI_SUCCESS) {
        stream->ret = amg_mpi_comm_error(rc, "posting a piece of a transfer");
        stream->limit = stream->posted;
        if (stream->stages[last] != NULL)
            stage_give(stream, stream->stages[last]);
        return false;
    }
    stream->lens[last] = len;
    stream->posted += len;
    stream->count++;
    return true;
}

/* Copies received bytes to their destination, if they are `good` and the list
 * still exists. */
static void piece_fill(struct amg_mpi_stream *stream,
    const struct amg_mpi_stage *stage, uint32_t len, bool is_good)
{
    if (stream->is_send || stream->is_blind || stream->sink != NULL)
        return;
    if (stage != NULL && is_good)
        amg_seg_iter_scatter(&stream->to_fill, stage->bytes, len);
    else
        amg_seg_iter_skip(&stream->to_fill, len);
}

/* Whether it was cancelled; else, checks its length. */
static bool piece_look(struct amg_mpi_stream *stream, const MPI_Status *status,
    uint32_t len, bool *ret_is_good)
{
    int is_cancelled = 0;
    int count = 0;

    MPI_Test_cancelled(status, &is_cancelled);
    if (is_cancelled)
        return true; /* its count is undefined */
    MPI_Get_count(status, MPI_BYTE, &count);
    *ret_is_good = count == (int)len;
    if (!*ret_is_good && stream->ret == HG_SUCCESS)
        stream->ret = HG_PROTOCOL_ERROR;
    return false;
}

/* MPI has completed the oldest piece with `rc` and `status`. */
static void piece_end(
    struct amg_mpi_stream *stream, int rc, const MPI_Status *status)
{
    unsigned first = stream->first;
    uint32_t len = stream->lens[first];
    bool is_cancelled = false;
    bool is_good = false;

    AMG_ASSERT(stream->count > 0);
    stream->first = (uint8_t)((first + 1) % AMG_MPI_WINDOW);
    stream->count--;
    if (rc != MPI_SUCCESS)
        stream->ret = amg_mpi_comm_error(rc, "moving a piece of a transfer");
    else if (!stream->is_send)
        is_cancelled = piece_look(stream, status, len, &is_good);
    if (!is_cancelled) {
        piece_fill(stream, stream->stages[first], len, is_good);
        stream->done += len;
    }
    if (stream->stages[first] != NULL)
        stage_give(stream, stream->stages[first]);
}

/* False: the oldest piece is still in flight. */
static bool piece_take(struct amg_mpi_stream *stream)
{
    MPI_Status status;
    int flag = 0;
    int rc = MPI_Test(&stream->requests[stream->first], &flag, &status);

    if (rc == MPI_SUCCESS && !flag)
        return false;
    piece_end(stream, rc, &status);
    return true;
}

void amg_mpi_stream_post(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain)
{
    unsigned window = stream->sink != NULL ? 1 : AMG_MPI_WINDOW;

    while (stream->count < window && stream->posted < stream->limit &&
           piece_post(stream, domain))
        continue;
}

void amg_mpi_stream_move(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain)
{
    do
        amg_mpi_stream_post(stream, domain);
    while (stream->count > 0 && piece_take(stream));
}

void amg_mpi_look_add(struct amg_mpi_look *look, struct amg_mpi_stream *stream)
{
    if (stream->count == 0 || look->is_over)
        return;
    AMG_ASSERT(look->count < AMG_MPI_LOOK_MAX);
    look->streams[look->count] = stream;
    look->requests[look->count] = stream->requests[stream->first];
    look->count++;
    if (look->count == AMG_MPI_LOOK_MAX)
        amg_mpi_look_end(look);
}

/* Takes the oldest completed piece of one of them; false: none. */
static bool look_take(
    struct amg_mpi_look *look, int place, int rc, const MPI_Status *status)
{
    struct amg_mpi_stream *stream = look->streams[place];

    AMG_ASSERT((unsigned)place < look->count);
    piece_end(stream, rc, status);
    amg_mpi_peer_heard_locked(look->domain, (uint32_t)stream->rank);
    amg_mpi_stream_post(stream, look->domain);
    look->requests[place] = MPI_REQUEST_NULL;
    if (stream->count > 0)
        look->requests[place] = stream->requests[stream->first];
    look->is_over = amg_mpi_stream_is_over(stream);
    return !look->is_over;
}

void amg_mpi_look_end(struct amg_mpi_look *look)
{
    bool has_more = look->count > 0;

    for (unsigned i = 0; has_more && i < TAKES_MAX; i++) {
        MPI_Status status;
        int place = MPI_UNDEFINED;
        int flag = 0;
        int rc = MPI_Testany(
            (int)look->count, look->requests, &place, &flag, &status);

        has_more = place != MPI_UNDEFINED && (flag || rc != MPI_SUCCESS) &&
                   look_take(look, place, rc, &status);
    }
    look->count = 0;
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

void amg_mpi_stream_divert(
    struct amg_mpi_stream *stream, void *sink, uint64_t limit)
{
    AMG_ASSERT(stream->count == 0);
    stream->sink = sink;
    stream->posted = stream->done;
    stream->limit = limit;
}

void amg_mpi_stream_abandon(struct amg_mpi_stream *stream)
{
    stream->is_blind = true;
    if (stream->limit > stream->posted)
        stream->limit = stream->posted;
}

void amg_mpi_stream_fini(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain)
{
    while (stream->spare != NULL) {
        struct amg_mpi_stage *stage = stream->spare;

        stream->spare = stage->next;
        amg_mpi_stage_put(&domain->stages, stage);
    }
}
