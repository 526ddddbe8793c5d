/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory pool of a class for bulk transfers. */
#ifndef AMG_CORE_POOL_H
#define AMG_CORE_POOL_H

#include <stdint.h>

#include "transport/transport.h"

/* Owned by its class. Every function accepts NULL: a pool without memory, where
 * all allocations come from the heap. */
struct amg_class_pool;

/* Kind of memory that a caller wants. */
enum amg_class_pool_want {
    AMG_CLASS_POOL_ANY,
    AMG_CLASS_POOL_ZEROS,
};

/* Reserves `len` bytes, without using them yet; no pool if `len` is 0, or if
 * the system has no such memory (logged). HG_NOMEM. */
hg_return_t amg_class_pool_create(
    uint64_t len, struct amg_class_pool **ret_pool);
/* The caller has freed all memory of the pool, but for memory that a silent
 * peer may still access: such a peer has a mapping of its own. */
void amg_class_pool_destroy(struct amg_class_pool *pool);

/* The mapping, to which drivers may give peers faster access, or NULL. */
const struct amg_area *amg_class_pool_area(const struct amg_class_pool *pool);

/* `len` bytes, aligned to 64, or to a page if `len` is a page or more; from the
 * heap if the pool is full, with one warning (zeros of the heap are aligned as
 * by malloc). NULL: no memory. */
void *amg_class_pool_alloc(
    struct amg_class_pool *pool, uint64_t len, enum amg_class_pool_want want);
/* Accepts results of amg_class_pool_alloc() and amg_mem_alloc(), and NULL. */
void amg_class_pool_free(struct amg_class_pool *pool, void *ptr);

#endif
