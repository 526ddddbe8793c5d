/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of an instance: those of its plan, created when the instance opens, and
 * those that the program adds; the public calls that add and remove pools.
 *
 * The stream __primary__ runs the thread that opens the instance. If Margo
 * called ABT_init(), the scheduler of the plan replaces the stream's scheduler.
 * If the program called ABT_init(), the pool __primary__ is the first pool that
 * the stream runs already, and the stream gets the pools of its plan in
 * addition. ABT_finalize() frees the primary scheduler with its pools. */
#include <string.h>

#include "affinity/policy.h"
#include "base/assert.h"
#include "base/mem.h"
#include "core/class.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/json.h"
#include "margo/log.h"
#include "margo/registry.h"
#include "margo/runtime.h"

/* Creates a pool by its plan. `is_automatic`: Argobots frees the pool together
 * with the scheduler that runs it. Errors are logged. */
static hg_return_t pool_create(margo_instance_id mid,
    const struct amg_margo_pool_spec *plan, bool is_automatic,
    struct amg_margo_item **ret_pool)
{
    ABT_pool handle = ABT_POOL_NULL;
    ABT_pool_kind kind = ABT_POOL_FIFO_WAIT;
    struct amg_margo_item *pool = NULL;
    int error = ABT_SUCCESS;

    if (!amg_margo_runtime_pool_kind(plan->kind, &kind))
        margo_warning(mid,
            "configuration: only Amalgam's own threads have pools of the kind "
            "%s; this build uses Argobots, and takes fifo_wait instead",
            amg_margo_pool_kind_name(plan->kind));
    error = ABT_pool_create_basic(kind, (ABT_pool_access)plan->access,
        is_automatic ? ABT_TRUE : ABT_FALSE, &handle);
    if (error != ABT_SUCCESS) {
        margo_error(mid, "the pool %.60s of kind %s was not made: %s",
            plan->name == NULL ? "without a name" : plan->name,
            amg_margo_pool_kind_name(plan->kind), amg_margo_abt_error(error));
        return error == ABT_ERR_MEM ? HG_NOMEM : HG_OTHER_ERROR;
    }
    pool = amg_margo_pool_wrap(mid, plan->name, handle, !is_automatic);
    if (pool == NULL) {
        (void)ABT_pool_free(&handle);
        return HG_NOMEM;
    }
    pool->kind = plan->kind;
    pool->access = plan->access;
    *ret_pool = pool;
    return HG_SUCCESS;
}

/* Does the stream __primary__ of the plan run the pool? */
static bool pool_is_primary(const struct amg_margo_plan *plan, unsigned index)
{
    int at = amg_margo_plan_find_stream(plan, amg_margo_primary_name);

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

/* Wraps the first pool of the calling stream. NULL: failed, logged. */
static struct amg_margo_item *pool_adopt(margo_instance_id mid)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    if (ABT_xstream_self(&self) == ABT_SUCCESS &&
        ABT_xstream_get_main_pools(self, 1, &pool) == ABT_SUCCESS)
        return amg_margo_pool_wrap(mid, amg_margo_primary_name, pool, false);
    margo_error(mid,
        "this thread runs in no stream of Argobots, but ABT_init() was called: "
        "open the instance in the thread that called ABT_init(), or in a "
        "user-level thread");
    return NULL;
}

/* Creates and registers the pools of the plan, and stores each handle in its
 * row of the plan, where references find it. */
static bool pools_make(
    margo_instance_id mid, struct amg_margo_plan *plan, bool is_first)
{
    for (unsigned i = 0; i < plan->pool_count; i++) {
        struct amg_margo_pool_spec *row = &plan->pools[i];
        struct amg_margo_item *pool = NULL;

        if (!is_first && row->name != NULL &&
            strcmp(row->name, amg_margo_primary_name) == 0)
            pool = pool_adopt(mid);
        else
            (void)pool_create(mid, row, pool_is_primary(plan, i), &pool);
        if (pool == NULL)
            return false;
        row->made = pool->handle;
        if (amg_margo_pool_add(mid, pool) != HG_SUCCESS)
            return false;
    }
    return true;
}

/* Warns of a pool whose threads run rarely or never. Called before another
 * thread knows the registry. */
static void pool_advise(
    margo_instance_id mid, const struct amg_margo_item *pool)
{
    const struct amg_margo_list *streams = &mid->pools->registry->streams;
    bool is_first = false;    /* first pool of a stream */
    bool is_in_reach = false; /* in a stream, not after progress_pool */
    bool is_behind = false;   /* in a stream, after progress_pool */

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

/* The pool that the program gave, which this function registers if necessary;
 * else the pool of the JSON text; else `otherwise`. NULL: refused, logged. */
static ABT_pool pool_choose(margo_instance_id mid, const char *path,
    ABT_pool given, const struct amg_margo_pool_ref *ref, ABT_pool otherwise)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_item *pool = NULL;
    ABT_pool handle = given;

    if (given == ABT_POOL_NULL && ref->name == NULL && ref->index < 0)
        return otherwise;
    amg_lock_lock(&registry->lock);
    pool = given != ABT_POOL_NULL
               ? amg_margo_pool_find_locked(registry, given)
               : amg_margo_pool_resolve_locked(mid, path, ref);
    if (pool != NULL)
        handle = pool->handle;
    amg_lock_unlock(&registry->lock);
    if (pool == NULL && given != ABT_POOL_NULL) {
        pool = amg_margo_pool_wrap(mid, NULL, given, false);
        if (pool != NULL && amg_margo_pool_add(mid, pool) != HG_SUCCESS)
            pool = NULL;
    }
    return pool == NULL ? ABT_POOL_NULL : handle;
}

/* Sets the pools of the loop and the handlers. False: failed, logged. */
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
    struct amg_margo_list *pools = &registry->pools;
    bool is_last = false;

    amg_lock_lock(&registry->lock);
    registry->instances--;
    is_last = registry->instances == 0;
    amg_lock_unlock(&registry->lock);
    if (is_last) {
        amg_margo_streams_reap(mid, true);
        while (pools->count > 0)
            amg_margo_pool_destroy(mid, pools->items[--pools->count]);
        amg_mem_free(pools->items);
        amg_mem_free(registry->streams.items);
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
        !amg_margo_streams_open(mid, plan, is_first) ||
        !pools_choose(mid, info)) {
        registry_leave(mid);
        return false;
    }
    /* No advice on external pools: unregistered streams may run them. */
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

/* The stream of use_progress_thread. NULL: there is no such stream, the JSON
 * text gives it CPUs, or another instance shares the registry. */
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

/* Pins the stream if a core is free for it alone. True: pinned. */
static bool core_take(margo_instance_id mid, ABT_xstream stream,
    struct amg_affinity_ask *ask, struct amg_placement *placement)
{
    const struct amg_core_slot *slot = &placement->slot;
    int error = ABT_SUCCESS;

    ask->progress = AMALGAM_PROGRESS_THREAD;
    amg_policy_place(ask, placement);
    /* If other processes use the core, the kernel finds better cores than a
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
    /* Moves only the threads now in the pool, as pushes may never end. */
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
    if (error != ABT_SUCCESS)
        margo_error(MARGO_INSTANCE_NULL,
            "threads were not moved from one pool to another: %s",
            amg_margo_abt_error(error));
    return error == ABT_SUCCESS ? HG_SUCCESS : HG_OTHER_ERROR;
}

/* Registers a pool, and notifies the monitor. */
static hg_return_t pool_enter(margo_instance_id mid,
    struct amg_margo_item *pool, struct margo_pool_info *ret_info)
{
    struct margo_monitor_add_pool_args args = {0};
    struct margo_pool_info info = {0};
    ABT_pool handle = pool->handle;

    AMG_MARGO_NOTIFY(mid, add_pool, MARGO_MONITOR_FN_START, &args);
    args.ret = amg_margo_pool_add(mid, pool);
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
    hg_return_t rc = HG_INVALID_ARG;

    if (amg_margo_registry_of(mid) == NULL)
        return HG_INVALID_ARG;
    object = amg_json_parse(
        mid->log, "the text of a pool", json == NULL ? "{}" : json);
    if (object == NULL)
        return HG_INVALID_ARG;
    if (amg_margo_pool_spec_read(mid->log, "pool", object, &plan))
        rc = pool_create(mid, &plan, false, &pool);
    json_object_put(object);
    return rc == HG_SUCCESS ? pool_enter(mid, pool, info) : rc;
}

hg_return_t margo_add_pool_external(margo_instance_id mid, const char *name,
    ABT_pool pool, ABT_bool take_ownership, struct margo_pool_info *info)
{
    struct amg_margo_item *made = NULL;

    if (amg_margo_registry_of(mid) == NULL || pool == ABT_POOL_NULL)
        return HG_INVALID_ARG;
    if (name != NULL && !amg_margo_name_is_valid(mid->log, "the name", name))
        return HG_INVALID_ARG;
    made = amg_margo_pool_wrap(mid, name, pool, take_ownership != 0);
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

static hg_return_t pool_remove(
    margo_instance_id mid, struct amg_margo_item_key key)
{
    struct margo_monitor_remove_pool_args args = {0};
    struct margo_pool_info info = {0};
    struct amg_margo_item *item = NULL;
    hg_return_t rc = amg_margo_pool_find(mid, key, &info);

    if (rc != HG_SUCCESS)
        return rc;
    amg_margo_streams_reap(mid, false);
    args.info = &info;
    AMG_MARGO_NOTIFY(mid, remove_pool, MARGO_MONITOR_FN_START, &args);
    args.ret = amg_margo_item_take_off(mid, &mid->pools->registry->pools,
        info.pool, pool_reason_locked, &item);
    if (args.ret == HG_SUCCESS)
        args.info = NULL;
    AMG_MARGO_NOTIFY(mid, remove_pool, MARGO_MONITOR_FN_END, &args);
    amg_margo_show_begin(mid->pools->registry);
    amg_margo_pool_destroy(mid, item);
    amg_margo_show_end(mid->pools->registry);
    return args.ret;
}

hg_return_t margo_remove_pool_by_handle(margo_instance_id mid, ABT_pool pool)
{
    return pool_remove(mid, amg_margo_by_handle(pool));
}

hg_return_t margo_remove_pool_by_index(margo_instance_id mid, uint32_t index)
{
    return pool_remove(mid, amg_margo_by_index(index));
}

hg_return_t margo_remove_pool_by_name(margo_instance_id mid, const char *name)
{
    return pool_remove(mid, amg_margo_by_name(name));
}
