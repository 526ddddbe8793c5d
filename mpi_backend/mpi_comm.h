/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of a domain, the threads that may call MPI, and the launch of
 * this process. */
#ifndef AMG_MPI_BACKEND_MPI_COMM_H
#define AMG_MPI_BACKEND_MPI_COMM_H

#include <mpi.h>
#include <stdbool.h>

#include "base/bias.h"
#include "base/process.h"
#include "mercury_core_types.h"
#include "mpi_backend/mpi_facts.h"
#include "mpi_backend/mpi_public.h" /* amg_mpi_comm_error() */

struct amg_mpi_place;

/* How often the driver tries a call of MPI whose failure it cannot report. */
enum { AMG_MPI_TRIES = 4 };

/* Owned by the domain that embeds it; constant while the domain is open. */
struct amg_mpi_comm {
    MPI_Comm messages; /* a duplicate of the user's communicator */
    MPI_Comm data;     /* a second duplicate */
    int rank;
    int size;
    int tag_max;
    struct amg_mpi_place *place; /* of this node, until the domain is open */
    uint32_t node_first;         /* lowest rank of the node */
    int node_rank;
    int node_size;
    struct amg_mpi_facts facts; /* of all ranks, once the domain is open */
    /* Which threads may call MPI:
     *   SINGLE      the main thread; posts of other user threads are refused,
     *               posts of library threads wait for the main thread
     *   FUNNELED    the main thread, which posts of other threads wait for
     *   SERIALIZED  any user thread, one at a time; posts of library threads
     *               wait for a user thread
     *   MULTIPLE    any thread */
    int thread_level;
    struct amg_bias *lock; /* of all MPI calls at SERIALIZED, else NULL */
    bool must_yield;       /* the node has, or may have, more ranks than pus */
};

/* Starts MPI with MPI_THREAD_MULTIPLE if `user` is NULL and MPI was not
 * started. Returns a `ret_comm` without communicators, and in `ret_user` the
 * communicator to duplicate: `*user`; if `user` is NULL, the communicator of
 * amg_mpi_world_set(); if none was set, MPI_COMM_WORLD. At
 * MPI_THREAD_SERIALIZED the caller then holds the lock of MPI calls until the
 * domain is open, except in amg_mpi_comm_pause(). The caller has checked `user`
 * by amg_mpi_comm_is_usable(). All calls give the same `stop`, which
 * MPI_Finalize runs first. */
hg_return_t amg_mpi_comm_open(const MPI_Comm *user, void (*stop)(void),
    struct amg_mpi_comm *ret_comm, MPI_Comm *ret_user);
/* Makes the handler at exit call MPI_Abort instead of MPI_Finalize. */
void amg_mpi_comm_give_up(void);
/* Frees the communicators, under the lock of MPI calls where there is one.
 * `is_whole` false: keeps all, as a rank is gone or MPI may still use them. */
void amg_mpi_comm_close(struct amg_mpi_comm *comm, bool is_whole);

/* Whether MPI was finalised, so that no thread may call MPI any more. */
bool amg_mpi_comm_is_over(void);

/* Take and release the lock of MPI calls, if any (MPI_THREAD_SERIALIZED), for
 * calls outside a domain's lock, including those that wait for ranks. */
void amg_mpi_comm_lock(const struct amg_mpi_comm *comm);
void amg_mpi_comm_unlock(const struct amg_mpi_comm *comm);

/* Whether this is MPI's main thread (with sessions: the first to open). */
bool amg_mpi_comm_is_main(void);

/* Library threads may call MPI only at MPI_THREAD_MULTIPLE. */
static inline bool amg_mpi_comm_may_call(const struct amg_mpi_comm *comm)
{
    if (comm->thread_level == MPI_THREAD_MULTIPLE)
        return true;
    return !amg_role.is_library_thread &&
           (comm->thread_level == MPI_THREAD_SERIALIZED ||
               amg_mpi_comm_is_main());
}

/* MPI_Testsome; sets MPI_ERROR in the status of each completed request, also if
 * no request failed. Fails only if MPI refused the call itself. */
int amg_mpi_comm_test_some(int count, MPI_Request *requests, int *ret_done,
    int *ret_indices, MPI_Status *ret_statuses);

/* Yields the core between two tests of MPI, and meanwhile releases the lock of
 * MPI calls, which the caller holds: the awaited rank may need the core, or an
 * answer of a thread that needs the lock. `tests`: tests that found nothing. */
void amg_mpi_comm_pause(unsigned tests);
/* Waits for all requests by tests, with amg_mpi_comm_pause() in between. */
int amg_mpi_comm_wait(int count, MPI_Request *requests);

/* How this process was launched, as its environment tells; serves only to
 * detect that each process of a job has become a world of one rank. */
struct amg_mpi_launch {
    uint32_t tasks;    /* processes started together; 0: not known */
    bool is_by_step;   /* by a Slurm step, without an MPI process manager */
    bool is_spokesman; /* may warn: the first process, or all if unknown */
};

struct amg_mpi_launch amg_mpi_launch_read(void);

/* Whether MPI created a window; if not, logs the reason, at level info because
 * some MPIs have no windows at MPI_THREAD_MULTIPLE over several nodes. */
bool amg_mpi_comm_is_window(int code, const char *what);

#endif
