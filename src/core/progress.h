/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a context: polls, waits and callbacks. */
#ifndef AMG_CORE_PROGRESS_H
#define AMG_CORE_PROGRESS_H

#include <stdbool.h>

#include "core/context.h"
#include "core/wait_policy.h"

/* Becomes the progress owner of the context, if nobody is. */
static inline bool amg_progress_own(hg_context_t *context)
{
    return amg_bias_try(&context->owner);
}

/* Does a thread wait to be the next owner? It has counted itself before it
 * tried to own the context, so an owner that leaves sees it (base/bias.h). */
static inline bool amg_progress_is_awaited(const hg_context_t *context)
{
    return atomic_load_explicit(&context->awaiting, memory_order_seq_cst) != 0;
}

/* Stops owning it: does a thread wait, which is to be woken? */
static inline bool amg_progress_leave(hg_context_t *context)
{
    amg_bias_give_fenced(&context->owner);
    return amg_progress_is_awaited(context);
}

/* The same, and hands it to a thread that waits, if one does. */
static inline void amg_progress_disown(hg_context_t *context)
{
    /* Who sleeps in an event loop, or is the progress thread, has to announce
     * itself again: the polls of this owner have ended that. */
    if (amg_progress_leave(context) || amg_cq_has_standby(&context->cq))
        amg_cq_wake(&context->cq);
}

/* Moves every endpoint along; by the owner only. Steps run in here, arrivals
 * are handed on. Returns how many things happened. */
unsigned amg_progress_poll(hg_context_t *context);

/* As HG_Progress(): HG_SUCCESS when something happened or is queued, else
 * HG_TIMEOUT when `timeout_ms` have passed. */
hg_return_t amg_progress_wait(hg_context_t *context, unsigned timeout_ms);

/* At which pace the calling thread waits in a class, for what descriptors tell
 * of; one of the program's, or one that runs a handler. */
struct amg_wait_policy amg_progress_wait_policy(
    const hg_class_t *cls, uint64_t spin_ns);

#endif
