/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls about execution streams of an instance. */
#include "margo/instance.h"
#include "margo/json.h"
#include "margo/pool.h"
#include "margo/stream.h"

static struct amg_margo_set *set_of(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL ? NULL : mid->pools.set;
}

static hg_return_t stream_find(margo_instance_id mid, struct amg_margo_key key,
    struct margo_xstream_info *info)
{
    struct amg_margo_set *set = set_of(mid);
    void *handle = NULL;
    const char *name = NULL;
    uint32_t index = 0;
    hg_return_t rc = HG_INVALID_ARG;

    if (set != NULL)
        rc =
            amg_margo_set_find(set, &set->streams, key, &handle, &name, &index);
    if (rc == HG_SUCCESS && info != NULL)
        *info = (struct margo_xstream_info){(ABT_xstream)handle, name, index};
    return rc;
}

hg_return_t margo_find_xstream_by_handle(
    margo_instance_id mid, ABT_xstream xstream, struct margo_xstream_info *info)
{
    return stream_find(mid, amg_margo_key_handle(xstream), info);
}

hg_return_t margo_find_xstream_by_index(
    margo_instance_id mid, uint32_t index, struct margo_xstream_info *info)
{
    return stream_find(mid, amg_margo_key_index(index), info);
}

hg_return_t margo_find_xstream_by_name(
    margo_instance_id mid, const char *name, struct margo_xstream_info *info)
{
    return stream_find(mid, amg_margo_key_name(name), info);
}

size_t margo_get_num_xstreams(margo_instance_id mid)
{
    struct amg_margo_set *set = set_of(mid);
    size_t count = 0;

    if (set == NULL)
        return 0;
    amg_lock_take(&set->lock);
    count = set->streams.count;
    amg_lock_give(&set->lock);
    return count;
}

/* Tells who watches what became of it. */
static hg_return_t stream_entered(margo_instance_id mid, hg_return_t rc,
    ABT_xstream handle, struct margo_monitor_add_xstream_args *args,
    struct margo_xstream_info *ret_info)
{
    struct margo_xstream_info info = {0};

    args->ret = rc;
    if (rc == HG_SUCCESS)
        args->ret = margo_find_xstream_by_handle(mid, handle, &info);
    args->info = args->ret == HG_SUCCESS ? &info : NULL;
    AMG_MARGO_TELL(mid, add_xstream, MARGO_MONITOR_FN_END, args);
    args->info = NULL;
    if (args->ret == HG_SUCCESS && ret_info != NULL)
        *ret_info = info;
    return args->ret;
}

hg_return_t margo_add_xstream_from_json(
    margo_instance_id mid, const char *json, struct margo_xstream_info *info)
{
    struct margo_monitor_add_xstream_args args = {0};
    struct amg_margo_stream_plan plan = {0};
    struct amg_margo_stream *stream = NULL;
    struct json_object *object = NULL;
    ABT_xstream handle = ABT_XSTREAM_NULL;
    hg_return_t rc = HG_INVALID_ARG;

    if (set_of(mid) == NULL)
        return HG_INVALID_ARG;
    object = amg_json_parse(
        &mid->log, "the text of a stream", json == NULL ? "{}" : json);
    if (object == NULL)
        return HG_INVALID_ARG;
    AMG_MARGO_TELL(mid, add_xstream, MARGO_MONITOR_FN_START, &args);
    if (amg_margo_stream_plan_read(&mid->log, "xstream", object, &plan))
        rc = amg_margo_stream_make(
            &mid->log, "xstream", mid->pools.set, &plan, &stream);
    json_object_put(object);
    amg_margo_stream_plan_free(&plan);
    if (rc == HG_SUCCESS)
        handle = amg_margo_stream_abt(stream);
    return stream_entered(mid, rc, handle, &args, info);
}

hg_return_t margo_add_xstream_external(margo_instance_id mid, const char *name,
    ABT_xstream xstream, ABT_bool take_ownership,
    struct margo_xstream_info *info)
{
    struct margo_monitor_add_xstream_args args = {0};
    hg_return_t rc = HG_SUCCESS;

    if (set_of(mid) == NULL || xstream == ABT_XSTREAM_NULL)
        return HG_INVALID_ARG;
    if (name != NULL && !amg_margo_name_is_valid(&mid->log, "the name", name))
        return HG_INVALID_ARG;
    AMG_MARGO_TELL(mid, add_xstream, MARGO_MONITOR_FN_START, &args);
    rc = amg_margo_stream_wrap(
        &mid->log, mid->pools.set, name, xstream, take_ownership != 0, NULL);
    return stream_entered(mid, rc, xstream, &args, info);
}

/* Does another stream run the pool? */
static bool pool_is_run_locked(const struct amg_margo_set *set,
    const struct amg_margo_pool *pool, const struct amg_margo_stream *but)
{
    for (unsigned i = 0; i < set->streams.count; i++) {
        const struct amg_margo_stream *stream =
            (const struct amg_margo_stream *)(const void *)
                set->streams.items[i];

        for (unsigned j = 0; stream != but && j < stream->pool_count; j++)
            if (stream->pools[j] == pool)
                return true;
    }
    return false;
}

/* A pool that somebody else uses, and nobody else would run; or NULL. */
static const struct amg_margo_pool *pool_left_locked(
    const struct amg_margo_set *set, const struct amg_margo_stream *stream)
{
    for (unsigned i = 0; i < stream->pool_count; i++) {
        const struct amg_margo_pool *pool = stream->pools[i];

        if ((pool->item.uses > 1 || pool->item.holds > 0) &&
            !pool_is_run_locked(set, pool, stream))
            return pool;
    }
    return NULL;
}

/* Why it stays; NULL: it may go. */
static const char *reason_locked(
    const struct amg_margo_set *set, const struct amg_margo_stream *stream)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_bool is_primary = ABT_FALSE;

    (void)ABT_xstream_self(&self);
    (void)ABT_xstream_is_primary(amg_margo_stream_abt(stream), &is_primary);
    if (stream->is_primary || is_primary != ABT_FALSE)
        return "it is the primary one";
    if (stream->item.holds > 0)
        return "the program has references to it";
    if (self == amg_margo_stream_abt(stream))
        return "it runs the thread that asks for it";
    if (pool_left_locked(set, stream) != NULL)
        return "nobody else would run a pool of it that is in use by RPCs, the "
               "progress loop, handlers or the program";
    return NULL;
}

static hg_return_t stream_take_off(margo_instance_id mid,
    struct amg_margo_key key, struct amg_margo_stream **ret_stream)
{
    struct amg_margo_set *set = mid->pools.set;
    struct amg_margo_stream *stream = NULL;
    const char *reason = NULL;

    amg_lock_take(&set->lock);
    stream = (struct amg_margo_stream *)(void *)amg_margo_list_find_locked(
        &set->streams, key, NULL);
    if (stream != NULL)
        reason = reason_locked(set, stream);
    if (stream != NULL && reason == NULL)
        amg_margo_list_remove_locked(&set->streams, &stream->item);
    amg_lock_give(&set->lock);
    if (stream == NULL)
        return HG_NOENTRY;
    if (reason != NULL) {
        margo_error(mid, "a stream was not removed: %s", reason);
        return HG_PERMISSION;
    }
    *ret_stream = stream;
    return HG_SUCCESS;
}

static hg_return_t stream_remove(
    margo_instance_id mid, struct amg_margo_key key)
{
    struct margo_monitor_remove_xstream_args args = {0};
    struct margo_xstream_info info = {0};
    struct amg_margo_stream *stream = NULL;
    hg_return_t rc = stream_find(mid, key, &info);

    if (rc != HG_SUCCESS)
        return rc;
    args.info = &info;
    AMG_MARGO_TELL(mid, remove_xstream, MARGO_MONITOR_FN_START, &args);
    args.ret =
        stream_take_off(mid, amg_margo_key_handle(info.xstream), &stream);
    if (args.ret == HG_SUCCESS) {
        amg_margo_stream_end(&mid->log, mid->pools.set, stream);
        args.info = NULL;
    }
    AMG_MARGO_TELL(mid, remove_xstream, MARGO_MONITOR_FN_END, &args);
    return args.ret;
}

hg_return_t margo_remove_xstream_by_handle(
    margo_instance_id mid, ABT_xstream xstream)
{
    return stream_remove(mid, amg_margo_key_handle(xstream));
}

hg_return_t margo_remove_xstream_by_index(margo_instance_id mid, uint32_t index)
{
    return stream_remove(mid, amg_margo_key_index(index));
}

hg_return_t margo_remove_xstream_by_name(
    margo_instance_id mid, const char *name)
{
    return stream_remove(mid, amg_margo_key_name(name));
}

static hg_return_t stream_hold(margo_instance_id mid, struct amg_margo_key key)
{
    struct amg_margo_set *set = set_of(mid);

    if (set == NULL)
        return HG_INVALID_ARG;
    return amg_margo_set_hold(set, &set->streams, key);
}

hg_return_t margo_xstream_ref_incr_by_handle(
    margo_instance_id mid, ABT_xstream handle)
{
    return stream_hold(mid, amg_margo_key_handle(handle));
}

hg_return_t margo_xstream_ref_incr_by_index(
    margo_instance_id mid, uint32_t index)
{
    return stream_hold(mid, amg_margo_key_index(index));
}

hg_return_t margo_xstream_ref_incr_by_name(
    margo_instance_id mid, const char *name)
{
    return stream_hold(mid, amg_margo_key_name(name));
}

static hg_return_t stream_count(
    margo_instance_id mid, struct amg_margo_key key, unsigned *refcount)
{
    struct amg_margo_set *set = set_of(mid);

    if (set == NULL)
        return HG_INVALID_ARG;
    return amg_margo_set_count(set, &set->streams, key, refcount);
}

hg_return_t margo_xstream_ref_count_by_handle(
    margo_instance_id mid, ABT_xstream handle, unsigned *refcount)
{
    return stream_count(mid, amg_margo_key_handle(handle), refcount);
}

hg_return_t margo_xstream_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount)
{
    return stream_count(mid, amg_margo_key_index(index), refcount);
}

hg_return_t margo_xstream_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount)
{
    return stream_count(mid, amg_margo_key_name(name), refcount);
}

static hg_return_t stream_drop(margo_instance_id mid, struct amg_margo_key key)
{
    struct amg_margo_set *set = set_of(mid);
    hg_return_t rc = HG_INVALID_ARG;

    if (set != NULL)
        rc = amg_margo_set_drop(set, &set->streams, key);
    if (rc == HG_PERMISSION)
        margo_error(mid, "a stream was not released: the program has no "
                         "reference to it; margo_xstream_ref_incr() gives one");
    return rc;
}

hg_return_t margo_xstream_release_by_handle(
    margo_instance_id mid, ABT_xstream handle)
{
    return stream_drop(mid, amg_margo_key_handle(handle));
}

hg_return_t margo_xstream_release_by_index(
    margo_instance_id mid, uint32_t index)
{
    return stream_drop(mid, amg_margo_key_index(index));
}

hg_return_t margo_xstream_release_by_name(
    margo_instance_id mid, const char *name)
{
    return stream_drop(mid, amg_margo_key_name(name));
}
