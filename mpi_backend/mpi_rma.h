/* SPDX-License-Identifier: BSD-3-Clause */
/* The one-sided part of a domain: what it has when it has windows. */
#ifndef AMG_MPI_BACKEND_MPI_RMA_H
#define AMG_MPI_BACKEND_MPI_RMA_H

#include "base/map.h"
#include "base/pool.h"
#include "mpi_backend/mpi_desk.h"
#include "mpi_backend/mpi_domain.h"

/* What goes on with one rank; made when it is first needed. */
struct amg_mpi_lane {
    struct amg_list stays; /* visits that others may join */
    uint32_t in_motion;    /* puts and gets that MPI has not finished */
    uint32_t wishes; /* trips that want a flush; no new pieces meanwhile */
    uint32_t asked;  /* how often the rank was asked to make progress */
    uint32_t answered;
    uint8_t context;        /* whose progress was asked for last, */
    uint8_t origin_context; /* and where the answer goes */
    uint64_t flushes[AMG_MPI_WAY_COUNT]; /* how many there were */
};

/* Owned by the domain; guarded by its lock. */
struct amg_mpi_rma {
    struct amg_mpi_windows *windows;
    struct amg_mpi_desk desk;
    struct amg_list trips; /* that have begun and not ended */
    struct amg_list asked; /* struct amg_mpi_stay, whose request MPI has */
    struct amg_pool trip_pool;
    struct amg_pool stay_pool;
    struct amg_map lanes; /* by rank */
};

/* Makes the windows, with all ranks, and gives the domain its one-sided part;
 * it stays without where they cannot be had. `area` may be NULL. HG_NOMEM:
 * this rank has none, and all others neither. */
hg_return_t amg_mpi_rma_open(
    struct amg_mpi_domain *domain, const struct amg_area *area);
/* Collective where `is_whole`; see amg_mpi_windows_close(). */
void amg_mpi_rma_close_locked(struct amg_mpi_domain *domain, bool is_whole);

/* NULL: no memory. */
struct amg_mpi_lane *amg_mpi_rma_lane_locked(struct amg_mpi_rma *rma, int rank);

/* Nothing of ours is under way to another rank. */
bool amg_mpi_rma_is_idle_locked(const struct amg_mpi_domain *domain);

/* Moves all that is under way. */
void amg_mpi_rma_move_locked(struct amg_mpi_domain *domain);

#endif
