/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution streams of an instance: those of its plan and those that the
 * program adds; the public calls that add and remove streams.
 *
 * A stream uses its pools (`uses` of struct amg_margo_item) from their lookup
 * until the stream has ended. So the pools cannot be removed while the stream
 * starts or ends, although no lock is held. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/json.h"
#include "margo/log.h"
#include "margo/registry.h"

static void pool_use_locked(struct amg_margo_registry *registry,
    struct amg_margo_item *stream, struct amg_margo_item *pool)
{
    AMG_ASSERT_HELD(&registry->lock);
    for (unsigned i = 0; i < stream->pool_count; i++)
        if (stream->pools[i] == pool)
            return;
    pool->uses++;
    stream->pools[stream->pool_count++] = pool;
}

/* Drops the stream's uses of pools, and frees its memory. */
static void stream_free(margo_instance_id mid, struct amg_margo_item *stream)
{
    amg_lock_lock(&mid->pools->registry->lock);
    for (unsigned i = 0; i < stream->pool_count; i++) {
        AMG_ASSERT(stream->pools[i]->uses > 0);
        stream->pools[i]->uses--;
    }
    amg_lock_unlock(&mid->pools->registry->lock);
    amg_mem_free(stream->name);
    amg_mem_free(stream);
}

/* Finds the pools of the plan; false: a pool does not exist, logged. */
static bool pools_resolve(margo_instance_id mid, const char *path,
    const struct amg_margo_stream_spec *plan, struct amg_margo_item *stream)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    char where[AMG_JSON_PATH_CAP];
    bool is_found = true;

    amg_lock_lock(&registry->lock);
    for (unsigned i = 0; i < plan->pool_count && is_found; i++) {
        struct amg_margo_item *pool = NULL;

        (void)snprintf(where, sizeof(where), "%s.scheduler.pools[%u]", path, i);
        pool = amg_margo_pool_resolve_locked(mid, where, &plan->pools[i]);
        is_found = pool != NULL;
        if (is_found)
            pool_use_locked(registry, stream, pool);
    }
    amg_lock_unlock(&registry->lock);
    return is_found;
}

/* Makes an item with the plan's pools, and room for `more`. Logs errors. */
static hg_return_t stream_plan(margo_instance_id mid, const char *path,
    const struct amg_margo_stream_spec *plan, size_t more,
    struct amg_margo_item **ret_stream)
{
    struct amg_margo_item *stream = amg_margo_item_new(
        mid, plan->name, plan->pool_count + more, plan->affinity_count);

    if (stream == NULL)
        return HG_NOMEM;
    stream->kind = plan->kind;
    stream->cpubind = plan->cpubind;
    stream->is_progress = plan->is_progress;
    stream->affinity_count = plan->affinity_count;
    for (unsigned i = 0; i < plan->affinity_count; i++)
        stream->affinity[i] = plan->affinity[i];
    if (!pools_resolve(mid, path, plan, stream)) {
        stream_free(mid, stream);
        return HG_INVALID_ARG;
    }
    *ret_stream = stream;
    return HG_SUCCESS;
}

/* Pins the stream. If the system refuses, the stream keeps the affinity of the
 * process, and its item is left without CPUs. */
static void stream_pin(margo_instance_id mid, struct amg_margo_item *stream)
{
    int error = ABT_SUCCESS;

    if (stream->cpubind >= 0)
        error = ABT_xstream_set_cpubind(stream->handle, stream->cpubind);
    else if (stream->affinity_count > 0)
        error = ABT_xstream_set_affinity(
            stream->handle, (int)stream->affinity_count, stream->affinity);
    if (error == ABT_SUCCESS)
        return;
    margo_warning(mid, "the stream %s was not pinned to the core %d%s: %s",
        amg_margo_item_name(stream),
        stream->cpubind >= 0 ? stream->cpubind : stream->affinity[0],
        stream->cpubind < 0 && stream->affinity_count > 1 ? " or others" : "",
        amg_margo_abt_error(error));
    stream->cpubind = -1;
    stream->affinity_count = 0;
}

/* Starts a stream with a scheduler of the stream's kind and pools; or, if the
 * stream has a handle, replaces its scheduler. Errors are logged. */
static hg_return_t stream_schedule(
    margo_instance_id mid, struct amg_margo_item *stream)
{
    int count = (int)stream->pool_count;
    ABT_sched_predef kind = (ABT_sched_predef)stream->kind;
    ABT_pool *pools = amg_mem_alloc((size_t)count * sizeof(pools[0]));
    ABT_xstream made = ABT_XSTREAM_NULL;
    int error = ABT_ERR_MEM;

    for (int i = 0; pools != NULL && i < count; i++)
        pools[i] = stream->pools[i]->handle;
    if (pools != NULL && stream->handle != NULL)
        error = ABT_xstream_set_main_sched_basic(
            stream->handle, kind, count, pools);
    else if (pools != NULL)
        error = ABT_xstream_create_basic(
            kind, count, pools, ABT_SCHED_CONFIG_NULL, &made);
    amg_mem_free(pools);
    if (error == ABT_SUCCESS) {
        if (made != ABT_XSTREAM_NULL)
            stream->handle = made;
        return HG_SUCCESS;
    }
    margo_error(mid,
        "the stream %.60s with a scheduler of type %s was not started: %s",
        amg_margo_item_name(stream), amg_margo_sched_kind_name(stream->kind),
        amg_margo_abt_error(error));
    return error == ABT_ERR_MEM ? HG_NOMEM : HG_OTHER_ERROR;
}

/* No thread can join its own stream. So if the caller runs in the stream, only
 * cancels it, leaves the join to amg_margo_streams_reap(), and returns true. */
static bool stream_leaves(
    struct amg_margo_registry *registry, struct amg_margo_item *stream)
{
    ABT_xstream self = ABT_XSTREAM_NULL;

    if (ABT_xstream_self(&self) != ABT_SUCCESS || self != stream->handle ||
        ABT_xstream_cancel(self) != ABT_SUCCESS)
        return false;
    amg_lock_lock(&registry->lock);
    stream->left = registry->left;
    registry->left = stream;
    amg_lock_unlock(&registry->lock);
    return true;
}

/* Frees a stream that is on no list. Joins an owned stream first; a stream that
 * runs the caller is joined and freed later (amg_margo_streams_reap()). */
static void stream_destroy(margo_instance_id mid, struct amg_margo_item *stream)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    ABT_xstream handle = stream->handle;
    int error = ABT_SUCCESS;

    if (stream->is_owned && stream_leaves(registry, stream))
        return;
    /* Joins before taking `shown`, which a thread of the stream may hold. */
    if (stream->is_owned)
        error = ABT_xstream_join(handle);
    amg_margo_show_begin(registry);
    if (stream->is_owned && error == ABT_SUCCESS)
        error = ABT_xstream_free(&handle);
    if (error != ABT_SUCCESS)
        margo_error(mid, "the stream %s did not end: %s", stream->name,
            amg_margo_abt_error(error));
    stream_free(mid, stream);
    amg_margo_show_end(registry);
}

/* Starts a stream by its plan, and registers it. `ret_handle` may be NULL. An
 * error is logged, and leaves nothing behind. */
static hg_return_t stream_create(margo_instance_id mid, const char *path,
    const struct amg_margo_stream_spec *plan, ABT_xstream *ret_handle)
{
    struct amg_margo_item *stream = NULL;
    hg_return_t rc = stream_plan(mid, path, plan, 0, &stream);

    if (rc != HG_SUCCESS)
        return rc;
    rc = stream_schedule(mid, stream);
    if (rc != HG_SUCCESS) {
        stream_free(mid, stream);
        return rc;
    }
    stream->is_owned = true;
    stream_pin(mid, stream);
    rc = amg_margo_list_add(mid, &mid->pools->registry->streams, stream);
    if (rc != HG_SUCCESS)
        stream_destroy(mid, stream);
    else if (ret_handle != NULL)
        *ret_handle = stream->handle;
    return rc;
}

/* The pools that a stream runs; NULL: not readable, logged. */
static ABT_pool *main_pools(
    margo_instance_id mid, ABT_xstream xstream, int *ret_count)
{
    ABT_sched sched = ABT_SCHED_NULL;
    ABT_pool *pools = NULL;
    int count = 0;
    int error = ABT_xstream_get_main_sched(xstream, &sched);

    if (error == ABT_SUCCESS)
        error = ABT_sched_get_num_pools(sched, &count);
    if (error == ABT_SUCCESS) {
        pools = amg_mem_alloc((size_t)(count + 1) * sizeof(pools[0]));
        error = pools == NULL
                    ? ABT_ERR_MEM
                    : ABT_xstream_get_main_pools(xstream, count, pools);
    }
    if (error == ABT_SUCCESS) {
        *ret_count = count;
        return pools;
    }
    amg_mem_free(pools);
    margo_error(mid, "the pools of a stream cannot be read: %s",
        amg_margo_abt_error(error));
    return NULL;
}

/* Counts a use of a pool by the stream; false: the pool is not registered. */
static bool pool_use(
    margo_instance_id mid, ABT_pool handle, struct amg_margo_item *stream)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_item *pool = NULL;

    amg_lock_lock(&registry->lock);
    pool = amg_margo_pool_find_locked(registry, handle);
    if (pool != NULL)
        pool_use_locked(registry, stream, pool);
    amg_lock_unlock(&registry->lock);
    return pool != NULL;
}

/* Counts uses of `pools` by the stream. Unknown pools are registered if `adds`,
 * else refused. */
static hg_return_t pools_use(margo_instance_id mid, const ABT_pool *pools,
    int count, bool adds, struct amg_margo_item *stream)
{
    for (int i = 0; i < count; i++) {
        struct amg_margo_item *pool = NULL;
        hg_return_t rc = HG_SUCCESS;

        if (pool_use(mid, pools[i], stream))
            continue;
        if (!adds) {
            margo_error(mid,
                "the stream %.60s was not added: the instance does not know "
                "all pools of this stream; margo_add_pool_external() adds "
                "one",
                amg_margo_item_name(stream));
            return HG_INVALID_ARG;
        }
        pool = amg_margo_pool_wrap(mid, NULL, pools[i], false);
        rc = pool == NULL ? HG_NOMEM : amg_margo_pool_add(mid, pool);
        if (rc != HG_SUCCESS)
            return rc;
        (void)pool_use(mid, pools[i], stream);
    }
    return HG_SUCCESS;
}

/* Registers an existing stream. HG_INVALID_ARG: the stream runs a pool that is
 * not registered. */
static hg_return_t stream_wrap(
    margo_instance_id mid, const char *name, ABT_xstream xstream, bool is_owned)
{
    struct amg_margo_item *stream = NULL;
    hg_return_t rc = HG_NOMEM;
    int count = 0;
    ABT_pool *pools = main_pools(mid, xstream, &count);

    if (pools == NULL)
        return HG_OTHER_ERROR;
    stream = amg_margo_item_new(mid, name, (size_t)count, 0);
    if (stream == NULL)
        goto free_pools;
    stream->handle = xstream;
    stream->kind = AMG_MARGO_SCHED_EXTERNAL;
    rc = pools_use(mid, pools, count, false, stream);
    if (rc == HG_SUCCESS)
        rc = amg_margo_list_add(mid, &mid->pools->registry->streams, stream);
    if (rc == HG_SUCCESS)
        stream->is_owned = is_owned;
    else
        stream_free(mid, stream);

free_pools:
    amg_mem_free(pools);
    return rc;
}

/* Replaces the scheduler of the calling stream by a scheduler with the pools of
 * the plan and, if `keeps`, with the pools that the stream runs now. */
static hg_return_t stream_adopt(
    margo_instance_id mid, const struct amg_margo_stream_spec *plan, bool keeps)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    struct amg_margo_item *stream = NULL;
    hg_return_t rc = HG_INVALID_ARG;
    ABT_pool *pools = NULL;
    int count = 0;

    if (ABT_xstream_self(&self) == ABT_SUCCESS)
        pools = main_pools(mid, self, &count);
    if (pools == NULL)
        return HG_OTHER_ERROR;
    rc = stream_plan(
        mid, "argobots.xstreams[__primary__]", plan, (size_t)count, &stream);
    if (rc != HG_SUCCESS)
        goto free_pools;
    stream->handle = self;
    stream->is_primary = true;
    rc = keeps ? pools_use(mid, pools, count, true, stream) : HG_SUCCESS;
    /* The stream runs all pools of the plan already: no new scheduler. */
    if (keeps && stream->pool_count == (unsigned)count)
        stream->kind = AMG_MARGO_SCHED_EXTERNAL;
    else if (rc == HG_SUCCESS)
        rc = stream_schedule(mid, stream);
    if (rc == HG_SUCCESS) {
        stream_pin(mid, stream);
        rc = amg_margo_list_add(mid, &mid->pools->registry->streams, stream);
    }
    if (rc != HG_SUCCESS)
        stream_free(mid, stream);

free_pools:
    amg_mem_free(pools);
    return rc;
}

bool amg_margo_streams_open(
    margo_instance_id mid, const struct amg_margo_plan *plan, bool is_first)
{
    for (unsigned i = 0; i < plan->stream_count; i++) {
        const struct amg_margo_stream_spec *row = &plan->streams[i];
        bool is_own =
            row->name != NULL && strcmp(row->name, amg_margo_primary_name) == 0;
        hg_return_t rc =
            is_own ? stream_adopt(mid, row, !is_first)
                   : stream_create(mid, "argobots.xstreams[]", row, NULL);

        if (rc != HG_SUCCESS)
            return false;
    }
    return true;
}

static bool has_ended(const struct amg_margo_item *stream)
{
    ABT_xstream_state state = ABT_XSTREAM_STATE_RUNNING;

    return ABT_xstream_get_state(stream->handle, &state) == ABT_SUCCESS &&
           state == ABT_XSTREAM_STATE_TERMINATED;
}

void amg_margo_streams_reap(margo_instance_id mid, bool all)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_list *streams = &registry->streams;
    struct amg_margo_item *gone = NULL;

    while (all && streams->count > 0)
        stream_destroy(mid, streams->items[--streams->count]);
    amg_lock_lock(&registry->lock);
    for (struct amg_margo_item **at = &registry->left; *at != NULL;) {
        struct amg_margo_item *stream = *at;

        if (!all && !has_ended(stream)) {
            at = &stream->left;
            continue;
        }
        *at = stream->left;
        stream->left = gone;
        gone = stream;
    }
    amg_lock_unlock(&registry->lock);
    while (gone != NULL) {
        struct amg_margo_item *stream = gone;

        gone = stream->left;
        stream_destroy(mid, stream);
    }
}

/* Does a stream other than `but` run the pool? */
static bool pool_is_run_locked(const struct amg_margo_registry *registry,
    const struct amg_margo_item *pool, const struct amg_margo_item *but)
{
    AMG_ASSERT_HELD(&registry->lock);
    for (unsigned i = 0; i < registry->streams.count; i++) {
        const struct amg_margo_item *stream = registry->streams.items[i];

        for (unsigned j = 0; stream != but && j < stream->pool_count; j++)
            if (stream->pools[j] == pool)
                return true;
    }
    return false;
}

/* Is a pool of the stream in use, and run by no other stream? */
static bool strands_pool_locked(const struct amg_margo_registry *registry,
    const struct amg_margo_item *stream)
{
    AMG_ASSERT_HELD(&registry->lock);
    for (unsigned i = 0; i < stream->pool_count; i++) {
        const struct amg_margo_item *pool = stream->pools[i];

        if ((pool->uses > 1 || pool->refs > 0) &&
            !pool_is_run_locked(registry, pool, stream))
            return true;
    }
    return false;
}

/* Does this stream run the caller, whose pool no other stream runs? */
static bool strands_caller_locked(const struct amg_margo_registry *registry,
    const struct amg_margo_item *stream)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    AMG_ASSERT_HELD(&registry->lock);
    return ABT_xstream_self(&self) == ABT_SUCCESS && self == stream->handle &&
           ABT_self_get_last_pool(&pool) == ABT_SUCCESS &&
           !pool_is_run_locked(
               registry, amg_margo_pool_find_locked(registry, pool), stream);
}

/* Why the stream stays; NULL: the stream may go. */
static const char *stream_reason_locked(
    const struct amg_margo_registry *registry,
    const struct amg_margo_item *stream)
{
    ABT_bool is_primary = ABT_FALSE;

    AMG_ASSERT_HELD(&registry->lock);
    (void)ABT_xstream_is_primary(stream->handle, &is_primary);
    if (stream->is_primary || is_primary != ABT_FALSE)
        return "it is the primary one";
    if (stream->refs > 0)
        return "the program has references to it";
    if (strands_caller_locked(registry, stream))
        return "no other stream would run the thread that asks to remove it";
    if (strands_pool_locked(registry, stream))
        return "no other stream would run one of its pools, which RPCs, the "
               "progress loop, handlers or the program use";
    return NULL;
}

/* Notifies the monitor of the result; fills `ret_info`, unless NULL. */
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
    struct json_object *object = NULL;
    ABT_xstream handle = ABT_XSTREAM_NULL;
    hg_return_t rc = HG_INVALID_ARG;

    if (amg_margo_registry_of(mid) == NULL)
        return HG_INVALID_ARG;
    object = amg_json_parse(
        mid->log, "the text of a stream", json == NULL ? "{}" : json);
    if (object == NULL)
        return HG_INVALID_ARG;
    AMG_MARGO_NOTIFY(mid, add_xstream, MARGO_MONITOR_FN_START, &args);
    if (amg_margo_stream_spec_read(mid->log, "xstream", object, &plan))
        rc = stream_create(mid, "xstream", &plan, &handle);
    amg_margo_stream_spec_free(&plan);
    json_object_put(object);
    return stream_entered(mid, rc, handle, &args, info);
}

hg_return_t margo_add_xstream_external(margo_instance_id mid, const char *name,
    ABT_xstream xstream, ABT_bool take_ownership,
    struct margo_xstream_info *info)
{
    struct margo_monitor_add_xstream_args args = {0};
    hg_return_t rc = HG_SUCCESS;

    if (amg_margo_registry_of(mid) == NULL || xstream == ABT_XSTREAM_NULL)
        return HG_INVALID_ARG;
    if (name != NULL && !amg_margo_name_is_valid(mid->log, "the name", name))
        return HG_INVALID_ARG;
    AMG_MARGO_NOTIFY(mid, add_xstream, MARGO_MONITOR_FN_START, &args);
    rc = stream_wrap(mid, name, xstream, take_ownership != 0);
    return stream_entered(mid, rc, xstream, &args, info);
}

static hg_return_t stream_remove(
    margo_instance_id mid, struct amg_margo_item_key key)
{
    struct margo_monitor_remove_xstream_args args = {0};
    struct margo_xstream_info info = {0};
    struct amg_margo_item *item = NULL;
    hg_return_t rc = amg_margo_stream_find(mid, key, &info);

    if (rc != HG_SUCCESS)
        return rc;
    amg_margo_streams_reap(mid, false);
    args.info = &info;
    AMG_MARGO_NOTIFY(mid, remove_xstream, MARGO_MONITOR_FN_START, &args);
    args.ret = amg_margo_item_take_off(mid, &mid->pools->registry->streams,
        info.xstream, stream_reason_locked, &item);
    if (args.ret == HG_SUCCESS) {
        stream_destroy(mid, item);
        args.info = NULL;
    }
    AMG_MARGO_NOTIFY(mid, remove_xstream, MARGO_MONITOR_FN_END, &args);
    return args.ret;
}

hg_return_t margo_remove_xstream_by_handle(
    margo_instance_id mid, ABT_xstream xstream)
{
    return stream_remove(mid, amg_margo_by_handle(xstream));
}

hg_return_t margo_remove_xstream_by_index(margo_instance_id mid, uint32_t index)
{
    return stream_remove(mid, amg_margo_by_index(index));
}

hg_return_t margo_remove_xstream_by_name(
    margo_instance_id mid, const char *name)
{
    return stream_remove(mid, amg_margo_by_name(name));
}
