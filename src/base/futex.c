/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping on a word, by the kernel's futexes that belong to one process. */
#include "base/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define NS_PER_S 1000000000ull

/* The moment of FUTEX_WAIT_BITSET is one of CLOCK_MONOTONIC, as amg_clock_ns().
 */
static long futex_wait(
    atomic_uint *word, unsigned seen, const struct timespec *until)
{
    return syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
        seen, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void amg_futex_wait(atomic_uint *word, unsigned seen)
{
    futex_wait(word, seen, NULL);
}

bool amg_futex_wait_until(
    atomic_uint *word, unsigned seen, uint64_t deadline_ns)
{
    struct timespec until;

    if (deadline_ns == AMG_NO_DEADLINE) {
        futex_wait(word, seen, NULL);
        return true;
    }
    until.tv_sec = (time_t)(deadline_ns / NS_PER_S);
    until.tv_nsec = (long)(deadline_ns % NS_PER_S);
    return futex_wait(word, seen, &until) == 0 || errno != ETIMEDOUT;
}

void amg_futex_wake(atomic_uint *word, unsigned count)
{
    if (count > INT_MAX)
        count = INT_MAX;
    syscall(
        SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
}
