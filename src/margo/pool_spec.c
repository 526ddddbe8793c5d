/* SPDX-License-Identifier: BSD-3-Clause */
/* Specifications of pools and streams: the elements of a JSON text that request
 * them. */
#include "margo/config.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/json.h"

enum { CPU_MAX = 65535 };

const char amg_margo_primary_name[] = "__primary__";

/* No "external": pools that the program created, which no text can define. */
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

/* Has the name the form of names that Margo makes up? A JSON text may use such
 * a name, since Margo may have written that text. */
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
        reason = "it has to begin with a letter or an underscore";
    else if (strncmp(name, "__", 2) == 0 && !name_is_reserved_form(name))
        reason = "names with two underscores in front are reserved";
    if (reason == NULL)
        return true;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: %s is '%.60s', which cannot be a name: %s", path, name,
        reason);
    return false;
}

bool amg_margo_config_no_memory(
    const struct amg_margo_log *log, const char *path)
{
    amg_margo_log_write(
        log, MARGO_LOG_ERROR, "configuration: no memory for %s", path);
    return false;
}

/* Is the name of an element missing, or valid? */
static bool name_check(
    const struct amg_margo_log *log, const char *path, const char *name)
{
    char where[AMG_JSON_PATH_CAP];

    amg_json_path_key(where, path, "name");
    return name == NULL || amg_margo_name_is_valid(log, where, name);
}

/* Is the kind "external"? Logs that a text cannot define such a pool. */
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
        {"name", AMG_JSON_TEXT, offsetof(struct amg_margo_pool_spec, name), 0,
            0, NULL},
        {"kind", AMG_JSON_WORD, offsetof(struct amg_margo_pool_spec, kind), 0,
            0, pool_kinds},
        {"access", AMG_JSON_WORD, offsetof(struct amg_margo_pool_spec, access),
            0, 0, pool_accesses},
        {0},
    };

    *plan = (struct amg_margo_pool_spec){
        .kind = AMG_MARGO_POOL_FIFO_WAIT, .access = ABT_POOL_ACCESS_MPMC};
    return amg_json_is(log, path, object, json_type_object) &&
           !kind_is_external(log, path, object) &&
           amg_json_read(log, path, object, fields, plan) &&
           name_check(log, path, plan->name);
}

bool amg_margo_pool_ref_read(const struct amg_margo_log *log, const char *path,
    struct json_object *value, struct amg_margo_pool_ref *ret_ref)
{
    int64_t index = 0;

    if (json_object_is_type(value, json_type_string)) {
        ret_ref->name = json_object_get_string(value);
        return true;
    }
    if (!json_object_is_type(value, json_type_int)) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: %s has to be the name or the index of a pool, and "
            "is %.80s",
            path, json_object_to_json_string(value));
        return false;
    }
    if (!amg_json_int(log, path, value, 0, INT_MAX, &index))
        return false;
    ret_ref->index = (int)index;
    return true;
}

bool amg_margo_config_array_check(const struct amg_margo_log *log,
    const char *path, struct json_object *array, size_t least)
{
    size_t count = array == NULL ? least : json_object_array_length(array);

    if (count >= least && count <= AMG_MARGO_OBJECTS_MAX)
        return true;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: %s has %zu elements; %zu to %d are possible", path,
        count, least, AMG_MARGO_OBJECTS_MAX);
    return false;
}

static bool refs_read(const struct amg_margo_log *log, const char *path,
    struct json_object *array, struct amg_margo_stream_spec *plan)
{
    size_t count = json_object_array_length(array);

    if (!amg_margo_config_array_check(log, path, array, 1))
        return false;
    plan->pools = amg_mem_zalloc(count * sizeof(plan->pools[0]));
    if (plan->pools == NULL)
        return amg_margo_config_no_memory(log, path);
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
        return amg_margo_config_no_memory(log, path);
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
        {"type", AMG_JSON_WORD, offsetof(struct amg_margo_stream_spec, kind), 0,
            0, sched_kinds},
        {"pools", AMG_JSON_ELSEWHERE, 0, 0, 0, NULL},
        {0},
    };
    struct json_object *pools = NULL;
    char where[AMG_JSON_PATH_CAP];

    if (!amg_json_read(log, path, object, fields, plan) ||
        !amg_json_section(log, path, object, "pools", json_type_array, &pools))
        return false;
    amg_json_path_key(where, path, "pools");
    return pools == NULL || refs_read(log, where, pools, plan);
}

bool amg_margo_stream_spec_read(const struct amg_margo_log *log,
    const char *path, struct json_object *object,
    struct amg_margo_stream_spec *plan)
{
    static const struct amg_json_field fields[] = {
        {"name", AMG_JSON_TEXT, offsetof(struct amg_margo_stream_spec, name), 0,
            0, NULL},
        {"cpubind", AMG_JSON_INT,
            offsetof(struct amg_margo_stream_spec, cpubind), -1, CPU_MAX, NULL},
        {"affinity", AMG_JSON_ELSEWHERE, 0, 0, 0, NULL},
        {"scheduler", AMG_JSON_ELSEWHERE, 0, 0, 0, NULL},
        {0},
    };
    struct json_object *affinity = NULL;
    struct json_object *scheduler = NULL;
    char where[AMG_JSON_PATH_CAP];

    *plan = (struct amg_margo_stream_spec){
        .kind = ABT_SCHED_BASIC_WAIT, .cpubind = -1};
    if (!amg_json_is(log, path, object, json_type_object) ||
        !amg_json_read(log, path, object, fields, plan) ||
        !amg_json_section(
            log, path, object, "affinity", json_type_array, &affinity) ||
        !amg_json_section(
            log, path, object, "scheduler", json_type_object, &scheduler))
        return false;
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
    return name_check(log, path, plan->name);
}

void amg_margo_stream_spec_free(struct amg_margo_stream_spec *plan)
{
    amg_mem_free(plan->pools);
    amg_mem_free(plan->affinity);
    *plan = (struct amg_margo_stream_spec){0};
}
