/* SPDX-License-Identifier: BSD-3-Clause */
/* One core for each rank, while a benchmark runs. */
#ifndef BENCH_PIN_H
#define BENCH_PIN_H

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>

/* Owned by main(). */
struct pin {
    cpu_set_t before; /* where the thread might run */
    bool is_set;
};

/* Where the two ranks of a communicator are. */
struct place {
    int cores[2]; /* -1: none of its own */
    bool is_one_machine;
};

/* Collective over the two ranks of `comm`. Binds this thread to a core of its
 * own if the ranks of this machine are no more than the cores they may use,
 * and does nothing otherwise, or where the launcher has bound it already. */
void pin_set(struct pin *pin, MPI_Comm comm, struct place *ret_place);
/* The same, and both on one core of rank 0's. False, with nothing changed,
 * where they are of two machines, or one may not use it. */
bool pin_set_together(struct pin *pin, MPI_Comm comm, int *ret_core);
void pin_restore(const struct pin *pin);

/* Lets this thread run again wherever it might before `pin`, until `ret_now`
 * is restored. */
void pin_lift(const struct pin *pin, struct pin *ret_now);
/* Collective over the ranks of `comm`; `pin` is NULL where none was set. Are
 * those of any machine more than the cores that they may use? All ranks get the
 * same answer. Then who waits has to give the core away. */
bool pin_is_crowded(const struct pin *pin, MPI_Comm comm);

/* The one core that this thread may use; -1: there are several. */
int pin_core(void);

#endif
