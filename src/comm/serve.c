/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves the contexts of a class while the program waits for MPI.
 *
 * MPI has no descriptor, so who waits for it has to look, at the pace of any
 * wait without one (core/wait_policy.c): on a core of one's own without pause
 * for 200 ms; where others want the core, that is yielded for 0.1 ms, and then
 * given away for a millisecond between two looks, for five once nothing has
 * come for 20 ms. A nap is a wait for the news of a context, which end it.
 */
#include "comm/serve.h"

#include <sched.h>

#include "base/clock.h"
#include "core/wait_policy.h"
#include "core/progress.h"
#include "mercury_context.h"

#define YIELD_NS 100000ull /* before the first nap on a shared core */

enum {
    TRIGGER_MAX = 64,  /* callbacks of a context between two looks at MPI */
    ASK_EVERY = 64,    /* turns between two questions for company */
    YIELD_EVERY = 256, /* turns between two yields, on a core of one's own */
    SHORT_NAP_MS = 1,
    LONG_NAP_MS = 5,
};

void amg_comm_serve_init(struct amg_comm_serve *serve, hg_class_t *cls)
{
    const struct amg_placement *placement = cls->progress_config.placement;

    *serve = (struct amg_comm_serve){.cls = cls};
    serve->leaves_contexts =
        placement != NULL && placement->progress == AMALGAM_PROGRESS_NONE;
}

unsigned amg_comm_serve_once(struct amg_comm_serve *serve)
{
    int left = serve->leaves_contexts
                   ? 0
                   : amg_class_counted(serve->cls, AMG_CLASS_CONTEXTS);
    unsigned happened = 0;
    unsigned from = 0;

    for (; left > 0; left--) {
        hg_context_t *context = amg_class_context(serve->cls, from);
        unsigned count = 0;

        if (context == NULL)
            break;
        from = context->id + 1u;
        happened += amg_progress_wait(context, 0) == HG_SUCCESS;
        (void)HG_Event_trigger(context, TRIGGER_MAX, &count);
        happened += count;
    }
    return happened;
}

/* Does who brings a context's news run on this very core? */
static bool context_is_crowded(hg_context_t *context)
{
    bool is_crowded = false;

    if (!amg_progress_own(context))
        return false;
    is_crowded = amg_wakeup_is_core_shared(context);
    amg_progress_disown(context);
    return is_crowded;
}

/* What is to be done after so long without news. */
static struct amg_wait_step pace_step(
    struct amg_comm_serve *serve, hg_context_t *context, uint64_t quiet_ns)
{
    struct amg_wait_policy pace = amg_progress_wait_policy(
        serve->cls, context == NULL ? 0 : context->spin_ns);

    pace.is_not_pollable = true;
    if (context != NULL && serve->turns % ASK_EVERY == 0)
        serve->is_crowded = context_is_crowded(context);
    if (serve->is_crowded)
        pace.core = AMG_CORE_SHARED;
    return amg_wait_policy_next(&pace, quiet_ns);
}

/* The contexts take turns. */
static hg_context_t *context_next(struct amg_comm_serve *serve)
{
    hg_context_t *context = NULL;

    if (serve->leaves_contexts)
        return NULL;
    context = amg_class_context(serve->cls, serve->next);
    if (context == NULL)
        context = amg_class_context(serve->cls, 0);
    serve->next = context == NULL ? 0 : context->id + 1u;
    return context;
}

/* Until a context has news. Where there are several, not for long. */
static void nap(struct amg_comm_serve *serve, hg_context_t *context,
    uint64_t ns, uint64_t left_ns)
{
    bool is_short = ns <= SHORT_NAP_MS * AMG_NS_PER_MS ||
                    amg_class_counted(serve->cls, AMG_CLASS_CONTEXTS) > 1;
    uint64_t left_ms = (left_ns + AMG_NS_PER_MS - 1) / AMG_NS_PER_MS;
    unsigned ms = is_short ? SHORT_NAP_MS : LONG_NAP_MS;

    if (left_ms < ms)
        ms = (unsigned)left_ms;
    if (context == NULL)
        amg_clock_sleep_ns(ms * AMG_NS_PER_MS);
    else
        (void)amg_progress_wait(context, ms);
}

void amg_comm_serve_turn(
    struct amg_comm_serve *serve, uint64_t now_ns, uint64_t deadline_ns)
{
    struct amg_wait_step step;
    hg_context_t *context = NULL;
    uint64_t quiet_ns = 0;

    if (amg_comm_serve_once(serve) > 0 || serve->news_ns == 0) {
        serve->news_ns = now_ns;
        serve->turns = 0;
        return;
    }
    serve->turns++;
    context = context_next(serve);
    quiet_ns = now_ns - serve->news_ns;
    step = pace_step(serve, context, quiet_ns);
    if (step.kind == AMG_WAIT_YIELD || (step.kind == AMG_WAIT_POLL_AND_YIELD &&
                                           serve->turns % YIELD_EVERY == 0)) {
        sched_yield();
    } else if (step.kind == AMG_WAIT_PAUSE || step.kind == AMG_WAIT_SLEEP) {
        /* What takes less than a nap is seen sooner by who only yields. */
        if (quiet_ns <= YIELD_NS)
            sched_yield();
        else if (now_ns < deadline_ns)
            nap(serve, context, step.ns, deadline_ns - now_ns);
    }
}
