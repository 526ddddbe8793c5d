/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration of an instance: the JSON text and the arguments of
 * margo_init(), and the stack settings, exported to the environment. */
#include "margo/config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_progress.h"
#include "base/env.h"
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
    STACK_BYTES_MIN = 16384
};

#define OTHER(key)                                                             \
    {                                                                          \
        key, AMG_JSON_ELSEWHERE, 0, 0, 0, NULL                                 \
    }

/* The words of the section "mercury", to read and to write its options. */
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

/* The options of Mercury, and the fields that have another form in `info`. */
struct section {
    struct hg_init_info info;
    bool is_listening;
    bool no_block;
    bool no_retry;
    unsigned max_contexts;
    const char *log_level;
    const char *log_subsys;
};

/* clang-format off */
#define MERCURY(key, KIND, member, min, max, words)                            \
    {key, AMG_JSON_##KIND, offsetof(struct section, member), min, max, words}
#define FLAG(key, member) MERCURY(key, BOOL, member, 0, 0, NULL)
#define SIZE(key, KIND, member) MERCURY(key, KIND, member, 0, UINT32_MAX, NULL)
#define TEXT(key, member) MERCURY(key, TEXT, member, 0, 0, NULL)
#define NA(member) info.na_init_info.member

static const struct amg_json_field mercury_fields[] = {
    /* Fields that margo_get_config() writes, and that are ignored here. */
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

/* The table reads and writes these enums as int. */
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

/* Sets Mercury's log, unless it has the same settings already. */
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

/* Reads the section, which may be NULL, into `info`, whose strings then lie in
 * the section. Settings of Mercury's log take effect at once. `is_listening`:
 * the mode of the instance, which takes precedence over the section. False:
 * refused, logged. */
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
    json_object_object_del(object, "listening"); /* the caller adds it */
    return object;
}

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

/* Fields of Margo without effect here: src/affinity chooses the NIC. */
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
    /* Only Margo's loop makes progress, unless the program has set a mode. */
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
    if (address == NULL && info->hg_class == NULL && info->hg_context == NULL) {
        amg_margo_log_write(&log, MARGO_LOG_ERROR,
            "the address is NULL: name a transport, for instance \"tcp\" or "
            "\"na+sm\", or give a class or a context");
        goto free_config;
    }
    if (!fields_read(&log, mode, &config) ||
        !amg_margo_plan_read(
            &log, info->parent_mid != MARGO_INSTANCE_NULL, &config))
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

/* Sets an environment variable. Returns 0, or -1 if there is no memory. */
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

/* The number in an environment variable; `otherwise` if no number is set. */
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

/* Sets an environment variable that ABT_init() reads. Returns 0, or -1. */
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
