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

enum {
    FIRST_CAP = 8,
    NAME_CAP = 32 /* of names made up */,
    ABT_ERROR_CAP = 64
};

static const char primary_name[] = "__primary__";

/* The name of an error code of Argobots for a log line, as "ABT_ERR_INV_POOL";
 * valid until the next call of this OS thread. */
static const char *abt_error(int error)
{
    static _Thread_local char text[ABT_ERROR_CAP];
    size_t len = 0;

    /* Asks for the length first, which is without the zero at the end. */
    if (ABT_error_get_str(error, NULL, &len) != ABT_SUCCESS ||
        len >= sizeof(text) ||
        ABT_error_get_str(error, text, NULL) != ABT_SUCCESS)
        (void)snprintf(text, sizeof(text), "error %d of Argobots", error);
    return text;
}

/* Key of an item in a list. */
struct item_key {
    enum { BY_HANDLE, BY_INDEX, BY_NAME } by;
    const void *handle;
    uint32_t index;
    const char *name;
};

static struct item_key by_handle(const void *handle)
{
    return (struct item_key){.by = BY_HANDLE, .handle = handle};
}

static struct item_key by_index(uint32_t index)
{
    return (struct item_key){.by = BY_INDEX, .index = index};
}

static struct item_key by_name(const char *name)
{
    return (struct item_key){.by = BY_NAME, .name = name};
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
    const struct amg_margo_item *item, uint32_t index, struct item_key key)
{
    switch (key.by) {
    case BY_HANDLE:
        return item->handle == key.handle;
    case BY_INDEX:
        return index == key.index;
    default:
        return strcmp(item->name, key.name) == 0;
    }
}

/* The index of an item; the length of the list: no such item. The caller holds
 * the lock of the registry. */
static uint32_t list_index(
    const struct amg_margo_list *list, struct item_key key)
{
    uint32_t i = 0;

    while (i < list->count && !key_fits(list->items[i], i, key))
        i++;
    return i;
}

/* An item, or NULL. */
static struct amg_margo_item *list_find(
    const struct amg_margo_list *list, struct item_key key)
{
    uint32_t i = list_index(list, key);

    return i < list->count ? list->items[i] : NULL;
}

struct amg_margo_item *amg_margo_pool_find_locked(
    const struct amg_margo_registry *registry, ABT_pool pool)
{
    AMG_ASSERT_HELD(&registry->lock);
    return list_find(&registry->pools, by_handle(pool));
}

/* For log lines. */
static const char *item_name(const struct amg_margo_item *item)
{
    return item->name == NULL ? "without a name" : item->name;
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
    } while (list_find(list, by_name(name)) != NULL);
    list->named = number;
    return amg_mem_strdup(name);
}

/* Appends the item, with a made-up name if the item has none. HG_INVALID_ARG:
 * the list has that name or handle; HG_NOMEM. Errors are logged. */
static hg_return_t list_add(margo_instance_id mid, struct amg_margo_list *list,
    struct amg_margo_item *item)
{
    struct amg_lock *lock = &mid->pools->registry->lock;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(item->handle != NULL);
    amg_lock_lock(lock);
    if (list_find(list, by_handle(item->handle)) != NULL ||
        (item->name != NULL && list_find(list, by_name(item->name)) != NULL))
        rc = HG_INVALID_ARG;
    else if (!list_grow(list))
        rc = HG_NOMEM;
    else if (item->name == NULL && (item->name = name_make(list)) == NULL)
        rc = HG_NOMEM;
    else
        list->items[list->count++] = item;
    amg_lock_unlock(lock);
    if (rc != HG_SUCCESS)
        margo_error(mid, "the %s %.60s was not added: %s", list->what,
            item_name(item),
            rc == HG_NOMEM ? "no memory"
                           : "the instance has one of that name or handle");
    return rc;
}

/* Removes an item; later items move up. The caller holds the lock of the
 * registry. */
static void list_remove(
    struct amg_margo_list *list, const struct amg_margo_item *item)
{
    uint32_t at = list_index(list, by_handle(item->handle));

    AMG_ASSERT(at < list->count && list->items[at] == item);
    list->count--;
    memmove(&list->items[at], &list->items[at + 1],
        (list->count - at) * sizeof(list->items[0]));
}

/* An item with room for that many pools, of a stream, and CPUs; a name of NULL
 * is made up later. NULL: no memory, logged. */
static struct amg_margo_item *item_new(
    margo_instance_id mid, const char *name, size_t pools, unsigned affinity)
{
    struct amg_margo_item *item =
        amg_mem_zalloc(sizeof(*item) + pools * sizeof(item->pools[0]) +
                       affinity * sizeof(item->affinity[0]));

    if (item != NULL && name != NULL)
        item->name = amg_mem_strdup(name);
    if (item == NULL || (name != NULL && item->name == NULL)) {
        amg_mem_free(item);
        margo_error(mid, "no memory for a pool or a stream");
        return NULL;
    }
    item->cpubind = -1;
    item->pools = (struct amg_margo_item **)(item + 1);
    item->affinity = (int *)(item->pools + pools);
    return item;
}

/* An item for an existing pool; a name of NULL is made up later. NULL: no
 * memory, logged. */
static struct amg_margo_item *pool_wrap(
    margo_instance_id mid, const char *name, ABT_pool handle, bool is_owned)
{
    struct amg_margo_item *pool = item_new(mid, name, 0, 0);

    if (pool == NULL)
        return NULL;
    pool->handle = handle;
    pool->is_owned = is_owned;
    pool->kind = AMG_MARGO_POOL_EXTERNAL;
    return pool;
}

/* Creates a pool by its plan. `is_automatic`: freed with the scheduler that
 * runs the pool. NULL: failed, logged. */
static struct amg_margo_item *pool_create(margo_instance_id mid,
    const struct amg_margo_pool_spec *plan, bool is_automatic)
{
    ABT_pool handle = ABT_POOL_NULL;
    ABT_pool_kind kind = ABT_POOL_FIFO_WAIT;
    struct amg_margo_item *pool = NULL;
    int error = ABT_SUCCESS;

    if (!amg_margo_runtime_pool_kind(plan->kind, &kind))
        margo_warning(mid,
            "configuration: pools of the kind %s are of Amalgam's own threads; "
            "this build uses Argobots, and takes fifo_wait",
            amg_margo_pool_kind_name(plan->kind));
    error = ABT_pool_create_basic(kind, (ABT_pool_access)plan->access,
        is_automatic ? ABT_TRUE : ABT_FALSE, &handle);
    if (error != ABT_SUCCESS) {
        margo_error(mid, "the pool %.60s of kind %s was not made: %s",
            plan->name == NULL ? "without a name" : plan->name,
            amg_margo_pool_kind_name(plan->kind), abt_error(error));
        return NULL;
    }
    pool = pool_wrap(mid, plan->name, handle, !is_automatic);
    if (pool == NULL) {
        (void)ABT_pool_free(&handle);
        return NULL;
    }
    pool->kind = plan->kind;
    pool->access = plan->access;
    return pool;
}

/* Frees a pool that is on no list; does nothing for NULL. */
static void pool_destroy(margo_instance_id mid, struct amg_margo_item *pool)
{
    ABT_pool handle = NULL;
    size_t threads = 0;

    if (pool == NULL)
        return;
    handle = pool->handle;
    if (pool->is_owned &&
        ABT_pool_get_total_size(handle, &threads) == ABT_SUCCESS && threads > 0)
        margo_warning(mid,
            "the pool %s is not freed: %zu user-level threads in it have not "
            "ended",
            pool->name, threads);
    else if (pool->is_owned)
        (void)ABT_pool_free(&handle);
    amg_mem_free(pool->name);
    amg_mem_free(pool);
}

/* Registers the pool, or destroys it on an error, which is logged. */
static hg_return_t pool_add(margo_instance_id mid, struct amg_margo_item *pool)
{
    hg_return_t rc = list_add(mid, &mid->pools->registry->pools, pool);

    if (rc == HG_SUCCESS)
        return rc;
    /* The program keeps an external pool. */
    if (pool->kind == AMG_MARGO_POOL_EXTERNAL)
        pool->is_owned = false;
    pool_destroy(mid, pool);
    return rc;
}

/* The referenced pool; NULL: no such pool, logged. */
static struct amg_margo_item *pool_resolve_locked(margo_instance_id mid,
    const char *path, const struct amg_margo_pool_ref *ref)
{
    const struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_item *pool = NULL;

    AMG_ASSERT_HELD(&registry->lock);
    if (ref->name != NULL)
        pool = list_find(&registry->pools, by_name(ref->name));
    else if (ref->is_own)
        pool = amg_margo_pool_find_locked(
            registry, mid->config->plan.pools[ref->index].made);
    else
        pool = list_find(&registry->pools, by_index((uint32_t)ref->index));
    if (pool == NULL)
        amg_margo_plan_log_missing(mid->log, path, ref, registry->pools.count);
    return pool;
}

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
        pool = pool_resolve_locked(mid, where, &plan->pools[i]);
        is_found = pool != NULL;
        if (is_found)
            pool_use_locked(registry, stream, pool);
    }
    amg_lock_unlock(&registry->lock);
    return is_found;
}

/* An item with the pools of the plan, and room for `more`. NULL: failed,
 * logged. */
static struct amg_margo_item *stream_plan(margo_instance_id mid,
    const char *path, const struct amg_margo_stream_spec *plan, size_t more)
{
    struct amg_margo_item *stream = item_new(
        mid, plan->name, plan->pool_count + more, plan->affinity_count);

    if (stream == NULL)
        return NULL;
    stream->kind = plan->kind;
    stream->cpubind = plan->cpubind;
    stream->is_progress = plan->is_progress;
    stream->affinity_count = plan->affinity_count;
    for (unsigned i = 0; i < plan->affinity_count; i++)
        stream->affinity[i] = plan->affinity[i];
    if (pools_resolve(mid, path, plan, stream))
        return stream;
    stream_free(mid, stream);
    return NULL;
}

/* Pins the stream. If the system refuses, the stream keeps the affinity of the
 * process, and is described without affinity. */
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
        item_name(stream),
        stream->cpubind >= 0 ? stream->cpubind : stream->affinity[0],
        stream->cpubind < 0 && stream->affinity_count > 1 ? " or others" : "",
        abt_error(error));
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
        item_name(stream), amg_margo_sched_kind_name(stream->kind),
        abt_error(error));
    return error == ABT_ERR_MEM ? HG_NOMEM : HG_OTHER_ERROR;
}

/* Does the stream run the caller, so that it cannot be joined now? Then the
 * stream ends when the caller leaves it; other streams run its pools. */
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

/* Frees a stream that is on no list. Joins an owned stream first, but a stream
 * that runs the caller later. */
static void stream_destroy(margo_instance_id mid, struct amg_margo_item *stream)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    ABT_xstream handle = stream->handle;
    int error = ABT_SUCCESS;

    if (stream->is_owned && stream_leaves(registry, stream))
        return;
    /* A thread of the stream may show the registry, and ends first. */
    if (stream->is_owned)
        error = ABT_xstream_join(handle);
    amg_margo_show_begin(registry);
    if (stream->is_owned && error == ABT_SUCCESS)
        error = ABT_xstream_free(&handle);
    if (error != ABT_SUCCESS)
        margo_error(mid, "the stream %s did not end: %s", stream->name,
            abt_error(error));
    stream_free(mid, stream);
    amg_margo_show_end(registry);
}

/* Starts a stream by its plan, and registers it. `ret_handle` may be NULL. An
 * error is logged, and leaves nothing behind. */
static hg_return_t stream_create(margo_instance_id mid, const char *path,
    const struct amg_margo_stream_spec *plan, ABT_xstream *ret_handle)
{
    struct amg_margo_item *stream = stream_plan(mid, path, plan, 0);
    hg_return_t rc = HG_SUCCESS;

    if (stream == NULL)
        return HG_INVALID_ARG;
    rc = stream_schedule(mid, stream);
    if (rc != HG_SUCCESS) {
        stream_free(mid, stream);
        return rc;
    }
    stream->is_owned = true;
    stream_pin(mid, stream);
    rc = list_add(mid, &mid->pools->registry->streams, stream);
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
    margo_error(
        mid, "the pools of a stream cannot be read: %s", abt_error(error));
    return NULL;
}

/* The stream uses the pool `handle`; false: no such pool is registered. */
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

/* The stream uses `pools`, too. Unknown pools are registered if `adds`, else
 * refused. */
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
                "all the pools that it runs; margo_add_pool_external() adds "
                "one",
                item_name(stream));
            return HG_INVALID_ARG;
        }
        pool = pool_wrap(mid, NULL, pools[i], false);
        rc = pool == NULL ? HG_NOMEM : pool_add(mid, pool);
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
    stream = item_new(mid, name, (size_t)count, 0);
    if (stream == NULL)
        goto free_pools;
    stream->handle = xstream;
    stream->kind = AMG_MARGO_SCHED_EXTERNAL;
    rc = pools_use(mid, pools, count, false, stream);
    if (rc == HG_SUCCESS)
        rc = list_add(mid, &mid->pools->registry->streams, stream);
    if (rc == HG_SUCCESS)
        stream->is_owned = is_owned;
    else
        stream_free(mid, stream);

free_pools:
    amg_mem_free(pools);
    return rc;
}

/* Replaces the scheduler of the calling stream by a scheduler with the pools of
 * the plan; `keeps`: and with its present pools. */
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
    stream =
        stream_plan(mid, "argobots.xstreams[__primary__]", plan, (size_t)count);
    if (stream == NULL)
        goto free_pools;
    stream->handle = self;
    stream->is_primary = true;
    rc = keeps ? pools_use(mid, pools, count, true, stream) : HG_SUCCESS;
    /* Has the plan only pools that the stream runs already? */
    if (keeps && stream->pool_count == (unsigned)count)
        stream->kind = AMG_MARGO_SCHED_EXTERNAL;
    else if (rc == HG_SUCCESS)
        rc = stream_schedule(mid, stream);
    if (rc == HG_SUCCESS) {
        stream_pin(mid, stream);
        rc = list_add(mid, &mid->pools->registry->streams, stream);
    }
    if (rc != HG_SUCCESS)
        stream_free(mid, stream);

free_pools:
    amg_mem_free(pools);
    return rc;
}

static bool has_ended(const struct amg_margo_item *stream)
{
    ABT_xstream_state state = ABT_XSTREAM_STATE_RUNNING;

    return ABT_xstream_get_state(stream->handle, &state) == ABT_SUCCESS &&
           state == ABT_XSTREAM_STATE_TERMINATED;
}

/* Frees the streams of `left` that have ended; `all`: waits for the others. */
static void streams_reap(margo_instance_id mid, bool all)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_item *gone = NULL;

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
static struct amg_margo_item *pool_adopt(margo_instance_id mid)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    if (ABT_xstream_self(&self) == ABT_SUCCESS &&
        ABT_xstream_get_main_pools(self, 1, &pool) == ABT_SUCCESS)
        return pool_wrap(mid, primary_name, pool, false);
    margo_error(mid,
        "this thread runs in no stream of Argobots, but ABT_init() was called: "
        "open the instance in the thread that called ABT_init(), or in a "
        "user-level thread");
    return NULL;
}

/* Creates and registers the pools of the plan, and notes their handles for
 * references to them. */
static bool pools_make(
    margo_instance_id mid, struct amg_margo_plan *plan, bool is_first)
{
    for (unsigned i = 0; i < plan->pool_count; i++) {
        struct amg_margo_pool_spec *row = &plan->pools[i];
        struct amg_margo_item *pool = NULL;

        if (!is_first && row->name != NULL &&
            strcmp(row->name, primary_name) == 0)
            pool = pool_adopt(mid);
        else
            pool = pool_create(mid, row, pool_is_primary(plan, i));
        if (pool == NULL)
            return false;
        row->made = pool->handle;
        if (pool_add(mid, pool) != HG_SUCCESS)
            return false;
    }
    return true;
}

static bool streams_make(
    margo_instance_id mid, const struct amg_margo_plan *plan, bool is_first)
{
    for (unsigned i = 0; i < plan->stream_count; i++) {
        const struct amg_margo_stream_spec *row = &plan->streams[i];
        bool is_own = row->name != NULL && strcmp(row->name, primary_name) == 0;
        hg_return_t rc =
            is_own ? stream_adopt(mid, row, !is_first)
                   : stream_create(mid, "argobots.xstreams[]", row, NULL);

        if (rc != HG_SUCCESS)
            return false;
    }
    return true;
}

/* Warns of a pool whose threads may never run. Called before another thread
 * knows the registry. */
static void pool_advise(
    margo_instance_id mid, const struct amg_margo_item *pool)
{
    const struct amg_margo_list *streams = &mid->pools->registry->streams;
    bool is_first = false;    /* of the pools of a stream */
    bool is_in_reach = false; /* in a stream, not behind the progress pool */
    bool is_behind = false;   /* in a stream, behind the progress pool */

    for (unsigned i = 0; i < streams->count; i++) {
        const struct amg_margo_item *stream = streams->items[i];
        bool is_after = false;

        for (unsigned j = 0; j < stream->pool_count; j++) {
            if (stream->pools[j] == pool) {
                is_first |= j == 0;
                is_in_reach |= !is_after;
                is_behind |= is_after;
            }
            is_after |= stream->pools[j]->handle == mid->pools->progress_pool;
        }
    }
    if (!is_in_reach && !is_behind)
        margo_warning(mid,
            "no stream runs the pool %s: its threads will not run until one "
            "does; add it to \"pools\" of the scheduler of a stream",
            pool->name);
    else if (is_behind)
        margo_warning(mid,
            "the pool %s stands behind the progress pool in %s that runs it: "
            "its threads run there only when the loop lets them; put it before "
            "the progress pool, or into another stream",
            pool->name, is_in_reach ? "a stream" : "every stream");
    else if (!is_first)
        margo_warning(mid,
            "the pool %s is the first one of no stream: its threads run only "
            "while the pools before it are empty",
            pool->name);
}

/* The pool that the program gave, which is registered if necessary; else the
 * pool of the text; else `otherwise`. NULL: refused, logged. */
static ABT_pool pool_choose(margo_instance_id mid, const char *path,
    ABT_pool given, const struct amg_margo_pool_ref *ref, ABT_pool otherwise)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_item *pool = NULL;

    if (given == ABT_POOL_NULL && ref->name == NULL && ref->index < 0)
        return otherwise;
    amg_lock_lock(&registry->lock);
    pool = given != ABT_POOL_NULL ? amg_margo_pool_find_locked(registry, given)
                                  : pool_resolve_locked(mid, path, ref);
    amg_lock_unlock(&registry->lock);
    if (pool == NULL && given != ABT_POOL_NULL) {
        pool = pool_wrap(mid, NULL, given, false);
        if (pool != NULL && pool_add(mid, pool) != HG_SUCCESS)
            pool = NULL;
    }
    return pool == NULL ? ABT_POOL_NULL : pool->handle;
}

/* Sets the pools of the loop and the handlers. */
static bool pools_choose(
    margo_instance_id mid, const struct margo_init_info *info)
{
    const struct amg_margo_plan *plan = &mid->config->plan;
    struct amg_margo_pools *pools = mid->pools;
    struct amg_margo_pools none = {ABT_POOL_NULL, ABT_POOL_NULL, NULL};
    const struct amg_margo_pools *parent =
        info->parent_mid == NULL ? &none : info->parent_mid->pools;

    pools->progress_pool = pool_choose(mid, "progress_pool",
        info->progress_pool, &plan->progress, parent->progress_pool);
    if (pools->progress_pool == ABT_POOL_NULL)
        return false;
    /* With rpc_thread_count -1 the handlers share the progress pool. */
    if (plan->rpc_is_progress && info->rpc_pool == ABT_POOL_NULL)
        pools->rpc_pool = pools->progress_pool;
    else
        pools->rpc_pool = pool_choose(
            mid, "rpc_pool", info->rpc_pool, &plan->rpc, parent->rpc_pool);
    return pools->rpc_pool != ABT_POOL_NULL;
}

/* Leaves the registry; the last instance ends all streams, then all pools. */
static void registry_leave(margo_instance_id mid)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_list *streams = &registry->streams;
    struct amg_margo_list *pools = &registry->pools;
    bool is_last = false;

    amg_lock_lock(&registry->lock);
    registry->instances--;
    is_last = registry->instances == 0;
    amg_lock_unlock(&registry->lock);
    if (is_last) {
        while (streams->count > 0)
            stream_destroy(mid, streams->items[--streams->count]);
        streams_reap(mid, true);
        while (pools->count > 0)
            pool_destroy(mid, pools->items[--pools->count]);
        amg_mem_free(pools->items);
        amg_mem_free(streams->items);
        amg_mem_free(registry);
    }
    *mid->pools = (struct amg_margo_pools){ABT_POOL_NULL, ABT_POOL_NULL, NULL};
}

/* The registry of the parent, or a new registry. NULL: no memory, logged. */
static struct amg_margo_registry *registry_share(
    margo_instance_id mid, margo_instance_id parent)
{
    static const ABT_mutex_memory mutex = ABT_MUTEX_INITIALIZER;
    struct amg_margo_registry *registry = NULL;

    if (parent != NULL) {
        registry = parent->pools->registry;
        amg_lock_lock(&registry->lock);
        registry->instances++;
        amg_lock_unlock(&registry->lock);
        return registry;
    }
    registry = amg_mem_zalloc(sizeof(*registry));
    if (registry == NULL) {
        margo_error(mid, "no memory for the list of pools");
        return NULL;
    }
    amg_lock_init(&registry->lock);
    registry->shown = mutex;
    registry->instances = 1;
    registry->pools.what = "pool";
    registry->streams.what = "xstream";
    return registry;
}

bool amg_margo_pools_open(
    margo_instance_id mid, const struct margo_init_info *info, bool is_first)
{
    struct amg_margo_plan *plan = &mid->config->plan;
    bool is_child = info->parent_mid != MARGO_INSTANCE_NULL;
    const struct amg_margo_list *pools = NULL;

    AMG_ASSERT(mid->pools->registry == NULL);
    if (!amg_margo_config_plan(mid->log, is_child, mid->config))
        return false;
    mid->pools->registry = registry_share(mid, info->parent_mid);
    if (mid->pools->registry == NULL)
        return false;
    if (!pools_make(mid, plan, is_first) ||
        !streams_make(mid, plan, is_first) || !pools_choose(mid, info)) {
        registry_leave(mid);
        return false;
    }
    /* Streams that the instance does not know may run pools of the program. */
    pools = &mid->pools->registry->pools;
    for (unsigned i = 0; i < pools->count && !is_child; i++)
        if (pools->items[i]->kind != AMG_MARGO_POOL_EXTERNAL)
            pool_advise(mid, pools->items[i]);
    amg_margo_pools_ref(mid, mid->pools->progress_pool);
    amg_margo_pools_ref(mid, mid->pools->rpc_pool);
    return true;
}

void amg_margo_pools_close(margo_instance_id mid)
{
    if (mid->pools->registry == NULL)
        return;
    amg_margo_pools_unref(mid, mid->pools->progress_pool);
    amg_margo_pools_unref(mid, mid->pools->rpc_pool);
    registry_leave(mid);
}

static void pool_count(margo_instance_id mid, ABT_pool handle, int change)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_item *pool = NULL;

    amg_lock_lock(&registry->lock);
    pool = amg_margo_pool_find_locked(registry, handle);
    if (pool != NULL) {
        AMG_ASSERT(change > 0 || pool->uses > 0);
        pool->uses += (unsigned)change;
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

/* The stream to pin, if no other instance shares the registry: created for
 * use_progress_thread, without a core; or NULL. */
static ABT_xstream stream_to_pin(margo_instance_id mid)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    ABT_xstream found = ABT_XSTREAM_NULL;

    amg_lock_lock(&registry->lock);
    for (unsigned i = 0;
         i < registry->streams.count && registry->instances == 1; i++) {
        const struct amg_margo_item *stream = registry->streams.items[i];

        if (stream->is_progress && stream->is_owned && stream->cpubind < 0 &&
            stream->affinity_count == 0)
            found = stream->handle;
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
            slot->cpu, abt_error(error));
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
            abt_error(error));
    }
    return error == ABT_SUCCESS ? HG_SUCCESS : HG_OTHER_ERROR;
}

enum kind { POOL, STREAM };

/* Change of the program's references to an item by a call. */
enum action { NONE, REF, UNREF };

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

/* HG_INVALID_ARG: an instance without a registry, or a handle or name that is
 * NULL. HG_NOENTRY: there is no such item. HG_PERMISSION, with a log line: the
 * program has no reference that UNREF could take. */
static hg_return_t item_call(margo_instance_id mid, enum kind kind,
    struct item_key key, enum action action, struct found *ret_found)
{
    struct amg_margo_registry *registry = registry_of(mid);
    struct amg_margo_item *item = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (registry == NULL || (key.by == BY_HANDLE && key.handle == NULL) ||
        (key.by == BY_NAME && key.name == NULL))
        return HG_INVALID_ARG;
    amg_lock_lock(&registry->lock);
    item = list_find(list_of(registry, kind), key);
    if (item == NULL) {
        rc = HG_NOENTRY;
    } else if (action == UNREF && item->refs == 0) {
        rc = HG_PERMISSION;
    } else {
        item->refs += action == REF;
        item->refs -= action == UNREF;
        if (ret_found != NULL)
            *ret_found = (struct found){item->handle, item->name,
                list_index(list_of(registry, kind), key),
                item->uses + item->refs};
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
    struct item_key key, unsigned *ret_count)
{
    struct found found;
    hg_return_t rc = HG_INVALID_ARG;

    if (ret_count != NULL)
        rc = item_call(mid, kind, key, NONE, &found);
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

static hg_return_t pool_find(
    margo_instance_id mid, struct item_key key, struct margo_pool_info *info)
{
    struct found found;
    hg_return_t rc = item_call(mid, POOL, key, NONE, &found);

    if (rc == HG_SUCCESS && info != NULL)
        *info = (struct margo_pool_info){
            (ABT_pool)found.handle, found.name, found.index};
    return rc;
}

static hg_return_t stream_find(
    margo_instance_id mid, struct item_key key, struct margo_xstream_info *info)
{
    struct found found;
    hg_return_t rc = item_call(mid, STREAM, key, NONE, &found);

    if (rc == HG_SUCCESS && info != NULL)
        *info = (struct margo_xstream_info){
            (ABT_xstream)found.handle, found.name, found.index};
    return rc;
}

hg_return_t margo_find_pool_by_handle(
    margo_instance_id mid, ABT_pool pool, struct margo_pool_info *info)
{
    return pool_find(mid, by_handle(pool), info);
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
    return index_code(pool_find(mid, by_index(index), info));
}

hg_return_t margo_find_pool_by_name(
    margo_instance_id mid, const char *name, struct margo_pool_info *info)
{
    return pool_find(mid, by_name(name), info);
}

size_t margo_get_num_pools(margo_instance_id mid)
{
    return item_total(mid, POOL);
}

hg_return_t margo_find_xstream_by_handle(
    margo_instance_id mid, ABT_xstream xstream, struct margo_xstream_info *info)
{
    return stream_find(mid, by_handle(xstream), info);
}

hg_return_t margo_find_xstream_by_index(
    margo_instance_id mid, uint32_t index, struct margo_xstream_info *info)
{
    return index_code(stream_find(mid, by_index(index), info));
}

hg_return_t margo_find_xstream_by_name(
    margo_instance_id mid, const char *name, struct margo_xstream_info *info)
{
    return stream_find(mid, by_name(name), info);
}

size_t margo_get_num_xstreams(margo_instance_id mid)
{
    return item_total(mid, STREAM);
}

hg_return_t margo_pool_ref_incr_by_handle(
    margo_instance_id mid, ABT_pool handle)
{
    return item_call(mid, POOL, by_handle(handle), REF, NULL);
}

hg_return_t margo_pool_ref_count_by_handle(
    margo_instance_id mid, ABT_pool handle, unsigned *refcount)
{
    return item_count(mid, POOL, by_handle(handle), refcount);
}

hg_return_t margo_pool_release_by_handle(margo_instance_id mid, ABT_pool handle)
{
    return item_call(mid, POOL, by_handle(handle), UNREF, NULL);
}

hg_return_t margo_pool_ref_incr_by_index(margo_instance_id mid, uint32_t index)
{
    return item_call(mid, POOL, by_index(index), REF, NULL);
}

hg_return_t margo_pool_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount)
{
    return item_count(mid, POOL, by_index(index), refcount);
}

hg_return_t margo_pool_release_by_index(margo_instance_id mid, uint32_t index)
{
    return item_call(mid, POOL, by_index(index), UNREF, NULL);
}

hg_return_t margo_pool_ref_incr_by_name(margo_instance_id mid, const char *name)
{
    return item_call(mid, POOL, by_name(name), REF, NULL);
}

hg_return_t margo_pool_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount)
{
    return item_count(mid, POOL, by_name(name), refcount);
}

hg_return_t margo_pool_release_by_name(margo_instance_id mid, const char *name)
{
    return item_call(mid, POOL, by_name(name), UNREF, NULL);
}

hg_return_t margo_xstream_ref_incr_by_handle(
    margo_instance_id mid, ABT_xstream handle)
{
    return item_call(mid, STREAM, by_handle(handle), REF, NULL);
}

hg_return_t margo_xstream_ref_count_by_handle(
    margo_instance_id mid, ABT_xstream handle, unsigned *refcount)
{
    return item_count(mid, STREAM, by_handle(handle), refcount);
}

hg_return_t margo_xstream_release_by_handle(
    margo_instance_id mid, ABT_xstream handle)
{
    return item_call(mid, STREAM, by_handle(handle), UNREF, NULL);
}

hg_return_t margo_xstream_ref_incr_by_index(
    margo_instance_id mid, uint32_t index)
{
    return item_call(mid, STREAM, by_index(index), REF, NULL);
}

hg_return_t margo_xstream_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount)
{
    return item_count(mid, STREAM, by_index(index), refcount);
}

hg_return_t margo_xstream_release_by_index(
    margo_instance_id mid, uint32_t index)
{
    return item_call(mid, STREAM, by_index(index), UNREF, NULL);
}

hg_return_t margo_xstream_ref_incr_by_name(
    margo_instance_id mid, const char *name)
{
    return item_call(mid, STREAM, by_name(name), REF, NULL);
}

hg_return_t margo_xstream_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount)
{
    return item_count(mid, STREAM, by_name(name), refcount);
}

hg_return_t margo_xstream_release_by_name(
    margo_instance_id mid, const char *name)
{
    return item_call(mid, STREAM, by_name(name), UNREF, NULL);
}

/* Registers a pool, and notifies the monitor. */
static hg_return_t pool_enter(margo_instance_id mid,
    struct amg_margo_item *pool, struct margo_pool_info *ret_info)
{
    struct margo_monitor_add_pool_args args = {0};
    struct margo_pool_info info = {0};
    ABT_pool handle = pool->handle;

    AMG_MARGO_NOTIFY(mid, add_pool, MARGO_MONITOR_FN_START, &args);
    args.ret = pool_add(mid, pool);
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
    struct amg_margo_item *pool = NULL;
    struct json_object *object = NULL;
    bool is_read = false;

    if (registry_of(mid) == NULL)
        return HG_INVALID_ARG;
    object = amg_json_parse(
        mid->log, "the text of a pool", json == NULL ? "{}" : json);
    if (object == NULL)
        return HG_INVALID_ARG;
    is_read = amg_margo_pool_spec_read(mid->log, "pool", object, &plan);
    if (is_read)
        pool = pool_create(mid, &plan, false);
    json_object_put(object);
    if (!is_read)
        return HG_INVALID_ARG;
    return pool == NULL ? HG_OTHER_ERROR : pool_enter(mid, pool, info);
}

hg_return_t margo_add_pool_external(margo_instance_id mid, const char *name,
    ABT_pool pool, ABT_bool take_ownership, struct margo_pool_info *info)
{
    struct amg_margo_item *made = NULL;

    if (registry_of(mid) == NULL || pool == ABT_POOL_NULL)
        return HG_INVALID_ARG;
    if (name != NULL && !amg_margo_name_is_valid(mid->log, "the name", name))
        return HG_INVALID_ARG;
    made = pool_wrap(mid, name, pool, take_ownership != 0);
    return made == NULL ? HG_NOMEM : pool_enter(mid, made, info);
}

/* Why the pool stays; NULL: the pool may go. */
static const char *pool_reason_locked(const struct amg_margo_registry *registry,
    const struct amg_margo_item *pool)
{
    size_t threads = 0;

    AMG_ASSERT_HELD(&registry->lock);
    (void)ABT_pool_get_total_size(pool->handle, &threads);
    if (pool->refs > 0)
        return "the program has references to it";
    if (pool->uses > 0)
        return "a stream, an RPC, the progress loop or handlers use it";
    if (threads > 0)
        return "user-level threads in it have not ended";
    return NULL;
}

/* Does another stream than `but` run the pool? */
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

/* Does the stream have a pool in use that no other stream would run? */
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

/* Does this stream run the caller, and no other stream the caller's pool? */
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
        return "no other stream would run the thread that asks for it";
    if (strands_pool_locked(registry, stream))
        return "no other stream would run a pool of it that is in use by RPCs, "
               "the progress loop, handlers or the program";
    return NULL;
}

/* Takes an item that is not in use off its list. */
static hg_return_t item_take_off(margo_instance_id mid, enum kind kind,
    const void *handle, struct amg_margo_item **ret_item)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_list *list = list_of(registry, kind);
    struct amg_margo_item *item = NULL;
    const char *reason = NULL;

    amg_lock_lock(&registry->lock);
    item = list_find(list, by_handle(handle));
    if (item != NULL)
        reason = kind == POOL ? pool_reason_locked(registry, item)
                              : stream_reason_locked(registry, item);
    if (item != NULL && reason == NULL)
        list_remove(list, item);
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

static hg_return_t pool_remove(margo_instance_id mid, struct item_key key)
{
    struct margo_monitor_remove_pool_args args = {0};
    struct margo_pool_info info = {0};
    struct amg_margo_item *item = NULL;
    hg_return_t rc = pool_find(mid, key, &info);

    if (rc != HG_SUCCESS)
        return rc;
    streams_reap(mid, false);
    args.info = &info;
    AMG_MARGO_NOTIFY(mid, remove_pool, MARGO_MONITOR_FN_START, &args);
    args.ret = item_take_off(mid, POOL, info.pool, &item);
    if (args.ret == HG_SUCCESS)
        args.info = NULL;
    AMG_MARGO_NOTIFY(mid, remove_pool, MARGO_MONITOR_FN_END, &args);
    amg_margo_show_begin(mid->pools->registry);
    pool_destroy(mid, item);
    amg_margo_show_end(mid->pools->registry);
    return args.ret;
}

hg_return_t margo_remove_pool_by_handle(margo_instance_id mid, ABT_pool pool)
{
    return pool_remove(mid, by_handle(pool));
}

hg_return_t margo_remove_pool_by_index(margo_instance_id mid, uint32_t index)
{
    return pool_remove(mid, by_index(index));
}

hg_return_t margo_remove_pool_by_name(margo_instance_id mid, const char *name)
{
    return pool_remove(mid, by_name(name));
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

    if (registry_of(mid) == NULL || xstream == ABT_XSTREAM_NULL)
        return HG_INVALID_ARG;
    if (name != NULL && !amg_margo_name_is_valid(mid->log, "the name", name))
        return HG_INVALID_ARG;
    AMG_MARGO_NOTIFY(mid, add_xstream, MARGO_MONITOR_FN_START, &args);
    rc = stream_wrap(mid, name, xstream, take_ownership != 0);
    return stream_entered(mid, rc, xstream, &args, info);
}

static hg_return_t stream_remove(margo_instance_id mid, struct item_key key)
{
    struct margo_monitor_remove_xstream_args args = {0};
    struct margo_xstream_info info = {0};
    struct amg_margo_item *item = NULL;
    hg_return_t rc = stream_find(mid, key, &info);

    if (rc != HG_SUCCESS)
        return rc;
    streams_reap(mid, false);
    args.info = &info;
    AMG_MARGO_NOTIFY(mid, remove_xstream, MARGO_MONITOR_FN_START, &args);
    args.ret = item_take_off(mid, STREAM, info.xstream, &item);
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
    return stream_remove(mid, by_handle(xstream));
}

hg_return_t margo_remove_xstream_by_index(margo_instance_id mid, uint32_t index)
{
    return stream_remove(mid, by_index(index));
}

hg_return_t margo_remove_xstream_by_name(
    margo_instance_id mid, const char *name)
{
    return stream_remove(mid, by_name(name));
}
