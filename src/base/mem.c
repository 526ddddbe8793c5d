/* SPDX-License-Identifier: BSD-3-Clause */
/* All heap memory of the library, counted, and failing when a test asks. */
#include "base/mem.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Counters only, so relaxed. */
static atomic_uint_fast64_t mem_calls;
static atomic_uint_fast64_t mem_live;
static atomic_uint_fast64_t mem_bytes;
/* Allocations until one fails; 0 while none is to fail. */
static atomic_uint_fast64_t mem_fail_in;

static bool mem_must_fail(void)
{
    if (atomic_load_explicit(&mem_fail_in, memory_order_relaxed) == 0)
        return false;
    return atomic_fetch_sub_explicit(&mem_fail_in, 1, memory_order_relaxed) ==
           1;
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
}

void amg_mem_fail_nth(uint64_t n)
{
    atomic_store_explicit(&mem_fail_in, n, memory_order_relaxed);
}
