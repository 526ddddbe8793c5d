/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration of an instance: the JSON text and the arguments of
 * margo_init(), and the stack settings, exported to the environment.
 *
 * use_progress_thread and rpc_thread_count are short forms for pools and
 * streams of the plan, with made-up names: __pool_<n>__ and __xstream_<n>__. A
 * pool that the text names for the same purpose takes precedence. The short
 * forms are expanded late, because the opener of the class may change them. */
#include "margo/config.h"

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
#include "margo/config.h"
#include "margo/json.h"

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
    OWN_ROWS = 2 /* __primary__ and the progress thread */
};

static const char primary_name[] = "__primary__";

#define FIELD(key, KIND, member, min, max)                                     \
    {                                                                          \
        key, AMG_JSON_##KIND, offsetof(struct amg_margo_config, member), min,  \
            max, NULL                                                          \
    }
#define OTHER(key)                                                             \
    {                                                                          \
        key, AMG_JSON_ELSEWHERE, 0, 0, 0, NULL                                 \
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
    return amg_margo_mercury_read(
        log, mercury, mode == MARGO_SERVER_MODE, &config->hg_init);
}

/* Reads the pool that `key` names; warns of a short form that is without
 * effect. */
static bool ref_read(const struct amg_margo_log *log,
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

static bool ref_set(const struct amg_margo_log *log, const char *name,
    struct amg_margo_pool_ref *ref)
{
    ref->name = amg_mem_strdup(name);
    if (ref->name == NULL)
        amg_margo_log_write(
            log, MARGO_LOG_ERROR, "configuration: no memory for %s", name);
    return ref->name != NULL;
}

/* Adds the pool and the streams of a short form; names are made up later. */
static bool short_add(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, int streams, bool is_progress,
    struct amg_margo_pool_ref *ref)
{
    unsigned pool = plan->pool_count;

    if (!amg_margo_plan_add_pool(log, plan, NULL, AMG_MARGO_POOL_FIFO_WAIT))
        return false;
    for (int i = 0; i < streams; i++) {
        if (!amg_margo_plan_add_stream(log, plan, NULL, pool))
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
    int pool = amg_margo_plan_find_pool(plan, primary_name);

    if (amg_margo_plan_find_stream(plan, primary_name) >= 0)
        return true;
    if (pool < 0) {
        pool = (int)plan->pool_count;
        if (!amg_margo_plan_add_pool(
                log, plan, primary_name, AMG_MARGO_POOL_FIFO_WAIT))
            return false;
    }
    return amg_margo_plan_add_stream(log, plan, primary_name, (unsigned)pool);
}

/* Sets `ref` to `other`, if `ref` is not given. */
static bool ref_default(const struct amg_margo_log *log,
    const struct amg_margo_pool_ref *other, struct amg_margo_pool_ref *ref)
{
    if (ref_is_given(ref))
        return true;
    ref->index = other->index;
    return other->name == NULL || ref_set(log, other->name, ref);
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

    if (amg_margo_plan_find_pool(plan, primary_name) >= 0)
        array = "pools";
    else if (amg_margo_plan_find_stream(plan, primary_name) >= 0)
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
           amg_margo_plan_read(log, amg_json_get(config->json, "argobots"),
               OWN_ROWS + (unsigned)(threads > 0 ? threads : 1), plan) &&
           primary_allowed(log, plan) &&
           ref_read(log, config, "progress_pool", "use_progress_thread",
               config->use_progress_thread, &plan->progress) &&
           ref_read(log, config, "rpc_pool", "rpc_thread_count", threads != 0,
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
    at = amg_margo_plan_find_stream(plan, primary_name);
    AMG_ASSERT(at >= 0 && plan->streams[at].pool_count > 0);
    primary = &plan->streams[at].pools[0];
    if (!ref_default(log, primary, &plan->progress))
        return false;
    return ref_default(log, plan->rpc_is_progress ? &plan->progress : primary,
               &plan->rpc) &&
           refs_check(log, plan);
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
    amg_margo_plan_free(&config->plan);
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

size_t amg_margo_environment_stack_size(const struct amg_margo_config *config)
{
    size_t size = ABT_initialized() == ABT_SUCCESS ? stack_size_now() : 0;

    return (size_t)number_get(
        stack_size_name, size == 0 ? config->stack_size : size);
}

unsigned amg_margo_environment_max_stacks(const struct amg_margo_config *config)
{
    return (unsigned)number_get(stack_count_name, config->max_stacks);
}

/* Warns if the runtime has started with other stacks than the text requests, or
 * with smaller stacks than the default. */
static void stacks_compare(
    const struct amg_margo_log *log, const struct amg_margo_config *config)
{
    size_t size = stack_size_now();
    unsigned count = amg_margo_environment_max_stacks(config);

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
