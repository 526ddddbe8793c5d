/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls about pools of an instance. */
#include <string.h>

#include "base/mem.h"
#include "margo/abt_error.h"
#include "margo/instance.h"
#include "margo/json.h"
#include "margo/pool.h"

static struct amg_margo_set *set_of(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL ? NULL : mid->pools.set;
}

static hg_return_t pool_find(margo_instance_id mid, struct amg_margo_key key,
    struct margo_pool_info *info)
{
    struct amg_margo_set *set = set_of(mid);
    void *handle = NULL;
    const char *name = NULL;
    uint32_t index = 0;
    hg_return_t rc = HG_INVALID_ARG;

    if (set != NULL)
        rc = amg_margo_set_find(set, &set->pools, key, &handle, &name, &index);
    if (rc == HG_SUCCESS && info != NULL)
        *info = (struct margo_pool_info){(ABT_pool)handle, name, index};
    return rc;
}

hg_return_t margo_find_pool_by_handle(
    margo_instance_id mid, ABT_pool pool, struct margo_pool_info *info)
{
    return pool_find(mid, amg_margo_key_handle(pool), info);
}

hg_return_t margo_find_pool_by_index(
    margo_instance_id mid, uint32_t index, struct margo_pool_info *info)
{
    hg_return_t rc = pool_find(mid, amg_margo_key_index(index), info);

    /* Out of range: not what the others say, but what programs know. */
    return rc == HG_NOENTRY ? HG_INVALID_ARG : rc;
}

hg_return_t margo_find_pool_by_name(
    margo_instance_id mid, const char *name, struct margo_pool_info *info)
{
    return pool_find(mid, amg_margo_key_name(name), info);
}

size_t margo_get_num_pools(margo_instance_id mid)
{
    struct amg_margo_set *set = set_of(mid);
    size_t count = 0;

    if (set == NULL)
        return 0;
    amg_lock_take(&set->lock);
    count = set->pools.count;
    amg_lock_give(&set->lock);
    return count;
}

/* Adds what was made, and tells who watches. */
static hg_return_t pool_enter(margo_instance_id mid,
    struct amg_margo_pool *pool, struct margo_pool_info *ret_info)
{
    struct margo_monitor_add_pool_args args = {0};
    struct margo_pool_info info = {0};
    ABT_pool handle = amg_margo_pool_abt(pool);

    AMG_MARGO_TELL(mid, add_pool, MARGO_MONITOR_FN_START, &args);
    args.ret = amg_margo_pool_add(&mid->log, mid->pools.set, pool);
    if (args.ret == HG_SUCCESS)
        args.ret = margo_find_pool_by_handle(mid, handle, &info);
    args.info = args.ret == HG_SUCCESS ? &info : NULL;
    AMG_MARGO_TELL(mid, add_pool, MARGO_MONITOR_FN_END, &args);
    if (args.ret == HG_SUCCESS && ret_info != NULL)
        *ret_info = info;
    return args.ret;
}

hg_return_t margo_add_pool_from_json(
    margo_instance_id mid, const char *json, struct margo_pool_info *info)
{
    struct amg_margo_pool_plan plan = {0};
    struct amg_margo_pool *pool = NULL;
    struct json_object *object = NULL;
    bool is_read = false;

    if (set_of(mid) == NULL)
        return HG_INVALID_ARG;
    object = amg_json_parse(
        &mid->log, "the text of a pool", json == NULL ? "{}" : json);
    if (object == NULL)
        return HG_INVALID_ARG;
    is_read = amg_margo_pool_plan_read(&mid->log, "pool", object, &plan);
    json_object_put(object);
    if (is_read)
        pool = amg_margo_pool_make(&mid->log, &plan, false);
    amg_margo_pool_plan_free(&plan);
    if (!is_read)
        return HG_INVALID_ARG;
    return pool == NULL ? HG_OTHER_ERROR : pool_enter(mid, pool, info);
}

hg_return_t margo_add_pool_external(margo_instance_id mid, const char *name,
    ABT_pool pool, ABT_bool take_ownership, struct margo_pool_info *info)
{
    struct amg_margo_pool *made = NULL;

    if (set_of(mid) == NULL || pool == ABT_POOL_NULL)
        return HG_INVALID_ARG;
    if (name != NULL && !amg_margo_name_is_valid(&mid->log, "the name", name))
        return HG_INVALID_ARG;
    made = amg_margo_pool_wrap(&mid->log, name, pool, take_ownership != 0);
    return made == NULL ? HG_NOMEM : pool_enter(mid, made, info);
}

/* Why it stays; NULL: it may go. */
static const char *reason_locked(
    const struct amg_margo_pool *pool, size_t threads)
{
    if (pool->item.holds > 0)
        return "the program has references to it";
    if (pool->item.uses > 0)
        return "a stream, an RPC, the progress loop or handlers use it";
    if (threads > 0)
        return "user-level threads in it have not ended";
    return NULL;
}

static hg_return_t pool_take_off(margo_instance_id mid,
    struct amg_margo_key key, struct amg_margo_pool **ret_pool)
{
    struct amg_margo_set *set = mid->pools.set;
    struct amg_margo_pool *pool = NULL;
    const char *reason = NULL;
    size_t threads = 0;

    amg_lock_take(&set->lock);
    pool = (struct amg_margo_pool *)(void *)amg_margo_list_find_locked(
        &set->pools, key, NULL);
    if (pool != NULL) {
        (void)ABT_pool_get_total_size(amg_margo_pool_abt(pool), &threads);
        reason = reason_locked(pool, threads);
    }
    if (pool != NULL && reason == NULL)
        amg_margo_list_remove_locked(&set->pools, &pool->item);
    amg_lock_give(&set->lock);
    if (pool == NULL)
        return HG_NOENTRY;
    if (reason != NULL) {
        margo_error(mid, "a pool was not removed: %s", reason);
        return HG_PERMISSION;
    }
    *ret_pool = pool;
    return HG_SUCCESS;
}

static hg_return_t pool_remove(margo_instance_id mid, struct amg_margo_key key)
{
    struct margo_monitor_remove_pool_args args = {0};
    struct margo_pool_info info = {0};
    struct amg_margo_pool *pool = NULL;
    hg_return_t rc = pool_find(mid, key, &info);

    if (rc != HG_SUCCESS)
        return rc;
    args.info = &info;
    AMG_MARGO_TELL(mid, remove_pool, MARGO_MONITOR_FN_START, &args);
    args.ret = pool_take_off(mid, amg_margo_key_handle(info.pool), &pool);
    if (args.ret == HG_SUCCESS)
        args.info = NULL;
    AMG_MARGO_TELL(mid, remove_pool, MARGO_MONITOR_FN_END, &args);
    amg_margo_pool_end(&mid->log, pool);
    return args.ret;
}

hg_return_t margo_remove_pool_by_handle(margo_instance_id mid, ABT_pool pool)
{
    return pool_remove(mid, amg_margo_key_handle(pool));
}

hg_return_t margo_remove_pool_by_index(margo_instance_id mid, uint32_t index)
{
    return pool_remove(mid, amg_margo_key_index(index));
}

hg_return_t margo_remove_pool_by_name(margo_instance_id mid, const char *name)
{
    return pool_remove(mid, amg_margo_key_name(name));
}

static hg_return_t pool_hold(margo_instance_id mid, struct amg_margo_key key)
{
    struct amg_margo_set *set = set_of(mid);

    if (set == NULL)
        return HG_INVALID_ARG;
    return amg_margo_set_hold(set, &set->pools, key);
}

hg_return_t margo_pool_ref_incr_by_handle(
    margo_instance_id mid, ABT_pool handle)
{
    return pool_hold(mid, amg_margo_key_handle(handle));
}

hg_return_t margo_pool_ref_incr_by_index(margo_instance_id mid, uint32_t index)
{
    return pool_hold(mid, amg_margo_key_index(index));
}

hg_return_t margo_pool_ref_incr_by_name(margo_instance_id mid, const char *name)
{
    return pool_hold(mid, amg_margo_key_name(name));
}

static hg_return_t pool_count(
    margo_instance_id mid, struct amg_margo_key key, unsigned *refcount)
{
    struct amg_margo_set *set = set_of(mid);

    if (set == NULL)
        return HG_INVALID_ARG;
    return amg_margo_set_count(set, &set->pools, key, refcount);
}

hg_return_t margo_pool_ref_count_by_handle(
    margo_instance_id mid, ABT_pool handle, unsigned *refcount)
{
    return pool_count(mid, amg_margo_key_handle(handle), refcount);
}

hg_return_t margo_pool_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount)
{
    return pool_count(mid, amg_margo_key_index(index), refcount);
}

hg_return_t margo_pool_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount)
{
    return pool_count(mid, amg_margo_key_name(name), refcount);
}

static hg_return_t pool_drop(margo_instance_id mid, struct amg_margo_key key)
{
    struct amg_margo_set *set = set_of(mid);
    hg_return_t rc = HG_INVALID_ARG;

    if (set != NULL)
        rc = amg_margo_set_drop(set, &set->pools, key);
    if (rc == HG_PERMISSION)
        margo_error(mid, "a pool was not released: the program has no "
                         "reference to it; margo_pool_ref_incr() gives one");
    return rc;
}

hg_return_t margo_pool_release_by_handle(margo_instance_id mid, ABT_pool handle)
{
    return pool_drop(mid, amg_margo_key_handle(handle));
}

hg_return_t margo_pool_release_by_index(margo_instance_id mid, uint32_t index)
{
    return pool_drop(mid, amg_margo_key_index(index));
}

hg_return_t margo_pool_release_by_name(margo_instance_id mid, const char *name)
{
    return pool_drop(mid, amg_margo_key_name(name));
}

hg_return_t margo_transfer_pool_content(
    ABT_pool origin_pool, ABT_pool target_pool)
{
    size_t left = 0;
    int error = ABT_SUCCESS;

    if (origin_pool == ABT_POOL_NULL || target_pool == ABT_POOL_NULL)
        return HG_INVALID_ARG;
    if (origin_pool == target_pool)
        return HG_SUCCESS;
    /* Those that are there now: what is pushed meanwhile could go on for ever.
     */
    error = ABT_pool_get_size(origin_pool, &left);
    while (error == ABT_SUCCESS && left-- > 0) {
        ABT_thread thread = ABT_THREAD_NULL;

        error = ABT_pool_pop_thread(origin_pool, &thread);
        if (error != ABT_SUCCESS || thread == ABT_THREAD_NULL)
            break;
        error = ABT_pool_push_thread(target_pool, thread);
        if (error != ABT_SUCCESS)
            (void)ABT_pool_push_thread(origin_pool, thread);
    }
    if (error != ABT_SUCCESS) {
        char words[AMG_MARGO_ABT_ERROR_CAP];

        margo_error(MARGO_INSTANCE_NULL,
            "threads were not moved from one pool to another: %s",
            amg_margo_abt_error(error, words));
    }
    return error == ABT_SUCCESS ? HG_SUCCESS : HG_OTHER_ERROR;
}
