/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread leaves its stack to another one. */
#ifndef AMG_ULT_LEAVE_H
#define AMG_ULT_LEAVE_H

#include "ult/host.h"

/* Leaves for the next one that is ready on this stream, or for the scheduler;
 * `after` and `held` as in ult.h. Returns when somebody runs it again, maybe on
 * another stream. */
void amg_ult_leave(
    struct amg_ult *self, enum amg_ult_after after, struct amg_lock *held);

/* Leaves for `to`, a thread that the caller has taken out of its pool or off a
 * list of waiters. */
void amg_ult_leave_to(struct amg_ult *self, enum amg_ult_after after,
    struct amg_lock *held, struct amg_ult *to);

/* May this OS thread run it? Not where main() belongs to another one. */
bool amg_ult_is_at_home(const struct amg_host *host, const struct amg_ult *ult);

/* The first step on a stack that was switched to for the first time. */
void amg_ult_arrive(void);

/* May another thread go on in its place? One that was run by a scheduler in a
 * pool goes back there: that one has more to run. */
static inline bool amg_ult_may_pass_on(const struct amg_ult *self)
{
    return self->scheduler->kind == AMG_ULT_SCHEDULER;
}

#endif
