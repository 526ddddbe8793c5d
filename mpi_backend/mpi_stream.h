/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of a list, moved as messages of bounded length. */
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
    AMG_MPI_WINDOW = 4, /* pieces in motion: enough to keep a wire busy */
    AMG_MPI_PIECE_MIN = 1024,
    AMG_MPI_PIECE_MAX = 1 << 30, /* an MPI count is an int */
    AMG_MPI_AHEAD_MAX = 1 << 18, /* longest piece that goes unasked */
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
    uint64_t done; /* bytes whose piece has left or come */
    uint32_t piece_len;
    int rank;
    int tag;
    bool is_send;
    bool is_whole;   /* all is in one run, so no piece needs a stage */
    bool is_blind;   /* the list is not there any more */
    uint8_t first;   /* the oldest request */
    uint8_t count;   /* pieces in motion */
    hg_return_t ret; /* the first thing that went wrong */
    void *sink;      /* all pieces go there, where nobody reads; or NULL */
    struct amg_mpi_stage *spare; /* stages it has and does not use now */
    MPI_Request requests[AMG_MPI_WINDOW]; /* a ring, in posting order */
    uint32_t lens[AMG_MPI_WINDOW];
    struct amg_mpi_stage *stages[AMG_MPI_WINDOW]; /* NULL: moves directly */
};

/* A look at many streams; on the stack of who takes it. */
struct amg_mpi_look {
    struct amg_mpi_domain *domain;
    unsigned count;
    bool is_over; /* one of them is, so the look has ended */
    struct amg_mpi_stream *streams[AMG_MPI_LOOK_MAX];
    MPI_Request requests[AMG_MPI_LOOK_MAX];
};

/* The list stays until the stream is over, or abandoned. */
void amg_mpi_stream_init(struct amg_mpi_stream *stream,
    const struct amg_seg_iter *place, uint64_t len, uint32_t piece_len,
    bool is_send, int rank, int tag);
/* Takes what it needs to move at all, before the peer is told of it. HG_NOMEM.
 * HG_PROTOCOL_ERROR: its pieces are too long for any stage. */
hg_return_t amg_mpi_stream_ready(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain);

/* Posts what the window allows. */
void amg_mpi_stream_post(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain);
/* The same, and takes what has finished. */
void amg_mpi_stream_move(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain);

static inline void amg_mpi_look_begin(
    struct amg_mpi_look *look, struct amg_mpi_domain *domain)
{
    look->domain = domain;
    look->count = 0;
    look->is_over = false;
}
/* Takes what has finished of this one and those added before, now or later. */
void amg_mpi_look_add(struct amg_mpi_look *look, struct amg_mpi_stream *stream);
void amg_mpi_look_end(struct amg_mpi_look *look);

/* No byte from `limit` on is wanted: nothing more is posted, and receives of
 * later pieces are cancelled, which amg_mpi_stream_move() sees through. */
void amg_mpi_stream_stop(struct amg_mpi_stream *stream, uint64_t limit);

/* What comes from now on, up to `limit`, goes to `sink`. Nothing is in motion.
 */
void amg_mpi_stream_divert(
    struct amg_mpi_stream *stream, void *sink, uint64_t limit);

/* The list ends; only what MPI was given already may still use its memory. */
void amg_mpi_stream_abandon(struct amg_mpi_stream *stream);

/* Gives back what it has. What is in motion still is lost to MPI. */
void amg_mpi_stream_fini(
    struct amg_mpi_stream *stream, struct amg_mpi_domain *domain);

/* Nothing is in motion, and nothing is to be posted. */
static inline bool amg_mpi_stream_is_over(const struct amg_mpi_stream *stream)
{
    return stream->count == 0 && stream->posted >= stream->limit;
}

/* Bytes that a put may send before its peer has said a word. */
static inline uint64_t amg_mpi_stream_ahead(uint64_t len, uint32_t piece_len)
{
    uint64_t window = (uint64_t)AMG_MPI_WINDOW * piece_len;

    return len < window ? len : window;
}

/* Could a peer have stopped there? */
bool amg_mpi_stream_is_cut(const struct amg_mpi_stream *stream, uint64_t at);

#endif
