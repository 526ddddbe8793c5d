/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread: what ABT_thread points to. */
#ifndef AMG_ULT_ULT_H
#define AMG_ULT_ULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abt.h"
#include "base/list.h"
#include "base/lock.h"

struct amg_stream;
struct amg_upool;

/* NEW -> READY <-> RUNNING -> { READY | BLOCKED -> READY | ENDED }; ENDED ->
 * READY by revival. */
enum amg_ult_state {
    AMG_ULT_NEW,
    AMG_ULT_READY,   /* in its pool */
    AMG_ULT_RUNNING, /* on a stream */
    AMG_ULT_BLOCKED, /* parked or suspended: who unparks it pushes it */
    AMG_ULT_ENDED,   /* its function has returned; kept until it is freed */
};

/* What is done for a thread that has left its stack, by whoever runs next on
 * that stream: only then may others have it. */
enum amg_ult_after {
    AMG_ULT_GOES_ON,
    AMG_ULT_YIELDS, /* pushed into its pool */
    AMG_ULT_PARKS,  /* `held` is given back */
    AMG_ULT_ENDS,
};

/* Owned by its creator until it is freed; without a name, by itself. */
struct amg_ult {
    struct amg_link link;   /* in its pool's list, while READY */
    void *sp;               /* where it goes on; valid while it does not run */
    struct amg_upool *pool; /* it is pushed there when it is ready */
    /* That runs it, or ran it last. */
    struct amg_stream *_Atomic stream;
    _Atomic(enum amg_ult_state) state; /* only amg_ult_set_state() writes it */
    enum amg_ult_after after;
    struct amg_lock *held;
    /* The rest is the room's who owns this header (part "fibre"): stack,
     * function, joiners, requests, keys, id ... */
};

/* Pushes it into its pool, and wakes who waits for that pool. Any thread. */
void amg_ult_make_ready(struct amg_ult *ult);

/* By the scheduler of a stream, with what it popped from a pool: runs it until
 * it yields, parks or ends. Tasklets run on the scheduler's own stack. */
void amg_ult_run(struct amg_stream *stream, struct amg_ult *ult);

/* The calling thread's; NULL: not a user-level thread. Never inlined, since the
 * OS thread may change at every call that switches. */
struct amg_ult *amg_ult_self(void);

#endif
