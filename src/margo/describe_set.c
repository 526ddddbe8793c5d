/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams of an instance as JSON. */
#include <json-c/json.h>

#include "margo/describe.h"
#include "margo/instance.h"
#include "margo/plan_row.h"
#include "margo/set.h"

static bool pool_is_shown(const struct amg_margo_pool *pool, int options)
{
    return (options & MARGO_CONFIG_HIDE_EXTERNAL) == 0 ||
           pool->kind != AMG_MARGO_POOL_EXTERNAL;
}

static const struct amg_margo_pool *pool_at_locked(
    const struct amg_margo_set *set, unsigned at)
{
    return (const struct amg_margo_pool *)(const void *)set->pools.items[at];
}

/* The name, or the index among those that are shown; of one that is not, among
 * all. */
static struct json_object *ref_locked(const struct amg_margo_set *set,
    const struct amg_margo_pool *pool, int options)
{
    int index = 0;

    if (!pool_is_shown(pool, options))
        options &= ~MARGO_CONFIG_HIDE_EXTERNAL;
    if ((options & MARGO_CONFIG_USE_NAMES) != 0)
        return json_object_new_string(pool->item.name);
    for (unsigned i = 0; pool_at_locked(set, i) != pool; i++)
        index += pool_is_shown(pool_at_locked(set, i), options);
    return json_object_new_int(index);
}

struct json_object *amg_margo_describe_ref(
    margo_instance_id mid, int options, ABT_pool pool)
{
    struct amg_margo_set *set = mid->pools.set;
    struct amg_margo_item *item = NULL;
    struct json_object *ref = NULL;

    amg_lock_take(&set->lock);
    item = amg_margo_list_find_locked(
        &set->pools, amg_margo_key_handle(pool), NULL);
    if (item != NULL)
        ref = ref_locked(
            set, (const struct amg_margo_pool *)(const void *)item, options);
    amg_lock_give(&set->lock);
    return ref;
}

bool amg_margo_describe_add(
    struct json_object *object, const char *key, struct json_object *value)
{
    if (value == NULL || json_object_object_add(object, key, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

static bool array_add(struct json_object *array, struct json_object *value)
{
    if (value != NULL && json_object_array_add(array, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

bool amg_margo_describe_put(
    struct json_object *object, const char *key, struct json_object *value)
{
    return value != NULL && amg_margo_describe_add(object, key, value);
}

bool amg_margo_describe_text(
    struct json_object *object, const char *key, const char *text)
{
    return amg_margo_describe_put(object, key, json_object_new_string(text));
}

static struct json_object *pool_describe(const struct amg_margo_pool *pool)
{
    struct json_object *object = json_object_new_object();

    if (object != NULL &&
        amg_margo_describe_text(object, "name", pool->item.name) &&
        amg_margo_describe_text(
            object, "kind", amg_margo_pool_kind_name(pool->kind)) &&
        (pool->kind == AMG_MARGO_POOL_EXTERNAL ||
            amg_margo_describe_text(
                object, "access", amg_margo_pool_access_name(pool->access))))
        return object;
    json_object_put(object);
    return NULL;
}

struct json_object *amg_margo_describe_pools(margo_instance_id mid, int options)
{
    struct amg_margo_set *set = mid->pools.set;
    struct json_object *array = json_object_new_array();
    bool is_done = array != NULL;

    amg_lock_take(&set->lock);
    for (unsigned i = 0; is_done && i < set->pools.count; i++) {
        const struct amg_margo_pool *pool = pool_at_locked(set, i);

        if (pool_is_shown(pool, options))
            is_done = array_add(array, pool_describe(pool));
    }
    amg_lock_give(&set->lock);
    if (is_done)
        return array;
    json_object_put(array);
    return NULL;
}

static struct json_object *scheduler_describe(const struct amg_margo_set *set,
    const struct amg_margo_stream *stream, int options)
{
    struct json_object *object = json_object_new_object();
    struct json_object *pools = json_object_new_array();
    bool is_done = object != NULL && pools != NULL;

    is_done = is_done && amg_margo_describe_text(object, "type",
                             amg_margo_sched_kind_name(stream->kind));
    for (unsigned i = 0; is_done && i < stream->pool_count; i++)
        if (pool_is_shown(stream->pools[i], options))
            is_done =
                array_add(pools, ref_locked(set, stream->pools[i], options));
    if (is_done && json_object_object_add(object, "pools", pools) == 0)
        return object;
    json_object_put(object);
    json_object_put(pools);
    return NULL;
}

static struct json_object *affinity_describe(
    const struct amg_margo_stream *stream)
{
    struct json_object *array = json_object_new_array();
    bool is_done = array != NULL;

    for (unsigned i = 0; is_done && i < stream->affinity_count; i++)
        is_done = array_add(array, json_object_new_int(stream->affinity[i]));
    if (is_done)
        return array;
    json_object_put(array);
    return NULL;
}

static struct json_object *stream_describe(const struct amg_margo_set *set,
    const struct amg_margo_stream *stream, int options)
{
    struct json_object *object = json_object_new_object();

    if (object != NULL &&
        amg_margo_describe_text(object, "name", stream->item.name) &&
        (stream->cpubind < 0 || amg_margo_describe_put(object, "cpubind",
                                    json_object_new_int(stream->cpubind))) &&
        (stream->affinity_count == 0 ||
            amg_margo_describe_put(
                object, "affinity", affinity_describe(stream))) &&
        amg_margo_describe_put(
            object, "scheduler", scheduler_describe(set, stream, options)))
        return object;
    json_object_put(object);
    return NULL;
}

/* One that runs pools which are shown, and was not made by the program. */
static bool stream_is_shown(const struct amg_margo_stream *stream, int options)
{
    if ((options & MARGO_CONFIG_HIDE_EXTERNAL) == 0)
        return true;
    if (stream->kind == AMG_MARGO_SCHED_EXTERNAL)
        return false;
    for (unsigned i = 0; i < stream->pool_count; i++)
        if (pool_is_shown(stream->pools[i], options))
            return true;
    return false;
}

struct json_object *amg_margo_describe_streams(
    margo_instance_id mid, int options)
{
    struct amg_margo_set *set = mid->pools.set;
    struct json_object *array = json_object_new_array();
    bool is_done = array != NULL;

    amg_lock_take(&set->lock);
    for (unsigned i = 0; is_done && i < set->streams.count; i++) {
        const struct amg_margo_stream *stream =
            (const struct amg_margo_stream *)(const void *)
                set->streams.items[i];

        if (stream_is_shown(stream, options))
            is_done = array_add(array, stream_describe(set, stream, options));
    }
    amg_lock_give(&set->lock);
    if (is_done)
        return array;
    json_object_put(array);
    return NULL;
}
