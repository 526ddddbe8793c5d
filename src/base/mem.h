/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: heap, mappings and facts about pages. */
#ifndef AMG_BASE_MEM_H
#define AMG_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mercury_core_types.h"

enum { AMG_PAGE_LEN = 4096 };

/* Owned by whoever embeds it. */
struct amg_mapping {
    void *base;   /* aligned to pages */
    uint64_t len; /* reserved; a page costs memory once it was touched */
    int fd;       /* of what it maps, from offset 0; of a fixed length */
};

/* Reserves `len` bytes of zeros (> 0, rounded up to pages). HG_NOMEM: no room
 * in the address space; HG_OPNOTSUPPORTED: the kernel has no such memory. Says
 * why in the log at level info: callers can do without. */
hg_return_t amg_mapping_open(
    const char *name, uint64_t len, struct amg_mapping *ret_mapping);
void amg_mapping_close(struct amg_mapping *mapping);

/* Gives the memory behind whole pages back; they read as zeros afterwards,
 * here and wherever else they are mapped. HG_OPNOTSUPPORTED: they are as they
 * were. */
hg_return_t amg_mapping_discard(
    const struct amg_mapping *mapping, uint64_t offset, uint64_t len);

/* Changes no byte, whoever else uses the memory meanwhile. `is_written`: by
 * somebody, later; else pages to read do. HG_INVALID_ARG: not all of it is
 * mapped, or not so; HG_NOMEM. */
hg_return_t amg_pages_back(const void *base, uint64_t len, bool is_written);

struct amg_mem_stats {
    uint64_t calls; /* allocations since the process started */
    uint64_t live;  /* blocks not yet freed */
    uint64_t bytes; /* bytes in them, as the allocator rounds them */
};

/* NULL when there is no memory, or when amg_mem_fail_nth() says so. */
void *amg_mem_alloc(size_t len);
void *amg_mem_zalloc(size_t len);
/* `align` is a power of two. */
void *amg_mem_alloc_aligned(size_t align, size_t len);
/* As realloc(): on failure the old block stays. */
void *amg_mem_realloc(void *ptr, size_t len);
char *amg_mem_strdup(const char *text);
/* NULL is fine. */
void amg_mem_free(void *ptr);
/* Not counted any more: whoever it is handed to ends it by free(). Returns it;
 * NULL is fine. */
void *amg_mem_hand_over(void *ptr);

void amg_mem_stats_get(struct amg_mem_stats *ret_stats);

/* For tests: the n-th allocation from now fails (1 is the next one), all
 * others succeed; 0 ends it. */
void amg_mem_fail_nth(uint64_t n);

#endif
