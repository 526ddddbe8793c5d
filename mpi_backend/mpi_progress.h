/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a domain, and its teardown, which waits for peers by progress. */
#ifndef AMG_MPI_BACKEND_MPI_PROGRESS_H
#define AMG_MPI_BACKEND_MPI_PROGRESS_H

#include "base/clock.h"
#include "mpi_backend/mpi_domain.h"

/* The slots of the contract. */
unsigned amg_mpi_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *ret_events);

void amg_mpi_progress_lost(struct amg_domain *domain, struct amg_peer *peer);

/* Makes progress on the whole domain, if this thread may call MPI. */
void amg_mpi_progress_domain(struct amg_domain *domain);
/* Makes progress on all endpoints and unmatched messages; the next polls return
 * the results. Returns the number of messages. */
unsigned amg_mpi_progress_locked(struct amg_mpi_domain *domain);

/* Posts the missing receives. Posts fewer without memory, or if MPI fails; the
 * next call posts the rest. */
void amg_mpi_receive_fill_locked(struct amg_mpi_ep *ep);
/* Cancels the endpoint's receives; refuses requests that came before. */
void amg_mpi_receives_end_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep);

/* Teardown: mpi_close.c */

/* The slots of the contract. */
hg_return_t amg_mpi_close_unreg(
    struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms);
void amg_mpi_close_ep(struct amg_ep *ep, struct amg_events *ret_events);
hg_return_t amg_mpi_close_quiesce(struct amg_domain *domain);
void amg_mpi_close_report(struct amg_domain *base);
bool amg_mpi_close_abandon(struct amg_domain *domain);

/* Whether all ranks have ended the class, or a rank gave up on others. */
bool amg_mpi_close_is_over(struct amg_mpi_domain *domain);
/* A step of the disconnect of a domain that the program left open: operations
 * end, requests are refused. True: the disconnect is over, which
 * AMG_PATIENCE_OVER as `verdict` enforces. */
bool amg_mpi_close_leave(
    struct amg_mpi_domain *domain, enum amg_patience_verdict verdict);
/* Ends the domain, which makes no MPI call afterwards. Waits at most a second
 * for each kind of open operation. If `frees_windows`, also waits for all
 * ranks; if all come, frees windows and communicators, which else remain. */
void amg_mpi_close_domain(struct amg_mpi_domain *domain, bool frees_windows);

#endif
