/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipelines: the bytes of a segment list in fragments, which are messages of
 * bounded length, and the bounce buffers of fragments. */
#ifndef AMG_MPI_BACKEND_MPI_PIPELINE_H
#define AMG_MPI_BACKEND_MPI_PIPELINE_H

#include "mpi_backend/mpi_domain.h"
#include "transport/seg_iter.h"

enum {
    AMG_MPI_FRAGMENTS = 4, /* most in flight per pipeline, to keep wires busy */
    AMG_MPI_FRAGMENT_MIN = 1024,
    AMG_MPI_FRAGMENT_MAX = 1 << 30, /* an MPI count is an int */
    AMG_MPI_AHEAD_MAX = 1 << 18,    /* longest fragment sent before PUT_READY */
    AMG_MPI_BATCH_MAX = 32,         /* pipelines that are tested at once */
    /* Bytes of one bounce buffer, and so the longest fragment that passes
     * through one. Measured with 32 to 256 KiB: segments of 4 KiB are equally
     * fast, as far as a busy machine shows; segments of 8 bytes are faster with
     * shorter bounce buffers (MPICH 4.0.2 ch4:ucx). */
    AMG_MPI_BOUNCE_LEN = 64 * 1024,
};

/* Holds one fragment; used by a pipeline, or free. */
struct amg_mpi_bounce {
    struct amg_mpi_bounce *next;
    _Alignas(64) unsigned char bytes[];
};

/* NULL: no memory, or enough bounce buffers exist and `is_needed` is false. */
struct amg_mpi_bounce *amg_mpi_bounce_get(
    struct amg_mpi_bounces *bounces, bool is_needed);
void amg_mpi_bounce_put(
    struct amg_mpi_bounces *bounces, struct amg_mpi_bounce *bounce);

/* Owned by the transfer or access that embeds it, guarded by the domain's lock.
 *
 *   0 ... done ... posted ... limit ... len
 *           |  in flight |  to be posted |  not wanted (any more)
 */
struct amg_mpi_pipeline {
    struct amg_seg_iter to_post; /* the memory of byte `posted` */
    struct amg_seg_iter to_fill; /* of a receive: memory of byte `done` */
    uint64_t len;
    uint64_t limit;
    uint64_t posted;
    uint64_t done; /* bytes whose fragment was sent or received */
    uint32_t fragment_len;
    int rank;
    int tag;
    bool is_send;
    bool is_whole; /* the bytes are in one run, so no bounce buffer is needed */
    bool is_abandoned; /* the segment list may be freed; posts nothing more */
    bool was_refused;  /* MPI did not take a fragment, which was logged */
    uint8_t first;     /* index of the oldest request */
    uint8_t count;     /* fragments in flight */
    hg_return_t ret;   /* the first error */
    void *sink; /* receives all fragments, which are discarded; or NULL */
    struct amg_mpi_bounce *spare;            /* unused, singly linked */
    MPI_Request requests[AMG_MPI_FRAGMENTS]; /* a ring, in posting order */
    uint32_t lens[AMG_MPI_FRAGMENTS];
    /* Bounce buffer of each fragment, or NULL. */
    struct amg_mpi_bounce *bounces[AMG_MPI_FRAGMENTS];
};

/* A test of many pipelines; on the stack of the caller. */
struct amg_mpi_batch {
    struct amg_mpi_domain *domain;
    unsigned count;
    bool is_over; /* a pipeline is over, so the test has ended */
    struct amg_mpi_pipeline *pipelines[AMG_MPI_BATCH_MAX];
    MPI_Request requests[AMG_MPI_BATCH_MAX];
};

/* The caller sets rank and tag. The segment list must exist until the pipeline
 * is over, or abandoned. */
void amg_mpi_pipeline_init(struct amg_mpi_pipeline *pipeline,
    const struct amg_seg_iter *list, uint64_t len, uint32_t fragment_len,
    bool is_send);
/* Allocates the bounce buffer that the pipeline needs, if any, before the first
 * message to the peer. HG_NOMEM. HG_PROTOCOL_ERROR: the fragments are longer
 * than a bounce buffer. */
hg_return_t amg_mpi_pipeline_ready(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_domain *domain);

/* Posts fragments until AMG_MPI_FRAGMENTS are in flight, or 1 with a sink. */
void amg_mpi_pipeline_post(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_domain *domain);
/* Posts fragments, and processes completed ones until none is complete. */
void amg_mpi_pipeline_move(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_domain *domain);

static inline void amg_mpi_batch_begin(
    struct amg_mpi_batch *batch, struct amg_mpi_domain *domain)
{
    batch->domain = domain;
    batch->count = 0;
    batch->is_over = false;
}
/* Adds a pipeline, unless the batch is over; processes a full batch at once. */
void amg_mpi_batch_add(
    struct amg_mpi_batch *batch, struct amg_mpi_pipeline *pipeline);
/* Processes completed fragments, at most until a pipeline is over. */
void amg_mpi_batch_end(struct amg_mpi_batch *batch);

/* Posts nothing from byte `limit` on, and cancels receives of fragments from
 * there on; amg_mpi_pipeline_move() or a batch completes these receives. */
void amg_mpi_pipeline_stop(struct amg_mpi_pipeline *pipeline, uint64_t limit);

/* Receives all further bytes, up to `limit`, into `sink`. To be called only
 * while nothing is in flight. */
void amg_mpi_pipeline_discard(
    struct amg_mpi_pipeline *pipeline, void *sink, uint64_t limit);

/* Returns the unused bounce buffers; those of fragments in flight stay
 * allocated. */
void amg_mpi_pipeline_fini(
    struct amg_mpi_pipeline *pipeline, struct amg_mpi_domain *domain);

/* Whether nothing is in flight, and nothing is to be posted. */
static inline bool amg_mpi_pipeline_is_over(
    const struct amg_mpi_pipeline *pipeline)
{
    return pipeline->count == 0 && pipeline->posted >= pipeline->limit;
}

/* Bytes that a put may send before PUT_READY. */
static inline uint64_t amg_mpi_pipeline_ahead(
    uint64_t len, uint32_t fragment_len)
{
    uint64_t window = (uint64_t)AMG_MPI_FRAGMENTS * fragment_len;

    return len < window ? len : window;
}

/* Whether a fragment ends at byte `at`, where a peer may stop. */
bool amg_mpi_pipeline_is_cut(
    const struct amg_mpi_pipeline *pipeline, uint64_t at);

#endif
