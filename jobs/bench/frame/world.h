/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of the job: their order, their nodes, and the cores they run on. */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>

enum { WORLD_TEXT_CAP = 64 };

struct world_rank {
    unsigned rank;
    char host[WORLD_TEXT_CAP];
    char cores[WORLD_TEXT_CAP];    /* that it may use: "3", "0-3,8" */
    char progress[WORLD_TEXT_CAP]; /* what moves its messages; "": unknown */
};

/* Owned by main(), until world_free(). */
struct world {
    MPI_Comm comm; /* of all ranks */
    int rank;
    int size;
    int nodes;                /* that share no memory */
    struct world_rank *ranks; /* since world_tell() */
};

/* False at all ranks, with a line of the first one that differs, unless all
 * have the same arguments. */
bool world_is_same(int argc, char **argv);
/* By all ranks. Rank 0 stays; rank 1 is the first of another node, or with
 * `is_near` of the same node; the others follow in MPI's order. */
void world_make(bool is_near, struct world *ret_world);
/* By all ranks: all learn where each of them is. */
void world_tell(struct world *world);
void world_free(struct world *world);
/* By a process that has a context open: who makes progress in it. */
void world_progress(char ret_text[WORLD_TEXT_CAP]);

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

/* By the two ranks of `comm`. Binds this thread to a core of its own, if there
 * is one, and the launcher has not bound it already. */
void pin_set(struct pin *pin, MPI_Comm comm, struct place *ret_place);
/* The same, and both on one core of rank 0's. False, with nothing changed,
 * where they are of two machines, or one may not use it. */
bool pin_set_together(struct pin *pin, MPI_Comm comm, int *ret_core);
void pin_restore(const struct pin *pin);
/* Lets this thread run again wherever it might before `pin`, until `ret_now` is
 * restored. */
void pin_lift(const struct pin *pin, struct pin *ret_now);
/* By the ranks of `comm`; `pin` is NULL where none was set. Does any machine
 * have more of these ranks than cores that they may use? */
bool pin_is_oversubscribed(const struct pin *pin, MPI_Comm comm);
/* The one core that this thread may use; -1: there are several. */
int pin_core(void);

#endif
