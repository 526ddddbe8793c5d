/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptor that a context blocks on, and its wake-ups.
 *
 * The descriptor is an epoll of three: the provider's queue; an eventfd, which
 * other contexts of this class signal when they find events for this context;
 * and a timer, which bounds every wait: for deadlines, and for a provider that
 * needs another poll, or lost a wake-up. The timer is short while operations
 * wait for room or are in flight, while credits are owed, and while the
 * descriptor is muted; otherwise it wakes the thread ten times a second.
 *
 * The queue's descriptor of net in libfabric 1.17 (and of tcp in 1.18.0) stays
 * readable for ever once it was readable. So the driver mutes (ignores) for a
 * second a descriptor that is readable too often while the queue is empty, and
 * relies on the timer. The bytes of a long access, too, make the descriptor
 * readable while the queue is empty, until the access completes.
 *
 * The epoll has the queue's descriptor only while threads block, as each event
 * of a queue in an epoll costs half a microsecond more, even without a wait. */
#include "ofi_backend/ofi_ep.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/clock.h"
#include "base/log.h"

#define NS_PER_S       1000000000ull
#define WAIT_RETRY_NS  (1 * AMG_NS_PER_MS)   /* a post found no room */
#define WAIT_FLIGHT_NS (10 * AMG_NS_PER_MS)  /* operations are in flight */
#define WAIT_IDLE_NS   (100 * AMG_NS_PER_MS) /* nothing is in flight */
#define WAIT_MUTE_NS   (8 * AMG_NS_PER_MS)   /* the descriptor is muted */

enum {
    SPINNING_TICKS = 2,    /* no thread blocked: the queue leaves the epoll */
    MUTE_TICKS = 10,       /* a second */
    FALSE_ALARMS_MAX = 16, /* in a row, before a descriptor is muted */
};

static int fd_join(int all, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(all, EPOLL_CTL_ADD, fd, &event);
}

void amg_ofi_wait_init(struct amg_ofi_ep *ep)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);

    ep->wait_fd = -1;
    ep->event_fd = -1;
    ep->timer = -1;
    if (!domain->facts.can_sleep)
        return;
    ep->event_fd = amg_eventfd_open();
    ep->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    ep->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    if (ep->event_fd >= 0 && ep->timer >= 0 && ep->wait_fd >= 0 &&
        fd_join(ep->wait_fd, ep->event_fd) == 0 &&
        fd_join(ep->wait_fd, ep->timer) == 0)
        return;
    AMG_LOG_WARNING("ctx",
        "ofi: no descriptor to block on (%s): waiting polls at intervals, "
        "which uses CPU time; see ulimit -n",
        strerror(errno));
    amg_ofi_wait_fini(ep);
}

void amg_ofi_wait_fini(struct amg_ofi_ep *ep)
{
    if (ep->wait_fd >= 0)
        close(ep->wait_fd);
    if (ep->timer >= 0)
        close(ep->timer);
    amg_eventfd_close(ep->event_fd);
    ep->wait_fd = -1;
    ep->timer = -1;
    ep->event_fd = -1;
}

int amg_ofi_wait_fd(const struct amg_ep *base)
{
    return amg_ofi_ep_of(base)->wait_fd;
}

static void timer_set(struct amg_ofi_ep *ep, uint64_t ns)
{
    const struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(ns / NS_PER_S),
            .tv_nsec = (long)(ns % NS_PER_S)},
    };

    (void)timerfd_settime(ep->timer, 0, &when, NULL);
}

static uint64_t wait_ns(const struct amg_ofi_domain *domain)
{
    if (!amg_list_is_empty(&domain->peers.pending) ||
        !amg_list_is_empty(&domain->rma.transfers) || domain->in.wants_receive)
        return WAIT_RETRY_NS;
    if (domain->wait.fd < 0)
        return WAIT_MUTE_NS;
    if (!amg_list_is_empty(&domain->msgbufs.in_flight) ||
        domain->rma.in_flight > 0 || amg_flow_is_owing(&domain->calls.flow))
        return WAIT_FLIGHT_NS;
    return WAIT_IDLE_NS;
}

/* Adds the queue's descriptor to the epoll; else the timer wakes the thread. */
static void queue_join_locked(struct amg_ofi_ep *ep)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    ep->armed_tick = domain->clock.tick;
    if (!ep->is_joined && domain->wait.fd >= 0)
        ep->is_joined = fd_join(ep->wait_fd, domain->wait.fd) == 0;
}

static void queue_leave_locked(struct amg_ofi_ep *ep)
{
    AMG_ASSERT_HELD_BIAS(&amg_ofi_domain_of_ep(ep)->lock);
    if (!ep->is_joined)
        return;
    (void)epoll_ctl(
        ep->wait_fd, EPOLL_CTL_DEL, amg_ofi_domain_of_ep(ep)->wait.fd, NULL);
    ep->is_joined = false;
}

void amg_ofi_wait_tick_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->wait.muted_fd >= 0 &&
        domain->clock.tick - domain->wait.muted_tick >= MUTE_TICKS) {
        domain->wait.fd = domain->wait.muted_fd;
        domain->wait.muted_fd = -1;
        domain->wait.false_alarms = 0;
    }
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        struct amg_ofi_ep *ep = domain->eps[i];

        if (ep != NULL && !ep->is_armed &&
            domain->clock.tick - ep->armed_tick >= SPINNING_TICKS)
            queue_leave_locked(ep);
    }
}

/* Ignores the descriptor of the queue for a second. */
static void queue_mute_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!domain->wait.was_muted)
        AMG_LOG_INFO("ofi",
            "the descriptor of ofi+%s is readable though its queue is empty; "
            "meanwhile waiting polls every %u ms",
            domain->facts.stack, (unsigned)(WAIT_MUTE_NS / AMG_NS_PER_MS));
    domain->wait.was_muted = true;
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            queue_leave_locked(domain->eps[i]);
    AMG_ASSERT(domain->wait.fd >= 0 && domain->wait.muted_fd < 0);
    domain->wait.muted_fd = domain->wait.fd;
    domain->wait.muted_tick = domain->clock.tick;
    domain->wait.fd = -1;
}

/* Is the queue empty, so that a thread may block? Mutes a descriptor that is
 * readable in vain: then the timer, not the descriptor, wakes the thread. */
static bool queue_is_quiet_locked(struct amg_ofi_domain *domain)
{
    struct pollfd event = {.fd = domain->wait.fd, .events = POLLIN};
    struct fi_cq_data_entry entry;
    ssize_t got = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (amg_ofi_call->cq_trywait(domain->fi.fabric, domain->fi.cq) != 0)
        return false;
    if (domain->wait.fd < 0)
        return true;
    if (poll(&event, 1, 0) == 0) {
        domain->wait.false_alarms = 0;
        return true;
    }
    got = amg_ofi_call->cq_read(domain->fi.cq, &entry, 1);
    if (got == 1)
        amg_ofi_poll_on_completion_locked(domain, &entry);
    if (got != -FI_EAGAIN || ++domain->wait.false_alarms < FALSE_ALARMS_MAX)
        return false;
    queue_mute_locked(domain);
    return true;
}

bool amg_ofi_wait_arm_locked(struct amg_ofi_ep *ep)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(ep->wait_fd >= 0);
    if (!queue_is_quiet_locked(domain))
        return false;
    domain->wait.armed_count += ep->is_armed ? 0 : 1;
    ep->is_armed = true;
    queue_join_locked(ep);
    ep->wait_ns = wait_ns(domain);
    if (!ep->is_joined && ep->wait_ns > WAIT_MUTE_NS)
        ep->wait_ns = WAIT_MUTE_NS;
    timer_set(ep, ep->wait_ns);
    return true;
}

void amg_ofi_wait_wake_locked(struct amg_ofi_ep *ep)
{
    AMG_ASSERT_HELD_BIAS(&amg_ofi_domain_of_ep(ep)->lock);
    if (!ep->is_armed || ep->is_woken)
        return;
    AMG_ASSERT(ep->event_fd >= 0);
    ep->is_woken = true;
    amg_eventfd_signal(ep->event_fd);
    amg_driver_count(&amg_ofi_domain_of_ep(ep)->calls.counts.wakes);
}

void amg_ofi_wait_shorten_locked(struct amg_ofi_domain *domain)
{
    uint64_t wait = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->wait.armed_count == 0)
        return;
    wait = wait_ns(domain);
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        struct amg_ofi_ep *ep = domain->eps[i];

        if (ep == NULL || !ep->is_armed || ep->wait_ns <= wait)
            continue;
        ep->wait_ns = wait;
        timer_set(ep, wait);
    }
}

void amg_ofi_wait_disarm_locked(struct amg_ofi_ep *ep)
{
    AMG_ASSERT_HELD_BIAS(&amg_ofi_domain_of_ep(ep)->lock);
    if (!ep->is_armed)
        return;
    ep->is_armed = false;
    AMG_ASSERT(amg_ofi_domain_of_ep(ep)->wait.armed_count > 0);
    amg_ofi_domain_of_ep(ep)->wait.armed_count--;
    if (ep->is_woken)
        amg_eventfd_drain(ep->event_fd);
    ep->is_woken = false;
    timer_set(ep, 0);
}

void amg_ofi_op_end_locked(struct amg_op *op, hg_return_t ret)
{
    struct amg_ofi_ep *ep = amg_ofi_ep_of(amg_call_ep(op));

    AMG_ASSERT_HELD_BIAS(&amg_ofi_domain_of_ep(ep)->lock);
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->ret = ret;
    amg_list_push(&ep->done, &op->link);
    amg_ofi_wait_wake_locked(ep);
}
