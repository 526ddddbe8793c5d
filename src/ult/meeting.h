/* SPDX-License-Identifier: BSD-3-Clause */
/* What both kinds of barriers are: who comes waits until as many have come as
 * it is for. Zeros, and a cap, make one. */
#ifndef AMG_ULT_MEETING_H
#define AMG_ULT_MEETING_H

#include <stdint.h>

#include "ult/waiters.h"

/* The lock guards all. Those who wait do not touch it when they were unparked.
 */
struct amg_meeting {
    struct amg_lock lock;
    uint32_t cap;   /* how many meet */
    uint32_t count; /* how many have come */
    struct amg_list waiters;
};

/* Nobody waits, and the last one that came has left. */
static inline bool amg_meeting_is_empty(struct amg_meeting *meeting)
{
    bool is_empty = false;

    amg_lock_take(&meeting->lock);
    is_empty = meeting->count == 0;
    amg_lock_give(&meeting->lock);
    return is_empty;
}

/* Waits for the others; `keeps_stream`: the whole OS thread sleeps meanwhile.
 */
static inline void amg_meeting_come(
    struct amg_meeting *meeting, bool keeps_stream)
{
    struct amg_waiters_taken taken;
    struct amg_waiter waiter;

    amg_lock_take(&meeting->lock);
    if (meeting->count + 1 < meeting->cap) {
        meeting->count++;
        amg_waiter_init(&waiter);
        if (keeps_stream)
            waiter.ult = NULL;
        amg_waiters_push(&meeting->waiters, &waiter);
        amg_park(&waiter, &meeting->lock);
        return;
    }
    meeting->count = 0;
    taken = amg_waiters_take_all(&meeting->waiters);
    amg_lock_give(&meeting->lock);
    amg_waiters_wake(taken);
}

#endif
