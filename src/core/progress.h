/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a context: polls, waits, callbacks, standby, and the progress
 * thread. */
#ifndef AMG_CORE_PROGRESS_H
#define AMG_CORE_PROGRESS_H

#include <stdbool.h>

#include "core/context.h"
#include "core/wait_policy.h"

/* Becomes the progress owner of the context, if there is none. */
static inline bool amg_progress_own(hg_context_t *context)
{
    return amg_bias_trylock(&context->owner);
}

/* Gives up ownership, and hands it over to a thread that waits, if any. */
static inline void amg_progress_disown(hg_context_t *context)
{
    amg_bias_unlock_fenced(&context->owner);
    if (amg_cq_has_heirs(&context->cq))
        amg_cq_hand_over(&context->cq);
}

/* Becomes the owner, unless another thread is the owner or waits to be. */
static inline bool amg_progress_own_alone(hg_context_t *context)
{
    if (!amg_progress_own(context))
        return false;
    if (!amg_cq_is_awaited(&context->cq))
        return true;
    amg_progress_disown(context);
    return false;
}

/* Gives up ownership, to a waiting caller, if any; armed threads stay armed. */
static inline void amg_progress_disown_to_callers(hg_context_t *context)
{
    amg_bias_unlock_fenced(&context->owner);
    if (amg_cq_is_awaited(&context->cq))
        amg_cq_hand_over(&context->cq);
}

/* Polls the endpoints; by the owner only. Runs the steps of finished
 * operations, and hands on arrivals. True: there was an event. */
bool amg_progress_poll(hg_context_t *context);

/* Makes progress until an event, a callback to run, or amg_context_ring() ends
 * the wait (HG_SUCCESS), or for `timeout_ms` (HG_TIMEOUT). */
hg_return_t amg_progress_wait(hg_context_t *context, unsigned timeout_ms);

/* Makes progress in all contexts of a class once, and runs up to `max_count`
 * callbacks of each. Returns the sum of callbacks and contexts with events. */
unsigned amg_progress_serve(hg_class_t *cls, unsigned max_count);

/* Makes progress until no operation is in flight, a callback is due that the
 * calling thread may run, or the time is reached. */
void amg_progress_settle(hg_context_t *context, uint64_t deadline_ns);

/* Wait policy of the calling thread: a thread of the program, or a thread of
 * the library that runs a handler. The caller sets is_not_pollable. */
static inline struct amg_wait_policy amg_progress_wait_policy(
    const struct amg_progress_config *config, uint64_t spin_ns)
{
    bool is_shared =
        amg_role.is_library_thread ||
        (config->placement != NULL && config->placement->is_oversubscribed);

    return amg_progress_config_wait_policy(
        config, is_shared ? AMG_CORE_SHARED : AMG_CORE_OWN, spin_ns);
}

/* State of a thread of standby.c, which makes progress only while callers do
 * not. Only that thread uses the members, apart from is_called. A context has
 * at most one such thread. */
struct amg_standby {
    hg_context_t *context;
    /* amg_standby_call() has run: the thread must return from its step. The
     * release store of the call pairs with the acquire at the end of the
     * step. */
    atomic_bool is_called;
    struct amg_wait_policy policy;
    uint64_t quiet_since_ns; /* start of the quiet time; 0: an event came */
    uint64_t turned_ns;      /* when a caller was last seen; 0: long ago */
    unsigned moves;          /* wakeup.moves, when last read */
    unsigned turns;          /* context->turns, when last read */
    unsigned kept;           /* naps while not owner, and no caller was seen */
    unsigned fruitless;      /* wake-ups in a row without an event */
};

/* Called by the thread before its first step; `has_core`: no other thread uses
 * its core. `standby` is zeroed; amg_standby_call() may have run before. */
void amg_standby_begin(
    struct amg_standby *standby, hg_context_t *context, bool has_core);

/* Makes progress until a caller comes, a callback is due, or the thread has
 * slept once; stands by while callers make progress. Sleeps until `until_ns` at
 * the latest. True: the thread must run the callbacks that are due for it. */
bool amg_standby_step(struct amg_standby *standby, uint64_t until_ns);

/* By the thread, if a caller will soon make progress: the thread stands by. */
void amg_standby_defer(struct amg_standby *standby);

/* Called by the thread after its last step: no event signals its doorbell any
 * more. */
void amg_standby_end(struct amg_standby *standby);

/* Ends the current step of the thread, or its next step. Any thread. */
void amg_standby_call(struct amg_standby *standby, hg_context_t *context);

/* Starts the progress thread of the class's placement, if any. Warns of a
 * thread that cannot be started, and continues without it. */
void amg_service_thread_start(hg_context_t *context);

/* Stops and joins the progress thread. From then on HG_Trigger() runs the
 * incoming calls, both the queued and the later ones, in order. False: nothing
 * was done, because the caller is a callback on the progress thread. */
bool amg_service_thread_stop(hg_context_t *context);

#endif
