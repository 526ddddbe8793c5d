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
    char cores[WORLD_TEXT_CAP];    /* cores that it may use: "3", "0-3,8" */
    char progress[WORLD_TEXT_CAP]; /* "thread" or "caller"; "": unknown */
};

/* Owned by main(), until world_free(). */
struct world {
    MPI_Comm comm; /* of all ranks */
    int rank;
    int size;
    int nodes;                /* number of nodes */
    struct world_rank *ranks; /* since world_tell() */
};

/* Have all ranks the same arguments? If not, the first rank that differs prints
 * a line, and all ranks get false. */
bool world_is_same(int argc, char **argv);
/* Collective. Rank 0 stays; rank 1 is the first of another node, or with
 * `is_near` of the same node; the others follow in MPI's order. */
void world_make(bool is_near, struct world *ret_world);
/* Collective: tells all ranks the host and the cores of each rank. */
void world_tell(struct world *world);
void world_free(struct world *world);
/* Tells what makes progress in this process, which has a context open. */
void world_progress(char ret_text[WORLD_TEXT_CAP]);

/* One core for a rank, while a benchmark runs. Owned by main(). */
struct pin {
    cpu_set_t before; /* cores of the thread before the pin */
    bool is_set;
};

/* The places of the two ranks of a communicator. */
struct place {
    int cores[2]; /* -1: none of its own */
    bool is_one_machine;
};

/* Called by the two ranks of `comm`: binds this thread to a core of its own, if
 * there are enough cores and the launcher has not bound it to one. */
void pin_set(struct pin *pin, MPI_Comm comm, struct place *ret_place);
/* Binds both ranks to one core that rank 0 may use. False, with nothing
 * changed: the ranks are on two machines, or rank 1 may not use that core. */
bool pin_set_together(struct pin *pin, MPI_Comm comm, int *ret_core);
void pin_restore(const struct pin *pin);
/* Lets this thread run again wherever it might before `pin`, until `ret_now` is
 * restored. */
void pin_lift(const struct pin *pin, struct pin *ret_now);
/* Has a machine more ranks of `comm` than cores that these ranks may use?
 * Collective over `comm`. `pin` is NULL where none was set. */
bool pin_is_oversubscribed(const struct pin *pin, MPI_Comm comm);
/* The one core that this thread may use; -1: there are several. */
int pin_core(void);

#endif
