/* SPDX-License-Identifier: BSD-3-Clause */
/* Biased locks, and counters that mostly one thread changes. */
#ifndef AMG_BASE_BIAS_H
#define AMG_BASE_BIAS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/lock.h"

/* The first thread that takes a biased lock becomes its owner, and from then on
 * takes the lock by a plain store and a plain load (1.5 ns; an exchange takes 7
 * ns or more, and a small call has twenty locks on its path). The first other
 * thread that takes the lock ends the bias for good, by a system call of some
 * microseconds: from then on the lock is an amg_lock for all threads. So biased
 * locks suit long-lived objects that one thread mostly uses: queues and pools
 * of a class or a context.
 *
 *   owner                        thread that ends the bias
 *   busy := 1                    owner := ENDING
 *   (no reordering by compiler)  membarrier: every thread of the process has
 *   load owner; if it is not     run a full barrier since; owner := LEAVING
 *   the caller: busy := 0        when busy is 0: owner := SHARED
 *
 * After the barrier, either the ending thread sees the owner's store of busy,
 * or the owner's load sees ENDING and the owner backs off: Dekker's protocol,
 * where only the rare side pays for a fence. On kernels without membarrier
 * (before 4.14) all locks begin SHARED.
 *
 * A thread may announce that it waits, and then call amg_bias_trylock(): if the
 * try fails, the holder sees the announcement after amg_bias_unlock_fenced().
 * Waiter and holder access the announcement seq_cst: on ARM an acquire load may
 * pass the exchange before the load; a seq_cst load may not, and costs no more.
 */

/* Owned by the struct that embeds it. */
struct amg_bias {
    /* Id of a thread, or one of the states in bias.c. A change is a compare and
     * exchange; the release of SHARED pairs with the acquire loads in bias.c
     * and amg_bias_is_shared(). */
    atomic_uintptr_t owner;
    /* 1: the owner holds the lock. The owner's release store of 0 pairs with
     * the acquire load of the thread that ends the bias. */
    atomic_uint busy;
    struct amg_lock lock;  /* taken by all threads, once `owner` is SHARED */
    atomic_bool is_shared; /* holders take `lock`; set while the lock is free */
};

#if !(defined(__x86_64__) && !defined(__ILP32__)) && !defined(__aarch64__)
/* amg_bias_mark() on a machine whose thread register is not known. */
uintptr_t amg_bias_mark_far(void);
#endif

/* Id of the calling OS thread: the address of its thread-local memory, which
 * the compiler must not keep over a call: a user-level thread returns from some
 * calls on another OS thread. */
static inline uintptr_t amg_bias_mark(void)
{
    uintptr_t mark = 0;

#if defined(__x86_64__) && !defined(__ILP32__)
    __asm__ volatile("movq %%fs:0, %0" : "=r"(mark)); /* System V ABI, TLS */
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(mark));
#else
    mark = amg_bias_mark_far();
#endif
    return mark;
}

/* Owner word of a lock that is shared for good; see bias.c. */
enum { AMG_BIAS_SHARED = 3 };

/* Is the lock an amg_lock for good? If so, the writes of the former owner are
 * visible, and no thread holds the lock by its bias, or ever will. */
static inline bool amg_bias_is_shared(const struct amg_bias *bias)
{
    return atomic_load_explicit(&bias->owner, memory_order_acquire) ==
           AMG_BIAS_SHARED;
}

/* Does the calling thread own the lock? False while another thread ends the
 * bias. If true, a thread that ends the bias later sees what the owner wrote
 * before the call: the compiler leaves the owner's stores before the load, and
 * the membarrier of the ending thread comes after the load. */
static inline bool amg_bias_is_mine(const struct amg_bias *bias)
{
    atomic_signal_fence(memory_order_seq_cst);
    return atomic_load_explicit(&bias->owner, memory_order_relaxed) ==
           amg_bias_mark();
}

/* May make a system call, once per process. */
void amg_bias_init(struct amg_bias *bias);

void amg_bias_lock_slowly(struct amg_bias *bias);
bool amg_bias_trylock_slowly(struct amg_bias *bias);

static inline bool amg_bias_enter(struct amg_bias *bias, uintptr_t mark)
{
    atomic_store_explicit(&bias->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (AMG_LIKELY(
            atomic_load_explicit(&bias->owner, memory_order_relaxed) == mark))
        return true;
    atomic_store_explicit(&bias->busy, 0, memory_order_release);
    return false;
}

/* AMG_ASSERT_HELD() of a biased lock. */
#define AMG_ASSERT_HELD_BIAS(bias)                                             \
    AMG_ASSERT_DEEP(                                                           \
        atomic_load_explicit(&(bias)->busy, memory_order_relaxed) != 0 ||      \
        atomic_load_explicit(&(bias)->lock.held, memory_order_relaxed) !=      \
            AMG_LOCK_FREE)

/* Takes the lock if the calling thread is its owner, else returns false. Until
 * amg_bias_unlock_own() the lock cannot become SHARED. If callers handle false
 * in another function, the compiler saves no registers for the path of true. */
static AMG_INLINE bool amg_bias_lock_own(struct amg_bias *bias)
{
    uintptr_t mark = amg_bias_mark();

    return AMG_LIKELY(atomic_load_explicit(
                          &bias->owner, memory_order_relaxed) == mark) &&
           amg_bias_enter(bias, mark);
}

/* Takes the lock if the calling thread is its owner and does not hold it. */
static AMG_INLINE bool amg_bias_trylock_own(struct amg_bias *bias)
{
    return atomic_load_explicit(&bias->busy, memory_order_relaxed) == 0 &&
           amg_bias_lock_own(bias);
}

static inline void amg_bias_unlock_own(struct amg_bias *bias)
{
    atomic_store_explicit(&bias->busy, 0, memory_order_release);
}

static inline void amg_bias_lock(struct amg_bias *bias)
{
    if (!amg_bias_lock_own(bias))
        amg_bias_lock_slowly(bias);
}

/* Takes the lock if the calling thread is or becomes its owner; false: the lock
 * is shared for good, and not taken. For data that the owner changes by plain
 * stores; once the lock is shared, all threads use read-modify-writes. */
static inline bool amg_bias_lock_owned(struct amg_bias *bias)
{
    if (amg_bias_lock_own(bias))
        return true;
    if (amg_bias_is_shared(bias))
        return false;
    amg_bias_lock(bias);
    if (AMG_LIKELY(
            !atomic_load_explicit(&bias->is_shared, memory_order_relaxed)))
        return true;
    amg_lock_unlock(&bias->lock);
    return false;
}

/* False: a thread holds the lock, possibly the calling thread. */
static inline bool amg_bias_trylock(struct amg_bias *bias)
{
    return amg_bias_trylock_own(bias) || amg_bias_trylock_slowly(bias);
}

static inline void amg_bias_unlock(struct amg_bias *bias)
{
    if (AMG_LIKELY(
            !atomic_load_explicit(&bias->is_shared, memory_order_relaxed)))
        amg_bias_unlock_own(bias);
    else
        amg_lock_unlock(&bias->lock);
}

/* Unlocks; the caller then sees what a thread wrote before its try failed. */
static inline void amg_bias_unlock_fenced(struct amg_bias *bias)
{
    if (atomic_load_explicit(&bias->is_shared, memory_order_relaxed)) {
        /* The caller's next seq_cst load stays behind this exchange. */
        if (atomic_exchange_explicit(&bias->lock.held, AMG_LOCK_FREE,
                memory_order_seq_cst) == AMG_LOCK_WANTED)
            amg_lock_wake(&bias->lock);
        return;
    }
    atomic_store_explicit(&bias->busy, 0, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
}

/* The first thread that changes a tally gets a part that no other thread
 * writes; all other threads share one part. The sum is exact while no thread
 * changes the tally; else it may be off by the changes during the read. */

/* Owned by the struct that embeds it; all zero is an empty tally. Its release
 * stores pair with the acquire loads of the sum, so that a reader that sees a
 * user leave also sees what that user wrote. */
struct amg_tally {
    atomic_uintptr_t owner;  /* id of the first thread; 0: none yet */
    atomic_int_fast64_t own; /* written by that thread alone */
    atomic_int_fast64_t shared;
};

static inline void amg_tally_init(struct amg_tally *tally)
{
    atomic_init(&tally->owner, 0);
    atomic_init(&tally->own, 0);
    atomic_init(&tally->shared, 0);
}

/* amg_tally_add() by a thread that is not the owner, or becomes the owner. */
void amg_tally_add_slowly(struct amg_tally *tally, int64_t change);
static inline void amg_tally_add(struct amg_tally *tally, int64_t change)
{
    if (AMG_LIKELY(atomic_load_explicit(&tally->owner, memory_order_relaxed) ==
                   amg_bias_mark()))
        atomic_store_explicit(&tally->own,
            atomic_load_explicit(&tally->own, memory_order_relaxed) + change,
            memory_order_release);
    else
        amg_tally_add_slowly(tally, change);
}

static inline int64_t amg_tally_sum(const struct amg_tally *tally)
{
    int64_t own = atomic_load_explicit(&tally->own, memory_order_acquire);

    return own + atomic_load_explicit(&tally->shared, memory_order_acquire);
}

#endif
