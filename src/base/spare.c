/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor kept back.
 *
 * Closing it makes room for the one that is needed. Another thread of the
 * process may be faster and take that room; then the caller's open() fails, as
 * it would have without. Nobody waits for the spare one, so that there is no
 * lock; who comes second while it is in use fails, too, and tries again. */
#include "base/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { NONE = -1 };

static atomic_int spare = NONE; /* the descriptor; its taker exchanges it */
static atomic_int holders;

bool amg_spare_is_out(void)
{
    return atomic_load_explicit(&spare, memory_order_relaxed) == NONE;
}

static void spare_fill(void)
{
    int expected = NONE;
    int fd = NONE;

    if (!amg_spare_is_out())
        return;
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !atomic_compare_exchange_strong_explicit(&spare, &expected,
                       fd, memory_order_relaxed, memory_order_relaxed))
        close(fd);
}

static void spare_close(void)
{
    int fd = atomic_exchange_explicit(&spare, NONE, memory_order_relaxed);

    if (fd >= 0)
        close(fd);
}

void amg_spare_hold(void)
{
    atomic_fetch_add_explicit(&holders, 1, memory_order_relaxed);
    spare_fill();
}

void amg_spare_drop(void)
{
    if (atomic_fetch_sub_explicit(&holders, 1, memory_order_relaxed) == 1)
        spare_close();
}

void amg_spare_close(int fd)
{
    int err = errno;

    if (fd >= 0)
        close(fd);
    if (atomic_load_explicit(&holders, memory_order_relaxed) > 0)
        spare_fill();
    errno = err;
}

int amg_spare_open(const char *path, int flags)
{
    int fd = open(path, flags);

    if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
        return fd;
    spare_close();
    fd = open(path, flags);
    if (fd < 0)
        amg_spare_close(fd);
    return fd;
}
