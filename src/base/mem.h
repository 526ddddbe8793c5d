/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: heap, mappings and pages. */
#ifndef AMG_BASE_MEM_H
#define AMG_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mercury_core_types.h"

enum { AMG_PAGE_LEN = 4096 };

/* Owned by the struct that embeds it. */
struct amg_mapping {
    void *base;   /* aligned to pages */
    uint64_t len; /* reserved; pages are allocated at first touch */
    int fd;       /* the mapped file, from offset 0; fixed length */
};

/* Reserves `len` bytes of zeros (> 0, rounded up to pages). HG_NOMEM: no room
 * in the address space; HG_OPNOTSUPPORTED: no memory file of that length. The
 * log has the cause, at level info, as callers can do without a mapping. */
hg_return_t amg_mapping_open(
    const char *name, uint64_t len, struct amg_mapping *ret_mapping);
void amg_mapping_close(struct amg_mapping *mapping);
/* Makes a mapping private: other processes do not see later writes of this
 * process. May silently fail: then the mapping stays shared. */
void amg_mapping_unshare(void *base, uint64_t len, int fd);

/* Returns the memory of whole pages to the system; they then read as zeros,
 * here and in all other mappings. HG_OPNOTSUPPORTED: nothing changed. */
hg_return_t amg_mapping_discard(
    const struct amg_mapping *mapping, uint64_t offset, uint64_t len);

/* Makes the kernel allocate the pages, writable if `is_written`, else readable;
 * changes no byte, even while other threads write. HG_INVALID_ARG: no memory,
 * or a page is not mapped, or (noticed from Linux 5.14 on) forbids this access.
 * HG_NOMEM: EAGAIN, or a damaged page. */
hg_return_t amg_pages_back(const void *base, uint64_t len, bool is_written);

struct amg_mem_stats {
    uint64_t calls;  /* allocations since the process started */
    uint64_t live;   /* blocks not yet freed */
    uint64_t bytes;  /* bytes in these blocks, as the allocator rounds */
    uint64_t failed; /* allocations that amg_mem_fail_nth() made fail */
};

/* NULL: no memory, or amg_mem_fail_nth() made the call fail. */
void *amg_mem_alloc(size_t len);
void *amg_mem_zalloc(size_t len);
/* `align` is a power of two. */
void *amg_mem_alloc_aligned(size_t align, size_t len);
/* realloc() of counted memory: on failure the old block stays. */
void *amg_mem_realloc(void *ptr, size_t len);
char *amg_mem_strdup(const char *text);
/* Accepts NULL. */
void amg_mem_free(void *ptr);
/* Stops counting `ptr` (may be NULL): amg_mem_free() must not free `ptr`. */
void *amg_mem_hand_over(void *ptr);

void amg_mem_stats_get(struct amg_mem_stats *ret_stats);

/* For tests: only the n-th allocation from now fails; 1: the next; 0: none. */
void amg_mem_fail_nth(uint64_t n);

#endif
