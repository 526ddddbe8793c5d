/* SPDX-License-Identifier: BSD-3-Clause */
/* Which instances there are, and how long the memory of each one lives. So
 * calls about the end may come late, or twice, or from several threads. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/ending.h"
#include "margo/instance.h"
#include "margo/runtime.h"

static struct {
    struct amg_lock lock;      /* guards all that is here, and in each `life` */
    struct amg_list instances; /* of struct margo_instance */
    bool is_init;
} all;

/* Its lock is held. The id is only compared, since it may be an old one. */
static bool is_known_locked(margo_instance_id mid)
{
    struct amg_link *link = all.is_init ? amg_list_first(&all.instances) : NULL;

    for (; link != NULL; link = amg_list_next(&all.instances, link))
        if (AMG_OBJECT(link, struct margo_instance, life.link) == mid)
            return true;
    return false;
}

void amg_margo_life_begin(margo_instance_id mid)
{
    amg_lock_take(&all.lock);
    if (!all.is_init)
        amg_list_init(&all.instances);
    all.is_init = true;
    amg_list_push(&all.instances, &mid->life.link);
    amg_lock_give(&all.lock);
}

bool amg_margo_life_hold(margo_instance_id mid)
{
    bool is_known = false;

    amg_lock_take(&all.lock);
    is_known = mid != MARGO_INSTANCE_NULL && is_known_locked(mid);
    if (is_known)
        mid->life.holds++;
    amg_lock_give(&all.lock);
    return is_known;
}

void amg_margo_life_drop(margo_instance_id mid)
{
    bool is_over = false;

    amg_lock_take(&all.lock);
    AMG_ASSERT(mid->life.holds > 0);
    mid->life.holds--;
    is_over = mid->life.holds == 0 && mid->life.refs == 0 &&
              atomic_load_explicit(&mid->state, memory_order_acquire) ==
                  AMG_MARGO_ENDED &&
              !mid->ending.is_stuck;
    if (is_over)
        amg_list_remove(&mid->life.link);
    amg_lock_give(&all.lock);
    if (is_over) {
        amg_margo_ending_fini(mid);
        amg_mem_free(mid);
    }
    amg_margo_runtime_settle();
}

bool amg_margo_life_ref(margo_instance_id mid)
{
    bool is_known = false;

    amg_lock_take(&all.lock);
    is_known = mid != MARGO_INSTANCE_NULL && is_known_locked(mid);
    if (is_known)
        mid->life.refs++;
    amg_lock_give(&all.lock);
    return is_known;
}

bool amg_margo_life_unref(margo_instance_id mid, bool *ret_is_last)
{
    bool is_known = false;

    amg_lock_take(&all.lock);
    is_known = mid != MARGO_INSTANCE_NULL && is_known_locked(mid);
    if (is_known) {
        if (mid->life.refs > 0)
            mid->life.refs--;
        *ret_is_last = mid->life.refs == 0;
    }
    amg_lock_give(&all.lock);
    return is_known;
}

bool amg_margo_life_refs(margo_instance_id mid, unsigned *ret_count)
{
    bool is_known = false;

    amg_lock_take(&all.lock);
    is_known = mid != MARGO_INSTANCE_NULL && is_known_locked(mid);
    if (is_known)
        *ret_count = mid->life.refs;
    amg_lock_give(&all.lock);
    return is_known;
}
