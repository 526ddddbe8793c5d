/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a user-level thread, and who waits for it. */
#include "ult/end.h"

#include "base/assert.h"
#include "ult/create.h"
#include "ult/leave.h"
#include "ult/park.h"
#include "ult/state.h"
#include "ult/stream.h"
#include "ult/upool.h"

/* The one who waits for `self` to end, if it may go on right here: saves the
 * way through a pool. NULL: nobody, several, or elsewhere. */
static struct amg_ult *joiner_take(
    const struct amg_host *host, struct amg_ult *self)
{
    struct amg_link *link = NULL;
    struct amg_ult *joiner = NULL;

    if (!amg_ult_may_pass_on(self))
        return NULL;
    amg_lock_take(&self->lock);
    link = amg_list_first(&self->joiners);
    if (link != NULL && amg_list_next(&self->joiners, link) == NULL)
        joiner = AMG_OBJECT(link, struct amg_waiter, link)->ult;
    if (joiner != NULL &&
        (atomic_load_explicit(&joiner->stream, memory_order_relaxed) !=
                host->stream ||
            !amg_ult_is_at_home(host, joiner) ||
            !amg_stream_serves(host->stream, amg_ult_pool(joiner)) ||
            atomic_load_explicit(&joiner->migrates_to, memory_order_relaxed) !=
                NULL))
        joiner = NULL;
    if (joiner != NULL)
        amg_list_init(&self->joiners); /* it was the only one */
    amg_lock_give(&self->lock);
    return joiner;
}

_Noreturn void amg_ult_end_to(struct amg_ult *self, struct amg_ult *to)
{
    if (!self->is_named)
        amg_key_table_clear(&self->keys);
    amg_ult_leave_to(self, AMG_ULT_ENDS, NULL, to);
    AMG_ASSERT(!"a thread that has ended was run");
    __builtin_unreachable();
}

_Noreturn void amg_ult_end(struct amg_ult *self)
{
    struct amg_ult *joiner = NULL;

    if (!self->is_named)
        amg_key_table_clear(&self->keys);
    joiner = joiner_take(amg_host_self(), self);
    if (joiner != NULL) {
        amg_upool_count_blocked(amg_ult_pool(joiner), -1);
        amg_ult_end_to(self, joiner);
    }
    amg_ult_leave(self, AMG_ULT_ENDS, NULL);
    AMG_ASSERT(!"a thread that has ended was run");
    __builtin_unreachable();
}

void amg_ult_has_ended(struct amg_ult *ult)
{
    struct amg_list joiners;
    struct amg_link *link = NULL;

    if (!ult->is_named) {
        amg_ult_set_state(ult, AMG_ULT_ENDED);
        amg_ult_destroy(ult);
        return;
    }
    amg_list_init(&joiners);
    amg_lock_take(&ult->lock);
    amg_list_splice(&joiners, &ult->joiners);
    amg_ult_set_state(ult, AMG_ULT_ENDED);
    amg_lock_give(&ult->lock); /* from here on it may be freed */
    while ((link = amg_list_pop(&joiners)) != NULL)
        amg_unpark(AMG_OBJECT(link, struct amg_waiter, link));
}

void amg_ult_join(struct amg_ult *ult)
{
    struct amg_waiter waiter;

    amg_lock_take(&ult->lock);
    if (amg_ult_state(ult) == AMG_ULT_ENDED) {
        amg_lock_give(&ult->lock);
        return;
    }
    amg_waiter_init(&waiter);
    amg_list_push(&ult->joiners, &waiter.link);
    amg_park(&waiter, &ult->lock);
    /* Handed over before the end was settled: by the time it returns from the
     * switch it is. */
    AMG_ASSERT(amg_ult_state(ult) == AMG_ULT_ENDED);
}
