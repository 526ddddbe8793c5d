/* SPDX-License-Identifier: BSD-3-Clause */
/* Has the kernel put pages behind memory that was only promised. */
#include "base/pages.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/mapping.h"

/* Linux 5.14; the C library may be older than the kernel. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

enum { LOOK_PAGES = 256 };

/* Does the kernel take this advice? EINVAL may also be for memory that is not
 * to be written. */
static bool is_known(int advice)
{
    char here = 0;
    uintptr_t at = (uintptr_t)&here / AMG_PAGE_LEN * AMG_PAGE_LEN;

    return madvise((void *)at, AMG_PAGE_LEN, advice) == 0;
}

/* By hand, where the kernel is older. */
static hg_return_t pages_touch(uintptr_t at, uintptr_t end, bool is_written)
{
    unsigned char states[LOOK_PAGES];

    while (at < end) {
        uintptr_t len = end - at < LOOK_PAGES * (uintptr_t)AMG_PAGE_LEN
                            ? end - at
                            : LOOK_PAGES * (uintptr_t)AMG_PAGE_LEN;
        uintptr_t next = at + len;

        if (mincore((void *)at, len, states) != 0)
            return HG_INVALID_ARG;
        for (; at < next; at += AMG_PAGE_LEN) {
            /* Relaxed: publishes nothing, and leaves the byte as it is. */
            _Atomic unsigned char *byte = (void *)at;

            if (is_written)
                atomic_fetch_or_explicit(byte, 0, memory_order_relaxed);
            else
                (void)atomic_load_explicit(byte, memory_order_relaxed);
        }
    }
    return HG_SUCCESS;
}

hg_return_t amg_pages_back(const void *base, uint64_t len, bool is_written)
{
    uintptr_t at = (uintptr_t)base / AMG_PAGE_LEN * AMG_PAGE_LEN;
    uintptr_t end = ((uintptr_t)base + len + AMG_PAGE_LEN - 1) / AMG_PAGE_LEN *
                    AMG_PAGE_LEN;
    int advice = is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

    if (len == 0)
        return HG_SUCCESS;
    if (len > UINTPTR_MAX - AMG_PAGE_LEN - (uintptr_t)base)
        return HG_INVALID_ARG;
    if (madvise((void *)at, end - at, advice) == 0)
        return HG_SUCCESS;
    switch (errno) {
    case EINVAL:
        return is_known(advice) ? HG_INVALID_ARG
                                : pages_touch(at, end, is_written);
    case EAGAIN:
    case EHWPOISON:
        return HG_NOMEM;
    default: /* ENOMEM is memory that is not mapped, in madvise(2) */
        return HG_INVALID_ARG;
    }
}
