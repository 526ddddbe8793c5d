/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread leaves its stream on its own account: it yields, suspends
 * itself or ends. */
#include <sched.h>

#include "ult/end.h"
#include "ult/handle.h"
#include "ult/leave.h"
#include "ult/state.h"
#include "ult/upool.h"

/* ABT_SUCCESS: the caller can leave its stack to others. */
static int self_find(struct amg_ult **ret_self)
{
    struct amg_ult *self = amg_ult_current();

    if (self == NULL)
        return amg_ult_none_code();
    if (self->kind != AMG_ULT_THREAD && self->kind != AMG_ULT_PRIMARY)
        return ABT_ERR_INV_THREAD;
    *ret_self = self;
    return ABT_SUCCESS;
}

int ABT_self_yield(void)
{
    struct amg_ult *self = NULL;
    int rc = self_find(&self);

    if (rc != ABT_SUCCESS)
        return rc;
    amg_ult_go_on(self);
    amg_ult_leave(self, AMG_ULT_YIELDS, NULL);
    amg_ult_go_on(self);
    return ABT_SUCCESS;
}

int ABT_thread_yield(void)
{
    if (ABT_self_yield() != ABT_SUCCESS && amg_ult_current() == NULL)
        sched_yield();
    return ABT_SUCCESS;
}

int ABT_self_suspend(void)
{
    struct amg_ult *self = NULL;
    int rc = self_find(&self);

    if (rc != ABT_SUCCESS)
        return rc;
    amg_ult_leave(self, AMG_ULT_PARKS, NULL);
    amg_ult_go_on(self);
    return ABT_SUCCESS;
}

/* True: it had suspended itself, and is the caller's to make ready now. */
static bool suspended_take(struct amg_ult *ult)
{
    /* Acquire: pairs with who settled it, and says so in a moment. */
    if ((atomic_fetch_and_explicit(&ult->requests, ~(unsigned)AMG_ULT_TO_RESUME,
             memory_order_acquire) &
            AMG_ULT_TO_RESUME) == 0)
        return false;
    for (unsigned tries = 0; amg_ult_state(ult) != AMG_ULT_BLOCKED; tries++)
        amg_lock_rest(tries);
    return true;
}

int ABT_thread_resume(ABT_thread thread)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (!suspended_take(ult))
        return ABT_ERR_THREAD;
    amg_ult_make_ready(ult);
    return ABT_SUCCESS;
}

/* How the other one is got that goes on in the caller's place. */
typedef bool (*take_fn)(struct amg_ult *ult);

static bool ready_take(struct amg_ult *ult)
{
    return amg_ult_state(ult) == AMG_ULT_READY &&
           amg_upool_remove(amg_ult_pool(ult), ult);
}

/* The same where the program may have popped it before, as the original wants
 * it: then it is the program's. */
static bool popped_take(struct amg_ult *ult)
{
    return amg_ult_state(ult) == AMG_ULT_READY &&
           (amg_ult_is_in(ult, NULL) ||
               amg_upool_remove(amg_ult_pool(ult), ult));
}

static bool blocked_take(struct amg_ult *ult)
{
    if (!suspended_take(ult))
        return false;
    amg_upool_left_blocked(amg_ult_pool(ult));
    return true;
}

static int leave_to(ABT_thread thread, take_fn take, enum amg_ult_after after)
{
    struct amg_ult *to = amg_ult_of(thread);
    struct amg_ult *self = NULL;
    int rc = ABT_SUCCESS;

    if (to == NULL)
        return ABT_ERR_INV_THREAD;
    rc = self_find(&self);
    if (rc != ABT_SUCCESS)
        return rc;
    if (to == self ||
        (to->kind != AMG_ULT_THREAD && to->kind != AMG_ULT_PRIMARY) ||
        !amg_ult_is_at_home(amg_host_self(), to) ||
        (after == AMG_ULT_ENDS && self->kind == AMG_ULT_PRIMARY) || !take(to))
        return ABT_ERR_INV_THREAD;
    if (after == AMG_ULT_ENDS)
        amg_ult_end_to(self, to);
    amg_ult_leave_to(self, after, NULL, to);
    amg_ult_go_on(self);
    return ABT_SUCCESS;
}

int ABT_thread_yield_to(ABT_thread thread)
{
    return leave_to(thread, ready_take, AMG_ULT_YIELDS);
}

int ABT_self_yield_to(ABT_thread thread)
{
    return leave_to(thread, popped_take, AMG_ULT_YIELDS);
}

int ABT_self_resume_yield_to(ABT_thread thread)
{
    return leave_to(thread, blocked_take, AMG_ULT_YIELDS);
}

int ABT_self_suspend_to(ABT_thread thread)
{
    return leave_to(thread, popped_take, AMG_ULT_PARKS);
}

int ABT_self_resume_suspend_to(ABT_thread thread)
{
    return leave_to(thread, blocked_take, AMG_ULT_PARKS);
}

int ABT_self_exit_to(ABT_thread thread)
{
    return leave_to(thread, popped_take, AMG_ULT_ENDS);
}

int ABT_self_resume_exit_to(ABT_thread thread)
{
    return leave_to(thread, blocked_take, AMG_ULT_ENDS);
}

int ABT_self_exit(void)
{
    struct amg_ult *self = NULL;
    int rc = self_find(&self);

    if (rc != ABT_SUCCESS)
        return rc;
    if (self->kind == AMG_ULT_PRIMARY)
        return ABT_ERR_INV_THREAD;
    amg_ult_end(self);
}

int ABT_thread_exit(void)
{
    return ABT_self_exit();
}

int ABT_thread_cancel(ABT_thread thread)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL || ult->kind == AMG_ULT_PRIMARY ||
        ult->kind == AMG_ULT_SCHEDULER)
        return ABT_ERR_INV_THREAD;
    atomic_fetch_or_explicit(
        &ult->requests, AMG_ULT_TO_CANCEL, memory_order_relaxed);
    return ABT_SUCCESS;
}
