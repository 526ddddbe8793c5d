/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection of how bulk data moves over MPI: through windows or by messages. */
#ifndef AMG_MPI_BACKEND_MPI_BULK_SELECT_H
#define AMG_MPI_BACKEND_MPI_BULK_SELECT_H

#include "mpi_backend/mpi_domain.h"

/* Measured times of a get. One MPI_Allreduce with MPI_MAX shares all words; 0
 * means not measured. None exceeds INT64_MAX, because MPICH 4.0.2 compares
 * MPI_UINT64_T as signed. */
struct amg_mpi_figures {
    uint64_t window_ns[AMG_MPI_MEMORIES][AMG_MPI_SIZES]; /* the slowest pair */
    /* INT64_MAX - the fastest, ns */
    uint64_t message_inverse[AMG_MPI_MEMORIES][AMG_MPI_SIZES];
    uint64_t needs_target; /* 1: a window needs its owner to call MPI */
    uint64_t failed;       /* 1 + the rank whose log says what failed */
    uint64_t ranks;        /* that measured */
    uint64_t took_ns;
};

/* Decides, with all ranks of the domain, how its bulk data moves; fills
 * `domain->choice`, and opens the windows if some transfers use them. `how` is
 * what the domain is opened with; its protocol is the same on all ranks.
 * HG_NA_ERROR: MPI failed. */
hg_return_t amg_mpi_bulk_select(
    struct amg_mpi_domain *domain, const struct amg_open *how);

/* Computes the choice and its reason from the times. */
void amg_mpi_choice_make(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *ret_choice);
/* "mpi+p2p", "mpi+rma", or both, as a report names it. */
const char *amg_mpi_choice_name(const struct amg_mpi_choice *choice);

#endif
