/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools and streams of an instance: created by its plan when it opens, and
 * freed with it.
 *
 * The stream __primary__ is the caller's. If Margo started Argobots, the
 * scheduler of the plan replaces the stream's scheduler; if the program did,
 * the pool __primary__ is the pool that the stream runs already, and other
 * pools of the plan are added. Pools of the primary scheduler end with it, at
 * ABT_finalize(). */
#include "margo/registry.h"

#include <string.h>

#include "affinity/policy.h"
#include "base/assert.h"
#include "base/mem.h"
#include "core/class.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/log.h"

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
        return amg_margo_pool_wrap(log, primary_name, pool, false);
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
            pool = amg_margo_pool_create(log, row, pool_is_primary(plan, i));
        if (pool == NULL ||
            amg_margo_pool_add(log, registry, pool) != HG_SUCCESS ||
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
            rc = amg_margo_stream_adopt(log, registry, row, !is_first);
        else
            rc = amg_margo_stream_create(
                log, "argobots.xstreams[]", registry, row, NULL);
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
        pool = amg_margo_pool_resolve_locked(log, path, registry, ref);
    amg_lock_unlock(&registry->lock);
    if (given == ABT_POOL_NULL)
        return pool == NULL ? ABT_POOL_NULL : amg_margo_pool_abt(pool);
    if (item != NULL)
        return given;
    pool = amg_margo_pool_wrap(log, NULL, given, false);
    if (pool == NULL || amg_margo_pool_add(log, registry, pool) != HG_SUCCESS)
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

        amg_margo_list_remove_locked(&registry->streams, item);
        amg_margo_stream_destroy(
            log, registry, (struct amg_margo_stream *)(void *)item);
    }
    amg_margo_streams_reap(log, registry, true);
    while (registry->pools.count > 0) {
        struct amg_margo_item *item =
            registry->pools.items[registry->pools.count - 1];

        amg_margo_list_remove_locked(&registry->pools, item);
        amg_margo_pool_destroy(log, (struct amg_margo_pool *)(void *)item);
    }
    amg_margo_registry_destroy(registry);
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
    registry = amg_margo_registry_create();
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
static ABT_xstream stream_find(margo_instance_id mid)
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
static bool stream_pin(margo_instance_id mid, ABT_xstream stream,
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
    ABT_xstream stream = stream_find(mid);
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
        has_core = stream_pin(mid, stream, &ask, placement);
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
