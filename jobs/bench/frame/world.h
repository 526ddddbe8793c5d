/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of the job: their order, their nodes, and the cores they run on. */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>

/* Owned by main(), until world_free(). */
struct world {
    MPI_Comm comm; /* of all ranks */
    int rank;
    int size;
    int nodes; /* that share no memory */
};

/* Collective over all ranks. False at all of them, with a line at rank 0 that
 * names a rank which differs, unless all run the same program with the same
 * arguments: otherwise they would measure two programs, or wait for ever for
 * different benchmarks. */
bool world_is_same(int argc, char **argv);
/* Collective over all ranks. Rank 0 stays; rank 1 is the first of another node,
 * so that two nodes are measured where there are two, or with `is_near` the
 * first of the same node; the others follow in MPI's order. */
void world_make(bool is_near, struct world *ret_world);
void world_free(struct world *world);

/* One core for a rank, while a benchmark runs. Owned by main(). */
struct pin {
    cpu_set_t before; /* where the thread might run */
    bool is_set;
};

/* The places of the two ranks of a communicator. */
struct place {
    int cores[2]; /* -1: none of its own */
    bool is_one_machine;
};

/* Collective over the two ranks of `comm`. Binds this thread to a core of its
 * own if the ranks of this machine are no more than the cores they may use;
 * does nothing otherwise, or where the launcher has bound it already. */
void pin_set(struct pin *pin, MPI_Comm comm, struct place *ret_place);
/* The same, and both on one core of rank 0's. False, with nothing changed,
 * where they are of two machines, or one may not use it. */
bool pin_set_together(struct pin *pin, MPI_Comm comm, int *ret_core);
void pin_restore(const struct pin *pin);
/* Lets this thread run again wherever it might before `pin`, until `ret_now` is
 * restored. */
void pin_lift(const struct pin *pin, struct pin *ret_now);
/* Collective over the ranks of `comm`; `pin` is NULL where none was set. Does
 * any machine have more of these ranks than cores that they may use? All get
 * the same answer. If so, a rank that waits has to give its core away. */
bool pin_is_oversubscribed(const struct pin *pin, MPI_Comm comm);
/* The one core that this thread may use; -1: there are several. */
int pin_core(void);

#endif
