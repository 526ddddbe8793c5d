/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor that one thread rings and another sleeps on. */
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

    /* It fails only where the count is full, and then it is readable. */
    AMG_ASSERT(bell >= 0);
    (void)len;
}

void amg_bell_drain(int bell)
{
    uint64_t count = 0;
    ssize_t len = read(bell, &count, sizeof(count));

    (void)len; /* nothing to read: it was not rung */
}
