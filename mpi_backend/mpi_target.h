/* SPDX-License-Identifier: BSD-3-Clause */
/* Emulated put and get, on the exposer's side. */
#ifndef AMG_MPI_BACKEND_MPI_TARGET_H
#define AMG_MPI_BACKEND_MPI_TARGET_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_export.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_pipeline.h"

/* Bytes of one access, for the pool. */
size_t amg_mpi_target_access_len(void);

/* Handlers of received messages; each takes the msgbuf. */
void amg_mpi_target_on_access_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_target_on_stop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Retries accesses that waited for memory, and later messages about them. */
void amg_mpi_target_retry_locked(struct amg_mpi_domain *domain);

/* Adds the pipelines of all accesses to a test. */
void amg_mpi_target_test_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_batch *batch);
/* Makes progress on all accesses. */
void amg_mpi_target_move_locked(struct amg_mpi_domain *domain);

/* The exposure of `mem` ends: its accesses stop as early as they can. */
void amg_mpi_target_halt_locked(struct amg_mpi_mem *mem);

/* A rank with an access to `mem`, or -1. */
int amg_mpi_target_accessor_locked(const struct amg_mpi_mem *mem);

/* At close: cancels the receives, and drops all accesses. Returns their
 * number. */
unsigned amg_mpi_target_forget_locked(struct amg_mpi_domain *domain);

#endif
