/* SPDX-License-Identifier: BSD-3-Clause */
/* All loops of the process, and in which pools they are. Each of two in one
 * pool is ready whenever the other one looks, so neither would ever sleep; who
 * has company goes away for a while instead (loop.c). */
#include "margo/company.h"

#include <stdatomic.h>

#include "base/lock.h"

static struct {
    struct amg_lock lock; /* guards the list, and the pools in it */
    struct amg_list loops;
    atomic_uint count; /* of them; a hint without the lock */
} all;

static ABT_pool pool_mine(void)
{
    ABT_pool pool = ABT_POOL_NULL;

    return ABT_self_get_last_pool(&pool) == ABT_SUCCESS ? pool : ABT_POOL_NULL;
}

void amg_margo_company_enter(struct amg_margo_company *self)
{
    self->pool = pool_mine();
    amg_lock_take(&all.lock);
    if (atomic_fetch_add_explicit(&all.count, 1u, memory_order_relaxed) == 0)
        amg_list_init(&all.loops);
    amg_list_push(&all.loops, &self->link);
    amg_lock_give(&all.lock);
}

void amg_margo_company_leave(struct amg_margo_company *self)
{
    amg_lock_take(&all.lock);
    amg_list_remove(&self->link);
    atomic_fetch_sub_explicit(&all.count, 1u, memory_order_relaxed);
    amg_lock_give(&all.lock);
}

bool amg_margo_company_has(struct amg_margo_company *self)
{
    ABT_pool pool = ABT_POOL_NULL;
    struct amg_link *link = NULL;
    unsigned count = 0;

    if (atomic_load_explicit(&all.count, memory_order_relaxed) < 2)
        return false;
    pool = pool_mine();
    amg_lock_take(&all.lock);
    self->pool = pool;
    for (link = amg_list_first(&all.loops); link != NULL;
         link = amg_list_next(&all.loops, link))
        count += AMG_OBJECT(link, struct amg_margo_company, link)->pool == pool;
    amg_lock_give(&all.lock);
    return count > 1;
}
