/* SPDX-License-Identifier: BSD-3-Clause */
/* One put or get of ours through a window of its target. */
#ifndef AMG_MPI_BACKEND_MPI_TRIP_H
#define AMG_MPI_BACKEND_MPI_TRIP_H

#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_transfer.h"

struct amg_mpi_trip;

/* Bytes of one, for the pool. */
size_t amg_mpi_trip_len(void);

/* What the poster asked for. */
struct amg_mpi_errand {
    const struct amg_place *local;
    const struct amg_remote *remote;
    uint64_t len;
    int rank;
    bool is_put;
    bool is_final;
};

/* A trip, if this can and should go through a window; else NULL. */
struct amg_mpi_trip *amg_mpi_trip_plan(
    struct amg_mpi_domain *domain, const struct amg_mpi_errand *errand);
/* Its transfer may begin. False: it goes by messages, and the trip is gone. */
bool amg_mpi_trip_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);
/* Asks that the operation ends early. */
void amg_mpi_trip_cancel_locked(struct amg_mpi_transfer *transfer);
/* The transfer ends now, and what is left of the trip goes its own way. */
void amg_mpi_trip_drop_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);
/* Moves all trips along. */
void amg_mpi_trip_move_locked(struct amg_mpi_domain *domain);
/* At close: how many MPI has not finished; they are left to it. */
unsigned amg_mpi_trip_forget_locked(struct amg_mpi_rma *rma);

#endif
