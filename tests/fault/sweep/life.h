/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a class of the sweep: it opens, calls the other process, pulls
 * its memory, closes; and the account of all that was accepted. */
#ifndef TESTS_FAULT_SWEEP_LIFE_H
#define TESTS_FAULT_SWEEP_LIFE_H

#include <stdbool.h>

/* When the fault is armed. */
enum life_step { LIFE_OPEN, LIFE_CALL, LIFE_CLOSE };

struct life_plan {
    const char *transport;
    bool by_mpi; /* amalgam_init(), else HG_Init() */
    unsigned rank;
};

/* What a rank saw. */
struct life_result {
    bool is_open;
    unsigned accepted; /* calls, one-way calls, transfers */
    unsigned ended;    /* calls and transfers whose callback ran */
    unsigned failed;   /* of them, with a code that is not HG_SUCCESS */
};

/* Complains of everything that must not be. Both processes call it at once;
 * `step` is called with `arg` before each step. */
struct life_result life_run(const struct life_plan *plan,
    void (*step)(enum life_step step, void *arg), void *arg);

/* A finding of the case that runs; both are the sweep's. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whether the call that fails in this case has failed, in either process, which
 * both ask at once. */
bool fault_is_over(void);
/* Lines of levels error and warning since the case began. */
unsigned log_lines_seen(void);

#endif
