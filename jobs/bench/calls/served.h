/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair of which each rank may be served by threads of the library. */
#ifndef BENCH_SERVED_H
#define BENCH_SERVED_H

#include <semaphore.h>
#include <stdatomic.h>

#include "amalgam_progress.h"
#include "jobs/bench/frame/duel.h"

enum {
    SERVED_WARM = 20, /* calls before the clock of a batch starts */
    SERVED_WAIT_MS = 100,
};

/* Owned by whoever opened it. */
struct served {
    struct pair pair; /* its `served` and is_stopped are not used */
    hg_id_t null_id;  /* a call without arguments */
    hg_id_t stop_id;  /* the last one of a batch */
    bool has_thread;  /* a thread serves: the program need not */
    /* Written by whoever serves; the release store pairs with the acquire load
     * of served_is_over(). */
    atomic_bool is_over;
    sem_t over; /* posted then */
};

/* Opens a pair like another one, which may sleep. Ends the job when it cannot;
 * by both ranks. */
void served_open(struct served *served, const struct pair *like);
void served_close(struct served *served);

/* How this rank serves from the next pair_enter() on. */
void served_set(
    struct served *served, const struct amalgam_progress_options *options);

/* Progress by the program alone; or by a thread, too, on the core `core` (-1:
 * where the library will). */
void served_by_caller(struct served *served, enum amalgam_wait wait);
void served_by_thread(struct served *served, enum amalgam_wait wait, int core);

/* One null call, with its answer. */
void served_call(struct served *served, hg_handle_t handle);
/* The caller's duel->calls null calls, one after the other, `idle_us` of sleep
 * before each, and then served_stop(). As a batch of a duel. */
double served_calls(struct served *served, const struct duel *duel,
    unsigned idle_us, double *ret_samples);

/* Tells the other rank that no more calls come. */
void served_stop(struct served *served);
/* Has the other rank said so? */
bool served_is_over(const struct served *served);
/* Until it has: asleep where a thread serves, else in HG_Progress(). */
void served_wait(struct served *served);

/* The ranks get to know each other; by both, within pair_enter(). */
void served_meet(struct served *served);

#endif
