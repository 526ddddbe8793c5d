/* SPDX-License-Identifier: BSD-3-Clause */
/* Biased locks, and counters that mostly one thread changes. */
#include "base/bias.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"

/* States of the owner word. A thread id is an address, and above 3. */
enum {
    OWNER_NONE = 0,    /* no thread has taken the lock yet */
    OWNER_ENDING = 1,  /* a thread is ending the bias */
    OWNER_LEAVING = 2, /* bias ended; `busy` 1: the old owner has the lock */
    OWNER_SHARED = AMG_BIAS_SHARED, /* permanent */
};

#if !(defined(__x86_64__) && !defined(__ILP32__)) && !defined(__aarch64__)
AMG_NOINLINE uintptr_t amg_bias_mark_far(void)
{
    static _Thread_local char mine;

    /* Forbids merging two calls: a ULT may change its OS thread in between. */
    __asm__ volatile("" : : : "memory");
    return (uintptr_t)&mine;
}
#endif

static bool can_bias; /* written once, by support_probe() */

static long barrier_all(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

static void support_probe(void)
{
    can_bias = barrier_all(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
               barrier_all(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

void amg_bias_init(struct amg_bias *bias)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, support_probe);
    atomic_init(&bias->owner, can_bias ? OWNER_NONE : OWNER_SHARED);
    atomic_init(&bias->busy, 0);
    amg_lock_init(&bias->lock);
    atomic_init(&bias->is_shared, !can_bias);
}

/* A full barrier in every thread. As support_probe() succeeded, ENOMEM is the
 * only error: the kernel allocates a mask of cores. */
static void threads_fence(void)
{
    unsigned rests = 0;

    while (barrier_all(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
        AMG_ASSERT(errno == ENOMEM);
        amg_back_off(rests++);
    }
}

static bool owner_change(struct amg_bias *bias, uintptr_t from, uintptr_t to)
{
    return atomic_compare_exchange_strong_explicit(
        &bias->owner, &from, to, memory_order_acq_rel, memory_order_relaxed);
}

/* In LEAVING: makes the lock SHARED unless the old owner holds the lock. True:
 * the lock is SHARED now. */
static bool bias_leave(struct amg_bias *bias)
{
    if (atomic_load_explicit(&bias->busy, memory_order_acquire) != 0)
        return false;
    atomic_store_explicit(&bias->is_shared, true, memory_order_relaxed);
    owner_change(bias, OWNER_LEAVING, OWNER_SHARED);
    return true;
}

/* Makes the caller the owner of the lock, or ends the bias of another thread.
 * Returns the state: the caller's id, LEAVING or SHARED. */
static uintptr_t bias_settle(struct amg_bias *bias, uintptr_t mark)
{
    unsigned rests = 0;

    for (;;) {
        uintptr_t owner =
            atomic_load_explicit(&bias->owner, memory_order_acquire);

        if (owner == mark || owner == OWNER_LEAVING || owner == OWNER_SHARED)
            return owner;
        if (owner == OWNER_NONE) {
            owner_change(bias, owner, mark);
        } else if (owner == OWNER_ENDING) {
            amg_back_off(rests++);
        } else if (owner_change(bias, owner, OWNER_ENDING)) {
            threads_fence();
            owner_change(bias, OWNER_ENDING, OWNER_LEAVING);
        }
    }
}

void amg_bias_lock_slowly(struct amg_bias *bias)
{
    uintptr_t mark = amg_bias_mark();
    uintptr_t owner = 0;
    unsigned rests = 0;

    while ((owner = bias_settle(bias, mark)) != OWNER_SHARED) {
        if (owner == OWNER_LEAVING && !bias_leave(bias))
            amg_back_off(rests++);
        if (owner == mark && amg_bias_enter(bias, mark))
            return;
    }
    amg_lock_lock(&bias->lock);
}

bool amg_bias_trylock_slowly(struct amg_bias *bias)
{
    uintptr_t mark = amg_bias_mark();
    uintptr_t owner = 0;
    unsigned from = AMG_LOCK_FREE;

    while ((owner = bias_settle(bias, mark)) != OWNER_SHARED) {
        if (owner == mark) {
            if (atomic_load_explicit(&bias->busy, memory_order_relaxed) != 0)
                return false; /* the calling thread holds the lock */
            if (amg_bias_enter(bias, mark))
                return true;
        }
        if (owner != OWNER_LEAVING || bias_leave(bias))
            continue;
        /* For a try that fails: if bias_leave() reads an old 1 in `busy`, the
         * owner will read what the caller wrote before the try. */
        threads_fence();
        if (!bias_leave(bias))
            return false;
    }
    /* For a try that fails: in the single order of seq_cst accesses, the
     * caller's writes come before this exchange, and this exchange before the
     * holder's exchange in amg_bias_unlock_fenced(). */
    return atomic_compare_exchange_strong_explicit(&bias->lock.held, &from,
        AMG_LOCK_HELD, memory_order_seq_cst, memory_order_seq_cst);
}

void amg_tally_add_slowly(struct amg_tally *tally, int64_t change)
{
    uintptr_t nobody = 0;

    if (atomic_compare_exchange_strong_explicit(&tally->owner, &nobody,
            amg_bias_mark(), memory_order_relaxed, memory_order_relaxed))
        amg_tally_add(tally, change);
    else
        atomic_fetch_add_explicit(&tally->shared, change, memory_order_release);
}
