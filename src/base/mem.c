/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: heap, mappings and pages. */
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/process.h"

/* The mapping is of an anonymous file (memfd), which the kernel frees with its
 * last user, so a killed process leaves nothing behind. The file is sealed
 * against truncation: a peer that maps it never gets SIGBUS. */

/* Returns the file, or -1 with the cause in the log. */
static int file_create(const char *name, uint64_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0) {
        AMG_LOG_INFO("cls", "cannot create a memory file: %s", strerror(errno));
        return -1;
    }
    if (amg_file_may_have(len) && ftruncate(fd, (off_t)len) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    AMG_LOG_INFO("cls", "cannot create a memory file of %llu bytes: %s",
        (unsigned long long)len, strerror(errno));
    close(fd);
    return -1;
}

hg_return_t amg_mapping_open(
    const char *name, uint64_t len, struct amg_mapping *ret_mapping)
{
    void *base = NULL;
    int fd = -1;

    if (!AMG_CONTRACT_OF("HG_Bulk_create",
            len > 0 && len <= INT64_MAX - AMG_PAGE_LEN,
            "%llu bytes are wanted; possible are 1 to 2^63 - 4097",
            (unsigned long long)len))
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

/* NOTE(result ignored): if mmap() fails, the shared mapping stays. */
void amg_mapping_unshare(void *base, uint64_t len, int fd)
{
    (void)mmap(base, len, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0);
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

/* Linux 5.14; the C library may be older than the kernel. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

enum { LOOK_PAGES = 256 };

/* Does the kernel support this advice? EINVAL may also mean read-only memory.
 */
static bool is_known(int advice)
{
    char here = 0;
    uintptr_t at = (uintptr_t)&here / AMG_PAGE_LEN * AMG_PAGE_LEN;

    return madvise((void *)at, AMG_PAGE_LEN, advice) == 0;
}

/* For kernels before 5.14: touches each page. */
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
            /* Relaxed: publishes nothing, and does not change the byte. */
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
    default: /* ENOMEM: not all is mapped, or the system has no memory */
        return HG_INVALID_ARG;
    }
}

/* Counters only, so relaxed. */
static atomic_uint_fast64_t mem_calls;
static atomic_uint_fast64_t mem_live;
static atomic_uint_fast64_t mem_bytes;
static atomic_uint_fast64_t mem_failed;
/* Allocations until one fails; 0: none fails. */
static atomic_uint_fast64_t mem_fail_in;

static bool mem_must_fail(void)
{
    if (atomic_load_explicit(&mem_fail_in, memory_order_relaxed) == 0 ||
        atomic_fetch_sub_explicit(&mem_fail_in, 1, memory_order_relaxed) != 1)
        return false;
    atomic_fetch_add_explicit(&mem_failed, 1, memory_order_relaxed);
    return true;
}

static void *mem_count(void *ptr)
{
    if (ptr == NULL)
        return NULL;
    atomic_fetch_add_explicit(&mem_calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&mem_live, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(
        &mem_bytes, malloc_usable_size(ptr), memory_order_relaxed);
    return ptr;
}

static void mem_uncount(void *ptr)
{
    atomic_fetch_sub_explicit(&mem_live, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(
        &mem_bytes, malloc_usable_size(ptr), memory_order_relaxed);
}

void *amg_mem_alloc(size_t len)
{
    return mem_must_fail() ? NULL : mem_count(malloc(len));
}

void *amg_mem_zalloc(size_t len)
{
    return mem_must_fail() ? NULL : mem_count(calloc(1, len));
}

void *amg_mem_alloc_aligned(size_t align, size_t len)
{
    size_t rounded = (len + align - 1) / align * align;

    return mem_must_fail() ? NULL : mem_count(aligned_alloc(align, rounded));
}

void *amg_mem_realloc(void *ptr, size_t len)
{
    size_t before = 0;
    void *grown = NULL;

    if (ptr == NULL)
        return amg_mem_alloc(len);
    if (mem_must_fail())
        return NULL;
    before = malloc_usable_size(ptr);
    grown = realloc(ptr, len);
    if (grown == NULL)
        return NULL;
    atomic_fetch_add_explicit(&mem_calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(
        &mem_bytes, malloc_usable_size(grown) - before, memory_order_relaxed);
    return grown;
}

char *amg_mem_strdup(const char *text)
{
    size_t len = strlen(text) + 1;
    char *copy = amg_mem_alloc(len);

    if (copy != NULL)
        memcpy(copy, text, len);
    return copy;
}

void *amg_mem_hand_over(void *ptr)
{
    if (ptr != NULL)
        mem_uncount(ptr);
    return ptr;
}

void amg_mem_free(void *ptr)
{
    if (ptr == NULL)
        return;
    mem_uncount(ptr);
    free(ptr);
}

void amg_mem_stats_get(struct amg_mem_stats *ret_stats)
{
    ret_stats->calls = atomic_load_explicit(&mem_calls, memory_order_relaxed);
    ret_stats->live = atomic_load_explicit(&mem_live, memory_order_relaxed);
    ret_stats->bytes = atomic_load_explicit(&mem_bytes, memory_order_relaxed);
    ret_stats->failed = atomic_load_explicit(&mem_failed, memory_order_relaxed);
}

void amg_mem_fail_nth(uint64_t n)
{
    atomic_store_explicit(&mem_fail_in, n, memory_order_relaxed);
}
