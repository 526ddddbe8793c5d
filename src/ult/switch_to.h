/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level threads are created, leave their stack to others, and end. */
#ifndef AMG_ULT_SWITCH_TO_H
#define AMG_ULT_SWITCH_TO_H

#include "ult/xstream_local.h"

/* The thread that is to be created. */
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

/* It has ended, or never run. Not by itself. */
void amg_ult_destroy(struct amg_ult *ult);

/* It has ended, and is as after create but for its state; its pool has adopted
 * it. */
void amg_ult_renew(struct amg_ult *ult, void (*function)(void *arg), void *arg);

/* Leaves for the next one that is ready on this xstream, or for the scheduler;
 * `action` and `held` as in ult.h. Returns when an xstream runs it again, maybe
 * another one. */
void amg_ult_switch(
    struct amg_ult *self, enum amg_switch_action action, struct amg_lock *held);

/* Leaves for `to`, a thread that the caller has taken out of its pool or off a
 * list of waiters. */
void amg_ult_switch_to(struct amg_ult *self, enum amg_switch_action action,
    struct amg_lock *held, struct amg_ult *to);

/* The calling thread ends; its stack is left for good. */
_Noreturn void amg_ult_end(struct amg_ult *self);
/* The same, for a thread that the caller has taken as for amg_ult_switch_to().
 */
_Noreturn void amg_ult_end_to(struct amg_ult *self, struct amg_ult *to);

/* Back on its stack: ends instead, when that was asked for. */
static inline void amg_ult_go_on(struct amg_ult *self)
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
struct amg_ult *amg_ult_take_home(void);

#endif
