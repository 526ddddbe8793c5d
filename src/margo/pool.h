/* SPDX-License-Identifier: BSD-3-Clause */
/* One pool of an instance: made by a plan, or the program's. */
#ifndef AMG_MARGO_POOL_H
#define AMG_MARGO_POOL_H

#include "margo/log.h"
#include "margo/plan_row.h"
#include "margo/set.h"

static inline ABT_pool amg_margo_pool_abt(const struct amg_margo_pool *pool)
{
    return (ABT_pool)pool->item.handle;
}

/* A pool as it is planned. `is_automatic`: it ends with the scheduler that runs
 * it. NULL: the log says why. */
struct amg_margo_pool *amg_margo_pool_make(const struct amg_margo_log *log,
    const struct amg_margo_pool_plan *plan, bool is_automatic);

/* One that is there, and called so; NULL: a name is made up later. NULL: no
 * memory, the log says so. */
struct amg_margo_pool *amg_margo_pool_wrap(const struct amg_margo_log *log,
    const char *name, ABT_pool pool, bool is_owned);

/* That is in no set. NULL is fine. */
void amg_margo_pool_end(
    const struct amg_margo_log *log, struct amg_margo_pool *pool);

/* Adds it to the set, or ends it: then the log says why. */
hg_return_t amg_margo_pool_add(const struct amg_margo_log *log,
    struct amg_margo_set *set, struct amg_margo_pool *pool);

/* The pool that is meant, or NULL: the log says so. */
struct amg_margo_pool *amg_margo_pool_resolve_locked(
    const struct amg_margo_log *log, const char *path,
    const struct amg_margo_set *set, const struct amg_margo_pool_ref *ref);

#endif
