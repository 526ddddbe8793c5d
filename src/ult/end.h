/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a user-level thread, and who waits for it. */
#ifndef AMG_ULT_END_H
#define AMG_ULT_END_H

#include "ult/ult.h"

/* The calling thread ends; its stack is left for good. */
_Noreturn void amg_ult_end(struct amg_ult *self);
/* The same, for a thread that the caller has taken as for amg_ult_leave_to().
 */
_Noreturn void amg_ult_end_to(struct amg_ult *self, struct amg_ult *to);

/* Back on its stack: ends instead, when that was asked for. */
static inline void amg_ult_go_on(struct amg_ult *self)
{
    if ((atomic_load_explicit(&self->requests, memory_order_relaxed) &
            AMG_ULT_TO_CANCEL) != 0)
        amg_ult_end(self);
}

/* By who runs next on that stream: tells those who wait; frees it when it has
 * no name. The last access of a stream to the thread. */
void amg_ult_has_ended(struct amg_ult *ult);

/* Waits until it has ended; any thread but itself. */
void amg_ult_join(struct amg_ult *ult);

#endif
