/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of an instance: as JSON, from which a similar instance can be
 * made; and its state as text, to find the reason of a hang. */

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "margo-util.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/json.h"
#include "margo/registry.h"
#include "mercury_log.h"

enum { ADDRESS_CAP = 256, HOST_CAP = 256, PATH_CAP = 4096, TIME_CAP = 64 };

static bool pool_is_shown(const struct amg_margo_item *pool, int options)
{
    return (options & MARGO_CONFIG_HIDE_EXTERNAL) == 0 ||
           pool->kind != AMG_MARGO_POOL_EXTERNAL;
}

/* The name of a pool, or its index among the pools that are shown. The index of
 * a hidden pool is the index among all pools. */
static struct json_object *ref_locked(const struct amg_margo_registry *registry,
    const struct amg_margo_item *pool, int options)
{
    int index = 0;

    AMG_ASSERT_HELD(&registry->lock);
    if (!pool_is_shown(pool, options))
        options &= ~MARGO_CONFIG_HIDE_EXTERNAL;
    if ((options & MARGO_CONFIG_USE_NAMES) != 0)
        return amg_json_string(pool->name);
    for (unsigned i = 0; registry->pools.items[i] != pool; i++)
        index += pool_is_shown(registry->pools.items[i], options);
    return json_object_new_int(index);
}

/* An object or array to fill. */
struct out {
    struct json_object *json;
    bool has_failed;
};

static struct out begin(struct json_object *json)
{
    return (struct out){.json = json, .has_failed = json == NULL};
}

/* Returns the filled object or array; NULL: there was no memory. */
static struct json_object *end(struct out *out)
{
    if (!out->has_failed)
        return out->json;
    json_object_put(out->json);
    return NULL;
}

/* Adds `value`, to an array if `key` is NULL. Fails if `value` is NULL. */
static void put(struct out *out, const char *key, struct json_object *value)
{
    if (!out->has_failed && value != NULL &&
        (key == NULL ? json_object_array_add(out->json, value)
                     : json_object_object_add(out->json, key, value)) == 0)
        return;
    out->has_failed = true;
    json_object_put(value);
}

static void put_text(struct out *out, const char *key, const char *text)
{
    put(out, key, amg_json_string(text));
}

static void put_number(struct out *out, const char *key, int64_t number)
{
    put(out, key, json_object_new_int64(number));
}

static void put_bool(struct out *out, const char *key, bool is_true)
{
    put(out, key, json_object_new_boolean(is_true));
}

static struct json_object *pool_describe(const struct amg_margo_item *pool)
{
    struct out out = begin(json_object_new_object());

    put_text(&out, "name", pool->name);
    put_text(&out, "kind", amg_margo_pool_kind_name(pool->kind));
    if (pool->kind != AMG_MARGO_POOL_EXTERNAL)
        put_text(&out, "access", amg_margo_pool_access_name(pool->access));
    return end(&out);
}

static struct json_object *pools_describe(margo_instance_id mid, int options)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct out out = begin(json_object_new_array());

    amg_lock_lock(&registry->lock);
    for (unsigned i = 0; i < registry->pools.count; i++) {
        const struct amg_margo_item *pool = registry->pools.items[i];

        if (pool_is_shown(pool, options))
            put(&out, NULL, pool_describe(pool));
    }
    amg_lock_unlock(&registry->lock);
    return end(&out);
}

static struct json_object *scheduler_describe(
    const struct amg_margo_registry *registry,
    const struct amg_margo_item *stream, int options)
{
    struct out out = begin(json_object_new_object());
    struct out pools = begin(json_object_new_array());

    for (unsigned i = 0; i < stream->pool_count; i++)
        if (pool_is_shown(stream->pools[i], options))
            put(&pools, NULL, ref_locked(registry, stream->pools[i], options));
    put_text(&out, "type", amg_margo_sched_kind_name(stream->kind));
    put(&out, "pools", end(&pools));
    return end(&out);
}

static struct json_object *stream_describe(
    const struct amg_margo_registry *registry,
    const struct amg_margo_item *stream, int options)
{
    struct out out = begin(json_object_new_object());

    put_text(&out, "name", stream->name);
    if (stream->cpubind >= 0)
        put_number(&out, "cpubind", stream->cpubind);
    if (stream->affinity_count > 0) {
        struct out cpus = begin(json_object_new_array());

        for (unsigned i = 0; i < stream->affinity_count; i++)
            put(&cpus, NULL, json_object_new_int(stream->affinity[i]));
        put(&out, "affinity", end(&cpus));
    }
    put(&out, "scheduler", scheduler_describe(registry, stream, options));
    return end(&out);
}

/* Is the stream shown? A hidden stream was made by the program, or runs only
 * hidden pools. */
static bool stream_is_shown(const struct amg_margo_item *stream, int options)
{
    if ((options & MARGO_CONFIG_HIDE_EXTERNAL) == 0)
        return true;
    if (stream->kind == AMG_MARGO_SCHED_EXTERNAL)
        return false;
    for (unsigned i = 0; i < stream->pool_count; i++)
        if (pool_is_shown(stream->pools[i], options))
            return true;
    return false;
}

static struct json_object *streams_describe(margo_instance_id mid, int options)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct out out = begin(json_object_new_array());

    amg_lock_lock(&registry->lock);
    for (unsigned i = 0; i < registry->streams.count; i++) {
        const struct amg_margo_item *stream = registry->streams.items[i];

        if (stream_is_shown(stream, options))
            put(&out, NULL, stream_describe(registry, stream, options));
    }
    amg_lock_unlock(&registry->lock);
    return end(&out);
}

/* Adds the address of the class, if the class has an address. */
static void put_address(struct out *out, hg_class_t *hg_class)
{
    hg_addr_t self = HG_ADDR_NULL;
    char text[ADDRESS_CAP];
    hg_size_t len = sizeof(text);
    hg_return_t rc = HG_OTHER_ERROR;

    if (HG_Addr_self(hg_class, &self) != HG_SUCCESS)
        return;
    rc = HG_Addr_to_string(hg_class, text, &len, self);
    (void)HG_Addr_free(hg_class, self);
    if (rc == HG_SUCCESS)
        put_text(out, "address", text);
}

static struct json_object *mercury_describe(margo_instance_id mid)
{
    struct out out = begin(amg_margo_mercury_describe(&mid->config->hg_init));
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;
    char version[ADDRESS_CAP];

    (void)HG_Version_get(&major, &minor, &patch);
    (void)snprintf(version, sizeof(version), "%u.%u.%u", major, minor, patch);
    put_text(&out, "version", version);
    put_bool(&out, "listening", mid->is_listening);
    put_text(&out, "log_level", hg_log_level_to_string(hg_log_get_level()));
    put_text(&out, "log_subsys", hg_log_get_subsys());
    if (mid->hg_class != NULL) {
        put_address(&out, mid->hg_class);
        put_number(&out, "input_eager_size",
            (int64_t)HG_Class_get_input_eager_size(mid->hg_class));
        put_number(&out, "output_eager_size",
            (int64_t)HG_Class_get_output_eager_size(mid->hg_class));
    }
    return end(&out);
}

static struct json_object *argobots_describe(margo_instance_id mid, int options)
{
    const struct amg_margo_config *config = mid->config;
    struct out out = begin(json_object_new_object());
    size_t stack_size = 0;
    unsigned stacks = 0;

    put(&out, "pools", pools_describe(mid, options));
    put(&out, "xstreams", streams_describe(mid, options));
    stack_size = amg_margo_environment_stacks(config, &stacks);
    put_number(&out, "abt_mem_max_num_stacks", stacks);
    put_number(&out, "abt_thread_stacksize", (int64_t)stack_size);
    put_bool(&out, "lazy_stack_alloc", config->wants_lazy_stacks);
    put_text(&out, "profiling_dir", config->profiling_dir);
    if ((options & MARGO_CONFIG_AMALGAM) != 0)
        put_text(&out, "version", ABT_VERSION);
    return end(&out);
}

static struct json_object *plumber_describe(margo_instance_id mid)
{
    struct out out = begin(json_object_new_object());

    put_text(&out, "bucket_policy", mid->config->bucket_policy);
    put_text(&out, "nic_policy", mid->config->nic_policy);
    return end(&out);
}

/* Settings that Margo does not have: in a section of their own, shown only on
 * request, because programs compare the description with that of Margo. */
static struct json_object *amalgam_describe(margo_instance_id mid)
{
    struct out out = begin(json_object_new_object());

    put_number(&out, "max_concurrent_rpcs", mid->config->max_handlers);
    return end(&out);
}

/* Adds the configuration of the monitor, if there is a monitor. */
static void put_monitoring(struct out *out, margo_instance_id mid)
{
    const struct margo_monitor *monitor = mid->monitoring.monitor;
    struct json_object *config = NULL;
    struct out section;

    if (monitor == NULL || monitor->config == NULL)
        return;
    config = monitor->config(monitor->uargs);
    if (config == NULL)
        return;
    section = begin(json_object_new_object());
    put(&section, "config", config);
    if (monitor->name != NULL)
        put_text(&section, "name", monitor->name());
    put(out, "monitoring", end(&section));
}

/* Adds a reference to a pool, if the instance knows the pool. */
static void put_pool(struct out *out, const char *key, margo_instance_id mid,
    int options, ABT_pool handle)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    const struct amg_margo_item *pool = NULL;

    amg_lock_lock(&registry->lock);
    pool = amg_margo_pool_find_locked(registry, handle);
    if (pool != NULL)
        put(out, key, ref_locked(registry, pool, options));
    amg_lock_unlock(&registry->lock);
}

/* `options`: MARGO_CONFIG_*. NULL: no memory. */
static struct json_object *instance_describe(margo_instance_id mid, int options)
{
    const struct amg_margo_config *config = mid->config;
    struct out out = begin(json_object_new_object());
    unsigned ub_ms = config->progress_timeout_ub_ms;

    (void)margo_get_progress_timeout_ub_msec(mid, &ub_ms);
    put_text(&out, "version", MARGO_VERSION);
    put_number(&out, "progress_timeout_ub_msec", ub_ms);
    put_number(&out, "progress_spindown_msec", config->progress_spindown_ms);
    put_number(&out, "handle_cache_size", config->handle_cache_size);
    put_bool(&out, "enable_abt_profiling", config->is_profiling);
    put_pool(&out, "progress_pool", mid, options, mid->pools->progress_pool);
    put_pool(&out, "rpc_pool", mid, options, mid->pools->rpc_pool);
    put(&out, "mercury", mercury_describe(mid));
    put(&out, "argobots", argobots_describe(mid, options));
    if ((options & MARGO_CONFIG_AMALGAM) != 0)
        put(&out, "amalgam", amalgam_describe(mid));
    put(&out, "plumber", plumber_describe(mid));
    put_monitoring(&out, mid);
    return end(&out);
}

char *margo_get_config_opt(margo_instance_id mid, int options)
{
    int how = (options & MARGO_CONFIG_PRETTY_JSON) != 0
                  ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE
                  : JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
    struct json_object *json = NULL;
    const char *text = NULL;
    char *copy = NULL;

    if (mid == MARGO_INSTANCE_NULL)
        return NULL;
    json = instance_describe(mid, options);
    if (json != NULL)
        text = json_object_to_json_string_ext(json, how);
    if (text != NULL)
        copy = amg_mem_strdup(text);
    json_object_put(json);
    if (copy == NULL)
        margo_error(mid, "no memory for the description of an instance");
    return amg_mem_hand_over(copy);
}

char *margo_get_config(margo_instance_id mid)
{
    return margo_get_config_opt(mid, 0);
}

static void head_write(margo_instance_id mid, FILE *file)
{
    char host[HOST_CAP] = "";
    char when[TIME_CAP] = "";
    time_t now = time(NULL);
    struct tm parts;

    (void)gethostname(host, sizeof(host) - 1);
    if (localtime_r(&now, &parts) != NULL)
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &parts);
    fprintf(file,
        "# An instance of Margo %s, process %ld of %s, at %s\n\n"
        "calls under way: %u\nhandlers running: %u\n"
        "calls of HG_Progress: %" PRIu64 "\ncalls of HG_Trigger: %" PRIu64
        "\n\n",
        MARGO_VERSION, (long)getpid(), host, when,
        atomic_load_explicit(&mid->operations, memory_order_relaxed),
        atomic_load_explicit(&mid->handlers, memory_order_relaxed),
        margo_get_num_progress_calls(mid), margo_get_num_trigger_calls(mid));
}

static void config_write(margo_instance_id mid, FILE *file)
{
    struct json_object *json =
        instance_describe(mid, MARGO_CONFIG_USE_NAMES | MARGO_CONFIG_AMALGAM);

    fprintf(file, "# Configuration\n\n%s\n\n",
        json == NULL
            ? "(no memory)"
            : json_object_to_json_string_ext(json,
                  JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(json);
}

/* Called between amg_margo_show_begin() and amg_margo_show_end(). */
static void pools_write(margo_instance_id mid, FILE *file)
{
    struct margo_pool_info info;

    for (uint32_t i = 0; margo_find_pool_by_index(mid, i, &info) == HG_SUCCESS;
         i++) {
        size_t ready = 0;
        size_t total = 0;

        (void)ABT_pool_get_size(info.pool, &ready);
        (void)ABT_pool_get_total_size(info.pool, &total);
        fprintf(file,
            "# Pool %" PRIu32 ", %s: %zu threads are ready, %zu wait\n\n", i,
            info.name, ready, total > ready ? total - ready : 0);
        (void)ABT_info_print_pool(file, info.pool);
        (void)ABT_info_print_thread_stacks_in_pool(file, info.pool);
        fputc('\n', file);
    }
}

/* Called between amg_margo_show_begin() and amg_margo_show_end(). */
static void streams_write(margo_instance_id mid, FILE *file)
{
    struct margo_xstream_info info;

    fputs("# Streams\n\n", file);
    for (uint32_t i = 0;
         margo_find_xstream_by_index(mid, i, &info) == HG_SUCCESS; i++) {
        fprintf(file, "%" PRIu32 ", %s:\n", i, info.name);
        (void)ABT_info_print_xstream(file, info.xstream);
    }
    fputc('\n', file);
}

/* Writes "FILE.EXT", or "FILE-HOST-PID.EXT" if unique. False: too long. */
static bool name_resolve(
    const char *file_name, bool is_unique, char ret_name[PATH_CAP])
{
    const char *folder =
        file_name[0] == '/' ? NULL : amg_env_text(AMG_ENV_MARGO_OUTPUT_DIR);
    const char *slash = strrchr(file_name, '/');
    const char *end = strrchr(file_name, '.');
    char host[HOST_CAP] = "";
    char middle[HOST_CAP + TIME_CAP] = "";
    int len = 0;

    if (end == NULL || (slash != NULL && end < slash) || end == file_name)
        end = file_name + strlen(file_name);
    if (is_unique) {
        (void)gethostname(host, sizeof(host) - 1);
        (void)snprintf(middle, sizeof(middle), "-%s-%ld", host, (long)getpid());
    }
    len = snprintf(ret_name, PATH_CAP, "%s%s%.*s%s%s",
        folder != NULL ? folder : "", folder != NULL ? "/" : "",
        (int)(end - file_name), file_name, middle, end);
    return len > 0 && len < PATH_CAP;
}

/* Logs `reason`; returns -1. */
static int dump_failed(
    margo_instance_id mid, const char *name, const char *reason)
{
    margo_error(mid, "the state was not written to '%.200s': %s", name, reason);
    return -1;
}

int margo_state_dump(margo_instance_id mid, const char *file_name, int uniquify,
    char **resolved_file_name)
{
    bool is_stdout = file_name != NULL && strcmp(file_name, "-") == 0;
    char name[PATH_CAP] = "-";
    char *copy = NULL;
    FILE *file = stdout;
    bool failed = false;

    if (mid == MARGO_INSTANCE_NULL || file_name == NULL || file_name[0] == '\0')
        return dump_failed(mid, "", "the instance or the name is missing");
    if (!is_stdout && !name_resolve(file_name, uniquify != 0, name))
        return dump_failed(mid, file_name, "the name is too long");
    if (resolved_file_name != NULL) {
        copy = amg_mem_strdup(name);
        if (copy == NULL)
            return dump_failed(mid, name, "no memory");
    }
    if (!is_stdout)
        file = fopen(name, "w");
    if (file == NULL) {
        amg_mem_free(copy);
        return dump_failed(mid, name, strerror(errno));
    }
    head_write(mid, file);
    config_write(mid, file);
    amg_margo_show_begin(mid->pools->registry);
    streams_write(mid, file);
    pools_write(mid, file);
    amg_margo_show_end(mid->pools->registry);
    failed = fflush(file) != 0 || ferror(file) != 0;
    failed = (!is_stdout && fclose(file) != 0) || failed;
    if (failed) {
        amg_mem_free(copy);
        return dump_failed(mid, name, strerror(errno));
    }
    if (resolved_file_name != NULL)
        *resolved_file_name = amg_mem_hand_over(copy);
    return 0;
}
