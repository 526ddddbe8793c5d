/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a user-level thread: where it may go from where. */
#ifndef AMG_ULT_STATE_H
#define AMG_ULT_STATE_H

#include "base/assert.h"
#include "ult/ult.h"

#define AMG_ULT_MAY(to) (1u << (to))

/* By who has the thread: its creator, who popped it, who leaves it, who took
 * it off a list. Release, and pairs with who asks for the state: what the
 * thread did before is seen by who sees that it has ended. */
static inline void amg_ult_set_state(
    struct amg_ult *ult, enum amg_ult_state state)
{
    static const unsigned char may[] = {
        [AMG_ULT_NEW] =
            AMG_ULT_MAY(AMG_ULT_READY) | AMG_ULT_MAY(AMG_ULT_RUNNING),
        [AMG_ULT_READY] = AMG_ULT_MAY(AMG_ULT_RUNNING),
        [AMG_ULT_RUNNING] = AMG_ULT_MAY(AMG_ULT_READY) |
                            AMG_ULT_MAY(AMG_ULT_BLOCKED) |
                            AMG_ULT_MAY(AMG_ULT_ENDED),
        /* Running at once: by a thread that goes straight over to it. */
        [AMG_ULT_BLOCKED] =
            AMG_ULT_MAY(AMG_ULT_READY) | AMG_ULT_MAY(AMG_ULT_RUNNING),
        [AMG_ULT_ENDED] =
            AMG_ULT_MAY(AMG_ULT_READY) | AMG_ULT_MAY(AMG_ULT_RUNNING),
    };
    enum amg_ult_state now =
        atomic_load_explicit(&ult->state, memory_order_relaxed);

    AMG_ASSERT((may[now] & AMG_ULT_MAY(state)) != 0);
    atomic_store_explicit(&ult->state, state, memory_order_release);
}

/* Acquire, see above. */
static inline enum amg_ult_state amg_ult_state(const struct amg_ult *ult)
{
    return atomic_load_explicit(&ult->state, memory_order_acquire);
}

#endif
