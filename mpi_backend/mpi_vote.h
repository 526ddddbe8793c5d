/* SPDX-License-Identifier: BSD-3-Clause */
/* How all ranks come to the same figures. */
#ifndef AMG_MPI_BACKEND_MPI_VOTE_H
#define AMG_MPI_BACKEND_MPI_VOTE_H

#include <mpi.h>

#include "mercury_core_types.h"
#include "mpi_backend/mpi_choice.h"

/* What one rank has to say. */
struct amg_mpi_ballot {
    struct amg_mpi_figures figures;
    uint32_t voices; /* of those who measured; 0: only its trouble counts */
};

/* Takes the worse of both into `sum`. */
void amg_mpi_ballot_add(
    const struct amg_mpi_ballot *one, struct amg_mpi_ballot *sum);

/* Collective over `comm`; `ballot` becomes the worst of all, the same on every
 * rank. Before this rank votes, all `pending` requests have ended: so nothing
 * of a probe is in motion anywhere when it returns. Makes MPI progress, and
 * mostly sleeps. HG_TIMEOUT: somebody did not come until `end_ns`, and MPI may
 * still write to what `pending` are of. HG_NA_ERROR. */
hg_return_t amg_mpi_vote(MPI_Comm comm, MPI_Request *pending, int count,
    uint64_t end_ns, struct amg_mpi_ballot *ballot);

#endif
