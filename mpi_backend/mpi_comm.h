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

struct amg_mpi_place;

/* How often the driver makes a call of MPI whose failure it cannot report. */
enum { AMG_MPI_TRIES = 4 };

/* Owned by the domain that embeds it; constant while it is open. */
struct amg_mpi_comm {
    MPI_Comm messages; /* our duplicates of the user's communicator */
    MPI_Comm data;
    int rank;
    int size;
    int tag_max;
    struct amg_mpi_place *place; /* of its node, while the domain opens */
    uint32_t node_first;         /* rank */
    int node_rank;
    int node_size;
    struct amg_mpi_facts facts; /* of all ranks, once the domain is open */
    /* Which threads may call MPI:
     *   SINGLE      the main one; posts of other threads of the user are
     *               refused, and those of the library's wait for it
     *   FUNNELED    the main one; others' posts wait for it
     *   SERIALIZED  any thread of the user, one at a time; posts of the
     *               library's wait for one
     *   MULTIPLE    any thread */
    int thread_level;
    bool must_yield; /* the node has more ranks than cores that they may use */
};

/* Starts MPI with MPI_THREAD_MULTIPLE when `user` is NULL and it was not
 * started. Returns a `ret_comm` without communicators, and in `ret_user` the
 * one to duplicate: `*user`, or for NULL the world, or what amg_mpi_world_set()
 * put in its place. At MPI_THREAD_SERIALIZED the caller holds the lock of MPI
 * calls afterwards, and releases it when the domain is open, and in pauses. The
 * caller has checked `user` by amg_mpi_comm_is_usable(). `stop`, always the
 * same, is called once when MPI_Finalize begins, while MPI still works. */
hg_return_t amg_mpi_comm_open(const MPI_Comm *user, void (*stop)(void),
    struct amg_mpi_comm *ret_comm, MPI_Comm *ret_user);
/* From now on the process does not call MPI_Finalize at exit. */
void amg_mpi_comm_give_up(void);
/* `is_whole` false: a member is gone, or MPI may still use them; the
 * communicators stay allocated. Takes the lock of MPI calls where there is
 * one. */
void amg_mpi_comm_close(struct amg_mpi_comm *comm, bool is_whole);

/* MPI was finalised, or never started: it must not be called. */
bool amg_mpi_comm_is_over(void);

/* The lock of all MPI calls at MPI_THREAD_SERIALIZED. */
struct amg_bias *amg_mpi_comm_call_lock(void);
/* For MPI calls outside a domain's lock, including those that wait for other
 * ranks. Does nothing at other thread levels. */
void amg_mpi_comm_lock(const struct amg_mpi_comm *comm);
void amg_mpi_comm_unlock(const struct amg_mpi_comm *comm);

/* Whether this thread started MPI. */
bool amg_mpi_comm_is_main(void);

/* Below MPI_THREAD_MULTIPLE no thread of the library may. */
static inline bool amg_mpi_comm_may_call(const struct amg_mpi_comm *comm)
{
    if (comm->thread_level == MPI_THREAD_MULTIPLE)
        return true;
    return !amg_role.is_library_thread &&
           (comm->thread_level == MPI_THREAD_SERIALIZED ||
               amg_mpi_comm_is_main());
}

/* MPI_Testsome; the status of each completed request has its own code, also if
 * none failed. Fails only if the call itself was refused. */
int amg_mpi_comm_test_some(int count, MPI_Request *requests, int *ret_done,
    int *ret_indices, MPI_Status *ret_statuses);

/* Gives the core away between two tests of MPI, and with it the lock of MPI
 * calls, which the caller holds; `tests` counts those that found nothing. A
 * blocking call of MPI keeps both, while the rank that it waits for may need
 * them. */
void amg_mpi_comm_pause(unsigned tests);
/* As MPI_Waitall, with such pauses. */
int amg_mpi_comm_wait(int count, MPI_Request *requests);
/* As MPI_Mprobe, the same. */
int amg_mpi_comm_probe(int source, int tag, MPI_Comm comm,
    MPI_Message *ret_message, MPI_Status *ret_status);
/* Whether all ranks say yes; false also when MPI failed. Collective. */
bool amg_mpi_comm_all(MPI_Comm comm, bool is_mine);

/* The launch of this process by its environment; serves only to distinguish a
 * job of one rank from one that fell apart into single processes. */
struct amg_mpi_launch {
    uint32_t tasks;    /* processes started together; 0: not known */
    bool is_by_step;   /* by a step of Slurm, without an MPI manager */
    bool is_spokesman; /* the first process, or all if unknown: logs */
};

struct amg_mpi_launch amg_mpi_launch_read(void);

/* Whether MPI created a window; else tells, at level info, why not: some MPIs
 * have none for THREAD_MULTIPLE and several nodes. */
bool amg_mpi_comm_is_window(int code, const char *what);

/* Logs MPI's text for `code` and the failed action. Returns HG_NA_ERROR. */
hg_return_t amg_mpi_comm_error(int code, const char *what);

#endif
