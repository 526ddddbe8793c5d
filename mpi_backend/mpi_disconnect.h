/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective disconnect of all ranks. */
#ifndef AMG_MPI_BACKEND_MPI_DISCONNECT_H
#define AMG_MPI_BACKEND_MPI_DISCONNECT_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_msgbuf.h"

/* Handlers of received messages; each takes the msgbuf. */
void amg_mpi_disconnect_on_one_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_disconnect_on_all_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Sends DISCONNECT and takes the next step. True: the disconnect is complete.
 */
bool amg_mpi_disconnect_step_locked(struct amg_mpi_domain *domain);
/* Logs the ranks that this one waits for. */
void amg_mpi_disconnect_report_locked(const struct amg_mpi_domain *domain);
/* Gives up, and logs the missing ranks. */
void amg_mpi_disconnect_abandon_locked(struct amg_mpi_domain *domain);

#endif
