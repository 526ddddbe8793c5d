/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams that a text asks for, before there are any. */
#include "margo/plan.h"

#include <string.h>

#include "base/mem.h"
#include "margo/json.h"

static bool no_memory(const struct amg_margo_log *log, const char *what)
{
    amg_margo_log_write(
        log, MARGO_LOG_ERROR, "configuration: no memory for %s", what);
    return false;
}

int amg_margo_plan_find_pool(
    const struct amg_margo_plan *plan, const char *name)
{
    for (unsigned i = 0; i < plan->pool_count; i++)
        if (plan->pools[i].name != NULL &&
            strcmp(plan->pools[i].name, name) == 0)
            return (int)i;
    return -1;
}

int amg_margo_plan_find_stream(
    const struct amg_margo_plan *plan, const char *name)
{
    for (unsigned i = 0; i < plan->stream_count; i++)
        if (plan->streams[i].name != NULL &&
            strcmp(plan->streams[i].name, name) == 0)
            return (int)i;
    return -1;
}

void amg_margo_plan_tell_missing(const struct amg_margo_log *log,
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
        index = amg_margo_plan_find_pool(plan, ref->name);
    if (index >= 0 && index < (int)plan->pool_count)
        return index;
    amg_margo_plan_tell_missing(log, path, ref, plan->pool_count);
    return -1;
}

/* "argobots.pools[3]" */
static void row_path(char path[AMG_JSON_PATH_CAP], const char *array, size_t i)
{
    char whole[AMG_JSON_PATH_CAP];

    amg_json_path_key(whole, "argobots", array);
    amg_json_path_index(path, whole, i);
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
    size_t count = json_object_array_length(array);

    for (size_t i = 0; i < count; i++) {
        struct amg_margo_pool_plan pool = {0};
        char path[AMG_JSON_PATH_CAP];

        row_path(path, "pools", i);
        if (!amg_margo_pool_plan_read(
                log, path, json_object_array_get_idx(array, i), &pool) ||
            (pool.name != NULL &&
                name_is_taken(log, path, pool.name,
                    amg_margo_plan_find_pool(plan, pool.name)))) {
            amg_margo_pool_plan_free(&pool);
            return false;
        }
        plan->pools[plan->pool_count++] = pool;
    }
    return true;
}

static bool streams_read(const struct amg_margo_log *log,
    struct json_object *array, struct amg_margo_plan *plan)
{
    size_t count = json_object_array_length(array);

    for (size_t i = 0; i < count; i++) {
        struct amg_margo_stream_plan stream = {0};
        char path[AMG_JSON_PATH_CAP];

        row_path(path, "xstreams", i);
        if (!amg_margo_stream_plan_read(
                log, path, json_object_array_get_idx(array, i), &stream) ||
            (stream.name != NULL &&
                name_is_taken(log, path, stream.name,
                    amg_margo_plan_find_stream(plan, stream.name)))) {
            amg_margo_stream_plan_free(&stream);
            return false;
        }
        plan->streams[plan->stream_count++] = stream;
    }
    return true;
}

/* An array for those of the text, and those that margo adds. */
static bool rows_make(const struct amg_margo_log *log, const char *what,
    struct json_object *array, size_t size, size_t more, void **ret_rows)
{
    size_t count = array == NULL ? 0 : json_object_array_length(array);

    if (count > AMG_MARGO_OBJECTS_MAX) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: argobots.%s has %zu elements; %d are possible",
            what, count, AMG_MARGO_OBJECTS_MAX);
        return false;
    }
    *ret_rows = amg_mem_zalloc((count + more) * size);
    return *ret_rows != NULL || no_memory(log, what);
}

bool amg_margo_plan_read(const struct amg_margo_log *log,
    struct json_object *argobots, unsigned more, struct amg_margo_plan *plan)
{
    struct json_object *pools = NULL;
    struct json_object *streams = NULL;
    void *rows = NULL;

    if (!amg_json_section(
            log, "argobots", argobots, "pools", json_type_array, &pools) ||
        !amg_json_section(
            log, "argobots", argobots, "xstreams", json_type_array, &streams))
        return false;
    if (!rows_make(log, "pools", pools, sizeof(plan->pools[0]), more, &rows))
        return false;
    plan->pools = rows;
    if (!rows_make(
            log, "xstreams", streams, sizeof(plan->streams[0]), more, &rows))
        return false;
    plan->streams = rows;
    return (pools == NULL || pools_read(log, pools, plan)) &&
           (streams == NULL || streams_read(log, streams, plan));
}

void amg_margo_plan_free(struct amg_margo_plan *plan)
{
    for (unsigned i = 0; i < plan->pool_count; i++)
        amg_margo_pool_plan_free(&plan->pools[i]);
    for (unsigned i = 0; i < plan->stream_count; i++)
        amg_margo_stream_plan_free(&plan->streams[i]);
    amg_mem_free(plan->pools);
    amg_mem_free(plan->streams);
    amg_mem_free(plan->progress.name);
    amg_mem_free(plan->rpc.name);
    *plan = (struct amg_margo_plan){0};
}

/* NULL stays NULL. */
static bool name_set(
    const struct amg_margo_log *log, const char *name, char **ret_name)
{
    if (name == NULL)
        return true;
    *ret_name = amg_mem_strdup(name);
    return *ret_name != NULL || no_memory(log, name);
}

bool amg_margo_plan_add_pool(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, const char *name, int kind)
{
    struct amg_margo_pool_plan *pool = &plan->pools[plan->pool_count];

    if (!name_set(log, name, &pool->name))
        return false;
    pool->kind = kind;
    pool->access = AMG_MARGO_ACCESS_MPMC;
    plan->pool_count++;
    return true;
}

bool amg_margo_plan_add_stream(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, const char *name, unsigned pool)
{
    struct amg_margo_stream_plan *stream = &plan->streams[plan->stream_count];

    plan->stream_count++;
    stream->kind = AMG_MARGO_SCHED_BASIC_WAIT;
    stream->cpubind = -1;
    stream->pools = amg_mem_zalloc(sizeof(stream->pools[0]));
    if (stream->pools == NULL)
        return no_memory(log, "a stream");
    stream->pool_count = 1;
    stream->pools[0].index = (int)pool;
    stream->pools[0].is_own = true;
    return name_set(log, name, &stream->name);
}

static bool ref_named(const struct amg_margo_log *log, unsigned index,
    const char *name, struct amg_margo_pool_ref *ref)
{
    return !ref->is_own || ref->name != NULL || ref->index != (int)index ||
           name_set(log, name, &ref->name);
}

bool amg_margo_plan_pool_named(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, unsigned index, const char *name)
{
    bool is_set = ref_named(log, index, name, &plan->progress) &&
                  ref_named(log, index, name, &plan->rpc);

    for (unsigned i = 0; i < plan->stream_count; i++)
        for (unsigned j = 0; j < plan->streams[i].pool_count; j++)
            is_set = is_set &&
                     ref_named(log, index, name, &plan->streams[i].pools[j]);
    return is_set;
}
