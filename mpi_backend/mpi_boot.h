/* SPDX-License-Identifier: BSD-3-Clause */
/* Bootstrap over the ranks of a communicator. */
#ifndef AMG_MPI_BACKEND_MPI_BOOT_H
#define AMG_MPI_BACKEND_MPI_BOOT_H

#include "boot/boot.h"
#include "mpi_backend/mpi_comm.h"

/* Owned by the struct that embeds it; valid while the communicator is. */
struct amg_mpi_boot {
    struct amg_boot base;
    const struct amg_mpi_comm *comm;
    bool has_turn; /* the caller already has the turn */
};

void amg_mpi_boot_init(
    const struct amg_mpi_comm *comm, struct amg_mpi_boot *ret_boot);

/* The same random number on all ranks; collective. */
hg_return_t amg_mpi_boot_nonce(struct amg_mpi_boot *boot, uint64_t *ret_nonce);

#endif
