/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration of an instance: the JSON text and the arguments of
 * margo_init(), and the stack settings, exported to the environment.
 *
 * use_progress_thread and rpc_thread_count are short forms for pools and
 * streams of the plan, with made-up names: __pool_<n>__ and __xstream_<n>__. A
 * pool that the text names for the same purpose takes precedence. The short
 * forms are expanded late, because the opener of the class may change them. */
#include "margo/config.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_progress.h"
#include "base/assert.h"
#include "base/env.h"
#include "base/mem.h"
#include "margo-util.h"
#include "margo.h"
#include "margo/json.h"
#include "mercury_log.h"

enum {
    TIMEOUT_UB_MS = 100,
    SPINDOWN_MS = 10,
    HANDLE_CACHE = 256,
    HANDLE_CACHE_MAX = 1 << 24,
    HANDLERS_MAX = 1 << 24,
    RPC_THREADS_MAX = 1024,
    STACKS = 8,
    STACK_BYTES = 2097152,
    STACK_BYTES_MIN = 16384,
    CPU_MAX = 65535,
    OWN_ROWS = 2 /* __primary__ and the progress thread */
};

#define OTHER(key)                                                             \
    {                                                                          \
        key, AMG_JSON_ELSEWHERE, 0, 0, 0, NULL                                 \
    }

/* The section "mercury": Mercury's options as text, in both directions. */
static const char *const address_formats[] = {
    [NA_ADDR_UNSPEC] = "unspec",
    [NA_ADDR_IPV4] = "ipv4",
    [NA_ADDR_IPV6] = "ipv6",
    [NA_ADDR_NATIVE] = "native",
    NULL,
};

static const char *const checksum_levels[] = {
    [HG_CHECKSUM_NONE] = "none",
    [HG_CHECKSUM_RPC_HEADERS] = "rpc_headers",
    [HG_CHECKSUM_RPC_PAYLOAD] = "rpc_payload",
    NULL,
};

static const char *const traffic_classes[] = {
    [NA_TC_UNSPEC] = "unspec",
    [NA_TC_BEST_EFFORT] = "best_effort",
    [NA_TC_LOW_LATENCY] = "low_latency",
    [NA_TC_BULK_DATA] = "bulk_data",
    [NA_TC_DEDICATED_ACCESS] = "dedicated_access",
    [NA_TC_SCAVENGER] = "scavenger",
    [NA_TC_NETWORK_CTRL] = "network_ctrl",
    NULL,
};

/* The options of Mercury, and the fields that have another form in the text. */
struct section {
    struct hg_init_info info;
    bool is_listening;
    bool no_block;
    bool no_retry;
    unsigned max_contexts;
    const char *log_level;
    const char *log_subsys;
};

/* The table is formatted by hand. */
/* clang-format off */
#define MERCURY(key, KIND, member, min, max, words)                            \
    {key, AMG_JSON_##KIND, offsetof(struct section, member), min, max, words}
#define FLAG(key, member) MERCURY(key, BOOL, member, 0, 0, NULL)
#define SIZE(key, KIND, member) MERCURY(key, KIND, member, 0, UINT32_MAX, NULL)
#define TEXT(key, member) MERCURY(key, TEXT, member, 0, 0, NULL)
#define NA(member) info.na_init_info.member

static const struct amg_json_field mercury_fields[] = {
    /* Fields of a description, ignored here. */
    OTHER("address"), OTHER("version"),
    OTHER("input_eager_size"), OTHER("output_eager_size"),
    FLAG("listening", is_listening),
    FLAG("auto_sm", info.auto_sm),
    FLAG("stats", info.stats),
    FLAG("na_no_block", no_block),
    FLAG("na_no_retry", no_retry),
    FLAG("no_bulk_eager", info.no_bulk_eager),
    FLAG("no_loopback", info.no_loopback),
    FLAG("no_multi_recv", info.no_multi_recv),
    FLAG("release_input_early", info.release_input_early),
    FLAG("no_overflow", info.no_overflow),
    FLAG("na_request_mem_device", NA(request_mem_device)),
    MERCURY("max_contexts", UINT, max_contexts, 0, UINT8_MAX, NULL),
    SIZE("request_post_init", UINT, info.request_post_init),
    MERCURY("request_post_incr", INT, info.request_post_incr, INT32_MIN,
        INT32_MAX, NULL),
    SIZE("multi_recv_op_max", UINT, info.multi_recv_op_max),
    SIZE("multi_recv_copy_threshold", UINT, info.multi_recv_copy_threshold),
    SIZE("na_max_unexpected_size", SIZE, NA(max_unexpected_size)),
    SIZE("na_max_expected_size", SIZE, NA(max_expected_size)),
    MERCURY("na_addr_format", HINT, NA(addr_format), 0, 0, address_formats),
    MERCURY("checksum_level", WORD, info.checksum_level, 0, 0, checksum_levels),
    MERCURY("traffic_class", HINT, info.traffic_class, 0, 0, traffic_classes),
    TEXT("ip_subnet", NA(ip_subnet)),
    TEXT("auth_key", NA(auth_key)),
    TEXT("sm_info_string", info.sm_info_string),
    TEXT("log_level", log_level),
    TEXT("log_subsys", log_subsys),
    {0},
};

/* Options are read in place, as types that the table names. */
_Static_assert(sizeof(enum na_addr_format) == sizeof(int) &&
    sizeof(hg_checksum_level_t) == sizeof(int) &&
    sizeof(enum na_traffic_class) == sizeof(int), "words are read as int");
/* clang-format on */

static struct section section_of(const struct hg_init_info *info)
{
    const struct na_init_info_4_0 *na = &info->na_init_info;

    return (struct section){
        .info = *info,
        .no_block = (na->progress_mode & NA_NO_BLOCK) != 0,
        .no_retry = (na->progress_mode & NA_NO_RETRY) != 0,
        .max_contexts = na->max_contexts,
    };
}

/* Sets Mercury's log; a setting equal to the present one changes nothing. */
static void log_set(const struct section *section)
{
    if (section->log_level != NULL &&
        strcmp(section->log_level,
            hg_log_level_to_string(hg_log_get_level())) != 0)
        HG_Set_log_level(section->log_level);
    if (section->log_subsys != NULL &&
        strcmp(section->log_subsys, hg_log_get_subsys()) != 0)
        HG_Set_log_subsys(section->log_subsys);
}

/* Reads the section, which may be NULL, into `info`. Strings lie in the
 * section. Settings of Mercury's log take effect at once. False: refused,
 * logged. `is_listening`: the mode of the instance, which takes precedence. */
static bool mercury_read(const struct amg_margo_log *log,
    struct json_object *section, bool is_listening, struct hg_init_info *info)
{
    struct section read = section_of(info);
    struct na_init_info_4_0 *na = &info->na_init_info;

    if (section == NULL)
        return true;
    read.is_listening = is_listening;
    if (!amg_json_read(log, "mercury", section, mercury_fields, &read))
        return false;
    if (read.is_listening != is_listening)
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "configuration: mercury.listening is %s, but the mode argument "
            "says otherwise, and takes precedence",
            read.is_listening ? "true" : "false");
    log_set(&read);
    *info = read.info;
    na->max_contexts = (uint8_t)read.max_contexts;
    na->progress_mode =
        (uint8_t)((na->progress_mode & ~(NA_NO_BLOCK | NA_NO_RETRY)) |
                  (read.no_block ? NA_NO_BLOCK : 0) |
                  (read.no_retry ? NA_NO_RETRY : 0));
    return true;
}

struct json_object *amg_margo_mercury_describe(const struct hg_init_info *info)
{
    struct json_object *object = json_object_new_object();
    struct section section = section_of(info);

    if (object == NULL || !amg_json_write(object, mercury_fields, &section)) {
        json_object_put(object);
        return NULL;
    }
    json_object_object_del(object, "listening"); /* added by the caller */
    return object;
}

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

/* Is the name of an element missing, or valid? */
static bool name_check(
    const struct amg_margo_log *log, const char *path, const char *name)
{
    char where[AMG_JSON_PATH_CAP];

    amg_json_path_key(where, path, "name");
    return name == NULL || amg_margo_name_is_valid(log, where, name);
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

/* Reads an integer or a string. */
static bool ref_read(const struct amg_margo_log *log, const char *path,
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

/* Is the array absent, or its length possible? */
static bool array_check(const struct amg_margo_log *log, const char *path,
    struct json_object *array, size_t least)
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

    if (!array_check(log, path, array, 1))
        return false;
    plan->pools = amg_mem_zalloc(count * sizeof(plan->pools[0]));
    if (plan->pools == NULL)
        return no_memory(log, path);
    plan->pool_count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        char where[AMG_JSON_PATH_CAP];

        amg_json_path_index(where, path, i);
        if (!ref_read(log, where, json_object_array_get_idx(array, i),
                &plan->pools[i]))
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
        plan->stream_count++; /* freed with the plan */
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
 * be NULL, into `plan`, which is all zero, with room for `more` pools and
 * streams. False: refused, or no memory; logged. */
static bool arrays_read(const struct amg_margo_log *log,
    struct json_object *argobots, size_t more, struct amg_margo_plan *plan)
{
    struct json_object *pools = NULL;
    struct json_object *streams = NULL;

    if (!amg_json_section(
            log, "argobots", argobots, "pools", json_type_array, &pools) ||
        !amg_json_section(
            log, "argobots", argobots, "xstreams", json_type_array, &streams) ||
        !array_check(log, "argobots.pools", pools, 0) ||
        !array_check(log, "argobots.xstreams", streams, 0))
        return false;
    plan->pools = amg_mem_zalloc(
        sizeof(plan->pools[0]) *
        (more + (pools == NULL ? 0 : json_object_array_length(pools))));
    plan->streams = amg_mem_zalloc(
        sizeof(plan->streams[0]) *
        (more + (streams == NULL ? 0 : json_object_array_length(streams))));
    if (plan->pools == NULL || plan->streams == NULL)
        return no_memory(log, "pools and streams");
    return pools_read(log, pools, plan) && streams_read(log, streams, plan);
}

static void plan_free(struct amg_margo_plan *plan)
{
    for (unsigned i = 0; i < plan->stream_count; i++)
        amg_margo_stream_spec_free(&plan->streams[i]);
    amg_mem_free(plan->pools);
    amg_mem_free(plan->streams);
    *plan = (struct amg_margo_plan){0};
}

/* Appends a pool, where there is room; a name of NULL is made up later. Returns
 * its index. */
static unsigned pool_append(struct amg_margo_plan *plan, const char *name)
{
    plan->pools[plan->pool_count] = (struct amg_margo_pool_spec){.name = name,
        .kind = AMG_MARGO_POOL_FIFO_WAIT,
        .access = ABT_POOL_ACCESS_MPMC};
    return plan->pool_count++;
}

/* Appends a stream of one pool, where there is room. False: no memory,
 * logged. */
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
        return no_memory(log, "a stream");
    }
    stream->pools[0].index = (int)pool;
    stream->pools[0].is_own = true;
    return true;
}

const char amg_margo_primary_name[] = "__primary__";

#define FIELD(key, KIND, member, min, max)                                     \
    {                                                                          \
        key, AMG_JSON_##KIND, offsetof(struct amg_margo_config, member), min,  \
            max, NULL                                                          \
    }

static const struct amg_json_field top_fields[] = {
    FIELD("progress_timeout_ub_msec", UINT, progress_timeout_ub_ms, 0, INT_MAX),
    FIELD("progress_spindown_msec", UINT, progress_spindown_ms, 0, INT_MAX),
    FIELD("handle_cache_size", UINT, handle_cache_size, 0, HANDLE_CACHE_MAX),
    FIELD("use_progress_thread", BOOL, use_progress_thread, 0, 0),
    FIELD("rpc_thread_count", INT, rpc_thread_count, -1, RPC_THREADS_MAX),
    FIELD("enable_abt_profiling", BOOL, is_profiling, 0, 0),
    OTHER("progress_pool"),
    OTHER("rpc_pool"),
    OTHER("mercury"),
    OTHER("argobots"),
    OTHER("monitoring"),
    OTHER("plumber"),
    OTHER("amalgam"),
    OTHER("version"),
    {0},
};

static const struct amg_json_field argobots_fields[] = {
    FIELD("abt_mem_max_num_stacks", UINT, max_stacks, 0, INT_MAX),
    FIELD("abt_thread_stacksize", SIZE, stack_size, STACK_BYTES_MIN, INT_MAX),
    FIELD("profiling_dir", TEXT, profiling_dir, 0, 0),
    FIELD("lazy_stack_alloc", BOOL, wants_lazy_stacks, 0, 0),
    OTHER("version"),
    OTHER("pools"),
    OTHER("xstreams"),
    {0},
};

static const struct amg_json_field amalgam_fields[] = {
    FIELD("max_concurrent_rpcs", UINT, max_handlers, 0, HANDLERS_MAX),
    {0},
};

/* Hints without effect: src/affinity chooses the NIC. */
static const struct amg_json_field plumber_fields[] = {
    FIELD("bucket_policy", TEXT, bucket_policy, 0, 0),
    FIELD("nic_policy", TEXT, nic_policy, 0, 0),
    {0},
};

static void config_default(
    const struct margo_init_info *info, struct amg_margo_config *config)
{
    *config = (struct amg_margo_config){
        .progress_timeout_ub_ms = TIMEOUT_UB_MS,
        .progress_spindown_ms = SPINDOWN_MS,
        .handle_cache_size = HANDLE_CACHE,
        .max_handlers = (unsigned)amg_env_number(AMG_ENV_CONCURRENT_RPCS),
        .profiling_dir = ".",
        .bucket_policy = "package",
        .nic_policy = "roundrobin",
        .max_stacks = STACKS,
        .stack_size = STACK_BYTES,
        .hg_init = HG_INIT_INFO_INITIALIZER,
        .plan.progress.index = -1,
        .plan.rpc.index = -1,
    };
    if (info->hg_init_info != NULL)
        config->hg_init = *info->hg_init_info;
    /* The loop makes progress, unless the program has set a mode. */
    if ((config->hg_init.na_init_info.progress_mode &
            (uint8_t) ~(NA_NO_BLOCK | NA_NO_RETRY)) == 0)
        config->hg_init.na_init_info.progress_mode |=
            AMALGAM_NA_PROGRESS(AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_AUTO);
}

static bool section_read(const struct amg_margo_log *log,
    struct json_object *json, const char *key,
    const struct amg_json_field *fields, void *target)
{
    struct json_object *section = NULL;

    return amg_json_section(log, "", json, key, json_type_object, &section) &&
           (section == NULL ||
               amg_json_read(log, key, section, fields, target));
}

/* Reads all fields but pools, streams and references to pools. */
static bool fields_read(
    const struct amg_margo_log *log, int mode, struct amg_margo_config *config)
{
    struct json_object *json = config->json;
    struct json_object *mercury = NULL;
    struct json_object *monitoring = NULL;
    struct json_object *argobots = NULL;

    if (!amg_json_read(log, "", json, top_fields, config) ||
        !section_read(log, json, "argobots", argobots_fields, config) ||
        !section_read(log, json, "amalgam", amalgam_fields, config) ||
        !section_read(log, json, "plumber", plumber_fields, config) ||
        !amg_json_section(
            log, "", json, "mercury", json_type_object, &mercury) ||
        !amg_json_section(
            log, "", json, "monitoring", json_type_object, &monitoring))
        return false;
    config->is_spindown_given = config->progress_spindown_ms != SPINDOWN_MS;
    argobots = amg_json_get(json, "argobots");
    config->is_max_stacks_given =
        amg_json_get(argobots, "abt_mem_max_num_stacks") != NULL;
    config->is_stack_size_given =
        amg_json_get(argobots, "abt_thread_stacksize") != NULL;
    return mercury_read(
        log, mercury, mode == MARGO_SERVER_MODE, &config->hg_init);
}

/* Reads the pool that `key` names; warns of a short form that is without
 * effect. */
static bool named_read(const struct amg_margo_log *log,
    struct amg_margo_config *config, const char *key, const char *short_form,
    bool has_short, struct amg_margo_pool_ref *ref)
{
    struct json_object *value = amg_json_get(config->json, key);

    if (value == NULL)
        return true;
    if (!ref_read(log, key, value, ref))
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

/* The short forms become pools and streams. */
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

/* A child shares the pools and streams of its parent, and may define none. */
static bool argobots_allowed(
    const struct amg_margo_log *log, struct json_object *json, bool is_child)
{
    if (!is_child || amg_json_get(json, "argobots") == NULL)
        return true;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: argobots is not for an instance with a parent, whose "
        "pools and streams it shares; leave it out, or leave parent_mid NULL");
    return false;
}

/* A program that has called ABT_init() has its own primary stream. */
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
        "called before, so that it exists; give it another name, or let the "
        "instance start Argobots",
        array);
    return false;
}

static bool plan_read(const struct amg_margo_log *log, bool is_child,
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
    /* pools.c knows the pools of the parent, which are the defaults. */
    if (is_child)
        return true;
    /* The first pool of the stream __primary__, by default. */
    at = amg_margo_plan_find_stream(plan, amg_margo_primary_name);
    AMG_ASSERT(at >= 0 && plan->streams[at].pool_count > 0);
    primary = &plan->streams[at].pools[0];
    if (!ref_is_given(&plan->progress))
        plan->progress = *primary;
    if (!ref_is_given(&plan->rpc))
        plan->rpc = plan->rpc_is_progress ? plan->progress : *primary;
    return refs_check(log, plan);
}

bool amg_margo_config_read(const struct margo_init_info *info,
    const char *address, int mode, struct amg_margo_config *ret_config)
{
    struct margo_init_info none = MARGO_INIT_INFO_INITIALIZER;
    struct amg_margo_config config;
    struct amg_margo_log log;
    const char *text = NULL;

    if (info == NULL)
        info = &none;
    amg_margo_log_init(&log, info->logger);
    config_default(info, &config);
    text = info->json_config == NULL || info->json_config[0] == '\0'
               ? "{}"
               : info->json_config;
    config.json = amg_json_parse(&log, "configuration", text);
    if (config.json == NULL)
        return false;
    if (mode != MARGO_CLIENT_MODE && mode != MARGO_SERVER_MODE) {
        amg_margo_log_write(&log, MARGO_LOG_ERROR,
            "the mode is %d; there are MARGO_CLIENT_MODE (0) and "
            "MARGO_SERVER_MODE (1)",
            mode);
        goto free_config;
    }
    if (address == NULL && info->hg_class == NULL) {
        amg_margo_log_write(&log, MARGO_LOG_ERROR,
            "the address is NULL; it names a transport, for instance \"tcp\" "
            "or \"na+sm\", or a class is given");
        goto free_config;
    }
    if (!fields_read(&log, mode, &config) ||
        !plan_read(&log, info->parent_mid != MARGO_INSTANCE_NULL, &config))
        goto free_config;
    *ret_config = config;
    return true;

free_config:
    amg_margo_config_free(&config);
    return false;
}

void amg_margo_config_free(struct amg_margo_config *config)
{
    plan_free(&config->plan);
    json_object_put(config->json);
    config->json = NULL;
}

static const char stack_size_name[] = "ABT_THREAD_STACKSIZE";
static const char stack_count_name[] = "ABT_MEM_MAX_NUM_STACKS";

enum { NUMBER_CAP = 24 };

/* Sets a variable to a number. 0, or -1 without memory. */
static int number_set(const char *name, unsigned long long number, int replaces)
{
    char text[NUMBER_CAP];

    (void)snprintf(text, sizeof(text), "%llu", number);
    return setenv(name, text, replaces);
}

static size_t stack_size_now(void)
{
    size_t size = 0;

    return ABT_info_query_config(ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE,
               &size) == ABT_SUCCESS
               ? size
               : 0;
}

/* The number in the environment; `otherwise` if no number is set. */
static unsigned long long number_get(
    const char *name, unsigned long long otherwise)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long long number = 0;

    if (text == NULL)
        return otherwise;
    number = strtoull(text, &end, 10);
    return end == text || *end != '\0' ? otherwise : number;
}

size_t amg_margo_environment_stacks(
    const struct amg_margo_config *config, unsigned *ret_count)
{
    size_t size = ABT_initialized() == ABT_SUCCESS ? stack_size_now() : 0;

    *ret_count = (unsigned)number_get(stack_count_name, config->max_stacks);
    return (size_t)number_get(
        stack_size_name, size == 0 ? config->stack_size : size);
}

/* Warns if the runtime has started with other stacks than the text requests, or
 * with smaller stacks than the default. */
static void stacks_compare(
    const struct amg_margo_log *log, const struct amg_margo_config *config)
{
    size_t size = stack_size_now();
    unsigned count = (unsigned)number_get(stack_count_name, config->max_stacks);

    if (size != 0 && (config->is_stack_size_given ? size != config->stack_size
                                                  : size < config->stack_size))
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "ABT_init() was called before, with stacks of %zu bytes; %zu are "
            "wanted. Call margo_set_environment() before ABT_init(), or set "
            "ABT_THREAD_STACKSIZE",
            size, config->stack_size);
    if (config->is_max_stacks_given && count != config->max_stacks)
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "ABT_init() was called before, when ABT_MEM_MAX_NUM_STACKS was %u; "
            "%u are wanted. Call margo_set_environment() before ABT_init()",
            count, config->max_stacks);
}

void amg_margo_environment_set(
    const struct amg_margo_log *log, const struct amg_margo_config *config)
{
    int failed = 0;

    if (ABT_initialized() == ABT_SUCCESS) {
        stacks_compare(log, config);
        return;
    }
    failed = number_set(stack_size_name, config->stack_size, 0);
    failed |= number_set(stack_count_name, config->max_stacks, 0);
    if (failed != 0)
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "no memory for the environment: stacks of user-level threads have "
            "the size that ABT_init() gives them");
}

int margo_set_environment(const char *optional_json_config)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct amg_margo_config config;
    struct amg_margo_log log;
    int failed = 0;

    info.json_config = optional_json_config;
    amg_margo_log_init(&log, NULL);
    if (!amg_margo_config_read(&info, "", MARGO_CLIENT_MODE, &config))
        return -1;
    if (ABT_initialized() == ABT_SUCCESS) {
        amg_margo_log_write(&log, MARGO_LOG_ERROR,
            "margo_set_environment() is without effect after ABT_init()");
        failed = -1;
    } else {
        failed = number_set(stack_size_name, config.stack_size, 1);
        failed |= number_set(stack_count_name, config.max_stacks, 1);
    }
    amg_margo_config_free(&config);
    return failed == 0 ? 0 : -1;
}

/* Sets a variable that ABT_init() reads. */
static int setting_set(const char *name, unsigned number)
{
    if (ABT_initialized() != ABT_SUCCESS && number_set(name, number, 1) == 0)
        return 0;
    margo_error(MARGO_INSTANCE_NULL, "%s was not set to %u: %s", name, number,
        ABT_initialized() == ABT_SUCCESS ? "ABT_init() was called already"
                                         : "no memory");
    return -1;
}

int margo_set_abt_mem_max_num_stacks(unsigned max_num_stacks)
{
    return setting_set(stack_count_name, max_num_stacks);
}

int margo_set_abt_thread_stacksize(unsigned stacksize)
{
    return setting_set(stack_size_name, stacksize);
}
