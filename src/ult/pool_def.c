/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions of the program's own pools. */
#include "base/mem.h"
#include "ult/handle.h"
#include "ult/upool_user.h"

int ABT_pool_user_def_create(ABT_pool_user_create_unit_fn p_create_unit,
    ABT_pool_user_free_unit_fn p_free_unit,
    ABT_pool_user_is_empty_fn p_is_empty, ABT_pool_user_pop_fn p_pop,
    ABT_pool_user_push_fn p_push, ABT_pool_user_def *newdef)
{
    struct amg_upool_user *user = NULL;

    amg_handle_clear(newdef);
    if (p_create_unit == NULL || p_free_unit == NULL || p_is_empty == NULL ||
        p_pop == NULL || p_push == NULL || newdef == NULL)
        return ABT_ERR_INV_ARG;
    user = amg_mem_zalloc(sizeof(*user));
    if (user == NULL)
        return ABT_ERR_MEM;
    amg_upool_user_mark(user);
    user->create_unit = p_create_unit;
    user->free_unit = p_free_unit;
    user->is_empty = p_is_empty;
    user->pop = p_pop;
    user->push = p_push;
    *newdef = &user->def;
    return ABT_SUCCESS;
}

/* NULL: not one of ours. */
static struct amg_upool_user *user_of(ABT_pool_user_def def)
{
    return def == ABT_POOL_USER_DEF_NULL ? NULL : amg_upool_user_of(def);
}

int ABT_pool_user_def_free(ABT_pool_user_def *def)
{
    struct amg_upool_user *user = def == NULL ? NULL : user_of(*def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    amg_mem_free(user);
    *def = ABT_POOL_USER_DEF_NULL;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_init(
    ABT_pool_user_def def, ABT_pool_user_init_fn p_init)
{
    struct amg_upool_user *user = user_of(def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    user->init = p_init;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_free(
    ABT_pool_user_def def, ABT_pool_user_free_fn p_free)
{
    struct amg_upool_user *user = user_of(def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    user->free = p_free;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_get_size(
    ABT_pool_user_def def, ABT_pool_user_get_size_fn p_get_size)
{
    struct amg_upool_user *user = user_of(def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    user->get_size = p_get_size;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_pop_wait(
    ABT_pool_user_def def, ABT_pool_user_pop_wait_fn p_pop_wait)
{
    struct amg_upool_user *user = user_of(def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    user->pop_wait = p_pop_wait;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_pop_many(
    ABT_pool_user_def def, ABT_pool_user_pop_many_fn p_pop_many)
{
    struct amg_upool_user *user = user_of(def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    user->pop_many = p_pop_many;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_push_many(
    ABT_pool_user_def def, ABT_pool_user_push_many_fn p_push_many)
{
    struct amg_upool_user *user = user_of(def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    user->push_many = p_push_many;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_print_all(
    ABT_pool_user_def def, ABT_pool_user_print_all_fn p_print_all)
{
    struct amg_upool_user *user = user_of(def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    user->print_all = p_print_all;
    return ABT_SUCCESS;
}
