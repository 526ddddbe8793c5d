/* SPDX-License-Identifier: BSD-3-Clause */
/* Emulated put and get, on the side of who exposes the memory. */
#ifndef AMG_MPI_BACKEND_MPI_TARGET_H
#define AMG_MPI_BACKEND_MPI_TARGET_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_export.h"
#include "mpi_backend/mpi_receive.h"
#include "mpi_backend/mpi_stream.h"

/* Bytes of one visit, for the pool. */
size_t amg_mpi_target_visit_len(void);

/* What came in; each takes the message's slab. */
void amg_mpi_target_on_access_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_target_on_stop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Looks again at accesses that there was no memory for, and at what was said of
 * them since. */
void amg_mpi_target_retry_locked(struct amg_mpi_domain *domain);

/* Adds the streams of all visits. */
void amg_mpi_target_look_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_look *look);
/* Moves all visits along. */
void amg_mpi_target_move_locked(struct amg_mpi_domain *domain);

/* The exposure of `mem` ends: its visits go no further than they must. */
void amg_mpi_target_halt_locked(struct amg_mpi_mem *mem);

/* The rank of one that visits `mem`, or -1. */
int amg_mpi_target_accessor_locked(const struct amg_mpi_mem *mem);

/* At close: takes the receives back, and forgets all visits. Returns how many
 * there were. */
unsigned amg_mpi_target_forget_locked(struct amg_mpi_domain *domain);

#endif
