/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread leaves its stack to another one.
 *
 * Nobody else may run a thread before it has left its stack, so what makes it
 * ready, blocked or ended for others is done by who arrives: settle(). It knows
 * who has left by the host, which both share as long as the switch lasts. */
#include "ult/leave.h"

#include "base/assert.h"
#include "base/test_point.h"
#include "ult/end.h"
#include "ult/state.h"
#include "ult/stream.h"
#include "ult/switch.h"
#include "ult/upool.h"

static void settle_blocked(struct amg_ult *left)
{
    struct amg_lock *held = left->held;
    struct amg_bias *biased = left->biased;

    left->held = NULL;
    left->biased = NULL;
    amg_upool_count_blocked(amg_ult_pool(left), 1);
    /* Pairs with who resumes it, who may come as soon as the state says that it
     * is blocked; who comes before waits for the state. */
    if (biased == NULL && held == NULL)
        atomic_fetch_or_explicit(
            &left->requests, AMG_ULT_TO_RESUME, memory_order_release);
    AMG_TEST_POINT("leave.suspended");
    amg_ult_set_state(left, AMG_ULT_BLOCKED);
    /* And it may be gone. */
    if (biased != NULL)
        amg_bias_give(biased);
    else if (held != NULL)
        amg_lock_give(held);
}

static void settle(struct amg_ult *left)
{
    switch (left->after) {
    case AMG_ULT_GOES_ON:
        break;
    case AMG_ULT_YIELDS:
        amg_ult_make_ready(left);
        break;
    case AMG_ULT_PARKS:
        settle_blocked(left);
        break;
    case AMG_ULT_ENDS:
        amg_ult_has_ended(left);
        break;
    }
}

/* Apart, since thread-local memory is that of another OS thread from here on.
 */
AMG_APART void amg_ult_arrive(void)
{
    struct amg_host *host = amg_host_self();
    struct amg_ult *left = host->left;

    amg_fibre_arrive(&host->current->fibre, &left->fibre);
    settle(left);
}

static void host_switch(
    struct amg_host *host, struct amg_ult *from, struct amg_ult *to)
{
    host->current = to;
    host->left = from;
    if (host->caught != NULL) {
        from->caught = *host->caught;
        *host->caught = to->caught;
    }
    amg_fibre_leave(&from->fibre, &to->fibre, from->after == AMG_ULT_ENDS);
    amg_switch(&from->sp, to->sp);
    amg_ult_arrive();
}

bool amg_ult_is_at_home(const struct amg_host *host, const struct amg_ult *ult)
{
    return ult->kind != AMG_ULT_PRIMARY || ult == &host->own;
}

/* Makes `to` the one that runs, as the scheduler of `self` would have. */
static void take_over(
    struct amg_host *host, const struct amg_ult *self, struct amg_ult *to)
{
    to->scheduler = self->scheduler;
    atomic_store_explicit(&to->stream, host->stream, memory_order_relaxed);
    amg_ult_set_state(to, AMG_ULT_RUNNING);
}

void amg_ult_leave(
    struct amg_ult *self, enum amg_ult_after after, struct amg_lock *held)
{
    struct amg_host *host = amg_host_self();
    struct amg_ult *next = NULL;

    if (amg_ult_may_pass_on(self))
        next = amg_stream_next(host->stream);
    self->after = after;
    self->held = held;
    if (next != NULL && next->kind != AMG_ULT_TASKLET &&
        amg_ult_is_at_home(host, next)) {
        take_over(host, self, next);
    } else {
        /* What the scheduler has to run itself, it runs first. */
        host->handed = next;
        next = self->scheduler;
    }
    host_switch(host, self, next);
}

void amg_ult_leave_to(struct amg_ult *self, enum amg_ult_after after,
    struct amg_lock *held, struct amg_ult *to)
{
    struct amg_host *host = amg_host_self();

    self->after = after;
    self->held = held;
    take_over(host, self, to);
    host_switch(host, self, to);
}

/* Runs it on the scheduler's stack. */
static void tasklet_run(struct amg_host *host, struct amg_ult *tasklet)
{
    struct amg_ult *caller = host->current;

    atomic_store_explicit(&tasklet->stream, host->stream, memory_order_relaxed);
    amg_ult_set_state(tasklet, AMG_ULT_RUNNING);
    tasklet->scheduler = caller;
    host->current = tasklet;
    if ((atomic_load_explicit(&tasklet->requests, memory_order_relaxed) &
            AMG_ULT_TO_CANCEL) == 0)
        tasklet->function(tasklet->arg);
    host->current = caller;
    amg_ult_has_ended(tasklet);
}

/* main() that was popped by another stream is brought back to its own. */
static void send_home(struct amg_ult *primary)
{
    struct amg_host *home = AMG_OBJECT(primary, struct amg_host, own);

    /* Release: pairs with the exchange of amg_ult_take_home(). */
    atomic_store_explicit(&home->is_own_ready, true, memory_order_release);
    amg_stream_wake(home->stream);
}

static void run_one(struct amg_host *host, struct amg_ult *ult)
{
    struct amg_ult *caller = host->current;

    if (ult->kind == AMG_ULT_TASKLET) {
        tasklet_run(host, ult);
        return;
    }
    if (!amg_ult_is_at_home(host, ult)) {
        send_home(ult);
        return;
    }
    ult->scheduler = caller;
    atomic_store_explicit(&ult->stream, host->stream, memory_order_relaxed);
    amg_ult_set_state(ult, AMG_ULT_RUNNING);
    caller->after = AMG_ULT_GOES_ON;
    host_switch(host, caller, ult);
}

void amg_ult_run(struct amg_stream *stream, struct amg_ult *ult)
{
    /* A scheduler stays on its OS thread while what it runs is there. */
    struct amg_host *host = amg_host_self();

    AMG_ASSERT(host != NULL && host->stream == stream);
    if (ult == NULL) {
        ult = host->handed;
        host->handed = NULL;
    }
    while (ult != NULL) {
        run_one(host, ult);
        ult = host->handed;
        host->handed = NULL;
    }
}

struct amg_ult *amg_ult_take_home(void)
{
    struct amg_host *host = amg_host_self();

    if (host->own.kind != AMG_ULT_PRIMARY ||
        !atomic_load_explicit(&host->is_own_ready, memory_order_relaxed) ||
        !atomic_exchange_explicit(
            &host->is_own_ready, false, memory_order_acquire))
        return NULL;
    return &host->own;
}
