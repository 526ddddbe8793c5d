/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level threads: creation, switches between them, and their end. */
#ifndef AMG_ULT_SWITCH_TO_H
#define AMG_ULT_SWITCH_TO_H

#include "ult/xstream_local.h"

/* Arguments for a new thread. */
struct amg_ult_spec {
    enum amg_ult_kind kind; /* THREAD, TASKLET or SCHEDULER */
    bool is_named;
    struct amg_ready_pool *pool; /* NULL for a SCHEDULER */
    void (*function)(void *arg);
    void *arg;
    const struct amg_thread_attr *attr; /* NULL: the defaults */
};

/* Creates a thread, which is NEW and in no pool. NULL: no memory (logged), a
 * stack_len above SIZE_MAX / 2, or no unit of a user-defined pool. */
struct amg_ult *amg_ult_create(const struct amg_ult_spec *spec);

/* Frees a thread that will not run again. Called by another thread. */
void amg_ult_destroy(struct amg_ult *ult);

/* Resets a thread that its new pool has adopted; the thread stays ENDED. */
void amg_ult_reset(struct amg_ult *ult, void (*function)(void *arg), void *arg);

/* Switches to the next ready thread of this xstream, or to the scheduler. For
 * `action` and `held` see ult.h. Returns when this or another xstream runs the
 * caller again. */
void amg_ult_switch(
    struct amg_ult *self, enum amg_switch_action action, struct amg_lock *held);

/* Lets the ready threads of this xstream run first; returns at once if the
 * xstream has only one pool, and the pool is empty. */
void amg_ult_yield(struct amg_ult *self);

/* Switches to `to`, a thread that the caller has removed from its pool or a
 * list of waiters. */
void amg_ult_switch_to(struct amg_ult *self, enum amg_switch_action action,
    struct amg_lock *held, struct amg_ult *to);

/* Ends the calling thread, and never returns to its stack. */
_Noreturn void amg_ult_end(struct amg_ult *self);
/* Ends the calling thread by a switch to `to`, see amg_ult_switch_to(). */
_Noreturn void amg_ult_end_to(struct amg_ult *self, struct amg_ult *to);

/* Ends the calling thread `self` if its cancel was requested. Called where the
 * thread can end: after a switch has returned, or before a yield. */
static inline void amg_ult_check_cancel(struct amg_ult *self)
{
    if ((atomic_load_explicit(&self->requests, memory_order_relaxed) &
            AMG_ULT_TO_CANCEL) != 0)
        amg_ult_end(self);
}

/* Runs a thread until it yields, parks or ends. Called by the scheduler of an
 * xstream, with a thread that the scheduler popped. Tasklets run on the stack
 * of the scheduler. `ult` NULL: runs amg_xstream_local.handed, if any. */
void amg_ult_run(struct amg_xstream *xstream, struct amg_ult *ult);

/* Called by a scheduler that has the request AMG_XSTREAM_TO_LOOK. Returns the
 * thread of main() if another xstream has popped that thread, which only its
 * own OS thread may run: the scheduler runs main() next. Else returns NULL. */
struct amg_ult *amg_ult_primary_take(void);

#endif
