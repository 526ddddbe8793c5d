/* SPDX-License-Identifier: BSD-3-Clause */
/* The user-level thread that makes progress: spins or sleeps. */
#ifndef AMG_MARGO_LOOP_H
#define AMG_MARGO_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "margo.h"
#include "margo/company.h"

/* How often a loop did what. Written by it alone; lone values, relaxed. */
struct amg_margo_loop_counts {
    _Atomic(uint64_t) progress_calls;
    _Atomic(uint64_t) trigger_calls;
};

/* What a round of a loop knows of those before it. */
struct amg_margo_rounds {
    struct amg_margo_loop_counts *counts;
    atomic_bool *is_dozing; /* told before and after a sleep; or NULL */
    uint64_t spin_until_ns; /* 0: no sleep is put off */
    unsigned in_vain;       /* rounds since something came */
    unsigned away_ms;       /* how long it last went away for others; or 0 */
    struct amg_margo_company company;
};

struct amg_margo_loop {
    ABT_thread thread;
    /* Settings, and wishes of others; lone values, relaxed. */
    atomic_uint timeout_ub_ms;
    atomic_bool is_when_needed; /* sleeps until an operation is in flight */
    atomic_bool is_moving;      /* to another pool: has to yield */
    /* It sleeps at the gate, or has gone away for a while. Partner of the
     * counter of operations. */
    atomic_bool is_gated;
    /* Guards `kicks`; the condition tells of more of them. */
    ABT_mutex_memory mutex;
    ABT_cond_memory cond;
    unsigned kicks;
    struct amg_margo_loop_counts counts;
};

/* What is there to be done, or a sleep until there is something. */
void amg_margo_loop_round(
    margo_instance_id mid, struct amg_margo_rounds *rounds);

/* Between two rounds: others of the stream run, if any is ready; who only makes
 * progress when needed waits for that. */
void amg_margo_loop_give_way(
    margo_instance_id mid, struct amg_margo_rounds *rounds);

int amg_margo_loop_start(margo_instance_id mid);
/* Joins it; it ends by itself, see amg_margo_ending_drain(). */
void amg_margo_loop_stop(margo_instance_id mid);

/* It has something to look at (a timer that is due earlier, an end): ends its
 * sleep. Any thread. */
void amg_margo_loop_kick(margo_instance_id mid);

#endif
