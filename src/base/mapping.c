/* SPDX-License-Identifier: BSD-3-Clause */
/* A piece of address space that other processes can be given.
 *
 * It is a file without a name (memfd), which dies with its last user, so
 * nothing is left behind by a process that was killed. It is sealed against
 * being cut short: a peer that maps it can never be hit by SIGBUS. */
#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"

/* The file, or -1 with its cause in the log. */
static int file_create(const char *name, uint64_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0) {
        AMG_LOG_INFO("cls", "no memory file can be made: %s", strerror(errno));
        return -1;
    }
    if (ftruncate(fd, (off_t)len) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    AMG_LOG_INFO("cls", "a memory file of %llu bytes cannot be made: %s",
        (unsigned long long)len, strerror(errno));
    close(fd);
    return -1;
}

hg_return_t amg_mapping_open(
    const char *name, uint64_t len, struct amg_mapping *ret_mapping)
{
    void *base = NULL;
    int fd = -1;

    if (!AMG_CONTRACT(len > 0 && len <= INT64_MAX - AMG_PAGE_LEN))
        return HG_INVALID_ARG;
    len = (len + AMG_PAGE_LEN - 1) / AMG_PAGE_LEN * AMG_PAGE_LEN;
    fd = file_create(name, len);
    if (fd < 0)
        return HG_OPNOTSUPPORTED;
    base = mmap(
        NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) {
        AMG_LOG_INFO("cls", "no room for %llu bytes of address space: %s",
            (unsigned long long)len, strerror(errno));
        close(fd);
        return HG_NOMEM;
    }
    *ret_mapping = (struct amg_mapping){.base = base, .len = len, .fd = fd};
    return HG_SUCCESS;
}

void amg_mapping_close(struct amg_mapping *mapping)
{
    if (mapping->base == NULL)
        return;
    munmap(mapping->base, mapping->len);
    close(mapping->fd);
    *mapping = (struct amg_mapping){.fd = -1};
}

hg_return_t amg_mapping_discard(
    const struct amg_mapping *mapping, uint64_t offset, uint64_t len)
{
    AMG_ASSERT(offset % AMG_PAGE_LEN == 0 && len % AMG_PAGE_LEN == 0 &&
               offset <= mapping->len && len <= mapping->len - offset);
    if (madvise((char *)mapping->base + offset, len, MADV_REMOVE) == 0)
        return HG_SUCCESS;
    return HG_OPNOTSUPPORTED;
}
