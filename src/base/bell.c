/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptor by which a thread wakes another thread that blocks on it. */
#include "base/bell.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"

int amg_bell_open(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void amg_bell_close(int bell)
{
    if (bell >= 0)
        close(bell);
}

void amg_bell_ring(int bell)
{
    uint64_t one = 1;
    ssize_t len = write(bell, &one, sizeof(one));

    /* Fails only if the counter is at its limit; then it is readable anyway. */
    AMG_ASSERT(bell >= 0);
    (void)len;
}

void amg_bell_drain(int bell)
{
    uint64_t count = 0;
    ssize_t len = read(bell, &count, sizeof(count));

    (void)len; /* nothing to read: no wakeup since */
}
