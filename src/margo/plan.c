/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan of the pools and streams of an instance, before they exist.
 *
 * The fields use_progress_thread and rpc_thread_count are short forms: they add
 * pools __pool_<n>__ and streams __xstream_<n>__ to the plan, unless the field
 * progress_pool, or rpc_pool, names a pool instead. Short forms apply when the
 * pools open, as adapt() of struct amg_margo_opener may change both fields. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/config.h"
#include "margo/json.h"

enum { OWN_ROWS = 2 /* __primary__ and the progress thread */ };

/* The index of the pool of that name; -1: no such name. */
static int plan_find_pool(const struct amg_margo_plan *plan, const char *name)
{
    for (unsigned i = 0; name != NULL && i < plan->pool_count; i++)
        if (plan->pools[i].name != NULL &&
            strcmp(plan->pools[i].name, name) == 0)
            return (int)i;
    return -1;
}

int amg_margo_plan_find_stream(
    const struct amg_margo_plan *plan, const char *name)
{
    for (unsigned i = 0; name != NULL && i < plan->stream_count; i++)
        if (plan->streams[i].name != NULL &&
            strcmp(plan->streams[i].name, name) == 0)
            return (int)i;
    return -1;
}

void amg_margo_plan_log_missing(const struct amg_margo_log *log,
    const char *path, const struct amg_margo_pool_ref *ref, unsigned count)
{
    if (ref->name != NULL)
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: %s names the pool '%.60s', which does not exist",
            path, ref->name);
    else
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: %s is the pool %d; there are %u, from 0 on", path,
            ref->index, count);
}

int amg_margo_plan_resolve(const struct amg_margo_log *log, const char *path,
    const struct amg_margo_plan *plan, const struct amg_margo_pool_ref *ref)
{
    int index = ref->index;

    if (ref->name != NULL)
        index = plan_find_pool(plan, ref->name);
    if (index >= 0 && index < (int)plan->pool_count)
        return index;
    amg_margo_plan_log_missing(log, path, ref, plan->pool_count);
    return -1;
}

static bool name_is_taken(
    const struct amg_margo_log *log, const char *path, const char *name, int by)
{
    if (by < 0)
        return false;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: %s.name is '%.60s', as that of number %d: names have "
        "to differ",
        path, name, by);
    return true;
}

static bool pools_read(const struct amg_margo_log *log,
    struct json_object *array, struct amg_margo_plan *plan)
{
    size_t count = array == NULL ? 0 : json_object_array_length(array);

    for (size_t i = 0; i < count; i++) {
        struct amg_margo_pool_spec *pool = &plan->pools[i];
        char path[AMG_JSON_PATH_CAP];

        amg_json_path_index(path, "argobots.pools", i);
        if (!amg_margo_pool_spec_read(
                log, path, json_object_array_get_idx(array, i), pool) ||
            name_is_taken(
                log, path, pool->name, plan_find_pool(plan, pool->name)))
            return false;
        plan->pool_count++;
    }
    return true;
}

static bool streams_read(const struct amg_margo_log *log,
    struct json_object *array, struct amg_margo_plan *plan)
{
    size_t count = array == NULL ? 0 : json_object_array_length(array);

    for (size_t i = 0; i < count; i++) {
        struct amg_margo_stream_spec *stream = &plan->streams[i];
        int before = -1;
        char path[AMG_JSON_PATH_CAP];

        amg_json_path_index(path, "argobots.xstreams", i);
        plan->stream_count++; /* so freed with the plan, even if refused */
        if (!amg_margo_stream_spec_read(
                log, path, json_object_array_get_idx(array, i), stream))
            return false;
        before = amg_margo_plan_find_stream(plan, stream->name);
        if (before < (int)i && name_is_taken(log, path, stream->name, before))
            return false;
    }
    return true;
}

/* Reads the arrays "pools" and "xstreams" of the section "argobots", which may
 * be NULL, into `plan`, which was all zero; leaves room there for `more`
 * further pools and as many streams. False: refused, or no memory; logged. */
static bool arrays_read(const struct amg_margo_log *log,
    struct json_object *argobots, size_t more, struct amg_margo_plan *plan)
{
    struct json_object *pools = NULL;
    struct json_object *streams = NULL;

    if (!amg_json_section(
            log, "argobots", argobots, "pools", json_type_array, &pools) ||
        !amg_json_section(
            log, "argobots", argobots, "xstreams", json_type_array, &streams) ||
        !amg_margo_config_array_check(log, "argobots.pools", pools, 0) ||
        !amg_margo_config_array_check(log, "argobots.xstreams", streams, 0))
        return false;
    plan->pools = amg_mem_zalloc(
        sizeof(plan->pools[0]) *
        (more + (pools == NULL ? 0 : json_object_array_length(pools))));
    plan->streams = amg_mem_zalloc(
        sizeof(plan->streams[0]) *
        (more + (streams == NULL ? 0 : json_object_array_length(streams))));
    if (plan->pools == NULL || plan->streams == NULL)
        return amg_margo_config_no_memory(log, "pools and streams");
    return pools_read(log, pools, plan) && streams_read(log, streams, plan);
}

void amg_margo_plan_free(struct amg_margo_plan *plan)
{
    for (unsigned i = 0; i < plan->stream_count; i++)
        amg_margo_stream_spec_free(&plan->streams[i]);
    amg_mem_free(plan->pools);
    amg_mem_free(plan->streams);
    *plan = (struct amg_margo_plan){0};
}

/* Appends a pool and returns its index. The plan has room for the pool. If
 * `name` is NULL, amg_margo_list_add() makes up a name. */
static unsigned pool_append(struct amg_margo_plan *plan, const char *name)
{
    plan->pools[plan->pool_count] = (struct amg_margo_pool_spec){.name = name,
        .kind = AMG_MARGO_POOL_FIFO_WAIT,
        .access = ABT_POOL_ACCESS_MPMC};
    return plan->pool_count++;
}

/* Appends a stream that runs one pool. The plan has room for the stream. False:
 * no memory, logged. */
static bool stream_append(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, const char *name, unsigned pool)
{
    struct amg_margo_stream_spec *stream = &plan->streams[plan->stream_count++];

    *stream = (struct amg_margo_stream_spec){.name = name,
        .kind = ABT_SCHED_BASIC_WAIT,
        .cpubind = -1,
        .pools = amg_mem_zalloc(sizeof(stream->pools[0])),
        .pool_count = 1};
    if (stream->pools == NULL) {
        stream->pool_count = 0;
        return amg_margo_config_no_memory(log, "a stream");
    }
    stream->pools[0].index = (int)pool;
    stream->pools[0].is_own = true;
    return true;
}

/* Reads the pool that the field `key`, if present, names. Warns of a short form
 * that therefore has no effect. */
static bool named_read(const struct amg_margo_log *log,
    struct amg_margo_config *config, const char *key, const char *short_form,
    bool has_short, struct amg_margo_pool_ref *ref)
{
    struct json_object *value = amg_json_get(config->json, key);

    if (value == NULL)
        return true;
    if (!amg_margo_pool_ref_read(log, key, value, ref))
        return false;
    if (has_short)
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "configuration: %s is without effect, because %s names a pool",
            short_form, key);
    return true;
}

static bool ref_is_given(const struct amg_margo_pool_ref *ref)
{
    return ref->name != NULL || ref->index >= 0;
}

/* Adds the pool and the streams of a short form; names are made up later. */
static bool short_add(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, int streams, bool is_progress,
    struct amg_margo_pool_ref *ref)
{
    unsigned pool = pool_append(plan, NULL);

    for (int i = 0; i < streams; i++) {
        if (!stream_append(log, plan, NULL, pool))
            return false;
        plan->streams[plan->stream_count - 1].is_progress = is_progress;
    }
    ref->index = (int)pool;
    ref->is_own = true;
    return true;
}

/* Adds the stream of the caller, __primary__, with a pool of that name, unless
 * the text defines that stream. */
static bool primary_add(
    const struct amg_margo_log *log, struct amg_margo_plan *plan)
{
    int pool = plan_find_pool(plan, amg_margo_primary_name);

    if (amg_margo_plan_find_stream(plan, amg_margo_primary_name) >= 0)
        return true;
    return stream_append(log, plan, amg_margo_primary_name,
        pool < 0 ? pool_append(plan, amg_margo_primary_name) : (unsigned)pool);
}

/* Adds the pools and streams of the short forms. False: no memory, logged. */
static bool short_forms_plan(
    const struct amg_margo_log *log, struct amg_margo_config *config)
{
    struct amg_margo_plan *plan = &config->plan;
    int threads = config->rpc_thread_count;

    if (!ref_is_given(&plan->progress) && config->use_progress_thread &&
        !short_add(log, plan, 1, true, &plan->progress))
        return false;
    plan->rpc_is_progress = !ref_is_given(&plan->rpc) && threads < 0;
    return ref_is_given(&plan->rpc) || threads <= 0 ||
           short_add(log, plan, threads, false, &plan->rpc);
}

/* Checks that all references lead to a pool of the plan, and that a stream
 * runs the progress pool. */
static bool refs_check(
    const struct amg_margo_log *log, const struct amg_margo_plan *plan)
{
    int progress =
        amg_margo_plan_resolve(log, "progress_pool", plan, &plan->progress);
    bool is_run = false;

    if (progress < 0 ||
        amg_margo_plan_resolve(log, "rpc_pool", plan, &plan->rpc) < 0)
        return false;
    for (unsigned i = 0; i < plan->stream_count; i++) {
        for (unsigned j = 0; j < plan->streams[i].pool_count; j++) {
            char path[AMG_JSON_PATH_CAP];
            int pool = 0;

            (void)snprintf(path, sizeof(path),
                "argobots.xstreams[%u].scheduler.pools[%u]", i, j);
            pool = amg_margo_plan_resolve(
                log, path, plan, &plan->streams[i].pools[j]);
            if (pool < 0)
                return false;
            is_run = is_run || pool == progress;
        }
    }
    if (!is_run)
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: no stream runs the pool %d (%.60s), which "
            "progress_pool names, so there would be no progress; add it to "
            "\"pools\" of the scheduler of a stream",
            progress,
            plan->pools[progress].name == NULL ? "without a name"
                                               : plan->pools[progress].name);
    return is_run;
}

/* Refuses "argobots" of a child, which shares the streams of its parent. */
static bool argobots_allowed(
    const struct amg_margo_log *log, struct json_object *json, bool is_child)
{
    if (!is_child || amg_json_get(json, "argobots") == NULL)
        return true;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: argobots is not for an instance with a parent, whose "
        "pools are shared; leave out argobots, or leave parent_mid NULL");
    return false;
}

/* Refuses to define __primary__ if the program has called ABT_init(). */
static bool primary_allowed(
    const struct amg_margo_log *log, const struct amg_margo_plan *plan)
{
    const char *array = NULL;

    if (plan_find_pool(plan, amg_margo_primary_name) >= 0)
        array = "pools";
    else if (amg_margo_plan_find_stream(plan, amg_margo_primary_name) >= 0)
        array = "xstreams";
    if (array == NULL || ABT_initialized() != ABT_SUCCESS)
        return true;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: argobots.%s defines __primary__, but ABT_init() was "
        "called before, and has created __primary__; use another name, or let "
        "the instance start Argobots",
        array);
    return false;
}

bool amg_margo_plan_read(const struct amg_margo_log *log, bool is_child,
    struct amg_margo_config *config)
{
    struct amg_margo_plan *plan = &config->plan;
    int threads = config->rpc_thread_count;

    return argobots_allowed(log, config->json, is_child) &&
           arrays_read(log, amg_json_get(config->json, "argobots"),
               OWN_ROWS + (unsigned)(threads > 0 ? threads : 1), plan) &&
           primary_allowed(log, plan) &&
           named_read(log, config, "progress_pool", "use_progress_thread",
               config->use_progress_thread, &plan->progress) &&
           named_read(log, config, "rpc_pool", "rpc_thread_count", threads != 0,
               &plan->rpc) &&
           (is_child || primary_add(log, plan));
}

bool amg_margo_config_plan(const struct amg_margo_log *log, bool is_child,
    struct amg_margo_config *config)
{
    struct amg_margo_plan *plan = &config->plan;
    const struct amg_margo_pool_ref *primary = NULL;
    int at = -1;

    if (!short_forms_plan(log, config))
        return false;
    /* A child's defaults are its parent's pools, which pools.c finds. */
    if (is_child)
        return true;
    /* The default is the first pool of the stream __primary__. */
    at = amg_margo_plan_find_stream(plan, amg_margo_primary_name);
    AMG_ASSERT(at >= 0 && plan->streams[at].pool_count > 0);
    primary = &plan->streams[at].pools[0];
    if (!ref_is_given(&plan->progress))
        plan->progress = *primary;
    if (!ref_is_given(&plan->rpc))
        plan->rpc = plan->rpc_is_progress ? plan->progress : *primary;
    return refs_check(log, plan);
}
