/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance as JSON, from which its like can be made. */
#include "margo/describe.h"

#include <json-c/json.h>
#include <string.h>

#include "base/mem.h"
#include "margo/config_mercury.h"
#include "margo/environment.h"
#include "margo/instance.h"
#include "mercury_log.h"

enum { ADDRESS_CAP = 256 };

static bool add_number(
    struct json_object *object, const char *key, int64_t number)
{
    return amg_margo_describe_put(object, key, json_object_new_int64(number));
}

static bool add_bool(struct json_object *object, const char *key, bool is_true)
{
    return amg_margo_describe_put(
        object, key, json_object_new_boolean(is_true));
}

/* The own address; an instance that has none says nothing of it. */
static bool address_add(margo_instance_id mid, struct json_object *mercury)
{
    hg_addr_t self = HG_ADDR_NULL;
    char text[ADDRESS_CAP];
    hg_size_t len = sizeof(text);
    hg_return_t rc = HG_OTHER_ERROR;

    if (mid->hg_class == NULL ||
        HG_Addr_self(mid->hg_class, &self) != HG_SUCCESS)
        return true;
    rc = HG_Addr_to_string(mid->hg_class, text, &len, self);
    (void)HG_Addr_free(mid->hg_class, self);
    return rc != HG_SUCCESS ||
           amg_margo_describe_text(mercury, "address", text);
}

static struct json_object *mercury_describe(margo_instance_id mid)
{
    struct json_object *mercury =
        amg_margo_mercury_describe(&mid->config.hg_init);
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;
    char version[ADDRESS_CAP];

    (void)HG_Version_get(&major, &minor, &patch);
    (void)snprintf(version, sizeof(version), "%u.%u.%u", major, minor, patch);
    if (mercury != NULL &&
        amg_margo_describe_text(mercury, "version", version) &&
        add_bool(mercury, "listening", mid->is_listening) &&
        amg_margo_describe_text(
            mercury, "log_level", hg_log_level_to_string(hg_log_get_level())) &&
        amg_margo_describe_text(mercury, "log_subsys", hg_log_get_subsys()) &&
        address_add(mid, mercury) &&
        (mid->hg_class == NULL ||
            (add_number(mercury, "input_eager_size",
                 (int64_t)HG_Class_get_input_eager_size(mid->hg_class)) &&
                add_number(mercury, "output_eager_size",
                    (int64_t)HG_Class_get_output_eager_size(mid->hg_class)))))
        return mercury;
    json_object_put(mercury);
    return NULL;
}

static struct json_object *argobots_describe(margo_instance_id mid, int options)
{
    struct json_object *argobots = json_object_new_object();

    if (argobots != NULL &&
        amg_margo_describe_put(
            argobots, "pools", amg_margo_describe_pools(mid, options)) &&
        amg_margo_describe_put(
            argobots, "xstreams", amg_margo_describe_streams(mid, options)) &&
        add_number(argobots, "abt_mem_max_num_stacks",
            amg_margo_environment_max_stacks(&mid->config)) &&
        add_number(argobots, "abt_thread_stacksize",
            (int64_t)amg_margo_environment_stack_size(&mid->config)) &&
        add_bool(argobots, "lazy_stack_alloc", mid->config.wants_lazy_stacks) &&
        amg_margo_describe_text(
            argobots, "profiling_dir", mid->config.profiling_dir) &&
        ((options & MARGO_CONFIG_AMALGAM) == 0 ||
            amg_margo_describe_text(argobots, "version", ABT_VERSION)))
        return argobots;
    json_object_put(argobots);
    return NULL;
}

static struct json_object *plumber_describe(margo_instance_id mid)
{
    struct json_object *plumber = json_object_new_object();

    if (plumber != NULL &&
        amg_margo_describe_text(
            plumber, "bucket_policy", mid->config.bucket_policy) &&
        amg_margo_describe_text(plumber, "nic_policy", mid->config.nic_policy))
        return plumber;
    json_object_put(plumber);
    return NULL;
}

/* What the original does not know, and programs that compare would stumble
 * over. */
static struct json_object *amalgam_describe(margo_instance_id mid)
{
    struct json_object *amalgam = json_object_new_object();

    if (amalgam != NULL &&
        add_number(amalgam, "max_concurrent_rpcs", mid->config.max_handlers))
        return amalgam;
    json_object_put(amalgam);
    return NULL;
}

/* With the configuration of the monitor where there is one. */
static bool monitoring_add(margo_instance_id mid, struct json_object *json)
{
    const struct margo_monitor *monitor = mid->monitoring.monitor;
    struct json_object *config = NULL;
    struct json_object *section = NULL;

    if (monitor == NULL || monitor->config == NULL)
        return true;
    config = monitor->config(monitor->uargs);
    if (config == NULL)
        return true;
    section = json_object_new_object();
    if (section != NULL &&
        json_object_object_add(section, "config", config) == 0)
        return amg_margo_describe_add(json, "monitoring", section);
    json_object_put(section);
    json_object_put(config);
    return false;
}

/* What stands at the top, without the sections. */
static bool top_add(
    margo_instance_id mid, int options, struct json_object *json)
{
    const struct amg_margo_config *config = &mid->config;
    const struct amg_margo_pools *pools = &mid->pools;
    unsigned ub_ms = config->progress_timeout_ub_ms;

    (void)margo_get_progress_timeout_ub_msec(mid, &ub_ms);
    return amg_margo_describe_text(json, "version", MARGO_VERSION) &&
           add_number(json, "progress_timeout_ub_msec", ub_ms) &&
           add_number(
               json, "progress_spindown_msec", config->progress_spindown_ms) &&
           add_number(json, "handle_cache_size", config->handle_cache_size) &&
           add_bool(json, "enable_abt_profiling", config->is_profiling) &&
           amg_margo_describe_add(json, "progress_pool",
               amg_margo_describe_ref(mid, options, pools->progress_pool)) &&
           amg_margo_describe_add(json, "rpc_pool",
               amg_margo_describe_ref(mid, options, pools->rpc_pool));
}

struct json_object *amg_margo_describe(margo_instance_id mid, int options)
{
    struct json_object *json = json_object_new_object();

    if (json != NULL && top_add(mid, options, json) &&
        amg_margo_describe_put(json, "mercury", mercury_describe(mid)) &&
        amg_margo_describe_put(
            json, "argobots", argobots_describe(mid, options)) &&
        ((options & MARGO_CONFIG_AMALGAM) == 0 ||
            amg_margo_describe_put(json, "amalgam", amalgam_describe(mid))) &&
        amg_margo_describe_put(json, "plumber", plumber_describe(mid)) &&
        monitoring_add(mid, json))
        return json;
    json_object_put(json);
    return NULL;
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
    json = amg_margo_describe(mid, options);
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
