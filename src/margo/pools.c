/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools and execution streams of an instance: created by its plan when it opens
 * and by the program, and freed with it; and the public calls about them.
 *
 * The stream __primary__ is the caller's. If Margo started Argobots, the
 * scheduler of the plan replaces the stream's scheduler; if the program did,
 * the pool __primary__ is the pool that the stream runs already, and other
 * pools of the plan are added. Pools of the primary scheduler end with it, at
 * ABT_finalize().
 *
 * A stream uses its pools (`uses` of struct amg_margo_item) from their lookup
 * until its end: so no pool can be removed while a stream of it starts or ends,
 * for which no lock is held. */
#include "margo/registry.h"

#include <stdio.h>
#include <string.h>

#include "affinity/policy.h"
#include "base/assert.h"
#include "base/mem.h"
#include "core/class.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/json.h"
#include "margo/log.h"
#include "margo/runtime.h"

enum { FIRST_CAP = 8, NAME_CAP = 32 /* of names made up */ };

static struct amg_margo_registry *registry_create(void)
{
    static const ABT_mutex_memory mutex = ABT_MUTEX_INITIALIZER;
    struct amg_margo_registry *registry = amg_mem_zalloc(sizeof(*registry));

    if (registry == NULL)
        return NULL;
    amg_lock_init(&registry->lock);
    registry->shown = mutex;
    registry->instances = 1;
    registry->pools.what = "pool";
    registry->streams.what = "xstream";
    return registry;
}

static void registry_destroy(struct amg_margo_registry *registry)
{
    if (registry == NULL)
        return;
    AMG_ASSERT(registry->pools.count == 0 && registry->streams.count == 0);
    amg_mem_free(registry->pools.items);
    amg_mem_free(registry->streams.items);
    amg_mem_free(registry);
}

void amg_margo_show_begin(struct amg_margo_registry *registry)
{
    ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&registry->shown));
}

void amg_margo_show_end(struct amg_margo_registry *registry)
{
    ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&registry->shown));
}

static bool key_fits(
    const struct amg_margo_item *item, uint32_t index, struct amg_margo_key key)
{
    switch (key.by) {
    case AMG_MARGO_BY_HANDLE:
        return item->handle == key.handle;
    case AMG_MARGO_BY_INDEX:
        return index == key.index;
    default:
        return strcmp(item->name, key.name) == 0;
    }
}

struct amg_margo_item *amg_margo_list_find_locked(
    const struct amg_margo_list *list, struct amg_margo_key key,
    uint32_t *ret_index)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (!key_fits(list->items[i], i, key))
            continue;
        if (ret_index != NULL)
            *ret_index = i;
        return list->items[i];
    }
    return NULL;
}

static bool list_grow(struct amg_margo_list *list)
{
    unsigned cap = list->cap == 0 ? FIRST_CAP : 2 * list->cap;
    struct amg_margo_item **items = NULL;

    if (list->count < list->cap)
        return true;
    items = amg_mem_realloc(list->items, cap * sizeof(items[0]));
    if (items == NULL)
        return false;
    list->items = items;
    list->cap = cap;
    return true;
}

/* Makes up a name that no item of the list has; NULL: no memory. */
static char *name_make(struct amg_margo_list *list)
{
    char name[NAME_CAP];
    unsigned number = list->named;

    if (number < list->count)
        number = list->count;
    do {
        (void)snprintf(name, sizeof(name), "__%s_%u__", list->what, number++);
    } while (amg_margo_list_find_locked(list, amg_margo_key_name(name), NULL) !=
             NULL);
    list->named = number;
    return amg_mem_strdup(name);
}

static hg_return_t list_add_locked(
    struct amg_margo_list *list, struct amg_margo_item *item)
{
    if (amg_margo_list_find_locked(
            list, amg_margo_key_handle(item->handle), NULL) != NULL)
        return HG_EXIST;
    if (item->name != NULL && amg_margo_list_find_locked(list,
                                  amg_margo_key_name(item->name), NULL) != NULL)
        return HG_EXIST;
    AMG_ASSERT(item->handle != NULL);
    if (!list_grow(list))
        return HG_NOMEM;
    if (item->name == NULL)
        item->name = name_make(list);
    if (item->name == NULL)
        return HG_NOMEM;
    list->items[list->count++] = item;
    return HG_SUCCESS;
}

static hg_return_t list_add(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, struct amg_margo_list *list,
    struct amg_margo_item *item)
{
    hg_return_t rc = HG_SUCCESS;

    amg_lock_lock(&registry->lock);
    rc = list_add_locked(list, item);
    amg_lock_unlock(&registry->lock);
    if (rc == HG_SUCCESS)
        return rc;
    amg_margo_log_write(log, MARGO_LOG_ERROR, "the %s %.60s was not added: %s",
        list == &registry->pools ? "pool" : "stream", amg_margo_item_name(item),
        rc == HG_EXIST ? "the instance has one of that name or handle"
                       : "no memory");
    return rc == HG_EXIST ? HG_INVALID_ARG : rc;
}

static void list_remove_locked(
    struct amg_margo_list *list, const struct amg_margo_item *item)
{
    unsigned at = 0;

    while (at < list->count && list->items[at] != item)
        at++;
    AMG_ASSERT(at < list->count);
    list->count--;
    memmove(&list->items[at], &list->items[at + 1],
        (list->count - at) * sizeof(list->items[0]));
}

static struct amg_margo_pool *pool_wrap(const struct amg_margo_log *log,
    const char *name, ABT_pool handle, bool is_owned)
{
    struct amg_margo_pool *pool = amg_mem_zalloc(sizeof(*pool));

    if (pool != NULL && name != NULL)
        pool->item.name = amg_mem_strdup(name);
    if (pool == NULL || (name != NULL && pool->item.name == NULL)) {
        amg_mem_free(pool);
        amg_margo_log_write(log, MARGO_LOG_ERROR, "no memory for a pool");
        return NULL;
    }
    pool->item.handle = handle;
    pool->item.is_owned = is_owned;
    pool->kind = AMG_MARGO_POOL_EXTERNAL;
    return pool;
}

static struct amg_margo_pool *pool_create(const struct amg_margo_log *log,
    const struct amg_margo_pool_spec *plan, bool is_automatic)
{
    ABT_pool handle = ABT_POOL_NULL;
    ABT_pool_kind kind = ABT_POOL_FIFO_WAIT;
    struct amg_margo_pool *pool = NULL;
    int error = ABT_SUCCESS;

    if (!amg_margo_runtime_pool_kind(plan->kind, &kind))
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "configuration: pools of the kind %s are of Amalgam's own threads; "
            "this build uses Argobots, and takes fifo_wait",
            amg_margo_pool_kind_name(plan->kind));
    error = ABT_pool_create_basic(kind, (ABT_pool_access)plan->access,
        is_automatic ? ABT_TRUE : ABT_FALSE, &handle);
    if (error != ABT_SUCCESS) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "the pool %.60s of kind %s was not made: %s",
            plan->name == NULL ? "without a name" : plan->name,
            amg_margo_pool_kind_name(plan->kind), amg_margo_abt_error(error));
        return NULL;
    }
    pool = pool_wrap(log, plan->name, handle, !is_automatic);
    if (pool == NULL) {
        (void)ABT_pool_free(&handle);
        return NULL;
    }
    pool->kind = plan->kind;
    pool->access = plan->access;
    return pool;
}

static void pool_destroy(
    const struct amg_margo_log *log, struct amg_margo_pool *pool)
{
    ABT_pool handle = NULL;
    size_t threads = 0;

    if (pool == NULL)
        return;
    handle = amg_margo_pool_abt(pool);
    if (pool->item.is_owned &&
        ABT_pool_get_total_size(handle, &threads) == ABT_SUCCESS &&
        threads > 0) {
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "the pool %s is not freed: %zu user-level threads in it have not "
            "ended",
            pool->item.name, threads);
    } else if (pool->item.is_owned) {
        (void)ABT_pool_free(&handle);
    }
    amg_mem_free(pool->item.name);
    amg_mem_free(pool);
}

static hg_return_t pool_add(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, struct amg_margo_pool *pool)
{
    hg_return_t rc = list_add(log, registry, &registry->pools, &pool->item);

    if (rc == HG_SUCCESS)
        return rc;
    /* The program keeps an external pool. */
    if (pool->kind == AMG_MARGO_POOL_EXTERNAL)
        pool->item.is_owned = false;
    pool_destroy(log, pool);
    return rc;
}

static struct amg_margo_pool *pool_resolve_locked(
    const struct amg_margo_log *log, const char *path,
    const struct amg_margo_registry *registry,
    const struct amg_margo_pool_ref *ref)
{
    struct amg_margo_item *item = amg_margo_list_find_locked(&registry->pools,
        ref->name != NULL ? amg_margo_key_name(ref->name)
                          : amg_margo_key_index((uint32_t)ref->index),
        NULL);

    AMG_ASSERT_HELD(&registry->lock);
    if (item != NULL)
        return (struct amg_margo_pool *)(void *)item;
    amg_margo_plan_log_missing(log, path, ref, registry->pools.count);
    return NULL;
}

static bool has_pool(
    const struct amg_margo_stream *stream, const struct amg_margo_pool *pool)
{
    for (unsigned i = 0; i < stream->pool_count; i++)
        if (stream->pools[i] == pool)
            return true;
    return false;
}

static void pool_use_locked(
    struct amg_margo_stream *stream, struct amg_margo_pool *pool)
{
    if (has_pool(stream, pool))
        return;
    pool->item.uses++;
    stream->pools[stream->pool_count++] = pool;
}

/* Drops the stream's uses of pools, and frees its memory. */
static void stream_free(
    struct amg_margo_registry *registry, struct amg_margo_stream *stream)
{
    amg_lock_lock(&registry->lock);
    for (unsigned i = 0; i < stream->pool_count; i++) {
        AMG_ASSERT(stream->pools[i]->item.uses > 0);
        stream->pools[i]->item.uses--;
    }
    amg_lock_unlock(&registry->lock);
    amg_mem_free(stream->pools);
    amg_mem_free(stream->affinity);
    amg_mem_free(stream->item.name);
    amg_mem_free(stream);
}

/* Allocates a stream with room for that many pools; NULL: no memory, logged. */
static struct amg_margo_stream *stream_new(const struct amg_margo_log *log,
    const char *name, size_t pools, unsigned affinity)
{
    struct amg_margo_stream *stream = amg_mem_zalloc(sizeof(*stream));

    if (stream == NULL)
        goto out;
    stream->cpubind = -1;
    stream->pools = amg_mem_zalloc(pools * sizeof(stream->pools[0]));
    stream->affinity =
        amg_mem_zalloc((affinity + 1) * sizeof(stream->affinity[0]));
    if (name != NULL)
        stream->item.name = amg_mem_strdup(name);
    if (stream->pools != NULL && stream->affinity != NULL &&
        (name == NULL || stream->item.name != NULL))
        return stream;
    amg_mem_free(stream->item.name);
    amg_mem_free(stream->affinity);
    amg_mem_free(stream->pools);
    amg_mem_free(stream);
out:
    amg_margo_log_write(log, MARGO_LOG_ERROR, "no memory for a stream");
    return NULL;
}

/* Finds the pools of the plan; false: a pool does not exist, logged. */
static bool pools_resolve(const struct amg_margo_log *log, const char *path,
    struct amg_margo_registry *registry,
    const struct amg_margo_stream_spec *plan, struct amg_margo_stream *stream)
{
    char where[AMG_JSON_PATH_CAP];
    char element[AMG_JSON_PATH_CAP];
    bool is_found = true;

    amg_json_path_key(where, path, "scheduler.pools");
    amg_lock_lock(&registry->lock);
    for (unsigned i = 0; i < plan->pool_count && is_found; i++) {
        struct amg_margo_pool *pool = NULL;

        amg_json_path_index(element, where, i);
        pool = pool_resolve_locked(log, element, registry, &plan->pools[i]);
        is_found = pool != NULL;
        if (is_found)
            pool_use_locked(stream, pool);
    }
    amg_lock_unlock(&registry->lock);
    return is_found;
}

static struct amg_margo_stream *stream_plan(const struct amg_margo_log *log,
    const char *path, struct amg_margo_registry *registry,
    const struct amg_margo_stream_spec *plan, size_t more)
{
    struct amg_margo_stream *stream = stream_new(
        log, plan->name, plan->pool_count + more, plan->affinity_count);

    if (stream == NULL)
        return NULL;
    stream->kind = plan->kind;
    stream->cpubind = plan->cpubind;
    stream->is_progress = plan->is_progress;
    stream->affinity_count = plan->affinity_count;
    if (plan->affinity_count > 0)
        memcpy(stream->affinity, plan->affinity,
            plan->affinity_count * sizeof(plan->affinity[0]));
    if (pools_resolve(log, path, registry, plan, stream))
        return stream;
    stream_free(registry, stream);
    return NULL;
}

/* Pins the stream. If the system refuses, the stream keeps the affinity of the
 * process, and is described without affinity. */
static void stream_pin(
    const struct amg_margo_log *log, struct amg_margo_stream *stream)
{
    ABT_xstream handle = amg_margo_stream_abt(stream);
    int error = ABT_SUCCESS;

    if (stream->cpubind >= 0)
        error = ABT_xstream_set_cpubind(handle, stream->cpubind);
    else if (stream->affinity_count > 0)
        error = ABT_xstream_set_affinity(
            handle, (int)stream->affinity_count, stream->affinity);
    if (error == ABT_SUCCESS)
        return;
    amg_margo_log_write(log, MARGO_LOG_WARNING,
        "the stream %s was not pinned to the core %d%s: %s",
        amg_margo_item_name(&stream->item),
        stream->cpubind >= 0 ? stream->cpubind : stream->affinity[0],
        stream->cpubind < 0 && stream->affinity_count > 1 ? " or others" : "",
        amg_margo_abt_error(error));
    stream->cpubind = -1;
    stream->affinity_count = 0;
}

/* An array of the stream's pools for Argobots; NULL: no memory. */
static ABT_pool *pool_array(const struct amg_margo_stream *stream)
{
    ABT_pool *pools = amg_mem_alloc(stream->pool_count * sizeof(pools[0]));

    for (unsigned i = 0; pools != NULL && i < stream->pool_count; i++)
        pools[i] = amg_margo_pool_abt(stream->pools[i]);
    return pools;
}

/* Does the stream run the caller, so that it cannot be joined now? Then the
 * stream ends when the caller leaves it; other streams run its pools. */
static bool stream_leaves(
    struct amg_margo_registry *registry, struct amg_margo_stream *stream)
{
    ABT_xstream self = ABT_XSTREAM_NULL;

    if (ABT_xstream_self(&self) != ABT_SUCCESS ||
        self != amg_margo_stream_abt(stream) ||
        ABT_xstream_cancel(self) != ABT_SUCCESS)
        return false;
    amg_lock_lock(&registry->lock);
    stream->left = registry->left;
    registry->left = stream;
    amg_lock_unlock(&registry->lock);
    return true;
}

static void stream_destroy(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, struct amg_margo_stream *stream)
{
    ABT_xstream handle = amg_margo_stream_abt(stream);
    int error = ABT_SUCCESS;

    if (stream->item.is_owned && stream_leaves(registry, stream))
        return;
    /* A thread of the stream may show the registry, and ends first. */
    if (stream->item.is_owned)
        error = ABT_xstream_join(handle);
    amg_margo_show_begin(registry);
    if (stream->item.is_owned && error == ABT_SUCCESS)
        error = ABT_xstream_free(&handle);
    if (error != ABT_SUCCESS)
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "the stream %s did not end: %s", stream->item.name,
            amg_margo_abt_error(error));
    stream_free(registry, stream);
    amg_margo_show_end(registry);
}

static hg_return_t stream_refused(const struct amg_margo_log *log,
    const struct amg_margo_stream *stream, int error)
{
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "the stream %.60s with a scheduler of type %s was not started: %s",
        amg_margo_item_name(&stream->item),
        amg_margo_sched_kind_name(stream->kind), amg_margo_abt_error(error));
    return error == ABT_ERR_MEM ? HG_NOMEM : HG_OTHER_ERROR;
}

static hg_return_t stream_create(const struct amg_margo_log *log,
    const char *path, struct amg_margo_registry *registry,
    const struct amg_margo_stream_spec *plan,
    struct amg_margo_stream **ret_stream)
{
    struct amg_margo_stream *stream = stream_plan(log, path, registry, plan, 0);
    ABT_xstream handle = ABT_XSTREAM_NULL;
    ABT_pool *pools = NULL;
    int error = ABT_ERR_MEM;
    hg_return_t rc = HG_SUCCESS;

    if (stream == NULL)
        return HG_INVALID_ARG;
    pools = pool_array(stream);
    if (pools != NULL)
        error = ABT_xstream_create_basic((ABT_sched_predef)stream->kind,
            (int)stream->pool_count, pools, ABT_SCHED_CONFIG_NULL, &handle);
    amg_mem_free(pools);
    if (error != ABT_SUCCESS) {
        rc = stream_refused(log, stream, error);
        stream_free(registry, stream);
        return rc;
    }
    stream->item.handle = handle;
    stream->item.is_owned = true;
    stream_pin(log, stream);
    rc = list_add(log, registry, &registry->streams, &stream->item);
    if (rc != HG_SUCCESS)
        stream_destroy(log, registry, stream);
    else if (ret_stream != NULL)
        *ret_stream = stream;
    return rc;
}

/* The pools that a stream runs; NULL: not readable, logged. */
static ABT_pool *main_pools(
    const struct amg_margo_log *log, ABT_xstream xstream, int *ret_count)
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
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "the pools of a stream cannot be read: %s", amg_margo_abt_error(error));
    return NULL;
}

/* The stream uses the pool `handle`; false: no such pool is registered. */
static bool pool_use(struct amg_margo_registry *registry, ABT_pool handle,
    struct amg_margo_stream *stream)
{
    struct amg_margo_item *item = NULL;

    amg_lock_lock(&registry->lock);
    item = amg_margo_list_find_locked(
        &registry->pools, amg_margo_key_handle(handle), NULL);
    if (item != NULL)
        pool_use_locked(stream, (struct amg_margo_pool *)(void *)item);
    amg_lock_unlock(&registry->lock);
    return item != NULL;
}

/* The stream uses `pools`, too; unknown pools are registered. */
static hg_return_t pools_adopt(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, ABT_pool *pools, int count,
    struct amg_margo_stream *stream)
{
    for (int i = 0; i < count; i++) {
        struct amg_margo_pool *pool = NULL;
        hg_return_t rc = HG_SUCCESS;

        if (pool_use(registry, pools[i], stream))
            continue;
        pool = pool_wrap(log, NULL, pools[i], false);
        rc = pool == NULL ? HG_NOMEM : pool_add(log, registry, pool);
        if (rc != HG_SUCCESS)
            return rc;
        (void)pool_use(registry, pools[i], stream);
    }
    return HG_SUCCESS;
}

/* The stream uses `pools`, which have to be registered. */
static bool pools_known(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, ABT_pool *pools, int count,
    struct amg_margo_stream *stream)
{
    for (int i = 0; i < count; i++) {
        if (pool_use(registry, pools[i], stream))
            continue;
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "the stream %.60s was not added: the instance does not know all "
            "the pools that it runs; margo_add_pool_external() adds one",
            amg_margo_item_name(&stream->item));
        return false;
    }
    return true;
}

static hg_return_t stream_wrap(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, const char *name, ABT_xstream xstream,
    bool is_owned)
{
    struct amg_margo_stream *stream = NULL;
    hg_return_t rc = HG_NOMEM;
    int count = 0;
    ABT_pool *pools = main_pools(log, xstream, &count);

    if (pools == NULL)
        return HG_OTHER_ERROR;
    stream = stream_new(log, name, (size_t)count + 1, 0);
    if (stream == NULL)
        goto free_pools;
    stream->item.handle = xstream;
    stream->kind = AMG_MARGO_SCHED_EXTERNAL;
    rc = pools_known(log, registry, pools, count, stream) ? HG_SUCCESS
                                                          : HG_INVALID_ARG;
    if (rc == HG_SUCCESS)
        rc = list_add(log, registry, &registry->streams, &stream->item);
    if (rc != HG_SUCCESS) {
        stream_free(registry, stream);
        goto free_pools;
    }
    stream->item.is_owned = is_owned;

free_pools:
    amg_mem_free(pools);
    return rc;
}

/* Gives the calling stream a scheduler with these pools. */
static hg_return_t sched_replace(
    const struct amg_margo_log *log, struct amg_margo_stream *stream)
{
    ABT_pool *pools = pool_array(stream);
    int error = ABT_ERR_MEM;

    if (pools != NULL)
        error = ABT_xstream_set_main_sched_basic(amg_margo_stream_abt(stream),
            (ABT_sched_predef)stream->kind, (int)stream->pool_count, pools);
    amg_mem_free(pools);
    return error == ABT_SUCCESS ? HG_SUCCESS
                                : stream_refused(log, stream, error);
}

static hg_return_t stream_adopt(const struct amg_margo_log *log,
    struct amg_margo_registry *registry,
    const struct amg_margo_stream_spec *plan, bool keeps)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    struct amg_margo_stream *stream = NULL;
    hg_return_t rc = HG_OTHER_ERROR;
    ABT_pool *pools = NULL;
    int count = 0;

    if (ABT_xstream_self(&self) == ABT_SUCCESS)
        pools = main_pools(log, self, &count);
    if (pools == NULL)
        return HG_OTHER_ERROR;
    stream = stream_plan(
        log, "argobots.xstreams[__primary__]", registry, plan, (size_t)count);
    if (stream == NULL) {
        rc = HG_INVALID_ARG;
        goto free_pools;
    }
    stream->item.handle = self;
    stream->is_primary = true;
    rc = HG_SUCCESS;
    if (keeps)
        rc = pools_adopt(log, registry, pools, count, stream);
    /* Has the plan only pools that the stream runs already? */
    if (keeps && stream->pool_count == (unsigned)count)
        stream->kind = AMG_MARGO_SCHED_EXTERNAL;
    else if (rc == HG_SUCCESS)
        rc = sched_replace(log, stream);
    if (rc == HG_SUCCESS) {
        stream_pin(log, stream);
        rc = list_add(log, registry, &registry->streams, &stream->item);
    }
    if (rc != HG_SUCCESS)
        stream_free(registry, stream);

free_pools:
    amg_mem_free(pools);
    return rc;
}

static bool has_ended(const struct amg_margo_stream *stream)
{
    ABT_xstream_state state = ABT_XSTREAM_STATE_RUNNING;

    return ABT_xstream_get_state(amg_margo_stream_abt(stream), &state) ==
               ABT_SUCCESS &&
           state == ABT_XSTREAM_STATE_TERMINATED;
}

static void streams_reap(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, bool all)
{
    struct amg_margo_stream *gone = NULL;

    amg_lock_lock(&registry->lock);
    for (struct amg_margo_stream **at = &registry->left; *at != NULL;) {
        struct amg_margo_stream *stream = *at;

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
        struct amg_margo_stream *stream = gone;

        gone = stream->left;
        stream_destroy(log, registry, stream);
    }
}

static const char primary_name[] = "__primary__";

/* Does the stream __primary__ of the plan run the pool? */
static bool pool_is_primary(const struct amg_margo_plan *plan, unsigned index)
{
    int at = amg_margo_plan_find_stream(plan, primary_name);

    if (at < 0)
        return false;
    for (unsigned i = 0; i < plan->streams[at].pool_count; i++) {
        const struct amg_margo_pool_ref *ref = &plan->streams[at].pools[i];

        if (ref->name == NULL
                ? ref->index == (int)index
                : plan->pools[index].name != NULL &&
                      strcmp(ref->name, plan->pools[index].name) == 0)
            return true;
    }
    return false;
}

/* The first pool of the calling stream. */
static struct amg_margo_pool *pool_adopt(const struct amg_margo_log *log)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    if (ABT_xstream_self(&self) == ABT_SUCCESS &&
        ABT_xstream_get_main_pools(self, 1, &pool) == ABT_SUCCESS)
        return pool_wrap(log, primary_name, pool, false);
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "this thread runs in no stream of Argobots, but ABT_init() was called: "
        "open the instance in the thread that called ABT_init(), or in a "
        "user-level thread");
    return NULL;
}

/* Creates and adds the pools of the plan. References by index become names,
 * since the registry of a child instance begins with the pools of its parent.
 */
static bool pools_make(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, bool is_first,
    struct amg_margo_registry *registry)
{
    for (unsigned i = 0; i < plan->pool_count; i++) {
        const struct amg_margo_pool_spec *row = &plan->pools[i];
        struct amg_margo_pool *pool = NULL;

        if (!is_first && row->name != NULL &&
            strcmp(row->name, primary_name) == 0)
            pool = pool_adopt(log);
        else
            pool = pool_create(log, row, pool_is_primary(plan, i));
        if (pool == NULL || pool_add(log, registry, pool) != HG_SUCCESS ||
            !amg_margo_plan_pool_named(log, plan, i, pool->item.name))
            return false;
    }
    return true;
}

static bool streams_make(const struct amg_margo_log *log,
    const struct amg_margo_plan *plan, bool is_first,
    struct amg_margo_registry *registry)
{
    for (unsigned i = 0; i < plan->stream_count; i++) {
        const struct amg_margo_stream_spec *row = &plan->streams[i];
        hg_return_t rc = HG_SUCCESS;

        if (row->name != NULL && strcmp(row->name, primary_name) == 0)
            rc = stream_adopt(log, registry, row, !is_first);
        else
            rc = stream_create(log, "argobots.xstreams[]", registry, row, NULL);
        if (rc != HG_SUCCESS)
            return false;
    }
    return true;
}

/* Streams that run a pool. */
struct runs {
    bool is_run;
    bool is_first;    /* is the first pool of a stream */
    bool is_in_reach; /* in a stream, not behind the progress pool */
    bool is_behind;   /* in a stream, behind the progress pool */
};

static struct runs runs_of(const struct amg_margo_registry *registry,
    const struct amg_margo_pool *pool, ABT_pool progress)
{
    struct runs runs = {false, false, false, false};

    for (unsigned i = 0; i < registry->streams.count; i++) {
        const struct amg_margo_stream *stream =
            amg_margo_stream_at_locked(registry, i);
        bool is_behind = false;

        for (unsigned j = 0; j < stream->pool_count; j++) {
            if (stream->pools[j] == pool) {
                runs.is_run = true;
                runs.is_first = runs.is_first || j == 0;
                runs.is_in_reach = runs.is_in_reach || !is_behind;
                runs.is_behind = runs.is_behind || is_behind;
            }
            is_behind =
                is_behind || amg_margo_pool_abt(stream->pools[j]) == progress;
        }
    }
    return runs;
}

/* Warns of pools whose threads may never run, but not of pools of the program,
 * which unknown streams may run. Called before another thread knows the
 * registry. */
static void pools_advise(margo_instance_id mid)
{
    const struct amg_margo_registry *registry = mid->pools->registry;

    for (unsigned i = 0; i < registry->pools.count; i++) {
        const struct amg_margo_pool *pool =
            amg_margo_pool_at_locked(registry, i);
        struct runs runs = runs_of(registry, pool, mid->pools->progress_pool);

        if (pool->kind == AMG_MARGO_POOL_EXTERNAL)
            continue;
        if (!runs.is_run)
            margo_warning(mid,
                "no stream runs the pool %s: its threads will not run until "
                "one does; add it to \"pools\" of the scheduler of a stream",
                pool->item.name);
        else if (runs.is_behind)
            margo_warning(mid,
                "the pool %s stands behind the progress pool in %s that runs "
                "it: its threads run there only when the loop lets them; put "
                "it before the progress pool, or into another stream",
                pool->item.name,
                runs.is_in_reach ? "a stream" : "every stream");
        else if (!runs.is_first)
            margo_warning(mid,
                "the pool %s is the first one of no stream: its threads run "
                "only while the pools before it are empty",
                pool->item.name);
    }
}

/* The pool that the program gave, which is registered if necessary; else the
 * pool of the text; else `otherwise`. NULL: refused, logged. */
static ABT_pool pool_choose(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, const char *path, ABT_pool given,
    const struct amg_margo_pool_ref *ref, ABT_pool otherwise)
{
    struct amg_margo_pool *pool = NULL;
    struct amg_margo_item *item = NULL;

    if (given == ABT_POOL_NULL && ref->name == NULL && ref->index < 0)
        return otherwise;
    amg_lock_lock(&registry->lock);
    if (given != ABT_POOL_NULL)
        item = amg_margo_list_find_locked(
            &registry->pools, amg_margo_key_handle(given), NULL);
    else
        pool = pool_resolve_locked(log, path, registry, ref);
    amg_lock_unlock(&registry->lock);
    if (given == ABT_POOL_NULL)
        return pool == NULL ? ABT_POOL_NULL : amg_margo_pool_abt(pool);
    if (item != NULL)
        return given;
    pool = pool_wrap(log, NULL, given, false);
    if (pool == NULL || pool_add(log, registry, pool) != HG_SUCCESS)
        return ABT_POOL_NULL;
    return given;
}

/* Sets the pools of the loop and the handlers. */
static bool pools_choose(
    margo_instance_id mid, const struct margo_init_info *info)
{
    const struct amg_margo_plan *plan = &mid->config->plan;
    struct amg_margo_pools *pools = mid->pools;
    const struct amg_margo_pools *parent =
        info->parent_mid == NULL ? NULL : info->parent_mid->pools;
    ABT_pool otherwise = parent == NULL ? ABT_POOL_NULL : parent->progress_pool;

    pools->progress_pool = pool_choose(mid->log, pools->registry,
        "progress_pool", info->progress_pool, &plan->progress, otherwise);
    if (pools->progress_pool == ABT_POOL_NULL)
        return false;
    /* With rpc_thread_count -1 the handlers share the progress pool. */
    if (plan->rpc_is_progress && info->rpc_pool == ABT_POOL_NULL) {
        pools->rpc_pool = pools->progress_pool;
        return true;
    }
    otherwise = parent == NULL ? ABT_POOL_NULL : parent->rpc_pool;
    pools->rpc_pool = pool_choose(mid->log, pools->registry, "rpc_pool",
        info->rpc_pool, &plan->rpc, otherwise);
    return pools->rpc_pool != ABT_POOL_NULL;
}

/* Ends all streams and then all pools of the registry. */
static void registry_end(
    const struct amg_margo_log *log, struct amg_margo_registry *registry)
{
    while (registry->streams.count > 0) {
        struct amg_margo_item *item =
            registry->streams.items[registry->streams.count - 1];

        list_remove_locked(&registry->streams, item);
        stream_destroy(log, registry, (struct amg_margo_stream *)(void *)item);
    }
    streams_reap(log, registry, true);
    while (registry->pools.count > 0) {
        struct amg_margo_item *item =
            registry->pools.items[registry->pools.count - 1];

        list_remove_locked(&registry->pools, item);
        pool_destroy(log, (struct amg_margo_pool *)(void *)item);
    }
    registry_destroy(registry);
}

static void registry_leave(
    const struct amg_margo_log *log, struct amg_margo_registry *registry)
{
    bool is_last = false;

    amg_lock_lock(&registry->lock);
    registry->instances--;
    is_last = registry->instances == 0;
    amg_lock_unlock(&registry->lock);
    if (is_last)
        registry_end(log, registry);
}

static struct amg_margo_registry *registry_share(
    const struct amg_margo_log *log, margo_instance_id parent)
{
    struct amg_margo_registry *registry = NULL;

    if (parent != NULL) {
        registry = parent->pools->registry;
        amg_lock_lock(&registry->lock);
        registry->instances++;
        amg_lock_unlock(&registry->lock);
        return registry;
    }
    registry = registry_create();
    if (registry == NULL)
        amg_margo_log_write(
            log, MARGO_LOG_ERROR, "no memory for the list of pools");
    return registry;
}

bool amg_margo_pools_open(
    margo_instance_id mid, const struct margo_init_info *info, bool is_first)
{
    struct amg_margo_plan *plan = &mid->config->plan;
    bool is_child = info->parent_mid != MARGO_INSTANCE_NULL;
    struct amg_margo_registry *registry = NULL;
    bool is_made = false;

    if (!amg_margo_config_plan(mid->log, is_child, mid->config))
        return false;
    registry = registry_share(mid->log, info->parent_mid);
    if (registry == NULL)
        return false;
    AMG_ASSERT(mid->pools->registry == NULL);
    *mid->pools = (struct amg_margo_pools){.registry = registry};
    is_made = pools_make(mid->log, plan, is_first, registry) &&
              streams_make(mid->log, plan, is_first, registry);
    if (is_made && pools_choose(mid, info)) {
        if (!is_child)
            pools_advise(mid);
        amg_margo_pools_ref(mid, mid->pools->progress_pool);
        amg_margo_pools_ref(mid, mid->pools->rpc_pool);
        return true;
    }
    registry_leave(mid->log, registry);
    *mid->pools = (struct amg_margo_pools){ABT_POOL_NULL, ABT_POOL_NULL, NULL};
    return false;
}

void amg_margo_pools_close(margo_instance_id mid)
{
    struct amg_margo_registry *registry = mid->pools->registry;

    if (registry == NULL)
        return;
    amg_margo_pools_unref(mid, mid->pools->progress_pool);
    amg_margo_pools_unref(mid, mid->pools->rpc_pool);
    registry_leave(mid->log, registry);
    *mid->pools = (struct amg_margo_pools){ABT_POOL_NULL, ABT_POOL_NULL, NULL};
}

static void pool_count(margo_instance_id mid, ABT_pool pool, int change)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_item *item = NULL;

    amg_lock_lock(&registry->lock);
    item = amg_margo_list_find_locked(
        &registry->pools, amg_margo_key_handle(pool), NULL);
    if (item != NULL) {
        AMG_ASSERT(change > 0 || item->uses > 0);
        item->uses += (unsigned)change;
    }
    amg_lock_unlock(&registry->lock);
}

void amg_margo_pools_ref(margo_instance_id mid, ABT_pool pool)
{
    pool_count(mid, pool, 1);
}

void amg_margo_pools_unref(margo_instance_id mid, ABT_pool pool)
{
    pool_count(mid, pool, -1);
}

/* May the stream be pinned: was it created for use_progress_thread, without a
 * core? */
static bool stream_is_meant(const struct amg_margo_stream *stream)
{
    return stream->is_progress && stream->item.is_owned &&
           stream->cpubind < 0 && stream->affinity_count == 0;
}

/* The stream to pin, if no other instance shares the registry; or NULL. */
static ABT_xstream stream_to_pin(margo_instance_id mid)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    ABT_xstream found = ABT_XSTREAM_NULL;

    amg_lock_lock(&registry->lock);
    for (unsigned i = 0;
         i < registry->streams.count && registry->instances == 1; i++) {
        const struct amg_margo_stream *stream =
            amg_margo_stream_at_locked(registry, i);

        if (stream_is_meant(stream))
            found = amg_margo_stream_abt(stream);
    }
    amg_lock_unlock(&registry->lock);
    return found;
}

/* True: the stream has a core of its own. */
static bool core_take(margo_instance_id mid, ABT_xstream stream,
    struct amg_affinity_ask *ask, struct amg_placement *placement)
{
    const struct amg_core_slot *slot = &placement->slot;
    int error = ABT_SUCCESS;

    ask->progress = AMALGAM_PROGRESS_THREAD;
    amg_policy_place(ask, placement);
    /* On a core that other processes use, the system schedules better than a
     * fixed binding. */
    if (slot->cpu < 0 || !slot->is_dedicated)
        return false;
    error = ABT_xstream_set_cpubind(stream, slot->cpu);
    if (error != ABT_SUCCESS)
        margo_warning(mid, "the progress stream was not pinned to core %d: %s",
            slot->cpu, amg_margo_abt_error(error));
    else
        margo_debug(mid, "the progress stream is pinned to core %d: %s",
            slot->cpu, slot->reason);
    return error == ABT_SUCCESS;
}

bool amg_margo_pools_pin(margo_instance_id mid)
{
    ABT_xstream stream = stream_to_pin(mid);
    struct amg_placement *placement = NULL;
    struct amg_affinity_ask ask;
    bool has_core = false;

    if (stream == ABT_XSTREAM_NULL)
        return true;
    if (!amg_progress_config_question(&mid->hg_class->progress_config,
            mid->hg_class->progress_config.self, &ask))
        return false;
    /* Too large for the stack of a user-level thread. */
    placement = amg_mem_alloc(sizeof(*placement));
    if (placement != NULL)
        has_core = core_take(mid, stream, &ask, placement);
    amg_mem_free(placement);
    return has_core;
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
    /* Only threads that are in the pool now: more may be pushed for ever. */
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
        margo_error(MARGO_INSTANCE_NULL,
            "threads were not moved from one pool to another: %s",
            amg_margo_abt_error(error));
    }
    return error == ABT_SUCCESS ? HG_SUCCESS : HG_OTHER_ERROR;
}

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
    args.ret = pool_add(mid->log, mid->pools->registry, pool);
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
        pool = pool_create(mid->log, &plan, false);
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
    made = pool_wrap(mid->log, name, pool, take_ownership != 0);
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
        list_remove_locked(list, item);
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
    streams_reap(mid->log, mid->pools->registry, false);
    args.info = &info;
    AMG_MARGO_NOTIFY(mid, remove_pool, MARGO_MONITOR_FN_START, &args);
    args.ret = item_take_off(mid, POOL, amg_margo_key_handle(info.pool), &item);
    if (args.ret == HG_SUCCESS)
        args.info = NULL;
    AMG_MARGO_NOTIFY(mid, remove_pool, MARGO_MONITOR_FN_END, &args);
    amg_margo_show_begin(mid->pools->registry);
    pool_destroy(mid->log, (struct amg_margo_pool *)(void *)item);
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
        rc = stream_create(
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
    rc = stream_wrap(
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
    streams_reap(mid->log, mid->pools->registry, false);
    args.info = &info;
    AMG_MARGO_NOTIFY(mid, remove_xstream, MARGO_MONITOR_FN_START, &args);
    args.ret =
        item_take_off(mid, STREAM, amg_margo_key_handle(info.xstream), &item);
    if (args.ret == HG_SUCCESS) {
        stream_destroy(mid->log, mid->pools->registry,
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
