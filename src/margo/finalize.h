/* SPDX-License-Identifier: BSD-3-Clause */
/* Finalization of an instance. finalize.c lists the steps and their threads. */
#ifndef AMG_MARGO_FINALIZE_H
#define AMG_MARGO_FINALIZE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "margo.h"
#include "margo/loop.h"

/* Callbacks of the program, in two lists; the first one is to be run first. */
struct amg_margo_callbacks {
    struct amg_lock lock;   /* guards both */
    struct amg_list before; /* prefinalize */
    struct amg_list after;  /* finalize */
};

struct amg_margo_finalize {
    struct amg_margo_callbacks callbacks;
    /* Guards all up to `cond`, which signals changes. */
    ABT_mutex_memory mutex;
    unsigned closers; /* threads that wait for or perform the finalization */
    bool is_drained;  /* no handler or call runs, the loop has ended */
    bool is_claimed;  /* a thread stops it */
    bool is_stopped;  /* finalize callbacks have run */
    bool is_closed;   /* no references; the class is closed, too */
    bool is_reaped;   /* a thread ends streams and pools */
    ABT_cond_memory cond;
    uint64_t deadline_ns; /* set before it drains: abandons calls */
    /* The thread that runs callbacks now, which must not wait for the
     * finalization: a user-level thread, or else an OS thread. Independent
     * values, relaxed. */
    _Atomic(ABT_thread) runner;
    _Atomic(uintptr_t) runner_os;
    /* For the loop alone, while it drains. */
    uint64_t tell_ns; /* when to log what it waits for, */
    unsigned tell_ms; /* and the time waited by then */
    bool was_cancelled;
};

void amg_margo_finalize_init(margo_instance_id mid);
/* For amg_margo_loop_start(). */
extern const struct amg_margo_loop_end amg_margo_finalize_of_loop;

/* Closes the class and all that depends on it, also after a failed open. */
void amg_margo_close_network(margo_instance_id mid);
/* Frees the memory of a closed instance without users. */
void amg_margo_instance_free(margo_instance_id mid);

/* finalize_callbacks.c: runs the callbacks of a list, each of which may push
 * and pop others. */
void amg_margo_callbacks_run(margo_instance_id mid, bool before);
/* Frees the remaining entries. */
void amg_margo_callbacks_fini(margo_instance_id mid);

#endif
