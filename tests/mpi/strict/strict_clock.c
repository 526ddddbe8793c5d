/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of ranks that take turns, and their sleeps.
 *
 * A rank sees a time that all ranks share and that their calls, looks and
 * sleeps move; so nothing depends on how fast the machine is. A sleep ends when
 * the clock says so, after turns of other ranks. Only the program and Amalgam
 * see that clock: MPI, and threads without turns, have the real one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, ppoll() */
#endif
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>

#include "mpi/strict/strict_token.h"

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

enum {
    LOOK_NS = 200,    /* a look at the clock */
    YIELD_NS = 2000,  /* a sched_yield() */
    ROUND_NS = 50000, /* a look at descriptors that are waited for */
    HANDED_ON = 8,    /* so many looks, and another rank is next */
    START_S = 1000,
};

static bool is_ours(const void *caller)
{
    return strict_token_is_mine() && strict_is_watched(caller);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static unsigned looks;
    static int (*_Atomic real)(clockid_t, struct timespec *);
    uint64_t ns = 0;

    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(
            RTLD_NEXT, "clock_gettime");
    if (clock != CLOCK_MONOTONIC || !is_ours(__builtin_return_address(0)))
        return real(clock, now);
    if (++looks % HANDED_ON == 0)
        strict_token_yield();
    ns = START_S * NS_PER_S + strict_token_clock(LOOK_NS);
    now->tv_sec = (time_t)(ns / NS_PER_S);
    now->tv_nsec = (long)(ns % NS_PER_S);
    return 0;
}

int nanosleep(const struct timespec *nap, struct timespec *left)
{
    static int (*_Atomic real)(const struct timespec *, struct timespec *);

    if (real == NULL)
        real = (int (*)(const struct timespec *, struct timespec *))dlsym(
            RTLD_NEXT, "nanosleep");
    if (!is_ours(__builtin_return_address(0)))
        return real(nap, left);
    (void)strict_token_clock(
        (uint64_t)nap->tv_sec * NS_PER_S + (uint64_t)nap->tv_nsec);
    strict_token_yield();
    return 0;
}

int sched_yield(void)
{
    static int (*_Atomic real)(void);

    if (real == NULL)
        real = (int (*)(void))dlsym(RTLD_NEXT, "sched_yield");
    if (!is_ours(__builtin_return_address(0)))
        return real();
    (void)strict_token_clock(YIELD_NS);
    strict_token_yield();
    return 0;
}

/* One round of a wait for descriptors; false: the time is over. */
static bool round_over(uint64_t end_ns)
{
    uint64_t now_ns = strict_token_clock(ROUND_NS);

    strict_token_yield();
    return now_ns < end_ns;
}

/* Negative: no limit. */
static uint64_t end_of(int timeout_ms)
{
    return timeout_ms < 0
               ? UINT64_MAX
               : strict_token_clock(0) + (uint64_t)timeout_ms * NS_PER_MS;
}

static uint64_t end_at(const struct timespec *limit)
{
    return strict_token_clock(0) + (uint64_t)limit->tv_sec * NS_PER_S +
           (uint64_t)limit->tv_nsec;
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    static int (*_Atomic real)(int, struct epoll_event *, int, int);
    uint64_t end_ns = 0;
    int count = 0;

    if (real == NULL)
        real = (int (*)(int, struct epoll_event *, int, int))dlsym(
            RTLD_NEXT, "epoll_wait");
    if (!is_ours(__builtin_return_address(0)))
        return real(fd, events, max, timeout_ms);
    end_ns = end_of(timeout_ms);
    while ((count = real(fd, events, max, 0)) == 0 && timeout_ms != 0 &&
           round_over(end_ns))
        continue;
    return count;
}

int epoll_pwait2(int fd, struct epoll_event *events, int max,
    const struct timespec *limit, const sigset_t *mask)
{
    static int (*_Atomic real)(int, struct epoll_event *, int,
        const struct timespec *, const sigset_t *);
    const struct timespec zero = {0, 0};
    uint64_t end_ns = UINT64_MAX;
    int count = 0;

    if (real == NULL)
        real = (int (*)(int, struct epoll_event *, int, const struct timespec *,
            const sigset_t *))dlsym(RTLD_NEXT, "epoll_pwait2");
    if (!is_ours(__builtin_return_address(0)))
        return real(fd, events, max, limit, mask);
    if (limit != NULL)
        end_ns = end_at(limit);
    while ((count = real(fd, events, max, &zero, mask)) == 0 &&
           end_ns > strict_token_clock(0) && round_over(end_ns))
        continue;
    return count;
}

int poll(struct pollfd *fds, nfds_t fd_count, int timeout_ms)
{
    static int (*_Atomic real)(struct pollfd *, nfds_t, int);
    uint64_t end_ns = 0;
    int count = 0;

    if (real == NULL)
        real = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    if (!is_ours(__builtin_return_address(0)))
        return real(fds, fd_count, timeout_ms);
    end_ns = end_of(timeout_ms);
    while ((count = real(fds, fd_count, 0)) == 0 && timeout_ms != 0 &&
           round_over(end_ns))
        continue;
    return count;
}

int ppoll(struct pollfd *fds, nfds_t fd_count, const struct timespec *limit,
    const sigset_t *mask)
{
    static int (*_Atomic real)(
        struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    const struct timespec zero = {0, 0};
    uint64_t end_ns = UINT64_MAX;
    int count = 0;

    if (real == NULL)
        real = (int (*)(struct pollfd *, nfds_t, const struct timespec *,
            const sigset_t *))dlsym(RTLD_NEXT, "ppoll");
    if (!is_ours(__builtin_return_address(0)))
        return real(fds, fd_count, limit, mask);
    if (limit != NULL)
        end_ns = end_at(limit);
    while (
        (count = real(fds, fd_count, &zero, mask)) == 0 && round_over(end_ns))
        continue;
    return count;
}
