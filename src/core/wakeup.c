/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleep and wake-up of the threads that wait for a context.
 * Model: tests/models/shm_ring.pml. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/wakeup.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/trace.h"
#include "core/context.h"

/* Descriptors are created on first use: a context that is only polled has none.
 * Each waiter has its own descriptor, because a waiter that drains its doorbell
 * must not consume the wake-up of another. */

#define NS_PER_S 1000000000ull

enum {
    NOT_MADE = -1,
    CANNOT = -2,
    EVENTS = 4,          /* per epoll call */
    FIXED_WAIT_MS = 1,   /* a sleep without a descriptor */
    MS_MAX = 1000 * 600, /* longest sleep of epoll_wait() */
};

static int ep_fd(const struct amg_ep *ep)
{
    return ep->transport->ep.wait_fd(ep);
}

void amg_wakeup_init(hg_context_t *context)
{
    struct amg_wakeup *wakeup = &context->wakeup;

    amg_lock_init(&wakeup->lock);
    for (unsigned i = 0; i < AMG_CQ_WAITERS; i++) {
        atomic_init(&wakeup->fds[i], NOT_MADE);
        wakeup->event_fds[i] = -1;
    }
    wakeup->is_oversubscribed = false;
    wakeup->quiet_since_ns = 0;
    atomic_init(&wakeup->was_posted, false);
    atomic_init(&wakeup->moves, 0);
    wakeup->is_not_pollable = false;
    wakeup->is_thread_not_pollable = false;
    for (unsigned i = 0; i < context->open_count; i++) {
        unsigned route = context->open[i];

        if (context->cls->is_idle[route] || ep_fd(context->eps[route]) >= 0)
            continue;
        wakeup->is_not_pollable = true;
        if (!amg_class_is_user_bound(context->cls, route))
            wakeup->is_thread_not_pollable = true;
    }
}

void amg_wakeup_fini(hg_context_t *context)
{
    struct amg_wakeup *wakeup = &context->wakeup;

    for (unsigned i = 0; i < AMG_CQ_WAITERS; i++) {
        int fd = atomic_load_explicit(&wakeup->fds[i], memory_order_relaxed);

        if (fd >= 0)
            close(fd);
        amg_eventfd_close(wakeup->event_fds[i]);
    }
}

static int fd_join(int all, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(all, EPOLL_CTL_ADD, fd, &event);
}

/* Creates the epoll descriptor of a waiter. -1: `errno` has the reason. */
static int fd_make(hg_context_t *context, int event_fd)
{
    int all = epoll_create1(EPOLL_CLOEXEC);
    int err = 0;

    if (all < 0)
        return -1;
    if (fd_join(all, event_fd) != 0)
        goto close_all;
    for (unsigned i = 0; i < context->open_count; i++) {
        int fd = ep_fd(context->eps[context->open[i]]);

        if (fd >= 0 && fd_join(all, fd) != 0)
            goto close_all;
    }
    return all;

close_all:
    err = errno;
    close(all);
    errno = err;
    return -1;
}

static int fd_make_locked(hg_context_t *context, enum amg_cq_who who)
{
    struct amg_wakeup *wakeup = &context->wakeup;
    int fd = -1;

    AMG_ASSERT_HELD(&wakeup->lock);
    wakeup->event_fds[who] = amg_eventfd_open();
    if (wakeup->event_fds[who] >= 0)
        fd = fd_make(context, wakeup->event_fds[who]);
    if (fd < 0) {
        AMG_LOG_WARNING("ctx",
            "context %u has no descriptor to block on (%s): its waits poll at "
            "intervals, which uses CPU time; see ulimit -n",
            context->id, strerror(errno));
        return CANNOT;
    }
    amg_cq_set_event_fd(&context->cq, who, wakeup->event_fds[who]);
    return fd;
}

int amg_wakeup_fd(hg_context_t *context, enum amg_cq_who who)
{
    struct amg_wakeup *wakeup = &context->wakeup;
    int fd = atomic_load_explicit(&wakeup->fds[who], memory_order_acquire);

    if (fd == NOT_MADE) {
        /* NOTE(not a leaf lock): the queue takes its own lock inside, and never
         * takes `lock`. */
        amg_lock_lock(&wakeup->lock);
        fd = atomic_load_explicit(&wakeup->fds[who], memory_order_relaxed);
        if (fd == NOT_MADE) {
            fd = fd_make_locked(context, who);
            atomic_store_explicit(&wakeup->fds[who], fd, memory_order_release);
        }
        amg_lock_unlock(&wakeup->lock);
    }
    return fd < 0 ? -1 : fd;
}

bool amg_wakeup_arm(hg_context_t *context, enum amg_cq_who who, unsigned epoch)
{
    if (!amg_cq_arm(&context->cq, who, epoch)) /* ends with a fence */
        return false;
    amg_context_send_unsent(context);
    /* The next poll must check the rarely polled endpoint, too. */
    atomic_store_explicit(&context->rare.is_wanted, true, memory_order_relaxed);
    for (unsigned i = 0; i < context->open_count; i++) {
        struct amg_ep *ep = context->eps[context->open[i]];

        if (!ep->transport->ep.arm(ep)) {
            amg_cq_disarm(&context->cq, who);
            return false;
        }
    }
    return true;
}

static void sleep_count(hg_context_t *context)
{
    amg_tally_add(&context->cq.waiters.sleeps, 1);
}

/* Sleeps for up to `ns`. The next poll checks all endpoints for the event. */
static enum amg_wakeup_reason fd_sleep(int fd, int event_fd, uint64_t ns)
{
    struct epoll_event events[EVENTS];
    struct timespec time = {
        .tv_sec = (time_t)(ns / NS_PER_S),
        .tv_nsec = (long)(ns % NS_PER_S),
    };
    uint64_t ms = (ns + AMG_NS_PER_MS - 1) / AMG_NS_PER_MS;
    int count = epoll_pwait2(fd, events, EVENTS, &time, NULL);

    /* Kernels before 5.11 lack the call; old seccomp filters answer EPERM. */
    if (count < 0 && (errno == ENOSYS || errno == EPERM))
        count = epoll_wait(fd, events, EVENTS, ms < MS_MAX ? (int)ms : MS_MAX);
    for (int i = 0; i < count; i++)
        if (events[i].data.fd == event_fd)
            return AMG_WAKEUP_SIGNAL;
    return count > 0 ? AMG_WAKEUP_EVENT : AMG_WAKEUP_TIMEOUT;
}

enum amg_wakeup_reason amg_wakeup_block(
    hg_context_t *context, enum amg_cq_who who, uint64_t until_ns)
{
    enum amg_wakeup_reason end = AMG_WAKEUP_TIMEOUT;
    uint64_t now_ns = amg_clock_ns();

    if (until_ns > now_ns) {
        sleep_count(context);
        amg_trace_at(AMALGAM_TRACE_WAITS, AMG_TRACE_SLEEP, NULL, 0, 0);
        end = fd_sleep(amg_wakeup_fd(context, who),
            context->wakeup.event_fds[who], until_ns - now_ns);
        amg_trace_at(AMALGAM_TRACE_WAITS, AMG_TRACE_SLEEP_END, NULL, 0, 0);
    }
    amg_cq_disarm(&context->cq, who);
    return end;
}

/* Sleeps for a short time, as no wake-up ends a sleep without a descriptor. */
static void fixed_wait(uint64_t now_ns, uint64_t until_ns)
{
    uint64_t wait_ns = FIXED_WAIT_MS * AMG_NS_PER_MS;

    amg_clock_sleep_ns(
        until_ns - now_ns < wait_ns ? until_ns - now_ns : wait_ns);
}

void amg_wakeup_timed_wait(hg_context_t *context, uint64_t until_ns)
{
    struct pollfd poll = {.events = POLLIN};
    uint64_t now_ns = amg_clock_ns();
    struct timespec time;

    if (until_ns <= now_ns)
        return;
    sleep_count(context);
    if (amg_wakeup_fd(context, AMG_CQ_THREAD) < 0) {
        fixed_wait(now_ns, until_ns);
        return;
    }
    poll.fd = context->wakeup.event_fds[AMG_CQ_THREAD];
    time.tv_sec = (time_t)((until_ns - now_ns) / NS_PER_S);
    time.tv_nsec = (long)((until_ns - now_ns) % NS_PER_S);
    amg_trace_at(AMALGAM_TRACE_WAITS, AMG_TRACE_SLEEP, NULL, 0, 0);
    (void)ppoll(&poll, 1, &time, NULL);
    amg_trace_at(AMALGAM_TRACE_WAITS, AMG_TRACE_SLEEP_END, NULL, 0, 0);
}

void amg_wakeup_wake(hg_context_t *context, enum amg_cq_who who)
{
    if (amg_wakeup_fd(context, who) >= 0)
        amg_cq_signal(&context->cq, who);
}

void amg_wakeup_block_until(
    hg_context_t *context, unsigned epoch, unsigned ran, uint64_t until_ns)
{
    uint64_t now_ns = amg_clock_ns();
    int fd = amg_wakeup_fd(context, AMG_CQ_OWNER);

    if (until_ns <= now_ns)
        return;
    if (fd < 0) {
        sleep_count(context);
        fixed_wait(now_ns, until_ns);
    } else if (amg_wakeup_arm(context, AMG_CQ_OWNER, epoch)) {
        (void)amg_wakeup_block(context, AMG_CQ_OWNER,
            atomic_load_explicit(&context->ran, memory_order_relaxed) == ran
                ? until_ns
                : now_ns);
    }
}

bool amg_wakeup_sleep(struct amg_cq_waiter *waiter, uint64_t until_ns)
{
    unsigned word = AMG_CQ_WAITER_LOOKS;
    bool is_woken = true;

    if (!atomic_compare_exchange_strong_explicit(&waiter->word, &word,
            AMG_CQ_WAITER_SLEEPS, memory_order_relaxed, memory_order_relaxed))
        return amg_clock_ns() < until_ns;
    amg_tally_add(waiter->sleeps, 1);
    amg_trace_at(AMALGAM_TRACE_WAITS, AMG_TRACE_SLEEP, NULL, 0, 0);
    while (is_woken && atomic_load_explicit(&waiter->word,
                           memory_order_relaxed) == AMG_CQ_WAITER_SLEEPS)
        is_woken =
            amg_futex_wait_until(&waiter->word, AMG_CQ_WAITER_SLEEPS, until_ns);
    amg_trace_at(AMALGAM_TRACE_WAITS, AMG_TRACE_SLEEP_END, NULL, 0, 0);
    return is_woken;
}

bool amg_wakeup_is_core_shared(hg_context_t *context)
{
    bool is_oversubscribed = false;

    /* Asks every driver, as each answer also tells peers this thread's core. */
    for (unsigned i = 0; i < context->open_count; i++) {
        struct amg_ep *ep = context->eps[context->open[i]];

        if (ep->transport->ep.is_oversubscribed(ep))
            is_oversubscribed = true;
    }
    return is_oversubscribed;
}
