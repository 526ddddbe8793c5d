/* SPDX-License-Identifier: BSD-3-Clause */
/* A visit at an entry of another rank, shared by trips to the same memory. */
#ifndef AMG_MPI_BACKEND_MPI_STAY_H
#define AMG_MPI_BACKEND_MPI_STAY_H

#include "mpi_backend/mpi_rma.h"

enum amg_mpi_stay_state {
    AMG_MPI_STAY_KNOCKING, /* the visit is announced, the entry being read */
    AMG_MPI_STAY_INSIDE,   /* the entry was read, and may not change */
    AMG_MPI_STAY_LOOKING,  /* the same, and the door is being read again */
    AMG_MPI_STAY_FAILED,   /* MPI did not do it */
    AMG_MPI_STAY_LEAVING,  /* the visit is being taken back */
    AMG_MPI_STAY_STATE_COUNT
};

/* From the pool; lives until the last trip has dropped it and the visit is
 * over. Guarded by the domain's lock. */
struct amg_mpi_stay {
    struct amg_link link; /* rma->asked, while MPI has its request */
    struct amg_link open; /* lane->stays, while others may join */
    enum amg_mpi_stay_state state;
    int rank;
    uint32_t refs;
    uint32_t joined;  /* trips there were */
    bool is_unwanted; /* the exposer ends the exposure: nothing more is moved */
    uint64_t moved;   /* bytes, since the last look at the door */
    uint64_t door;    /* what that saw */
    struct amg_mpi_key key;
    MPI_Request request;
    uint64_t visit[AMG_MPI_ENTRY_WORDS]; /* what is added */
    uint64_t seen[AMG_MPI_ENTRY_WORDS];  /* valid from INSIDE on */
};

/* A visit at what `key` names; NULL: no memory, or no MPI. */
struct amg_mpi_stay *amg_mpi_stay_join_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_lane *lane, int rank, const struct amg_mpi_key *key);
/* A trip has moved `len` bytes more; after many the door is looked at. */
void amg_mpi_stay_moved_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_stay *stay, uint64_t len);
/* The trip has moved all it will; NULL is fine. */
void amg_mpi_stay_drop_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_stay *stay);

/* Looks what MPI has finished. */
void amg_mpi_stay_move_locked(struct amg_mpi_domain *domain);
/* At close: how many MPI has not finished; they are left to it. */
unsigned amg_mpi_stay_forget_locked(struct amg_mpi_rma *rma);

#endif
