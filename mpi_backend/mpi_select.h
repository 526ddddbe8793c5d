/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way of bulk data a domain opens with. */
#ifndef AMG_MPI_BACKEND_MPI_SELECT_H
#define AMG_MPI_BACKEND_MPI_SELECT_H

#include "mpi_backend/mpi_domain.h"

/* Decides, with all ranks of the domain, by which way its bulk data goes, and
 * fills `choice` in, and the one-sided part where a window is used. `how` is
 * what the domain is opened with; its protocol is the same on all ranks.
 * Windows are made and measured where the choice is left to the library and the
 * ranks are on several nodes; they are freed again where none is used.
 * HG_TIMEOUT: a rank stayed away; the domain is left to MPI. HG_NA_ERROR. */
hg_return_t amg_mpi_select(
    struct amg_mpi_domain *domain, const struct amg_open *how);

/* A number that differs between protocols, and between those of what leads to
 * other nodes instead, for ranks to compare; each may be NULL. */
uint32_t amg_mpi_select_id(const char *protocol, const char *beside);

#endif
