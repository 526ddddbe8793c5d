/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress threads (ULTs) of an instance: its loop, and a standby loop if the
 * progress stream has no core of its own. */
#ifndef AMG_MARGO_LOOP_H
#define AMG_MARGO_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "margo.h"

/* Counters of a loop. Written only by it; independent values, relaxed. */
struct amg_margo_loop_counts {
    _Atomic(uint64_t) progress_calls;
    _Atomic(uint64_t) trigger_calls;
};

/* State of a loop from round to round. */
struct amg_margo_rounds {
    struct amg_margo_loop_counts *counts;
    atomic_bool *is_asleep; /* set while it blocks; or NULL */
    unsigned spindown_ms;   /* time without blocking after an event; 0: none */
    uint64_t spin_until_ns; /* 0: blocking is not delayed */
    unsigned in_vain;       /* rounds since the last event */
    unsigned backoff_ms;    /* duration of its last yield to others; or 0 */
    struct amg_link link;   /* among all loops of the process */
    ABT_pool pool;          /* its core at the last check for others */
};

struct amg_margo_standby {
    ABT_pool pool;             /* its own; NULL: there is no standby loop */
    atomic_bool is_there;      /* false for good when it has ended */
    atomic_bool is_busy;       /* may touch the context */
    atomic_bool is_dismissed;  /* the loop runs in its pool */
    atomic_bool is_asleep;     /* blocked; any event ends that */
    atomic_bool is_taken_over; /* the standby loop makes progress itself, */
    atomic_bool is_in_round;   /* and does so just now */
    struct amg_margo_loop_counts counts;
};

/* The loop in the finalization of the instance. */
struct amg_margo_loop_end {
    bool (*has_drained)(margo_instance_id mid); /* between two rounds */
    void (*ended)(margo_instance_id mid);       /* its last act */
};

struct amg_margo_loop {
    const struct amg_margo_loop_end *end;
    bool has_watch; /* the progress stream shares its core; constant */
    struct amg_margo_loop_counts counts;
    struct amg_margo_standby standby;
};

/* Nothing runs yet. */
void amg_margo_loop_init(margo_instance_id mid);
/* `shares_core`: so there is a standby, where the program has a pool for it.
 * False: no thread, logged. */
bool amg_margo_loop_start(margo_instance_id mid,
    const struct amg_margo_loop_end *end, bool shares_core);
/* Joins the loops, which return by themselves. */
void amg_margo_loop_stop(margo_instance_id mid);

/* loop_round.c: what both loops do. First and last. */
void amg_margo_rounds_begin(margo_instance_id mid,
    struct amg_margo_rounds *rounds, struct amg_margo_loop_counts *counts);
void amg_margo_rounds_end(struct amg_margo_rounds *rounds);
/* Runs ready threads, or blocks until there is something to do. */
void amg_margo_rounds_turn(
    margo_instance_id mid, struct amg_margo_rounds *rounds);
/* Between two rounds: others of the stream run, if any is ready; a loop that
 * only makes progress when needed waits for that. */
void amg_margo_rounds_give_way(
    margo_instance_id mid, struct amg_margo_rounds *rounds);

/* standby_loop.c, where the progress stream shares its core. */
void amg_margo_standby_start(margo_instance_id mid);
void amg_margo_standby_join(margo_instance_id mid);
/* By the loop, when the instance ends: might the standby loop touch the
 * context? */
bool amg_margo_standby_is_busy(const struct amg_margo_standby *standby);
/* By the loop before each round: returns when the loop must do the round; and
 * after it. */
void amg_margo_standby_watch(
    margo_instance_id mid, struct amg_margo_rounds *rounds);
void amg_margo_standby_watched(struct amg_margo_standby *standby);

#endif
