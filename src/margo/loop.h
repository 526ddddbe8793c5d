/* SPDX-License-Identifier: BSD-3-Clause */
/* The user-level thread that makes progress: spins or sleeps. */
#ifndef AMG_MARGO_LOOP_H
#define AMG_MARGO_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "margo.h"

struct amg_margo_loop {
    ABT_thread thread;
    /* Settings, and wishes of others; lone values, relaxed. */
    atomic_uint timeout_ub_ms;
    atomic_bool is_when_needed; /* sleeps until an operation is in flight */
    atomic_bool is_moving;      /* to another pool: has to yield */
    /* It sleeps at the gate. Partner of the counter of operations. */
    atomic_bool is_gated;
    /* Guards `kicks`; the condition tells of more of them. */
    ABT_mutex_memory mutex;
    ABT_cond_memory cond;
    unsigned kicks;
    /* How often it did what; relaxed. */
    _Atomic(uint64_t) progress_calls;
    _Atomic(uint64_t) trigger_calls;
};

int amg_margo_loop_start(margo_instance_id mid);
/* Joins it; it ends by itself, see amg_margo_ending_drain(). */
void amg_margo_loop_stop(margo_instance_id mid);

/* It has something to look at (a timer that is due earlier, an end): ends its
 * sleep. Any thread. */
void amg_margo_loop_kick(margo_instance_id mid);

#endif
