/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor by which one thread wakes another: an eventfd. */
#include "mercury_event.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"

int hg_event_create(void)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    if (fd < 0)
        AMG_LOG_ERROR("hg_util",
            "no event was made: %s; look at 'ulimit -n' and at descriptors "
            "left open",
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
    /* Full up: it is set more often than a counter holds, so it is set. */
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
