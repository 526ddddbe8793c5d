/* SPDX-License-Identifier: BSD-3-Clause */
/* Time stamps in the upper bits of state words, by which an observer learns how
 * long an object has been in its state.
 *
 * The low byte of a word is the state; its owner stores the whole word, and so
 * clears the stamp. Now and then the observer stamps the words without a stamp,
 * so a stamp is late by at most the time between two visits, and the owner pays
 * nothing. A word that is stamped, and the same before and after the observer
 * has read other members of the object, has not changed meanwhile: only the
 * observer stamps, and by one thread at a time. */
#ifndef AMG_BASE_STAMP_H
#define AMG_BASE_STAMP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum {
    AMG_STAMP_SHIFT = 8,
    AMG_STAMP_STATE = (1 << AMG_STAMP_SHIFT) - 1, /* mask of the state */
    AMG_STAMP_MS = 64, /* unit; so a stamp repeats after 12 days */
    AMG_STAMP_MAX = 0xffffff
};

/* The stamp of a time: 1 to AMG_STAMP_MAX. */
static inline uint32_t amg_stamp_of(uint64_t now_ns)
{
    return (uint32_t)(now_ns / (AMG_STAMP_MS * AMG_NS_PER_MS) % AMG_STAMP_MAX) +
           1;
}

/* The age at the time `now` of what was stamped in `word`. */
static inline uint32_t amg_stamp_age_ms(uint32_t now, unsigned word)
{
    uint32_t stamp = word >> AMG_STAMP_SHIFT;
    uint32_t age = now >= stamp ? now - stamp : now + AMG_STAMP_MAX - stamp;

    return age > UINT32_MAX / AMG_STAMP_MS ? UINT32_MAX : age * AMG_STAMP_MS;
}

/* Stamps the word, if it has no stamp and its state is in the mask `states`.
 * Returns the stamped word; 0: the state is not in the mask, or has changed.
 * The compare-exchange fails, or the owner's store comes after it. The acquire
 * pairs with the owner's release of what it wrote before the state. */
static inline unsigned amg_stamp_visit(
    atomic_uint *word, unsigned states, uint32_t now)
{
    unsigned seen = atomic_load_explicit(word, memory_order_acquire);
    unsigned stamped = seen | now << AMG_STAMP_SHIFT;

    if ((states >> (seen & AMG_STAMP_STATE) & 1u) == 0)
        return 0;
    if (seen >> AMG_STAMP_SHIFT != 0)
        return seen;
    return atomic_compare_exchange_strong_explicit(
               word, &seen, stamped, memory_order_acquire, memory_order_relaxed)
               ? stamped
               : 0;
}

/* Is the word still as amg_stamp_visit() returned it? */
static inline bool amg_stamp_is_same(const atomic_uint *word, unsigned seen)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(word, memory_order_relaxed) == seen;
}

/* For an observer's function, which reads members that their owner may write
 * meanwhile, and then asks amg_stamp_is_same() whether to discard them. */
#define AMG_STAMP_READS __attribute__((no_sanitize_thread, noinline))

#endif
