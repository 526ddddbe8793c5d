/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: polls each transport of a context and steps what is finished.
 *
 * A look at MPI takes 125 ns, a whole poll without it 16 ns (two ranks,
 * ch4:ucx). So where a class has both, MPI is looked at in every poll only
 * while it has something to do: since a post, or since news, until RARE_AFTER
 * looks found nothing. A call that waits longer than these (about a
 * millisecond) does not feel that its answer is seen up to RARE_EVERY polls
 * late, which is less than a microsecond. The same holds for libfabric where
 * that leads to the ranks of other nodes, and MPI to nobody. Then MPI is not
 * looked at: the common end of all ranks does that itself
 * (amg_class_quiesce()). */
#include "core/progress.h"

#include "base/assert.h"

/* POLL_MAX: enough for a burst of small messages, few enough that the user's
 * trigger is not kept waiting (about 30 us at 0.2 us each). */
enum {
    POLL_MAX = 128,
    RARE_AFTER = 4096, /* looks at it that found nothing */
    RARE_EVERY = 16,   /* then a poll takes 8 ns more on the average */
};

void amg_progress_step_all(struct amg_list *done)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(done)) != NULL) {
        struct amg_op *op = AMG_OBJECT(link, struct amg_op, link);

        op->step(op);
    }
}

static void arrivals_hand_on(
    hg_context_t *context, unsigned route, struct amg_list *arrived)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(arrived)) != NULL)
        context->arrived(
            context, route, AMG_OBJECT(link, struct amg_arrival, link));
}

/* `news` is empty before and after. */
static inline unsigned route_poll(
    hg_context_t *context, unsigned route, struct amg_news *news)
{
    struct amg_ep *ep = context->eps[route];
    unsigned count = 0;

    if (ep->pending != NULL &&
        atomic_load_explicit(ep->pending, memory_order_relaxed) == 0)
        return 0;
    count = ep->transport->ep.poll(ep, POLL_MAX, news);
    if (AMG_LIKELY(count == 0))
        return 0;
    amg_progress_step_all(&news->done);
    arrivals_hand_on(context, route, &news->arrived);
    return count;
}

/* Looks at the rare endpoint in every poll while it has traffic, else in one of
 * a few. */
static unsigned rare_poll(hg_context_t *context, struct amg_news *news)
{
    struct amg_context_rare *rare = &context->rare;
    unsigned count = 0;

    if (rare->is_user_bound && amg_role.is_ours)
        return 0;
    if (atomic_load_explicit(&rare->is_wanted, memory_order_relaxed)) {
        atomic_store_explicit(&rare->is_wanted, false, memory_order_relaxed);
        rare->quiet = 0;
    } else if (rare->quiet == RARE_AFTER && ++rare->skipped < RARE_EVERY) {
        return 0;
    }
    rare->skipped = 0;
    count = route_poll(context, rare->route, news);
    if (count > 0)
        rare->quiet = 0;
    else if (rare->quiet < RARE_AFTER)
        rare->quiet++;
    return count;
}

unsigned amg_progress_poll(hg_context_t *context)
{
    struct amg_news *news = &context->news;
    unsigned happened = 0;
    unsigned i = 0;

    for (i = 0; i < context->hot_count; i++)
        happened += route_poll(context, context->open[i], news);
    if (context->rare.route != AMG_ROUTE_COUNT)
        happened += rare_poll(context, news);
    if (!AMG_LIKELY(!news->has_moved)) {
        news->has_moved = false;
        amg_context_moved(context);
    }
    return happened;
}
