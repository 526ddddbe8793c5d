/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution streams of an instance: made by a plan, or by the program.
 *
 * A stream uses its pools (`uses` of struct amg_margo_item) from their lookup
 * until its end: so no pool can be removed while a stream of it starts or ends,
 * for which no lock is held. */
#include "base/assert.h"
#include "margo/registry.h"

#include <string.h>

#include "base/mem.h"
#include "margo/json.h"

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
        pool = amg_margo_pool_resolve_locked(
            log, element, registry, &plan->pools[i]);
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

static hg_return_t stream_refused(const struct amg_margo_log *log,
    const struct amg_margo_stream *stream, int error)
{
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "the stream %.60s with a scheduler of type %s was not started: %s",
        amg_margo_item_name(&stream->item),
        amg_margo_sched_kind_name(stream->kind), amg_margo_abt_error(error));
    return error == ABT_ERR_MEM ? HG_NOMEM : HG_OTHER_ERROR;
}

hg_return_t amg_margo_stream_create(const struct amg_margo_log *log,
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
    rc = amg_margo_list_add(log, registry, &registry->streams, &stream->item);
    if (rc != HG_SUCCESS)
        amg_margo_stream_destroy(log, registry, stream);
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
        pool = amg_margo_pool_wrap(log, NULL, pools[i], false);
        rc = pool == NULL ? HG_NOMEM : amg_margo_pool_add(log, registry, pool);
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

hg_return_t amg_margo_stream_wrap(const struct amg_margo_log *log,
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
        rc = amg_margo_list_add(
            log, registry, &registry->streams, &stream->item);
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

hg_return_t amg_margo_stream_adopt(const struct amg_margo_log *log,
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
        rc = amg_margo_list_add(
            log, registry, &registry->streams, &stream->item);
    }
    if (rc != HG_SUCCESS)
        stream_free(registry, stream);

free_pools:
    amg_mem_free(pools);
    return rc;
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

void amg_margo_stream_destroy(const struct amg_margo_log *log,
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

static bool has_ended(const struct amg_margo_stream *stream)
{
    ABT_xstream_state state = ABT_XSTREAM_STATE_RUNNING;

    return ABT_xstream_get_state(amg_margo_stream_abt(stream), &state) ==
               ABT_SUCCESS &&
           state == ABT_XSTREAM_STATE_TERMINATED;
}

void amg_margo_streams_reap(const struct amg_margo_log *log,
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
        amg_margo_stream_destroy(log, registry, stream);
    }
}
