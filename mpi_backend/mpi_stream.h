/* SPDX-License-Identifier: BSD-3-Clause */
/* Stream: the bytes of a segment list as messages of bounded length. */
#ifndef AMG_MPI_BACKEND_MPI_STREAM_H
#define AMG_MPI_BACKEND_MPI_STREAM_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mercury_core_types.h"
#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_buf.h"
#include "transport/seg_iter.h"

enum {
    AMG_MPI_WINDOW = 4, /* pieces in flight: enough to keep a wire busy */
    AMG_MPI_PIECE_MIN = 1024,
    AMG_MPI_PIECE_MAX = 1 << 30, /* an MPI count is an int */
    AMG_MPI_AHEAD_MAX = 1 << 18, /* longest piece sent before PUT_GO */
    AMG_MPI_LOOK_MAX = 32,       /* streams that are tested at once */
};

/* Owned by the transfer or visit that embeds it, guarded by the domain's lock.
 *
 *   0 ... done ... posted ... limit ... len
 *           |  in motion |  to be posted |  not wanted (any more)
 */
struct amg_mpi_stream {
    struct amg_seg_iter to_post; /* the memory of byte `posted` */
    struct amg_seg_iter to_fill; /* received: that of byte `done` */
    uint64_t len;
    uint64_t limit;
    uint64_t posted;
    uint64_t done; /* bytes whose piece was sent or received */
    uint32_t piece_len;
    int rank;
    int tag;
    bool is_send;
    bool is_whole;   /* all is in one run, so no piece needs a stage */
    bool is_blind;   /* the list was freed by its owner */
    uint8_t first;   /* the oldest request */
    uint8_t count;   /* pieces in flight */
    hg_return_t ret; /* the first error */
    void *sink;      /* receives all pieces, which are discarded; or NULL */
    struct amg_mpi_stage *spare;          /* its unused stages */
    MPI_Request requests[AMG_MPI_WINDOW]; /* a ring, in posting order */
    uint32_t lens[AMG_MPI_WINDOW];
    struct amg_mpi_stage *stages[AMG_MPI_WINDOW]; /* NULL: moves directly */
};

/* One test of many streams; on the stack of the caller. */
struct amg_mpi_look {
    struct amg_mpi_domain *domain;
    unsigned count;
    bool is_over; /* one of them is over, so the test has ended */
    struct amg_mpi_stream *streams[AMG_MPI_LOOK_MAX];
    MPI_Request requests[AMG_MPI_LOOK_MAX];
};

/* The list stays until the stream is over, or abandoned. */
void amg_mpi_stream_init(struct amg_mpi_stream *stream,
    const struct amg_seg_iter *place, uint64_t len, uint32_t piece_len,
    bool is_send, int rank, int tag);
/* Allocates the minimum it needs, before the peer gets a message about it.
 * HG_NOMEM. HG_PROTOCOL_ERROR: its pieces are too long for any stage. */
hg_return_t amg_mpi_stream_ready(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain);

/* Posts the pieces that the window allows. */
void amg_mpi_stream_post(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain);
/* The same, and processes completed pieces. */
void amg_mpi_stream_move(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain);

static inline void amg_mpi_look_begin(
    struct amg_mpi_look *look, struct amg_mpi_domain *domain)
{
    look->domain = domain;
    look->count = 0;
    look->is_over = false;
}
/* Processes completed pieces of this one and those added before, now or
 * later. */
void amg_mpi_look_add(struct amg_mpi_look *look, struct amg_mpi_stream *stream);
void amg_mpi_look_end(struct amg_mpi_look *look);

/* No byte from `limit` on is wanted: nothing more is posted, and receives of
 * later pieces are cancelled, which amg_mpi_stream_move() completes. */
void amg_mpi_stream_stop(struct amg_mpi_stream *stream, uint64_t limit);

/* Receives all further bytes, up to `limit`, into `sink`. Nothing is in
 * flight. */
void amg_mpi_stream_divert(
    struct amg_mpi_stream *stream, void *sink, uint64_t limit);

/* The list ends; only requests already posted to MPI may still use its
 * memory. */
void amg_mpi_stream_abandon(struct amg_mpi_stream *stream);

/* Frees its stages. Those of pieces still in flight stay allocated. */
void amg_mpi_stream_fini(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain);

/* Nothing is in flight, and nothing is to be posted. */
static inline bool amg_mpi_stream_is_over(const struct amg_mpi_stream *stream)
{
    return stream->count == 0 && stream->posted >= stream->limit;
}

/* Bytes that a put may send before PUT_GO. */
static inline uint64_t amg_mpi_stream_ahead(uint64_t len, uint32_t piece_len)
{
    uint64_t window = (uint64_t)AMG_MPI_WINDOW * piece_len;

    return len < window ? len : window;
}

/* Whether a peer could have stopped there. */
bool amg_mpi_stream_is_cut(const struct amg_mpi_stream *stream, uint64_t at);

#endif
