/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a window of the program, as the domain calls them. */
#ifndef AMG_MPI_BACKEND_MPI_GROUP_H
#define AMG_MPI_BACKEND_MPI_GROUP_H

#include "mpi_backend/mpi_domain.h"

enum { AMG_MPI_GROUP_BLOCK = 256 }; /* ranks that are looked up at a time */

/* Owned by who calls init, until fini. */
struct amg_mpi_group {
    MPI_Group theirs;
    MPI_Group ours;
    int size; /* of theirs */
};

void amg_mpi_group_init(struct amg_mpi_group *groups,
    const struct amg_mpi_domain *domain, MPI_Win win);
void amg_mpi_group_fini(struct amg_mpi_group *groups);

/* What ranks `first`, `first` + 1, ... of the window are called here;
 * MPI_UNDEFINED: a stranger. Returns how many of them. */
int amg_mpi_group_here(const struct amg_mpi_group *groups, int first,
    int ret_here[AMG_MPI_GROUP_BLOCK]);
/* HG_ADDRNOTAVAIL: the domain lacks some, which all ranks find. */
hg_return_t amg_mpi_group_check(const struct amg_mpi_group *groups);

#endif
