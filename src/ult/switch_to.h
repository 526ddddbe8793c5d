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
    const struct amg_thread_attr *attr; /* NULL: the usual */
};

/* NEW, in no pool. NULL: no memory, said in the log. */
struct amg_ult *amg_ult_create(const struct amg_ult_spec *spec);

/* Frees a thread that has ended, or never ran. Not by itself. */
void amg_ult_destroy(struct amg_ult *ult);

/* Resets an ended thread to as after create, except for its state; its pool has
 * adopted it. */
void amg_ult_reset(struct amg_ult *ult, void (*function)(void *arg), void *arg);

/* Switches to the next ready thread of this xstream, or to the scheduler;
 * `action` and `held` as in ult.h. Returns when an xstream runs the caller
 * again, maybe another one. */
void amg_ult_switch(
    struct amg_ult *self, enum amg_switch_action action, struct amg_lock *held);

/* Switches to `to`, a thread that the caller has removed from its pool or a
 * list of waiters. */
void amg_ult_switch_to(struct amg_ult *self, enum amg_switch_action action,
    struct amg_lock *held, struct amg_ult *to);

/* The calling thread ends; its stack is left for good. */
_Noreturn void amg_ult_end(struct amg_ult *self);
/* The same, for a thread that the caller has taken as for amg_ult_switch_to().
 */
_Noreturn void amg_ult_end_to(struct amg_ult *self, struct amg_ult *to);

/* After a switch back: ends the thread if that was requested. */
static inline void amg_ult_check_cancel(struct amg_ult *self)
{
    if ((atomic_load_explicit(&self->requests, memory_order_relaxed) &
            AMG_ULT_TO_CANCEL) != 0)
        amg_ult_end(self);
}

/* By the scheduler of an xstream, with what it popped from a pool: runs it
 * until it yields, parks or ends. Tasklets run on the scheduler's own stack.
 * NULL: what was left for the scheduler to run, if anything. */
void amg_ult_run(struct amg_xstream *xstream, struct amg_ult *ult);

/* By a scheduler in each round, and before it sleeps: main(), which runs on its
 * own OS thread only, when another xstream has popped it; to be run next. Else
 * NULL. */
struct amg_ult *amg_ult_primary_take(void);

#endif
