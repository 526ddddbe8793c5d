/* SPDX-License-Identifier: BSD-3-Clause */
/* One long run of bytes, moved as messages of bounded length. */
#ifndef AMG_MPI_BACKEND_MPI_STREAM_H
#define AMG_MPI_BACKEND_MPI_STREAM_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mercury_core_types.h"

enum {
    AMG_MPI_WINDOW = 4, /* pieces in motion: enough to keep a wire busy */
    AMG_MPI_PIECE_MIN = 1024,
    AMG_MPI_PIECE_MAX = 1 << 30, /* an MPI count is an int */
};

/* Owned by the transfer or visit that embeds it, guarded by the domain's lock.
 *
 *   0 ... done ... posted ... limit ... len
 *           |  in motion |  to be posted |  not wanted (any more)
 */
struct amg_mpi_stream {
    unsigned char *base;
    uint64_t len;
    uint64_t limit;
    uint64_t posted;
    uint64_t done; /* bytes whose piece has left or come */
    uint32_t piece_len;
    int rank;
    int tag;
    bool is_send;
    bool is_sink;    /* all pieces go to the same place, which nobody reads */
    uint8_t first;   /* the oldest request */
    uint8_t count;   /* pieces in motion */
    hg_return_t ret; /* the first thing that went wrong */
    MPI_Request requests[AMG_MPI_WINDOW]; /* a ring, in posting order */
    uint32_t lens[AMG_MPI_WINDOW];
};

void amg_mpi_stream_init(struct amg_mpi_stream *stream, void *base,
    uint64_t len, uint32_t piece_len, bool is_send, int rank, int tag);

/* Posts what the window allows, and takes what has finished. */
void amg_mpi_stream_move(struct amg_mpi_stream *stream, MPI_Comm comm);

/* No byte from `limit` on is wanted: nothing more is posted, and receives of
 * later pieces are cancelled, which amg_mpi_stream_move() sees through. */
void amg_mpi_stream_stop(struct amg_mpi_stream *stream, uint64_t limit);

/* Nothing is in motion, and nothing is to be posted. */
static inline bool amg_mpi_stream_is_over(const struct amg_mpi_stream *stream)
{
    return stream->count == 0 && stream->posted >= stream->limit;
}

/* Could a peer have stopped there? */
bool amg_mpi_stream_is_cut(const struct amg_mpi_stream *stream, uint64_t at);

#endif
