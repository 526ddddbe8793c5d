/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit of a thread, the handle by which a pool knows the thread: for a
 * user-defined pool, a function of the program makes the unit; for a built-in
 * pool, the unit is derived from the address of the thread. */
#include "ult/ready_pool.h"

#include "base/map.h"
#include "base/mem.h"

/* The unit of a thread in a user-defined pool, at ult->unit. Freed with the
 * thread, or when the thread moves to another pool. */
struct unit {
    ABT_unit unit; /* the program's handle */
    struct amg_user_pool *pool;
    struct amg_ult *ult;
};

/* All units in user-defined pools, by the program's handle. The lock guards the
 * map. */
static struct amg_lock lock AMG_LOCK_KEPT;
static struct amg_map units;

ABT_unit amg_unit_of(struct amg_ult *ult)
{
    struct unit *unit = ult == NULL ? NULL : ult->unit;

    if (unit != NULL || ult == NULL)
        return unit == NULL ? ABT_UNIT_NULL : unit->unit;
    return (ABT_unit)(void *)((char *)ult + 1);
}

struct amg_ult *amg_unit_ult(ABT_unit unit)
{
    uintptr_t key = (uintptr_t)unit;
    struct unit *known = NULL;

    if (unit == ABT_UNIT_NULL)
        return NULL;
    if ((key & 1) != 0)
        return (struct amg_ult *)(void *)((char *)unit - 1);
    amg_lock_lock(&lock);
    known = amg_map_get(&units, key);
    amg_lock_unlock(&lock);
    return known == NULL ? NULL : known->ult;
}

static ABT_unit unit_new(const struct amg_user_pool *user, struct amg_ult *ult)
{
    ABT_thread thread = amg_ult_handle(ult);

    if (!user->is_old)
        return user->create_unit(user->pool, thread);
    if (ult->kind == AMG_ULT_TASKLET && user->def.u_create_from_task != NULL)
        return user->def.u_create_from_task(thread);
    return user->def.u_create_from_thread(thread);
}

static void unit_end(const struct amg_user_pool *user, ABT_unit unit)
{
    if (user->is_old)
        user->def.u_free(&unit);
    else
        user->free_unit(user->pool, unit);
}

/* Creates the unit of a thread. Returns an ABT code. */
static int unit_create(
    struct amg_user_pool *user, struct amg_ult *ult, struct unit **ret_unit)
{
    struct unit *unit = amg_mem_zalloc(sizeof(*unit));
    hg_return_t added = HG_NOMEM;

    if (unit == NULL)
        return ABT_ERR_MEM;
    unit->pool = user;
    unit->ult = ult;
    unit->unit = unit_new(user, ult);
    if (unit->unit == ABT_UNIT_NULL) {
        amg_mem_free(unit);
        return ABT_ERR_OTHER;
    }
    amg_lock_lock(&lock);
    added = amg_map_put(&units, (uintptr_t)unit->unit, unit);
    amg_lock_unlock(&lock);
    if (added != HG_SUCCESS) {
        unit_end(user, unit->unit);
        amg_mem_free(unit);
        return ABT_ERR_MEM;
    }
    *ret_unit = unit;
    return ABT_SUCCESS;
}

static void unit_destroy(struct unit *unit)
{
    uint64_t key = (uintptr_t)unit->unit;

    amg_lock_lock(&lock);
    if (amg_map_get(&units, key) == unit) /* else a newer unit has the key */
        amg_map_remove(&units, key);
    amg_lock_unlock(&lock);
    unit_end(unit->pool, unit->unit);
    amg_mem_free(unit);
}

/* Has the thread the unit that the pool needs, or none for a built-in pool? */
static bool unit_fits(
    const struct amg_ready_pool *pool, const struct amg_ult *ult)
{
    const struct unit *unit = ult->unit;

    return unit == NULL ? pool->user == NULL : unit->pool == pool->user;
}

/* Gives the thread a unit of `pool`, none if built-in. Returns an ABT code. */
static int unit_renew(struct amg_ready_pool *pool, struct amg_ult *ult)
{
    struct unit *unit = NULL;
    int rc = ABT_SUCCESS;

    if (pool->user != NULL)
        rc = unit_create(pool->user, ult, &unit);
    if (rc != ABT_SUCCESS)
        return rc;
    if (ult->unit != NULL)
        unit_destroy(ult->unit);
    ult->unit = unit;
    return ABT_SUCCESS;
}

int amg_ready_pool_adopt(struct amg_ready_pool *pool, struct amg_ult *ult)
{
    int rc = ABT_SUCCESS;

    if (!unit_fits(pool, ult))
        rc = unit_renew(pool, ult);
    if (rc == ABT_SUCCESS)
        amg_ult_set_pool(ult, pool);
    return rc;
}

void amg_ready_pool_disown(struct amg_ult *ult)
{
    if (ult->unit != NULL)
        unit_destroy(ult->unit);
    ult->unit = NULL;
}
