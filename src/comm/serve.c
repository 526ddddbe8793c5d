/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves the contexts of a class while the program waits for MPI.
 *
 * MPI has no descriptor, so who waits for it has to look. On a core of one's
 * own that is done without pause, as MPI itself does. Where others want the
 * core, it is yielded for as long as any wait of ours spins, and then given
 * away for a millisecond between two looks, for five once nothing has come for
 * 20 ms; the reasons for these figures are in core/wait.c. The nap is a wait
 * for the news of a context, which end it. */
#include "comm/serve.h"

#include <sched.h>

#include "base/clock.h"
#include "core/progress.h"
#include "mercury_context.h"

#define LONG_AFTER_NS 20000000ull

enum {
    TRIGGER_MAX = 64,  /* callbacks of a context between two looks at MPI */
    ASK_EVERY = 64,    /* turns between two questions for company */
    YIELD_EVERY = 256, /* turns between two yields, on a core of one's own */
    SHORT_NAP_MS = 1,
    LONG_NAP_MS = 5,
};

void amg_comm_serve_init(struct amg_comm_serve *serve, hg_class_t *cls)
{
    const struct amg_placement *placement = cls->drive.placement;

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
    is_crowded = amg_sleep_is_crowded(context);
    amg_progress_disown(context);
    return is_crowded;
}

static bool must_nap(struct amg_comm_serve *serve, hg_context_t *context)
{
    const hg_class_t *cls = serve->cls;

    if (cls->drive.wait == AMALGAM_WAIT_SPIN || cls->plan.no_block)
        return false;
    if (cls->drive.wait != AMALGAM_WAIT_AUTO || cls->limits.must_yield ||
        (cls->drive.placement != NULL && cls->drive.placement->is_crowded))
        return true;
    if (context != NULL && serve->turns % ASK_EVERY == 0)
        serve->is_crowded = context_is_crowded(context);
    return serve->is_crowded;
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

static unsigned nap_ms(
    const struct amg_comm_serve *serve, uint64_t now_ns, uint64_t deadline_ns)
{
    uint64_t left_ms =
        (deadline_ns - now_ns + AMG_NS_PER_MS - 1) / AMG_NS_PER_MS;
    unsigned ms = SHORT_NAP_MS;

    if (now_ns - serve->news_ns > LONG_AFTER_NS &&
        amg_class_counted(serve->cls, AMG_CLASS_CONTEXTS) <= 1)
        ms = LONG_NAP_MS;
    return left_ms < ms ? (unsigned)left_ms : ms;
}

void amg_comm_serve_turn(
    struct amg_comm_serve *serve, uint64_t now_ns, uint64_t deadline_ns)
{
    hg_context_t *context = NULL;
    unsigned ms = 0;

    if (amg_comm_serve_once(serve) > 0 || serve->news_ns == 0) {
        serve->news_ns = now_ns;
        serve->turns = 0;
        return;
    }
    serve->turns++;
    context = context_next(serve);
    if (!must_nap(serve, context)) {
        if (serve->turns % YIELD_EVERY == 0)
            sched_yield();
        return;
    }
    if (context != NULL && now_ns - serve->news_ns <= context->spin_ns) {
        sched_yield();
        return;
    }
    ms = now_ns < deadline_ns ? nap_ms(serve, now_ns, deadline_ns) : 0;
    if (context == NULL)
        amg_clock_sleep_ns(ms * AMG_NS_PER_MS);
    else
        (void)amg_progress_wait(context, ms);
}
