/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutex of ABT_mutex. */
#ifndef AMG_ULT_MUTEX_H
#define AMG_ULT_MUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abt.h"
#include "base/list.h"
#include "base/lock.h"

enum amg_mutex_word {
    AMG_MUTEX_FREE,
    AMG_MUTEX_HELD,
    AMG_MUTEX_WANTED, /* held, and others wait */
    AMG_MUTEX_PASSED, /* free, but only to be acquired under the lock */
};

/* Zeros but for `is_recursive` make a free one. Owned by its creator, or by the
 * program whose memory it lies in. */
struct amg_mutex {
    uint64_t is_recursive; /* never changes */
    /* An amg_mutex_word. The acquire exchange that locks the mutex pairs with
     * the release store or exchange that unlocks it. */
    atomic_uint word;
    struct amg_lock lock; /* guards the two below, and word from WANTED on */
    bool is_waking;       /* a waiter was unparked, but has not run yet */
    struct amg_list waiters;
    /* Of a recursive one: its holder, which alone writes it, and how often that
     * took it again. */
    _Atomic(uintptr_t) owner;
    unsigned depth;
};

/* Is it held, by the caller if the holder is known? */
bool amg_mutex_may_give(const struct amg_mutex *mutex);

/* For waiters of a condition. Unlocks it, however often a recursive one was
 * locked, and returns the argument for take_all(); the caller may unlock it. */
unsigned amg_mutex_give_all(struct amg_mutex *mutex);
void amg_mutex_take_all(struct amg_mutex *mutex, unsigned depth);

#endif
