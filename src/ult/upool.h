/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool of user-level threads that are ready: what ABT_pool points to. */
#ifndef AMG_ULT_UPOOL_H
#define AMG_ULT_UPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "abt.h"

struct amg_ult;
struct amg_upool;

/* By any thread. Rings for those who sleep until something is pushed. */
void amg_upool_push(struct amg_upool *pool, struct amg_ult *ult);

/* The next one, or NULL. */
struct amg_ult *amg_upool_pop(struct amg_upool *pool);

/* Takes out that one; false: it is not in there. */
bool amg_upool_remove(struct amg_upool *pool, struct amg_ult *ult);

/* Ready ones, and with those that are blocked. No lock. */
size_t amg_upool_size(const struct amg_upool *pool);
size_t amg_upool_total(const struct amg_upool *pool);

/* A thread of the pool blocks (1), or is ready again (-1). */
void amg_upool_count_blocked(struct amg_upool *pool, int change);

#endif
