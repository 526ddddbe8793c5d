/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that a class hands out for bulk transfers. */
#ifndef AMG_CORE_POOL_H
#define AMG_CORE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/transport.h"

/* Owned by its class. Wherever one is asked for, NULL will do: it is a pool
 * without memory, and all comes from the heap. */
struct amg_class_pool;

/* What a caller wants his memory to be like. */
enum amg_class_pool_want {
    AMG_CLASS_POOL_ANY,
    AMG_CLASS_POOL_ZEROS,
    AMG_CLASS_POOL_ONLY, /* the pool's, or NULL; that is not warned of */
};

/* Reserves `len` bytes, without using them yet; none when `len` is 0, or when
 * the system has no such memory (the log says so). HG_NOMEM. */
hg_return_t amg_class_pool_create(
    uint64_t len, struct amg_class_pool **ret_pool);
/* All has been given back, but for what was left to peers that do not answer:
 * these have mappings of their own. */
void amg_class_pool_destroy(struct amg_class_pool *pool);

/* What drivers may give their peers a shorter way to, or NULL. */
const struct amg_area *amg_class_pool_area(const struct amg_class_pool *pool);

/* `len` bytes, aligned to 64, and to pages from a page on; of the heap when the
 * pool has no such room, which is warned of once (zeros of the heap are aligned
 * as by malloc). NULL: no memory. */
void *amg_class_pool_alloc(
    struct amg_class_pool *pool, uint64_t len, enum amg_class_pool_want want);
/* What amg_class_pool_alloc() gave, amg_mem_alloc(), or NULL. */
void amg_class_pool_free(struct amg_class_pool *pool, void *ptr);

/* Is the address inside the pool's memory? */
bool amg_class_pool_has(const struct amg_class_pool *pool, const void *ptr);

#endif
