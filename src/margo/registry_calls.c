/* SPDX-License-Identifier: BSD-3-Clause */
/* Public calls about the pools and execution streams of an instance. */
#include <string.h>

#include "base/mem.h"
#include "margo/instance.h"
#include "margo/json.h"
#include "margo/log.h"
#include "margo/registry.h"

enum kind { POOL, STREAM };

/* Actions of a call on one item. */
enum action { FIND, COUNT, REF, UNREF };

/* Result of a call. */
struct found {
    void *handle;
    const char *name;
    uint32_t index;
    unsigned refs; /* by the library and the program */
};

static struct amg_margo_registry *registry_of(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL ? NULL : mid->pools->registry;
}

static struct amg_margo_list *list_of(
    struct amg_margo_registry *registry, enum kind kind)
{
    return kind == POOL ? &registry->pools : &registry->streams;
}

static bool key_is_valid(struct amg_margo_key key)
{
    return (key.by != AMG_MARGO_BY_HANDLE || key.handle != NULL) &&
           (key.by != AMG_MARGO_BY_NAME || key.name != NULL);
}

/* HG_INVALID_ARG: an instance without a registry, or a handle or name that is
 * NULL. HG_NOENTRY: there is no such item. HG_PERMISSION, with a log line: the
 * program has no reference that UNREF could take. */
static hg_return_t item_call(margo_instance_id mid, enum kind kind,
    struct amg_margo_key key, enum action action, struct found *ret_found)
{
    struct amg_margo_registry *registry = registry_of(mid);
    struct amg_margo_item *item = NULL;
    struct found found;
    hg_return_t rc = HG_SUCCESS;

    if (registry == NULL || !key_is_valid(key))
        return HG_INVALID_ARG;
    amg_lock_lock(&registry->lock);
    item =
        amg_margo_list_find_locked(list_of(registry, kind), key, &found.index);
    if (item == NULL) {
        rc = HG_NOENTRY;
    } else if (action == UNREF && item->refs == 0) {
        rc = HG_PERMISSION;
    } else {
        item->refs += action == REF;
        item->refs -= action == UNREF;
        found.handle = item->handle;
        found.name = item->name;
        found.refs = item->uses + item->refs;
        if (ret_found != NULL)
            *ret_found = found;
    }
    amg_lock_unlock(&registry->lock);
    if (rc == HG_PERMISSION)
        margo_error(mid,
            "a %s was not released: the program has no reference to it; "
            "margo_%s_ref_incr() gives one",
            kind == POOL ? "pool" : "stream",
            kind == POOL ? "pool" : "xstream");
    return rc;
}

static hg_return_t item_count(margo_instance_id mid, enum kind kind,
    struct amg_margo_key key, unsigned *ret_count)
{
    struct found found;
    hg_return_t rc = HG_INVALID_ARG;

    if (ret_count != NULL)
        rc = item_call(mid, kind, key, COUNT, &found);
    if (rc == HG_SUCCESS)
        *ret_count = found.refs;
    return rc;
}

static size_t item_total(margo_instance_id mid, enum kind kind)
{
    struct amg_margo_registry *registry = registry_of(mid);
    size_t count = 0;

    if (registry == NULL)
        return 0;
    amg_lock_lock(&registry->lock);
    count = list_of(registry, kind)->count;
    amg_lock_unlock(&registry->lock);
    return count;
}

static hg_return_t pool_find(margo_instance_id mid, struct amg_margo_key key,
    struct margo_pool_info *info)
{
    struct found found;
    hg_return_t rc = item_call(mid, POOL, key, FIND, &found);

    if (rc == HG_SUCCESS && info != NULL)
        *info = (struct margo_pool_info){
            (ABT_pool)found.handle, found.name, found.index};
    return rc;
}

static hg_return_t stream_find(margo_instance_id mid, struct amg_margo_key key,
    struct margo_xstream_info *info)
{
    struct found found;
    hg_return_t rc = item_call(mid, STREAM, key, FIND, &found);

    if (rc == HG_SUCCESS && info != NULL)
        *info = (struct margo_xstream_info){
            (ABT_xstream)found.handle, found.name, found.index};
    return rc;
}

hg_return_t margo_find_pool_by_handle(
    margo_instance_id mid, ABT_pool pool, struct margo_pool_info *info)
{
    return pool_find(mid, amg_margo_key_handle(pool), info);
}

/* The code of an index out of range, as programs of Margo expect; only the
 * calls by index to find an item return it. */
static hg_return_t index_code(hg_return_t rc)
{
    return rc == HG_NOENTRY ? HG_INVALID_ARG : rc;
}

hg_return_t margo_find_pool_by_index(
    margo_instance_id mid, uint32_t index, struct margo_pool_info *info)
{
    return index_code(pool_find(mid, amg_margo_key_index(index), info));
}

hg_return_t margo_find_pool_by_name(
    margo_instance_id mid, const char *name, struct margo_pool_info *info)
{
    return pool_find(mid, amg_margo_key_name(name), info);
}

size_t margo_get_num_pools(margo_instance_id mid)
{
    return item_total(mid, POOL);
}

hg_return_t margo_find_xstream_by_handle(
    margo_instance_id mid, ABT_xstream xstream, struct margo_xstream_info *info)
{
    return stream_find(mid, amg_margo_key_handle(xstream), info);
}

hg_return_t margo_find_xstream_by_index(
    margo_instance_id mid, uint32_t index, struct margo_xstream_info *info)
{
    return index_code(stream_find(mid, amg_margo_key_index(index), info));
}

hg_return_t margo_find_xstream_by_name(
    margo_instance_id mid, const char *name, struct margo_xstream_info *info)
{
    return stream_find(mid, amg_margo_key_name(name), info);
}

size_t margo_get_num_xstreams(margo_instance_id mid)
{
    return item_total(mid, STREAM);
}

hg_return_t margo_pool_ref_incr_by_handle(
    margo_instance_id mid, ABT_pool handle)
{
    return item_call(mid, POOL, amg_margo_key_handle(handle), REF, NULL);
}

hg_return_t margo_pool_ref_count_by_handle(
    margo_instance_id mid, ABT_pool handle, unsigned *refcount)
{
    return item_count(mid, POOL, amg_margo_key_handle(handle), refcount);
}

hg_return_t margo_pool_release_by_handle(margo_instance_id mid, ABT_pool handle)
{
    return item_call(mid, POOL, amg_margo_key_handle(handle), UNREF, NULL);
}

hg_return_t margo_pool_ref_incr_by_index(margo_instance_id mid, uint32_t index)
{
    return item_call(mid, POOL, amg_margo_key_index(index), REF, NULL);
}

hg_return_t margo_pool_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount)
{
    return item_count(mid, POOL, amg_margo_key_index(index), refcount);
}

hg_return_t margo_pool_release_by_index(margo_instance_id mid, uint32_t index)
{
    return item_call(mid, POOL, amg_margo_key_index(index), UNREF, NULL);
}

hg_return_t margo_pool_ref_incr_by_name(margo_instance_id mid, const char *name)
{
    return item_call(mid, POOL, amg_margo_key_name(name), REF, NULL);
}

hg_return_t margo_pool_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount)
{
    return item_count(mid, POOL, amg_margo_key_name(name), refcount);
}

hg_return_t margo_pool_release_by_name(margo_instance_id mid, const char *name)
{
    return item_call(mid, POOL, amg_margo_key_name(name), UNREF, NULL);
}

hg_return_t margo_xstream_ref_incr_by_handle(
    margo_instance_id mid, ABT_xstream handle)
{
    return item_call(mid, STREAM, amg_margo_key_handle(handle), REF, NULL);
}

hg_return_t margo_xstream_ref_count_by_handle(
    margo_instance_id mid, ABT_xstream handle, unsigned *refcount)
{
    return item_count(mid, STREAM, amg_margo_key_handle(handle), refcount);
}

hg_return_t margo_xstream_release_by_handle(
    margo_instance_id mid, ABT_xstream handle)
{
    return item_call(mid, STREAM, amg_margo_key_handle(handle), UNREF, NULL);
}

hg_return_t margo_xstream_ref_incr_by_index(
    margo_instance_id mid, uint32_t index)
{
    return item_call(mid, STREAM, amg_margo_key_index(index), REF, NULL);
}

hg_return_t margo_xstream_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount)
{
    return item_count(mid, STREAM, amg_margo_key_index(index), refcount);
}

hg_return_t margo_xstream_release_by_index(
    margo_instance_id mid, uint32_t index)
{
    return item_call(mid, STREAM, amg_margo_key_index(index), UNREF, NULL);
}

hg_return_t margo_xstream_ref_incr_by_name(
    margo_instance_id mid, const char *name)
{
    return item_call(mid, STREAM, amg_margo_key_name(name), REF, NULL);
}

hg_return_t margo_xstream_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount)
{
    return item_count(mid, STREAM, amg_margo_key_name(name), refcount);
}

hg_return_t margo_xstream_release_by_name(
    margo_instance_id mid, const char *name)
{
    return item_call(mid, STREAM, amg_margo_key_name(name), UNREF, NULL);
}

/* Registers a pool, and notifies the monitor. */
static hg_return_t pool_enter(margo_instance_id mid,
    struct amg_margo_pool *pool, struct margo_pool_info *ret_info)
{
    struct margo_monitor_add_pool_args args = {0};
    struct margo_pool_info info = {0};
    ABT_pool handle = amg_margo_pool_abt(pool);

    AMG_MARGO_NOTIFY(mid, add_pool, MARGO_MONITOR_FN_START, &args);
    args.ret = amg_margo_pool_add(mid->log, mid->pools->registry, pool);
    if (args.ret == HG_SUCCESS)
        args.ret = margo_find_pool_by_handle(mid, handle, &info);
    args.info = args.ret == HG_SUCCESS ? &info : NULL;
    AMG_MARGO_NOTIFY(mid, add_pool, MARGO_MONITOR_FN_END, &args);
    if (args.ret == HG_SUCCESS && ret_info != NULL)
        *ret_info = info;
    return args.ret;
}

hg_return_t margo_add_pool_from_json(
    margo_instance_id mid, const char *json, struct margo_pool_info *info)
{
    struct amg_margo_pool_spec plan = {0};
    struct amg_margo_pool *pool = NULL;
    struct json_object *object = NULL;
    bool is_read = false;

    if (registry_of(mid) == NULL)
        return HG_INVALID_ARG;
    object = amg_json_parse(
        mid->log, "the text of a pool", json == NULL ? "{}" : json);
    if (object == NULL)
        return HG_INVALID_ARG;
    is_read = amg_margo_pool_spec_read(mid->log, "pool", object, &plan);
    json_object_put(object);
    if (is_read)
        pool = amg_margo_pool_create(mid->log, &plan, false);
    amg_margo_pool_spec_free(&plan);
    if (!is_read)
        return HG_INVALID_ARG;
    return pool == NULL ? HG_OTHER_ERROR : pool_enter(mid, pool, info);
}

hg_return_t margo_add_pool_external(margo_instance_id mid, const char *name,
    ABT_pool pool, ABT_bool take_ownership, struct margo_pool_info *info)
{
    struct amg_margo_pool *made = NULL;

    if (registry_of(mid) == NULL || pool == ABT_POOL_NULL)
        return HG_INVALID_ARG;
    if (name != NULL && !amg_margo_name_is_valid(mid->log, "the name", name))
        return HG_INVALID_ARG;
    made = amg_margo_pool_wrap(mid->log, name, pool, take_ownership != 0);
    return made == NULL ? HG_NOMEM : pool_enter(mid, made, info);
}

/* Why the pool stays; NULL: the pool may go. */
static const char *pool_reason_locked(const struct amg_margo_pool *pool)
{
    size_t threads = 0;

    (void)ABT_pool_get_total_size(amg_margo_pool_abt(pool), &threads);
    if (pool->item.refs > 0)
        return "the program has references to it";
    if (pool->item.uses > 0)
        return "a stream, an RPC, the progress loop or handlers use it";
    if (threads > 0)
        return "user-level threads in it have not ended";
    return NULL;
}

/* Does another stream than `but` run the pool? */
static bool pool_is_run_locked(const struct amg_margo_registry *registry,
    const struct amg_margo_pool *pool, const struct amg_margo_stream *but)
{
    AMG_ASSERT_HELD(&registry->lock);
    for (unsigned i = 0; i < registry->streams.count; i++) {
        const struct amg_margo_stream *stream =
            amg_margo_stream_at_locked(registry, i);

        for (unsigned j = 0; stream != but && j < stream->pool_count; j++)
            if (stream->pools[j] == pool)
                return true;
    }
    return false;
}

/* A pool in use that no other stream would run; or NULL. */
static const struct amg_margo_pool *pool_left_locked(
    const struct amg_margo_registry *registry,
    const struct amg_margo_stream *stream)
{
    AMG_ASSERT_HELD(&registry->lock);
    for (unsigned i = 0; i < stream->pool_count; i++) {
        const struct amg_margo_pool *pool = stream->pools[i];

        if ((pool->item.uses > 1 || pool->item.refs > 0) &&
            !pool_is_run_locked(registry, pool, stream))
            return pool;
    }
    return NULL;
}

/* Does this stream run the caller, and no other stream the caller's pool? */
static bool strands_caller_locked(const struct amg_margo_registry *registry,
    const struct amg_margo_stream *stream)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    struct amg_margo_item *item = NULL;

    AMG_ASSERT_HELD(&registry->lock);
    if (ABT_xstream_self(&self) != ABT_SUCCESS ||
        self != amg_margo_stream_abt(stream) ||
        ABT_self_get_last_pool(&pool) != ABT_SUCCESS)
        return false;
    item = amg_margo_list_find_locked(
        &registry->pools, amg_margo_key_handle(pool), NULL);
    return item == NULL || !pool_is_run_locked(registry,
                               (struct amg_margo_pool *)(void *)item, stream);
}

/* Why the stream stays; NULL: the stream may go. */
static const char *stream_reason_locked(
    const struct amg_margo_registry *registry,
    const struct amg_margo_stream *stream)
{
    ABT_bool is_primary = ABT_FALSE;

    AMG_ASSERT_HELD(&registry->lock);
    (void)ABT_xstream_is_primary(amg_margo_stream_abt(stream), &is_primary);
    if (stream->is_primary || is_primary != ABT_FALSE)
        return "it is the primary one";
    if (stream->item.refs > 0)
        return "the program has references to it";
    if (strands_caller_locked(registry, stream))
        return "no other stream would run the thread that asks for it";
    if (pool_left_locked(registry, stream) != NULL)
        return "no other stream would run a pool of it that is in use by RPCs, "
               "the progress loop, handlers or the program";
    return NULL;
}

/* Takes an item that is not in use off its list. */
static hg_return_t item_take_off(margo_instance_id mid, enum kind kind,
    struct amg_margo_key key, struct amg_margo_item **ret_item)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_list *list = list_of(registry, kind);
    struct amg_margo_item *item = NULL;
    const char *reason = NULL;

    amg_lock_lock(&registry->lock);
    item = amg_margo_list_find_locked(list, key, NULL);
    if (item != NULL)
        reason = kind == POOL
                     ? pool_reason_locked((struct amg_margo_pool *)(void *)item)
                     : stream_reason_locked(
                           registry, (struct amg_margo_stream *)(void *)item);
    if (item != NULL && reason == NULL)
        amg_margo_list_remove_locked(list, item);
    amg_lock_unlock(&registry->lock);
    if (item == NULL)
        return HG_NOENTRY;
    if (reason != NULL) {
        margo_error(mid, "a %s was not removed: %s",
            kind == POOL ? "pool" : "stream", reason);
        return HG_PERMISSION;
    }
    *ret_item = item;
    return HG_SUCCESS;
}

static hg_return_t pool_remove(margo_instance_id mid, struct amg_margo_key key)
{
    struct margo_monitor_remove_pool_args args = {0};
    struct margo_pool_info info = {0};
    struct amg_margo_item *item = NULL;
    hg_return_t rc = pool_find(mid, key, &info);

    if (rc != HG_SUCCESS)
        return rc;
    amg_margo_streams_reap(mid->log, mid->pools->registry, false);
    args.info = &info;
    AMG_MARGO_NOTIFY(mid, remove_pool, MARGO_MONITOR_FN_START, &args);
    args.ret = item_take_off(mid, POOL, amg_margo_key_handle(info.pool), &item);
    if (args.ret == HG_SUCCESS)
        args.info = NULL;
    AMG_MARGO_NOTIFY(mid, remove_pool, MARGO_MONITOR_FN_END, &args);
    amg_margo_show_begin(mid->pools->registry);
    amg_margo_pool_destroy(mid->log, (struct amg_margo_pool *)(void *)item);
    amg_margo_show_end(mid->pools->registry);
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

/* Notifies the monitor of the result. */
static hg_return_t stream_entered(margo_instance_id mid, hg_return_t rc,
    ABT_xstream handle, struct margo_monitor_add_xstream_args *args,
    struct margo_xstream_info *ret_info)
{
    struct margo_xstream_info info = {0};

    args->ret = rc;
    if (rc == HG_SUCCESS)
        args->ret = margo_find_xstream_by_handle(mid, handle, &info);
    args->info = args->ret == HG_SUCCESS ? &info : NULL;
    AMG_MARGO_NOTIFY(mid, add_xstream, MARGO_MONITOR_FN_END, args);
    args->info = NULL;
    if (args->ret == HG_SUCCESS && ret_info != NULL)
        *ret_info = info;
    return args->ret;
}

hg_return_t margo_add_xstream_from_json(
    margo_instance_id mid, const char *json, struct margo_xstream_info *info)
{
    struct margo_monitor_add_xstream_args args = {0};
    struct amg_margo_stream_spec plan = {0};
    struct amg_margo_stream *stream = NULL;
    struct json_object *object = NULL;
    ABT_xstream handle = ABT_XSTREAM_NULL;
    hg_return_t rc = HG_INVALID_ARG;

    if (registry_of(mid) == NULL)
        return HG_INVALID_ARG;
    object = amg_json_parse(
        mid->log, "the text of a stream", json == NULL ? "{}" : json);
    if (object == NULL)
        return HG_INVALID_ARG;
    AMG_MARGO_NOTIFY(mid, add_xstream, MARGO_MONITOR_FN_START, &args);
    if (amg_margo_stream_spec_read(mid->log, "xstream", object, &plan))
        rc = amg_margo_stream_create(
            mid->log, "xstream", mid->pools->registry, &plan, &stream);
    json_object_put(object);
    amg_margo_stream_spec_free(&plan);
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

    if (registry_of(mid) == NULL || xstream == ABT_XSTREAM_NULL)
        return HG_INVALID_ARG;
    if (name != NULL && !amg_margo_name_is_valid(mid->log, "the name", name))
        return HG_INVALID_ARG;
    AMG_MARGO_NOTIFY(mid, add_xstream, MARGO_MONITOR_FN_START, &args);
    rc = amg_margo_stream_wrap(
        mid->log, mid->pools->registry, name, xstream, take_ownership != 0);
    return stream_entered(mid, rc, xstream, &args, info);
}

static hg_return_t stream_remove(
    margo_instance_id mid, struct amg_margo_key key)
{
    struct margo_monitor_remove_xstream_args args = {0};
    struct margo_xstream_info info = {0};
    struct amg_margo_item *item = NULL;
    hg_return_t rc = stream_find(mid, key, &info);

    if (rc != HG_SUCCESS)
        return rc;
    amg_margo_streams_reap(mid->log, mid->pools->registry, false);
    args.info = &info;
    AMG_MARGO_NOTIFY(mid, remove_xstream, MARGO_MONITOR_FN_START, &args);
    args.ret =
        item_take_off(mid, STREAM, amg_margo_key_handle(info.xstream), &item);
    if (args.ret == HG_SUCCESS) {
        amg_margo_stream_destroy(mid->log, mid->pools->registry,
            (struct amg_margo_stream *)(void *)item);
        args.info = NULL;
    }
    AMG_MARGO_NOTIFY(mid, remove_xstream, MARGO_MONITOR_FN_END, &args);
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
