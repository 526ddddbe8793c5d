/* SPDX-License-Identifier: BSD-3-Clause */
/* User-defined pools: calls of their functions, and the units of their threads.
 */
#include "ult/ready_pool.h"

#include "base/map.h"
#include "base/mem.h"

/* In u_get_type, marks definitions that the library made. */
static ABT_unit_type mark(ABT_unit unit)
{
    (void)unit;
    return ABT_UNIT_TYPE_THREAD;
}

struct amg_user_pool *amg_user_pool_of(ABT_pool_user_def def)
{
    return def->u_get_type == mark
               ? amg_container_of(def, struct amg_user_pool, def)
               : NULL;
}

bool amg_user_pool_is_whole(ABT_pool_user_def def)
{
    return amg_user_pool_of(def) != NULL ||
           (def->u_create_from_thread != NULL && def->u_free != NULL &&
               def->p_push != NULL && def->p_pop != NULL);
}

struct amg_user_pool *amg_user_pool_create(ABT_pool pool, ABT_pool_user_def def)
{
    const struct amg_user_pool *ours = amg_user_pool_of(def);
    struct amg_user_pool *user = amg_mem_zalloc(sizeof(*user));

    if (user == NULL)
        return NULL;
    if (ours != NULL)
        *user = *ours;
    else
        user->def = *def;
    user->is_old = ours == NULL;
    user->pool = pool;
    return user;
}

int amg_user_pool_init(const struct amg_user_pool *user, ABT_pool_config config)
{
    if (user->is_old)
        return user->def.p_init == NULL ? ABT_SUCCESS
                                        : user->def.p_init(user->pool, config);
    return user->init == NULL ? ABT_SUCCESS : user->init(user->pool, config);
}

void amg_user_pool_free(const struct amg_user_pool *user)
{
    if (user->is_old && user->def.p_free != NULL)
        user->def.p_free(user->pool);
    else if (!user->is_old && user->free != NULL)
        user->free(user->pool);
}

/* Units of user-defined pools, by the program's handle; the lock guards the
 * map. */
static struct amg_lock lock AMG_LOCK_KEPT;
static struct amg_map units;

ABT_unit amg_unit_of(struct amg_ult *ult)
{
    struct amg_unit *unit = ult->unit;

    if (unit != NULL)
        return unit->unit;
    return (ABT_unit)(void *)((char *)ult + 1);
}

struct amg_ult *amg_unit_ult(ABT_unit unit)
{
    uintptr_t key = (uintptr_t)unit;
    struct amg_unit *known = NULL;

    if (unit == ABT_UNIT_NULL)
        return NULL;
    if ((key & 1) != 0)
        return (struct amg_ult *)(void *)((char *)unit - 1);
    amg_lock_lock(&lock);
    known = amg_map_get(&units, key);
    amg_lock_unlock(&lock);
    return known == NULL ? NULL : known->ult;
}

static int unit_add(struct amg_unit *unit)
{
    hg_return_t rc = HG_SUCCESS;

    amg_lock_lock(&lock);
    rc = amg_map_put(&units, (uintptr_t)unit->unit, unit);
    amg_lock_unlock(&lock);
    return rc == HG_SUCCESS ? ABT_SUCCESS : ABT_ERR_MEM;
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

int amg_unit_create(
    struct amg_user_pool *user, struct amg_ult *ult, struct amg_unit **ret_unit)
{
    struct amg_unit *unit = amg_mem_zalloc(sizeof(*unit));
    int rc = ABT_ERR_MEM;

    if (unit == NULL)
        return rc;
    unit->pool = user;
    unit->ult = ult;
    unit->unit = unit_new(user, ult);
    if (unit->unit == ABT_UNIT_NULL) {
        rc = ABT_ERR_OTHER;
        goto free_unit;
    }
    rc = unit_add(unit);
    if (rc != ABT_SUCCESS)
        goto end_unit;
    *ret_unit = unit;
    return ABT_SUCCESS;

end_unit:
    unit_end(user, unit->unit);
free_unit:
    amg_mem_free(unit);
    return rc;
}

void amg_unit_destroy(struct amg_unit *unit)
{
    amg_lock_lock(&lock);
    amg_map_remove(&units, (uintptr_t)unit->unit);
    amg_lock_unlock(&lock);
    unit_end(unit->pool, unit->unit);
    amg_mem_free(unit);
}

void amg_user_pool_push(const struct amg_user_pool *user, struct amg_ult *ult,
    ABT_pool_context context)
{
    ABT_unit unit = amg_unit_of(ult);

    if (user->is_old)
        user->def.p_push(user->pool, unit);
    else
        user->push(user->pool, unit, context);
}

struct amg_ult *amg_user_pool_pop(
    const struct amg_user_pool *user, ABT_pool_context context)
{
    return user->is_old ? amg_unit_ult(user->def.p_pop(user->pool))
                        : amg_ult_of(user->pop(user->pool, context));
}

bool amg_user_pool_remove(const struct amg_user_pool *user, struct amg_ult *ult)
{
    /* A definition that the library made has no function to remove a thread. */
    return user->is_old && user->def.p_remove != NULL &&
           user->def.p_remove(user->pool, amg_unit_of(ult)) == ABT_SUCCESS;
}

size_t amg_user_pool_size(const struct amg_user_pool *user, size_t counted)
{
    if (user->is_old)
        return user->def.p_get_size == NULL ? counted
                                            : user->def.p_get_size(user->pool);
    if (user->get_size != NULL)
        return user->get_size(user->pool);
    if (user->is_empty(user->pool))
        return 0;
    return counted > 0 ? counted : 1;
}

int ABT_pool_user_def_create(ABT_pool_user_create_unit_fn p_create_unit,
    ABT_pool_user_free_unit_fn p_free_unit,
    ABT_pool_user_is_empty_fn p_is_empty, ABT_pool_user_pop_fn p_pop,
    ABT_pool_user_push_fn p_push, ABT_pool_user_def *newdef)
{
    struct amg_user_pool *user = NULL;

    amg_handle_clear(newdef);
    if (p_create_unit == NULL || p_free_unit == NULL || p_is_empty == NULL ||
        p_pop == NULL || p_push == NULL || newdef == NULL)
        return ABT_ERR_INV_ARG;
    user = amg_mem_zalloc(sizeof(*user));
    if (user == NULL)
        return ABT_ERR_MEM;
    user->def.u_get_type = mark;
    user->create_unit = p_create_unit;
    user->free_unit = p_free_unit;
    user->is_empty = p_is_empty;
    user->pop = p_pop;
    user->push = p_push;
    *newdef = &user->def;
    return ABT_SUCCESS;
}

/* NULL: the library did not make the definition. */
static struct amg_user_pool *user_of(ABT_pool_user_def def)
{
    return def == ABT_POOL_USER_DEF_NULL ? NULL : amg_user_pool_of(def);
}

int ABT_pool_user_def_free(ABT_pool_user_def *def)
{
    struct amg_user_pool *user = def == NULL ? NULL : user_of(*def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    amg_mem_free(user);
    *def = ABT_POOL_USER_DEF_NULL;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_init(
    ABT_pool_user_def def, ABT_pool_user_init_fn p_init)
{
    return AMG_SET(ABT_ERR_INV_POOL_USER_DEF, user_of(def), init, p_init);
}

int ABT_pool_user_def_set_free(
    ABT_pool_user_def def, ABT_pool_user_free_fn p_free)
{
    return AMG_SET(ABT_ERR_INV_POOL_USER_DEF, user_of(def), free, p_free);
}

int ABT_pool_user_def_set_get_size(
    ABT_pool_user_def def, ABT_pool_user_get_size_fn p_get_size)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), get_size, p_get_size);
}

int ABT_pool_user_def_set_pop_wait(
    ABT_pool_user_def def, ABT_pool_user_pop_wait_fn p_pop_wait)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), pop_wait, p_pop_wait);
}

int ABT_pool_user_def_set_pop_many(
    ABT_pool_user_def def, ABT_pool_user_pop_many_fn p_pop_many)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), pop_many, p_pop_many);
}

int ABT_pool_user_def_set_push_many(
    ABT_pool_user_def def, ABT_pool_user_push_many_fn p_push_many)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), push_many, p_push_many);
}

int ABT_pool_user_def_set_print_all(
    ABT_pool_user_def def, ABT_pool_user_print_all_fn p_print_all)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), print_all, p_print_all);
}
