/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll sets and event descriptors of mercury_poll.h and mercury_event.h. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_event.h"
#include "mercury_poll.h"

int hg_event_create(void)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    if (fd < 0)
        AMG_LOG_ERROR("hg_util",
            "cannot create an event: %s; check ulimit -n and open descriptors",
            strerror(errno));
    return fd;
}

int hg_event_destroy(int fd)
{
    return close(fd) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_event_set(int fd)
{
    const uint64_t one = 1;
    ssize_t len = 0;

    do {
        len = write(fd, &one, sizeof(one));
    } while (len < 0 && errno == EINTR);
    /* EAGAIN: the counter is at its maximum, so the event is set already. */
    return len == sizeof(one) || errno == EAGAIN ? HG_UTIL_SUCCESS
                                                 : HG_UTIL_FAIL;
}

int hg_event_get(int fd, bool *notified)
{
    uint64_t count = 0;
    ssize_t len = 0;

    do {
        len = read(fd, &count, sizeof(count));
    } while (len < 0 && errno == EINTR);
    if (len != sizeof(count) && errno != EAGAIN)
        return HG_UTIL_FAIL;
    if (notified != NULL)
        *notified = len == sizeof(count);
    return HG_UTIL_SUCCESS;
}

/* Poll sets. A wait allocates nothing: epoll_wait() writes to the stack. */

/* Owned by the program, from create to destroy. */
struct hg_poll_set {
    int fd;
};

static const struct flag_pair {
    uint32_t ours;
    uint32_t theirs;
} flag_pairs[] = {
    {HG_POLLIN, EPOLLIN},
    {HG_POLLOUT, EPOLLOUT},
    {HG_POLLERR, EPOLLERR},
    {HG_POLLHUP, EPOLLHUP},
};

enum { FLAG_PAIRS = sizeof(flag_pairs) / sizeof(flag_pairs[0]) };

/* Converts flags of mercury_poll.h to flags of epoll (`to_kernel`), or back. */
static uint32_t flags_convert(uint32_t flags, bool to_kernel)
{
    uint32_t result = 0;

    for (unsigned i = 0; i < FLAG_PAIRS; i++) {
        uint32_t ours = flag_pairs[i].ours;
        uint32_t theirs = flag_pairs[i].theirs;

        if ((flags & (to_kernel ? ours : theirs)) != 0)
            result |= to_kernel ? theirs : ours;
    }
    return result;
}

hg_poll_set_t *hg_poll_create(void)
{
    struct hg_poll_set *poll_set = amg_mem_alloc(sizeof(*poll_set));

    if (poll_set == NULL)
        return NULL;
    poll_set->fd = epoll_create1(EPOLL_CLOEXEC);
    if (poll_set->fd < 0) {
        AMG_LOG_ERROR("hg_util",
            "cannot create a poll set: %s; check ulimit -n and open "
            "descriptors",
            strerror(errno));
        amg_mem_free(poll_set);
        return NULL;
    }
    return poll_set;
}

int hg_poll_destroy(hg_poll_set_t *poll_set)
{
    if (poll_set == NULL)
        return HG_UTIL_SUCCESS;
    close(poll_set->fd);
    amg_mem_free(poll_set);
    return HG_UTIL_SUCCESS;
}

int hg_poll_get_fd(hg_poll_set_t *poll_set)
{
    return poll_set != NULL ? poll_set->fd : -1;
}

int hg_poll_add(hg_poll_set_t *poll_set, int fd, struct hg_poll_event *event)
{
    struct epoll_event wanted = {.events = 0};

    if (!AMG_GIVEN(poll_set) || !AMG_GIVEN(event))
        return HG_UTIL_FAIL;
    wanted.events = flags_convert(event->events, true);
    wanted.data.u64 = event->data.u64;
    if (epoll_ctl(poll_set->fd, EPOLL_CTL_ADD, fd, &wanted) == 0)
        return HG_UTIL_SUCCESS;
    AMG_LOG_ERROR("hg_util", "descriptor %d was not added to a poll set: %s",
        fd, strerror(errno));
    return HG_UTIL_FAIL;
}

int hg_poll_remove(hg_poll_set_t *poll_set, int fd)
{
    if (!AMG_GIVEN(poll_set))
        return HG_UTIL_FAIL;
    if (epoll_ctl(poll_set->fd, EPOLL_CTL_DEL, fd, NULL) == 0)
        return HG_UTIL_SUCCESS;
    AMG_LOG_ERROR("hg_util",
        "descriptor %d was not taken out of a poll set: %s", fd,
        strerror(errno));
    return HG_UTIL_FAIL;
}

/* Waits for up to `max` events, and returns their number; -1: failed. A signal
 * counts as one event, HG_POLLINTR. */
static int events_fetch(const struct hg_poll_set *poll_set, int timeout_ms,
    unsigned max, struct hg_poll_event *ret_events)
{
    struct epoll_event fetched[HG_POLL_MAX_EVENTS];
    int count = 0;

    if (max > HG_POLL_MAX_EVENTS)
        max = HG_POLL_MAX_EVENTS;
    count = epoll_wait(poll_set->fd, fetched, (int)max, timeout_ms);

    if (count < 0 && errno == EINTR) {
        ret_events[0] = (struct hg_poll_event){.events = HG_POLLINTR};
        return 1;
    }
    for (int i = 0; i < count; i++) {
        ret_events[i].events = flags_convert(fetched[i].events, false);
        ret_events[i].data.u64 = fetched[i].data.u64;
    }
    return count;
}

int hg_poll_wait(hg_poll_set_t *poll_set, unsigned int timeout,
    unsigned int max_events, struct hg_poll_event events[],
    unsigned int *actual_events)
{
    int timeout_ms = timeout < INT_MAX ? (int)timeout : INT_MAX;
    int count = 0;

    if (!AMG_GIVEN(poll_set) ||
        !AMG_CONTRACT(max_events > 0, "max_events is 0") ||
        !AMG_GIVEN(events) || !AMG_GIVEN(actual_events))
        return HG_UTIL_FAIL;
    count = events_fetch(poll_set, timeout_ms, max_events, events);
    if (count < 0) {
        AMG_LOG_ERROR(
            "hg_util", "waiting on a poll set failed: %s", strerror(errno));
        return HG_UTIL_FAIL;
    }
    *actual_events = (unsigned)count;
    return HG_UTIL_SUCCESS;
}
