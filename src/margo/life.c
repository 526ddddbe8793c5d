/* SPDX-License-Identifier: BSD-3-Clause */
/* Which instances there are, who has a reference to each, and how long its
 * memory lives. So calls about the end may come late, or twice, or from several
 * threads.
 *
 * An instance is opened with one reference. margo_finalize() takes that, or the
 * margo_instance_release() that is left with it: either begins the end, and the
 * end itself gives it back when serving is over. So the count never is 0 while
 * callbacks of the end take references and release them. When it is 0, the
 * class, the context and the pools are closed. The memory of the last few that
 * were closed is kept, so that a late call finds out that its instance has
 * ended. */
#include <stdlib.h>

#include "base/assert.h"
#include "margo/instance.h"
#include "margo/runtime.h"

enum { CLOSED_KEPT = 8 };

static struct {
    struct amg_lock lock;      /* guards all that is here, and in each `life` */
    struct amg_list instances; /* of struct margo_instance */
    struct amg_list closed;    /* the same; the oldest first */
    unsigned closed_count;
    bool is_init;
} all;

static margo_instance_id instance_of(struct amg_link *link)
{
    return AMG_OBJECT(link, struct margo_instance, life.link);
}

/* Its lock is held. The id is only compared, since it may be an old one. */
static bool is_known_locked(margo_instance_id mid)
{
    struct amg_link *link = all.is_init ? amg_list_first(&all.instances) : NULL;

    for (; link != NULL; link = amg_list_next(&all.instances, link))
        if (instance_of(link) == mid)
            return true;
    return false;
}

void amg_margo_life_begin(margo_instance_id mid)
{
    amg_lock_take(&all.lock);
    if (!all.is_init) {
        amg_list_init(&all.instances);
        amg_list_init(&all.closed);
    }
    all.is_init = true;
    mid->life.refs = 1;
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

/* Keeps the memory of one that is closed; returns what need not be kept longer,
 * or NULL. */
static margo_instance_id retire_locked(margo_instance_id mid)
{
    amg_list_remove(&mid->life.link);
    amg_list_push(&all.closed, &mid->life.link);
    if (all.closed_count < CLOSED_KEPT) {
        all.closed_count++;
        return MARGO_INSTANCE_NULL;
    }
    return instance_of(amg_list_pop(&all.closed));
}

void amg_margo_life_drop(margo_instance_id mid)
{
    margo_instance_id old = MARGO_INSTANCE_NULL;

    amg_lock_take(&all.lock);
    AMG_ASSERT(mid->life.holds > 0);
    mid->life.holds--;
    if (mid->life.holds == 0 && mid->life.refs == 0 &&
        atomic_load_explicit(&mid->state, memory_order_acquire) ==
            AMG_MARGO_ENDED &&
        !mid->ending.is_stuck)
        old = retire_locked(mid);
    amg_lock_give(&all.lock);
    if (old != MARGO_INSTANCE_NULL)
        amg_margo_instance_free(old);
    amg_margo_runtime_settle();
}

bool amg_margo_life_ref(margo_instance_id mid)
{
    bool is_open = false;

    amg_lock_take(&all.lock);
    is_open = mid != MARGO_INSTANCE_NULL && is_known_locked(mid) &&
              !mid->life.is_closing;
    if (is_open)
        mid->life.refs++;
    amg_lock_give(&all.lock);
    return is_open;
}

bool amg_margo_life_unref(margo_instance_id mid, bool *ret_begins)
{
    struct amg_margo_life *life = &mid->life;
    unsigned owed = 0;
    bool is_held = false;

    amg_lock_take(&all.lock);
    *ret_begins = life->refs == 1 && !life->has_begun;
    life->has_begun = life->has_begun || *ret_begins;
    owed = life->has_begun && !life->is_paid;
    is_held = life->refs > owed;
    life->refs -= is_held;
    amg_lock_give(&all.lock);
    return is_held || *ret_begins;
}

void amg_margo_life_begin_end(margo_instance_id mid)
{
    amg_lock_take(&all.lock);
    mid->life.has_begun = true;
    amg_lock_give(&all.lock);
}

void amg_margo_life_pay(margo_instance_id mid)
{
    amg_lock_take(&all.lock);
    AMG_ASSERT(mid->life.has_begun && !mid->life.is_paid);
    AMG_ASSERT(mid->life.refs > 0);
    mid->life.is_paid = true;
    mid->life.refs--;
    amg_lock_give(&all.lock);
}

bool amg_margo_life_close(margo_instance_id mid, bool *ret_is_mine)
{
    bool is_over = false;

    amg_lock_take(&all.lock);
    is_over = mid->life.refs == 0;
    *ret_is_mine = is_over && !mid->life.is_closing;
    mid->life.is_closing = is_over;
    amg_lock_give(&all.lock);
    return is_over;
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
