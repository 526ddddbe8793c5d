/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of the program's own: how its functions are called. */
#include "ult/upool_user.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "ult/handle.h"
#include "ult/ult.h"
#include "ult/unit.h"
#include "ult/upool.h"

/* Its address in u_get_type tells our definitions from the program's. */
static ABT_unit_type mark(ABT_unit unit)
{
    (void)unit;
    return ABT_UNIT_TYPE_THREAD;
}

struct amg_upool_user *amg_upool_user_of(ABT_pool_user_def def)
{
    return def->u_get_type == mark ? AMG_OBJECT(def, struct amg_upool_user, def)
                                   : NULL;
}

void amg_upool_user_mark(struct amg_upool_user *user)
{
    user->def.u_get_type = mark;
}

static bool old_is_whole(const ABT_pool_def *def)
{
    return def->u_create_from_thread != NULL && def->u_free != NULL &&
           def->p_push != NULL && def->p_pop != NULL;
}

static int user_init(struct amg_upool *pool, const struct amg_upool_user *user,
    ABT_pool_config config)
{
    ABT_pool handle = amg_upool_handle(pool);

    if (user->is_old)
        return user->def.p_init == NULL ? ABT_SUCCESS
                                        : user->def.p_init(handle, config);
    return user->init == NULL ? ABT_SUCCESS : user->init(handle, config);
}

int amg_upool_user_open(
    struct amg_upool *pool, ABT_pool_user_def def, ABT_pool_config config)
{
    const struct amg_upool_user *ours = amg_upool_user_of(def);
    struct amg_upool_user *user = NULL;
    int rc = ABT_SUCCESS;

    if (ours == NULL && !old_is_whole(def))
        return ABT_ERR_INV_POOL_USER_DEF;
    user = amg_mem_zalloc(sizeof(*user));
    if (user == NULL)
        return ABT_ERR_MEM;
    if (ours != NULL)
        *user = *ours;
    else
        user->def = *def;
    user->is_old = ours == NULL;
    pool->user = user;
    rc = user_init(pool, user, config);
    if (rc == ABT_SUCCESS)
        return rc;
    pool->user = NULL;
    amg_mem_free(user);
    return rc;
}

void amg_upool_user_close(struct amg_upool *pool)
{
    struct amg_upool_user *user = pool->user;

    if (user->is_old && user->def.p_free != NULL)
        user->def.p_free(amg_upool_handle(pool));
    else if (!user->is_old && user->free != NULL)
        user->free(amg_upool_handle(pool));
    pool->user = NULL;
    amg_mem_free(user);
}

static ABT_unit unit_new(struct amg_upool *pool, struct amg_ult *ult)
{
    const struct amg_upool_user *user = pool->user;
    ABT_thread thread = amg_ult_handle(ult);

    if (!user->is_old)
        return user->create_unit(amg_upool_handle(pool), thread);
    if (ult->kind == AMG_ULT_TASKLET && user->def.u_create_from_task != NULL)
        return user->def.u_create_from_task(thread);
    return user->def.u_create_from_thread(thread);
}

static void unit_end(struct amg_upool *pool, ABT_unit unit)
{
    if (pool->user->is_old)
        pool->user->def.u_free(&unit);
    else
        pool->user->free_unit(amg_upool_handle(pool), unit);
}

int amg_upool_user_unit_create(
    struct amg_upool *pool, struct amg_ult *ult, struct amg_unit **ret_unit)
{
    struct amg_unit *unit = amg_mem_zalloc(sizeof(*unit));
    int rc = ABT_ERR_MEM;

    if (unit == NULL)
        return rc;
    unit->pool = pool;
    unit->ult = ult;
    unit->unit = unit_new(pool, ult);
    if (unit->unit == ABT_UNIT_NULL) {
        rc = ABT_ERR_OTHER;
        goto free_unit;
    }
    rc = amg_unit_add(unit);
    if (rc != ABT_SUCCESS)
        goto end_unit;
    *ret_unit = unit;
    return ABT_SUCCESS;

end_unit:
    unit_end(pool, unit->unit);
free_unit:
    amg_mem_free(unit);
    return rc;
}

void amg_upool_user_unit_free(struct amg_unit *unit)
{
    amg_unit_remove(unit);
    unit_end(unit->pool, unit->unit);
    amg_mem_free(unit);
}

void amg_upool_user_push(
    struct amg_upool *pool, struct amg_ult *ult, ABT_pool_context context)
{
    ABT_unit unit = amg_unit_of(ult);

    if (pool->user->is_old)
        pool->user->def.p_push(amg_upool_handle(pool), unit);
    else
        pool->user->push(amg_upool_handle(pool), unit, context);
}

struct amg_ult *amg_upool_user_pop(
    struct amg_upool *pool, ABT_pool_context context)
{
    ABT_pool handle = amg_upool_handle(pool);
    ABT_unit unit = ABT_UNIT_NULL;

    if (!pool->user->is_old)
        return amg_ult_of(pool->user->pop(handle, context));
    unit = pool->user->def.p_pop(handle);
    return unit == ABT_UNIT_NULL ? NULL : amg_unit_ult(unit);
}

bool amg_upool_user_remove(struct amg_upool *pool, struct amg_ult *ult)
{
    const struct amg_upool_user *user = pool->user;

    /* The newer form has no function for it. */
    return user->is_old && user->def.p_remove != NULL &&
           user->def.p_remove(amg_upool_handle(pool), amg_unit_of(ult)) ==
               ABT_SUCCESS;
}

size_t amg_upool_user_size(const struct amg_upool *pool)
{
    const struct amg_upool_user *user = pool->user;
    ABT_pool handle = amg_upool_handle((struct amg_upool *)pool);
    size_t size = atomic_load_explicit(&pool->size, memory_order_relaxed);

    if (user->is_old)
        return user->def.p_get_size == NULL ? size
                                            : user->def.p_get_size(handle);
    if (user->get_size != NULL)
        return user->get_size(handle);
    if (user->is_empty(handle))
        return 0;
    return size > 0 ? size : 1;
}
