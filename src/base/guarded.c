/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory below which nothing may be touched: for stacks.
 *
 * A guard by mprotect() splits the map of the process in two at every stack,
 * and the kernel allows 65530 parts (vm.max_map_count): 32,000 stacks. Linux
 * 6.13 has guards that split nothing, and neighbours become one part. */
#include "base/guarded.h"

#include <errno.h>
#include <sys/mman.h>

enum {
    GUARD_INSTALL = 102, /* MADV_GUARD_INSTALL, which old headers lack */
};

void *amg_guarded_open(size_t len)
{
    size_t whole = AMG_GUARD_LEN + len;
    char *base = NULL;
    int cause = 0;

    if (whole < len) {
        errno = ENOMEM;
        return NULL;
    }
    base = mmap(NULL, whole, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    /* A page of 2 MiB behind each stack would cost what 512 of them do. Fails
     * where the kernel has none. */
    madvise(base, whole, MADV_NOHUGEPAGE);
    if (madvise(base, AMG_GUARD_LEN, GUARD_INSTALL) == 0 ||
        mprotect(base, AMG_GUARD_LEN, PROT_NONE) == 0)
        return base + AMG_GUARD_LEN;
    cause = errno;
    munmap(base, whole);
    errno = cause;
    return NULL;
}

void amg_guarded_close(void *base, size_t len)
{
    munmap((char *)base - AMG_GUARD_LEN, AMG_GUARD_LEN + len);
}
