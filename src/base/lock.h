/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks, futexes, event descriptors, and the pause of a spinning thread. */
#ifndef AMG_BASE_LOCK_H
#define AMG_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

/* Pauses for 10 to 50 ns, while the other hardware thread of the core runs. */
static inline void amg_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Blocks while the word is `seen`; may return early, so the caller checks the
 * word again. Always makes a system call. */
void amg_futex_wait(atomic_uint *word, unsigned seen);

/* amg_futex_wait() until a time of amg_clock_ns(). False: timed out. */
bool amg_futex_wait_until(
    atomic_uint *word, unsigned seen, uint64_t deadline_ns);

/* Wakes up to `count` threads; the caller changed the word before. Makes a
 * system call, so callers call only if a thread blocks. Does not access the
 * word, whose memory may have been freed already. */
void amg_futex_wake(atomic_uint *word, unsigned count);

/* A descriptor on which a thread blocks until another thread wakes it: readable
 * from signal to drain. Returns -1, with `errno` set, when the process has no
 * descriptor left. */
int amg_eventfd_open(void);
/* Accepts -1. */
void amg_eventfd_close(int fd);
/* Any thread. Makes a system call, so callers call only if a thread blocks. */
void amg_eventfd_signal(int fd);
/* Makes `fd` unreadable until the next signal; `fd` need not be signalled. */
void amg_eventfd_drain(int fd);

enum amg_lock_word {
    AMG_LOCK_FREE,
    AMG_LOCK_HELD,
    AMG_LOCK_WANTED, /* held, and a thread sleeps until the lock is free */
};

struct amg_lock {
    /* An amg_lock_word. The compare and exchange that finds FREE pairs with the
     * release store in amg_lock_unlock(), and so sees all that was written
     * under the lock. */
    atomic_uint held;
};

/* Written behind the name of a static lock. fork() holds all such locks while
 * the kernel copies the memory, if they are free within 2 s, so that the child,
 * where all are free, finds consistent data. Each lock has a cache line. */
enum { AMG_LOCK_STEP = 64 };
#define AMG_LOCK_KEPT                                                          \
    __attribute__((section("amg_locks"), aligned(AMG_LOCK_STEP)))

/* Leaves the core for a moment to threads that the caller waits for, between
 * two checks: yields at first, then sleeps for 50 us. `tries`: number of
 * earlier calls in this wait. */
void amg_back_off(unsigned tries);

/* Takes a lock that the first try found held: spins, then sleeps. */
void amg_lock_wait(struct amg_lock *lock);
/* Wakes a thread in amg_lock_wait(); the lock was unlocked before. */
void amg_lock_wake(struct amg_lock *lock);

static inline void amg_lock_init(struct amg_lock *lock)
{
    atomic_init(&lock->held, AMG_LOCK_FREE);
}

static inline bool amg_lock_trylock(struct amg_lock *lock)
{
    unsigned from = AMG_LOCK_FREE;

    return atomic_compare_exchange_strong_explicit(&lock->held, &from,
        AMG_LOCK_HELD, memory_order_acquire, memory_order_relaxed);
}

static inline void amg_lock_lock(struct amg_lock *lock)
{
    if (!amg_lock_trylock(lock))
        amg_lock_wait(lock);
}

static inline void amg_lock_unlock(struct amg_lock *lock)
{
    unsigned word = atomic_load_explicit(&lock->held, memory_order_relaxed);

    atomic_store_explicit(&lock->held, AMG_LOCK_FREE, memory_order_release);
    if (!AMG_LIKELY(word != AMG_LOCK_WANTED))
        amg_lock_wake(lock);
}

/* For a function whose caller holds the lock: checks, in builds with test
 * points, that some thread holds the lock. */
#define AMG_ASSERT_HELD(lock)                                                  \
    AMG_ASSERT_DEEP(atomic_load_explicit(                                      \
                        &(lock)->held, memory_order_relaxed) != AMG_LOCK_FREE)

/* Hints that the caller will write to `line`, which may be any address. On x86,
 * gcc's builtin asks for ownership only with options such as -march; processors
 * without prefetchw ignore the instruction. */
static inline void amg_prefetch_to_write(const void *line)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

#endif
