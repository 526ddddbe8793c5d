/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces that one put or get moves through a window. */
#ifndef AMG_MPI_BACKEND_MPI_PIECE_H
#define AMG_MPI_BACKEND_MPI_PIECE_H

#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_stage.h"

enum {
    AMG_MPI_PIECES = 4,       /* in motion: enough to keep a wire busy */
    AMG_MPI_PIECES_LOOK = 64, /* looked at by one call */
};

struct amg_mpi_piece {
    MPI_Request request; /* MPI_REQUEST_NULL: MPI does not have it */
    bool is_done;        /* MPI has finished it, and nobody has taken it */
    uint64_t len;
    void *user;                  /* where it is from, or goes to */
    struct amg_mpi_stage *stage; /* what it goes through, or NULL */
};

/* Owned by the trip that embeds it; guarded by the domain's lock. */
struct amg_mpi_pieces {
    struct amg_mpi_lane *lane;
    int rank;
    enum amg_mpi_way way;
    MPI_Win window; /* where that leads */
    bool is_put;
    bool is_direct; /* from and into the user's memory */
    unsigned in_motion;
    struct amg_place local;  /* of the next one; not read once unwanted */
    struct amg_place remote; /* the same */
    uint64_t origin;         /* what displacement 0 of the window stands for */
    uint64_t left;           /* bytes not posted */
    uint64_t done;
    hg_return_t ret; /* the first thing that went wrong */
    struct amg_mpi_piece pieces[AMG_MPI_PIECES];
};

void amg_mpi_pieces_init(struct amg_mpi_pieces *pieces,
    const struct amg_place *local, const struct amg_place *remote,
    uint64_t len);

/* Takes what has ended, and posts more. Not `is_wanted`: nothing more, and the
 * user's lists and memory are not touched, but by pieces that are direct. */
void amg_mpi_pieces_move_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_pieces *pieces, bool is_wanted);

/* What was put is at the target then. */
hg_return_t amg_mpi_pieces_flush(const struct amg_mpi_pieces *pieces);

/* All pieces in motion, looked at by one call: a test that finds nothing makes
 * MPI progress like one that does, and takes 0.1 us. Those beyond the room are
 * looked at by further calls: what is in it may be a silent rank's. */
struct amg_mpi_pieces_look {
    MPI_Request requests[AMG_MPI_PIECES_LOOK];
    struct amg_mpi_piece *pieces[AMG_MPI_PIECES_LOOK];
    struct amg_mpi_pieces *owners[AMG_MPI_PIECES_LOOK];
    int count; /* 0 at first */
};

void amg_mpi_pieces_look_add(
    struct amg_mpi_pieces_look *look, struct amg_mpi_pieces *pieces);
/* Marks those that have ended. */
void amg_mpi_pieces_look_end(struct amg_mpi_pieces_look *look);

/* Nothing is in motion, and nothing is to be posted. */
bool amg_mpi_pieces_are_over(
    const struct amg_mpi_pieces *pieces, bool is_wanted);

/* Has MPI finished the request? An error ends it, too, and is logged. */
bool amg_mpi_request_is_done(MPI_Request *request, hg_return_t *ret);

#endif
