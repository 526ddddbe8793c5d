/* SPDX-License-Identifier: BSD-3-Clause */
/* All heap memory of the library, counted, and failing when a test asks. */
#ifndef AMG_BASE_MEM_H
#define AMG_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

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
