/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipelines: the bytes of a segment list in fragments, which are messages of
 * bounded length, and the bounce buffers of fragments.
 *
 * Sender and receiver cut in the same places and use one tag, so MPI's order is
 * the order of the fragments, and the n-th receive gets the n-th fragment; no
 * fragment needs a header. The cuts are in the sequence of bytes, wherever the
 * bytes are in memory. A contiguous fragment is sent from or received into user
 * memory; any other fragment is gathered into a bounce buffer, or scattered
 * from it, while its neighbours are in flight.
 *
 * Pipelines are tested together, because each MPI call makes progress, and
 * costs 0.07 us even if it finds nothing. MPI may copy a long fragment inside
 * such a call, so a test ends with the first pipeline that is over: its poster
 * may wait to post the next transfer, and should not wait for other pipelines.
 *
 * A pipeline with scattered bytes takes the one bounce buffer that it needs
 * before the first message to its peer: so it never waits for another pipeline,
 * whose peer may wait for this one. More buffers make the pipeline faster: it
 * takes free ones, and allocates while fewer than BOUNCES_SHARED exist. So at
 * most BOUNCES_SHARED exist, plus one per transfer or access in flight.
 *
 * When the receiver has all bytes, the program of the sender may learn that
 * from the receiver, and write to the memory before a test here has seen the
 * send complete. The MPI standard forbids that write, but it does no harm: no
 * MPI reads bytes again that were received. To make the receiver wait for the
 * end of the send would cost a message.
 *
 * A cancelled receive may have been matched already; then it completes
 * normally, later. So a stop does not wait: the pipeline is over when the last
 * request has completed or was cancelled. */
#include "mpi_backend/mpi_pipeline.h"

#include "base/assert.h"
#include "base/mem.h"
#include "mpi_backend/mpi_comm.h"
#include "mpi_backend/mpi_peer.h"

enum {
    BOUNCES_SHARED = 64, /* 4 MiB: enough for 16 pipelines */
    TAKES_MAX = 8,       /* completed fragments that one batch takes at most */
};

struct amg_mpi_bounce *amg_mpi_bounce_get(
    struct amg_mpi_bounces *bounces, bool is_needed)
{
    struct amg_mpi_bounce *bounce = bounces->free;

    if (bounce != NULL) {
        bounces->free = bounce->next;
        return bounce;
    }
    if (!is_needed && bounces->count >= BOUNCES_SHARED)
        return NULL;
    bounce = amg_mem_alloc_aligned(
        _Alignof(struct amg_mpi_bounce), sizeof(*bounce) + AMG_MPI_BOUNCE_LEN);
    if (bounce != NULL)
        bounces->count++;
    return bounce;
}

void amg_mpi_bounce_put(
    struct amg_mpi_bounces *bounces, struct amg_mpi_bounce *bounce)
{
    AMG_ASSERT(bounces->count > 0);
    if (bounces->count > BOUNCES_SHARED) {
        bounces->count--;
        amg_mem_free(bounce);
        return;
    }
    bounce->next = bounces->free;
    bounces->free = bounce;
}

void amg_mpi_pipeline_init(struct amg_mpi_pipeline *pipeline,
    const struct amg_seg_iter *list, uint64_t len, uint32_t fragment_len,
    bool is_send)
{
    *pipeline = (struct amg_mpi_pipeline){.to_post = *list,
        .to_fill = *list,
        .len = len,
        .limit = len,
        .fragment_len = fragment_len,
        .is_send = is_send,
        .is_whole = amg_seg_iter_is_whole(list, len),
        .ret = HG_SUCCESS};
}

static uint32_t fragment_len_at(
    const struct amg_mpi_pipeline *pipeline, uint64_t at)
{
    uint64_t left = pipeline->len - at;

    return left < pipeline->fragment_len ? (uint32_t)left
                                         : pipeline->fragment_len;
}

hg_return_t amg_mpi_pipeline_ready(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_domain *domain)
{
    if (pipeline->is_whole || pipeline->spare != NULL)
        return HG_SUCCESS;
    if (fragment_len_at(pipeline, 0) > AMG_MPI_BOUNCE_LEN)
        return HG_PROTOCOL_ERROR;
    pipeline->spare = amg_mpi_bounce_get(&domain->bounces, true);
    if (pipeline->spare == NULL)
        return HG_NOMEM;
    pipeline->spare->next = NULL;
    return HG_SUCCESS;
}

bool amg_mpi_pipeline_is_cut(
    const struct amg_mpi_pipeline *pipeline, uint64_t at)
{
    return at == pipeline->len ||
           (at < pipeline->len && at % pipeline->fragment_len == 0);
}

static void bounce_give(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_bounce *bounce)
{
    bounce->next = pipeline->spare;
    pipeline->spare = bounce;
}

/* Memory of the next fragment, in slot `last` of the ring. NULL: there is no
 * bounce buffer for it now. */
static void *fragment_memory(struct amg_mpi_pipeline *pipeline,
    struct amg_mpi_domain *domain, unsigned last, uint32_t len)
{
    struct amg_seg_iter next = pipeline->to_post;
    struct amg_mpi_bounce *bounce = pipeline->spare;
    void *at = NULL;

    pipeline->bounces[last] = NULL;
    if (pipeline->sink != NULL)
        return pipeline->sink;
    if (amg_seg_iter_take(&next, len, &at) == len) {
        pipeline->to_post = next;
        return at;
    }
    if (bounce != NULL)
        pipeline->spare = bounce->next;
    else
        bounce = amg_mpi_bounce_get(&domain->bounces, false);
    if (bounce == NULL)
        return NULL;
    if (pipeline->is_send)
        amg_seg_iter_gather(bounce->bytes, &pipeline->to_post, len);
    else
        amg_seg_iter_skip(&pipeline->to_post, len);
    pipeline->bounces[last] = bounce;
    return bounce->bytes;
}

/* MPI has refused the fragment in slot `last`, whose memory began at `at`. The
 * sender ends the transfer. A receiver tries again: else the next transfer with
 * this tag would receive the fragments that this transfer has not received. */
static void fragment_refused(struct amg_mpi_pipeline *pipeline, unsigned last,
    const struct amg_seg_iter *at, int rc)
{
    if (pipeline->bounces[last] != NULL)
        bounce_give(pipeline, pipeline->bounces[last]);
    if (!pipeline->was_refused)
        (void)amg_mpi_comm_error(rc, "posting a fragment of a transfer");
    pipeline->was_refused = true;
    pipeline->to_post = *at;
    if (pipeline->is_send) {
        pipeline->ret = HG_NA_ERROR;
        pipeline->limit = pipeline->posted;
    }
}

/* False: the fragment has to wait, or MPI refused it. */
static bool fragment_post(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_domain *domain)
{
    unsigned last = (pipeline->first + pipeline->count) % AMG_MPI_FRAGMENTS;
    uint32_t len = fragment_len_at(pipeline, pipeline->posted);
    struct amg_seg_iter before = pipeline->to_post;
    void *at = fragment_memory(pipeline, domain, last, len);
    int rc = MPI_SUCCESS;

    AMG_ASSERT(pipeline->count < AMG_MPI_FRAGMENTS);
    AMG_ASSERT(pipeline->posted < pipeline->limit);
    if (at == NULL)
        return false;
    if (pipeline->is_send)
        rc = MPI_Isend(at, (int)len, MPI_BYTE, pipeline->rank, pipeline->tag,
            domain->comm.data, &pipeline->requests[last]);
    else
        rc = MPI_Irecv(at, (int)len, MPI_BYTE, pipeline->rank, pipeline->tag,
            domain->comm.data, &pipeline->requests[last]);
    if (rc != MPI_SUCCESS) {
        fragment_refused(pipeline, last, &before, rc);
        return false;
    }
    pipeline->lens[last] = len;
    pipeline->posted += len;
    pipeline->count++;
    return true;
}

/* Copies received bytes to their destination, if `is_good` and the segment list
 * still exists. */
static void fragment_fill(struct amg_mpi_pipeline *pipeline,
    const struct amg_mpi_bounce *bounce, uint32_t len, bool is_good)
{
    if (pipeline->is_send || pipeline->is_abandoned || pipeline->sink != NULL)
        return;
    if (bounce != NULL && is_good)
        amg_seg_iter_scatter(&pipeline->to_fill, bounce->bytes, len);
    else
        amg_seg_iter_skip(&pipeline->to_fill, len);
}

/* Whether the receive was cancelled; if not, checks its length. */
static bool fragment_check(struct amg_mpi_pipeline *pipeline,
    const MPI_Status *status, uint32_t len, bool *ret_is_good)
{
    int is_cancelled = 0;
    int count = 0;

    MPI_Test_cancelled(status, &is_cancelled);
    if (is_cancelled)
        return true; /* the count is undefined */
    MPI_Get_count(status, MPI_BYTE, &count);
    *ret_is_good = count == (int)len;
    if (!*ret_is_good && pipeline->ret == HG_SUCCESS)
        pipeline->ret = HG_PROTOCOL_ERROR;
    return false;
}

/* Processes the oldest fragment, which MPI completed with `rc` and `status`. */
static void fragment_end(
    struct amg_mpi_pipeline *pipeline, int rc, const MPI_Status *status)
{
    unsigned first = pipeline->first;
    uint32_t len = pipeline->lens[first];
    bool is_cancelled = false;
    bool is_good = false;

    AMG_ASSERT(pipeline->count > 0);
    pipeline->first = (uint8_t)((first + 1) % AMG_MPI_FRAGMENTS);
    pipeline->count--;
    if (rc != MPI_SUCCESS)
        pipeline->ret =
            amg_mpi_comm_error(rc, "moving a fragment of a transfer");
    else if (!pipeline->is_send)
        is_cancelled = fragment_check(pipeline, status, len, &is_good);
    if (!is_cancelled) {
        fragment_fill(pipeline, pipeline->bounces[first], len, is_good);
        pipeline->done += len;
        AMG_ASSERT(pipeline->done <= pipeline->posted);
    }
    if (pipeline->bounces[first] != NULL)
        bounce_give(pipeline, pipeline->bounces[first]);
}

/* False: the oldest fragment is still in flight. */
static bool fragment_take(struct amg_mpi_pipeline *pipeline)
{
    MPI_Status status;
    int flag = 0;
    int rc = MPI_Test(&pipeline->requests[pipeline->first], &flag, &status);

    if (rc == MPI_SUCCESS && !flag)
        return false;
    fragment_end(pipeline, rc, &status);
    return true;
}

void amg_mpi_pipeline_post(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_domain *domain)
{
    unsigned window = pipeline->sink != NULL ? 1 : AMG_MPI_FRAGMENTS;

    while (pipeline->count < window && pipeline->posted < pipeline->limit &&
           fragment_post(pipeline, domain))
        continue;
}

void amg_mpi_pipeline_move(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_domain *domain)
{
    do
        amg_mpi_pipeline_post(pipeline, domain);
    while (pipeline->count > 0 && fragment_take(pipeline));
}

void amg_mpi_batch_add(
    struct amg_mpi_batch *batch, struct amg_mpi_pipeline *pipeline)
{
    if (pipeline->count == 0 || batch->is_over)
        return;
    AMG_ASSERT(batch->count < AMG_MPI_BATCH_MAX);
    batch->pipelines[batch->count] = pipeline;
    batch->requests[batch->count] = pipeline->requests[pipeline->first];
    batch->count++;
    if (batch->count == AMG_MPI_BATCH_MAX)
        amg_mpi_batch_end(batch);
}

/* Ends the oldest fragment of a pipeline; false: that pipeline is over. */
static bool batch_take(
    struct amg_mpi_batch *batch, int index, int rc, const MPI_Status *status)
{
    struct amg_mpi_pipeline *pipeline = batch->pipelines[index];

    AMG_ASSERT((unsigned)index < batch->count);
    fragment_end(pipeline, rc, status);
    amg_mpi_peer_heard_locked(batch->domain, (uint32_t)pipeline->rank);
    amg_mpi_pipeline_post(pipeline, batch->domain);
    batch->requests[index] = MPI_REQUEST_NULL;
    if (pipeline->count > 0)
        batch->requests[index] = pipeline->requests[pipeline->first];
    batch->is_over = amg_mpi_pipeline_is_over(pipeline);
    return !batch->is_over;
}

void amg_mpi_batch_end(struct amg_mpi_batch *batch)
{
    bool has_more = batch->count > 0;

    for (unsigned i = 0; has_more && i < TAKES_MAX; i++) {
        MPI_Status status;
        int index = MPI_UNDEFINED;
        int flag = 0;
        int rc = MPI_Testany(
            (int)batch->count, batch->requests, &index, &flag, &status);

        has_more = index != MPI_UNDEFINED && (flag || rc != MPI_SUCCESS) &&
                   batch_take(batch, index, rc, &status);
    }
    batch->count = 0;
}

void amg_mpi_pipeline_stop(struct amg_mpi_pipeline *pipeline, uint64_t limit)
{
    uint64_t at = pipeline->posted;

    if (limit >= pipeline->limit)
        return;
    pipeline->limit = limit;
    if (pipeline->is_send)
        return;
    for (unsigned i = pipeline->count; i > 0; i--) {
        unsigned slot = (pipeline->first + i - 1) % AMG_MPI_FRAGMENTS;

        at -= pipeline->lens[slot];
        if (at < limit)
            break;
        MPI_Cancel(&pipeline->requests[slot]);
    }
}

void amg_mpi_pipeline_discard(
    struct amg_mpi_pipeline *pipeline, void *sink, uint64_t limit)
{
    AMG_ASSERT(pipeline->count == 0);
    pipeline->sink = sink;
    pipeline->posted = pipeline->done;
    pipeline->limit = limit;
}

void amg_mpi_pipeline_fini(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_domain *domain)
{
    while (pipeline->spare != NULL) {
        struct amg_mpi_bounce *bounce = pipeline->spare;

        pipeline->spare = bounce->next;
        amg_mpi_bounce_put(&domain->bounces, bounce);
    }
}
