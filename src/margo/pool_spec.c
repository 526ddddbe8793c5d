/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams that a configuration requests, before they exist. */
#include "margo/config.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/json.h"

enum { CPU_MAX = 65535 };

/* Without "external", the kind of pools of the program. */
static const char *const pool_kinds[] = {
    [AMG_MARGO_POOL_FIFO_WAIT] = "fifo_wait",
    [AMG_MARGO_POOL_FIFO] = "fifo",
    [AMG_MARGO_POOL_PRIO_WAIT] = "prio_wait",
    [AMG_MARGO_POOL_EARLIEST_FIRST] = "earliest_first",
    [AMG_MARGO_POOL_RANDWS] = "randws",
    [AMG_MARGO_POOL_EXTERNAL] = NULL,
};

static const char *const pool_accesses[] = {
    [ABT_POOL_ACCESS_PRIV] = "private",
    [ABT_POOL_ACCESS_SPSC] = "spsc",
    [ABT_POOL_ACCESS_MPSC] = "mpsc",
    [ABT_POOL_ACCESS_SPMC] = "spmc",
    [ABT_POOL_ACCESS_MPMC] = "mpmc",
    NULL,
};

static const char *const sched_kinds[] = {
    [ABT_SCHED_DEFAULT] = "default",
    [ABT_SCHED_BASIC] = "basic",
    [ABT_SCHED_PRIO] = "prio",
    [ABT_SCHED_RANDWS] = "randws",
    [ABT_SCHED_BASIC_WAIT] = "basic_wait",
    [AMG_MARGO_SCHED_EXTERNAL] = NULL,
};

const char *amg_margo_pool_kind_name(int kind)
{
    AMG_ASSERT(kind >= 0 && kind <= AMG_MARGO_POOL_EXTERNAL);
    return kind == AMG_MARGO_POOL_EXTERNAL ? "external" : pool_kinds[kind];
}

const char *amg_margo_pool_access_name(int access)
{
    AMG_ASSERT(access >= 0 && access <= ABT_POOL_ACCESS_MPMC);
    return pool_accesses[access];
}

const char *amg_margo_sched_kind_name(int kind)
{
    AMG_ASSERT(kind >= 0 && kind <= AMG_MARGO_SCHED_EXTERNAL);
    return kind == AMG_MARGO_SCHED_EXTERNAL ? "external" : sched_kinds[kind];
}

/* Has the name a form that Margo makes up? Margo's own descriptions have to be
 * valid texts. */
static bool name_is_reserved_form(const char *name)
{
    static const char *const heads[] = {
        "__pool_", "__xstream_", "__rpc_", NULL};

    if (strcmp(name, "__primary__") == 0 || strcmp(name, "__progress__") == 0 ||
        strcmp(name, "__rpc__") == 0)
        return true;
    for (unsigned i = 0; heads[i] != NULL; i++) {
        size_t len = strlen(heads[i]);
        size_t digits = 0;

        if (strncmp(name, heads[i], len) != 0)
            continue;
        digits = strspn(name + len, "0123456789");
        if (digits > 0 && strcmp(name + len + digits, "__") == 0)
            return true;
    }
    return false;
}

bool amg_margo_name_is_valid(
    const struct amg_margo_log *log, const char *path, const char *name)
{
    const char *reason = NULL;

    if (name[0] == '\0')
        reason = "it is empty";
    else if (isalpha((unsigned char)name[0]) == 0 && name[0] != '_')
        reason = "it has to begin with a letter";
    else if (strncmp(name, "__", 2) == 0 && !name_is_reserved_form(name))
        reason = "names with two underscores in front are reserved";
    if (reason == NULL)
        return true;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: %s is '%.60s', which cannot be a name: %s", path, name,
        reason);
    return false;
}

static bool no_memory(const struct amg_margo_log *log, const char *path)
{
    amg_margo_log_write(
        log, MARGO_LOG_ERROR, "configuration: no memory for %s", path);
    return false;
}

/* Copies a name; NULL stays NULL. */
static bool name_set(
    const struct amg_margo_log *log, const char *name, char **ret_name)
{
    if (name == NULL)
        return true;
    *ret_name = amg_mem_strdup(name);
    return *ret_name != NULL || no_memory(log, name);
}

/* Copies a name of the text, which has to be valid. */
static bool name_copy(const struct amg_margo_log *log, const char *path,
    const char *name, char **ret_name)
{
    char where[AMG_JSON_PATH_CAP];

    amg_json_path_key(where, path, "name");
    return (name == NULL || amg_margo_name_is_valid(log, where, name)) &&
           name_set(log, name, ret_name);
}

/* Fields of a row of "pools" and of "xstreams", without arrays. */
struct row {
    const char *name;
    int kind;
    int access;
    int cpubind;
};

static bool object_is_given(const struct amg_margo_log *log, const char *path,
    struct json_object *object)
{
    if (json_object_is_type(object, json_type_object))
        return true;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: %s has to be an object, and is %.80s", path,
        object == NULL ? "null" : json_object_to_json_string(object));
    return false;
}

/* Refuses "external": a text cannot contain a pool of the program. */
static bool kind_is_external(const struct amg_margo_log *log, const char *path,
    struct json_object *object)
{
    struct json_object *kind = amg_json_get(object, "kind");

    if (!json_object_is_type(kind, json_type_string) ||
        strcmp(json_object_get_string(kind), "external") != 0)
        return false;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: %s.kind is 'external', which a text cannot define; use "
        "margo_add_pool_external() or struct margo_init_info",
        path);
    return true;
}

bool amg_margo_pool_spec_read(const struct amg_margo_log *log, const char *path,
    struct json_object *object, struct amg_margo_pool_spec *plan)
{
    static const struct amg_json_field fields[] = {
        {"name", AMG_JSON_TEXT, offsetof(struct row, name), 0, 0, NULL},
        {"kind", AMG_JSON_WORD, offsetof(struct row, kind), 0, 0, pool_kinds},
        {"access", AMG_JSON_WORD, offsetof(struct row, access), 0, 0,
            pool_accesses},
        {0},
    };
    struct row row = {NULL, AMG_MARGO_POOL_FIFO_WAIT, ABT_POOL_ACCESS_MPMC, 0};

    if (!object_is_given(log, path, object) ||
        kind_is_external(log, path, object) ||
        !amg_json_read(log, path, object, fields, &row))
        return false;
    plan->kind = row.kind;
    plan->access = row.access;
    return name_copy(log, path, row.name, &plan->name);
}

void amg_margo_pool_spec_free(struct amg_margo_pool_spec *plan)
{
    amg_mem_free(plan->name);
    plan->name = NULL;
}

bool amg_margo_pool_ref_read(const struct amg_margo_log *log, const char *path,
    struct json_object *value, struct amg_margo_pool_ref *ret_ref)
{
    int64_t index = 0;

    if (json_object_is_type(value, json_type_string)) {
        ret_ref->name = amg_mem_strdup(json_object_get_string(value));
        return ret_ref->name != NULL || no_memory(log, path);
    }
    if (!json_object_is_type(value, json_type_int)) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: %s has to be the name or the index of a pool, and "
            "is %.80s",
            path, value == NULL ? "null" : json_object_to_json_string(value));
        return false;
    }
    if (!amg_json_int(log, path, value, 0, INT_MAX, &index))
        return false;
    ret_ref->index = (int)index;
    return true;
}

static bool refs_read(const struct amg_margo_log *log, const char *path,
    struct json_object *array, struct amg_margo_stream_spec *plan)
{
    size_t count = json_object_array_length(array);

    if (count == 0 || count > AMG_MARGO_OBJECTS_MAX) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: %s has %zu elements; 1 to %d are possible", path,
            count, AMG_MARGO_OBJECTS_MAX);
        return false;
    }
    plan->pools = amg_mem_zalloc(count * sizeof(plan->pools[0]));
    if (plan->pools == NULL)
        return no_memory(log, path);
    plan->pool_count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        char where[AMG_JSON_PATH_CAP];

        amg_json_path_index(where, path, i);
        if (!amg_margo_pool_ref_read(log, where,
                json_object_array_get_idx(array, i), &plan->pools[i]))
            return false;
    }
    return true;
}

static bool affinity_read(const struct amg_margo_log *log, const char *path,
    struct json_object *array, struct amg_margo_stream_spec *plan)
{
    size_t count = json_object_array_length(array);

    if (count == 0)
        return true;
    plan->affinity = amg_mem_zalloc(count * sizeof(plan->affinity[0]));
    if (plan->affinity == NULL)
        return no_memory(log, path);
    plan->affinity_count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        char where[AMG_JSON_PATH_CAP];
        int64_t cpu = 0;

        amg_json_path_index(where, path, i);
        if (!amg_json_int(log, where, json_object_array_get_idx(array, i), 0,
                CPU_MAX, &cpu))
            return false;
        plan->affinity[i] = (int)cpu;
    }
    return true;
}

static bool scheduler_read(const struct amg_margo_log *log, const char *path,
    struct json_object *object, struct amg_margo_stream_spec *plan)
{
    static const struct amg_json_field fields[] = {
        {"type", AMG_JSON_WORD, offsetof(struct row, kind), 0, 0, sched_kinds},
        {"pools", AMG_JSON_ELSEWHERE, 0, 0, 0, NULL},
        {0},
    };
    struct row row = {.kind = ABT_SCHED_BASIC_WAIT};
    struct json_object *pools = NULL;
    char where[AMG_JSON_PATH_CAP];

    if (!amg_json_read(log, path, object, fields, &row) ||
        !amg_json_section(log, path, object, "pools", json_type_array, &pools))
        return false;
    plan->kind = row.kind;
    amg_json_path_key(where, path, "pools");
    return pools == NULL || refs_read(log, where, pools, plan);
}

bool amg_margo_stream_spec_read(const struct amg_margo_log *log,
    const char *path, struct json_object *object,
    struct amg_margo_stream_spec *plan)
{
    static const struct amg_json_field fields[] = {
        {"name", AMG_JSON_TEXT, offsetof(struct row, name), 0, 0, NULL},
        {"cpubind", AMG_JSON_INT, offsetof(struct row, cpubind), -1, CPU_MAX,
            NULL},
        {"affinity", AMG_JSON_ELSEWHERE, 0, 0, 0, NULL},
        {"scheduler", AMG_JSON_ELSEWHERE, 0, 0, 0, NULL},
        {0},
    };
    struct row row = {.cpubind = -1};
    struct json_object *affinity = NULL;
    struct json_object *scheduler = NULL;
    char where[AMG_JSON_PATH_CAP];

    if (!object_is_given(log, path, object) ||
        !amg_json_read(log, path, object, fields, &row) ||
        !amg_json_section(
            log, path, object, "affinity", json_type_array, &affinity) ||
        !amg_json_section(
            log, path, object, "scheduler", json_type_object, &scheduler))
        return false;
    plan->cpubind = row.cpubind;
    plan->kind = ABT_SCHED_BASIC_WAIT;
    amg_json_path_key(where, path, "affinity");
    if (affinity != NULL && !affinity_read(log, where, affinity, plan))
        return false;
    amg_json_path_key(where, path, "scheduler");
    if (scheduler != NULL && !scheduler_read(log, where, scheduler, plan))
        return false;
    if (plan->pool_count == 0) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: %s.pools is missing: a stream needs at least one "
            "pool to run",
            where);
        return false;
    }
    return name_copy(log, path, row.name, &plan->name);
}

void amg_margo_stream_spec_free(struct amg_margo_stream_spec *plan)
{
    for (unsigned i = 0; i < plan->pool_count; i++)
        amg_mem_free(plan->pools[i].name);
    amg_mem_free(plan->pools);
    amg_mem_free(plan->affinity);
    amg_mem_free(plan->name);
    *plan = (struct amg_margo_stream_spec){0};
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
        index = amg_margo_plan_find_pool(plan, ref->name);
    if (index >= 0 && index < (int)plan->pool_count)
        return index;
    amg_margo_plan_log_missing(log, path, ref, plan->pool_count);
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
        struct amg_margo_pool_spec pool = {0};
        char path[AMG_JSON_PATH_CAP];

        row_path(path, "pools", i);
        if (!amg_margo_pool_spec_read(
                log, path, json_object_array_get_idx(array, i), &pool) ||
            (pool.name != NULL &&
                name_is_taken(log, path, pool.name,
                    amg_margo_plan_find_pool(plan, pool.name)))) {
            amg_margo_pool_spec_free(&pool);
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
        struct amg_margo_stream_spec stream = {0};
        char path[AMG_JSON_PATH_CAP];

        row_path(path, "xstreams", i);
        if (!amg_margo_stream_spec_read(
                log, path, json_object_array_get_idx(array, i), &stream) ||
            (stream.name != NULL &&
                name_is_taken(log, path, stream.name,
                    amg_margo_plan_find_stream(plan, stream.name)))) {
            amg_margo_stream_spec_free(&stream);
            return false;
        }
        plan->streams[plan->stream_count++] = stream;
    }
    return true;
}

/* Allocates an array for the rows of the text, and for `more` rows. */
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
        amg_margo_pool_spec_free(&plan->pools[i]);
    for (unsigned i = 0; i < plan->stream_count; i++)
        amg_margo_stream_spec_free(&plan->streams[i]);
    amg_mem_free(plan->pools);
    amg_mem_free(plan->streams);
    amg_mem_free(plan->progress.name);
    amg_mem_free(plan->rpc.name);
    *plan = (struct amg_margo_plan){0};
}

bool amg_margo_plan_add_pool(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, const char *name, int kind)
{
    struct amg_margo_pool_spec *pool = &plan->pools[plan->pool_count];

    if (!name_set(log, name, &pool->name))
        return false;
    pool->kind = kind;
    pool->access = ABT_POOL_ACCESS_MPMC;
    plan->pool_count++;
    return true;
}

bool amg_margo_plan_add_stream(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, const char *name, unsigned pool)
{
    struct amg_margo_stream_spec *stream = &plan->streams[plan->stream_count];

    plan->stream_count++;
    stream->kind = ABT_SCHED_BASIC_WAIT;
    stream->cpubind = -1;
    stream->pools = amg_mem_zalloc(sizeof(stream->pools[0]));
    if (stream->pools == NULL)
        return no_memory(log, "a stream");
    stream->pool_count = 1;
    stream->pools[0].index = (int)pool;
    stream->pools[0].is_own = true;
    return name_set(log, name, &stream->name);
}
