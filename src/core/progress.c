/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: polls each transport of a context and steps what is finished. */
#include "core/progress.h"

/* Enough for a burst of small messages, few enough that the user's trigger
 * is not kept waiting (about 30 us at 0.2 us each). */
enum { POLL_MAX = 128 };

void amg_progress_disown(hg_context_t *context)
{
    amg_bias_give_fenced(&context->owner);
    if (amg_progress_is_awaited(context))
        amg_cq_wake(&context->cq);
}

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

unsigned amg_progress_poll(hg_context_t *context)
{
    unsigned happened = 0;
    unsigned i = 0;

    for (i = 0; i < context->open_count; i++) {
        struct amg_ep *ep = context->eps[context->open[i]];
        struct amg_news news;
        unsigned count = 0;

        amg_news_init(&news);
        count = ep->transport->ep.poll(ep, POLL_MAX, &news);
        if (count == 0)
            continue;
        happened += count;
        amg_progress_step_all(&news.done);
        arrivals_hand_on(context, context->open[i], &news.arrived);
    }
    return happened;
}
