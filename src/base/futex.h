/* SPDX-License-Identifier: BSD-3-Clause */
/* A word of this process that threads sleep on until another one wakes them. */
#ifndef AMG_BASE_FUTEX_H
#define AMG_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleeps while the word is `seen`; may return early, so the caller looks at the
 * word again. A system call, always. */
void amg_futex_wait(atomic_uint *word, unsigned seen);

/* The same until the moment of amg_clock_ns(). False: that has come. */
bool amg_futex_wait_until(
    atomic_uint *word, unsigned seen, uint64_t deadline_ns);

/* Wakes up to `count` of those who sleep; the word was changed before. A system
 * call, so only where somebody sleeps. The word itself is not touched: it may
 * be gone by then. */
void amg_futex_wake(atomic_uint *word, unsigned count);

#endif
