/* SPDX-License-Identifier: BSD-3-Clause */
/* The default monitor: its settings, and the files into which its figures are
 * written. */
#include "margo/monitor_default.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/instance.h"
#include "margo/json.h"

#define FIELD(key, kind, member, min, max)                                     \
    {                                                                          \
        (key), (kind), offsetof(struct amg_monitor_config, member), (min),     \
            (max), NULL                                                        \
    }

static const struct amg_json_field config_fields[] = {
    FIELD("filename_prefix", AMG_JSON_TEXT, prefix, 0, 0),
    FIELD("precision", AMG_JSON_UINT, precision, 0, 17),
    FIELD("statistics", AMG_JSON_ELSEWHERE, stats, 0, 0),
    FIELD("time_series", AMG_JSON_ELSEWHERE, series, 0, 0),
    {0},
};

/* part_json() writes only the first two fields of a part, in Margo's order.
 * Of the other fields, config_fields writes "precision" once for both parts,
 * and amg_monitor_config_get() writes those that remain. */
enum { TOLD_FIELDS = 2 };

static const struct amg_json_field stats_fields[] = {
    FIELD("pretty_json", AMG_JSON_BOOL, stats.is_pretty, 0, 0),
    FIELD("disable", AMG_JSON_BOOL, stats.is_disabled, 0, 0),
    FIELD("precision", AMG_JSON_UINT, precision, 0, 17),
    FIELD("sample_progress_every", AMG_JSON_UINT, sample_every, 0, 1000000000),
    {0},
};

/* "time_interval_sec" may have a fraction: interval_read() reads it. */
static const struct amg_json_field series_fields[] = {
    FIELD("pretty_json", AMG_JSON_BOOL, series.is_pretty, 0, 0),
    FIELD("disable", AMG_JSON_BOOL, series.is_disabled, 0, 0),
    FIELD("precision", AMG_JSON_UINT, precision, 0, 17),
    FIELD("time_interval_sec", AMG_JSON_ELSEWHERE, interval_s, 0, 0),
    {0},
};

bool amg_monitor_env_is_on(enum amg_env_id id)
{
    const char *text = amg_env_text(id);

    return text != NULL && strcmp(text, "0") != 0 &&
           strcasecmp(text, "false") != 0 && strcasecmp(text, "no") != 0 &&
           strcasecmp(text, "off") != 0;
}

static bool interval_read(const struct amg_margo_log *log,
    struct json_object *section, double *interval_s)
{
    static const char path[] = "monitoring.config.time_series";
    struct json_object *value = amg_json_get(section, "time_interval_sec");
    double seconds = 0;

    if (value == NULL)
        return true;
    if (json_object_is_type(value, json_type_int) ||
        json_object_is_type(value, json_type_double))
        seconds = json_object_get_double(value);
    /* The test of the valid range, negated, refuses a NaN, too. */
    if (!(seconds >= 0.001 && seconds <= 1e9)) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: %s.time_interval_sec has to be a number from 0.001 "
            "to 1000000000, and is %.80s",
            path, json_object_to_json_string(value));
        return false;
    }
    *interval_s = seconds;
    return true;
}

/* Reads a section of "config". */
static bool part_read(const struct amg_margo_log *log,
    struct json_object *section, const char *key,
    const struct amg_json_field *fields, struct amg_monitor_config *config,
    struct json_object **ret_part)
{
    char path[AMG_JSON_PATH_CAP];

    amg_json_path_key(path, "monitoring.config", key);
    return amg_json_section(log, "monitoring.config", section, key,
               json_type_object, ret_part) &&
           (*ret_part == NULL ||
               amg_json_read(log, path, *ret_part, fields, config));
}

static bool config_read(const struct amg_margo_log *log,
    struct json_object *section, struct amg_monitor_config *ret_config)
{
    const char *prefix = amg_env_text(AMG_ENV_MONITORING_PREFIX);
    struct amg_monitor_config config = {
        .prefix = prefix == NULL ? "margo" : prefix,
        .precision = 9,
        .sample_every = 1,
        .interval_s = 1.0,
    };
    struct json_object *part = NULL;

    config.stats.is_disabled =
        amg_monitor_env_is_on(AMG_ENV_MONITORING_NO_STATS);
    config.series.is_disabled =
        amg_monitor_env_is_on(AMG_ENV_MONITORING_NO_SERIES);
    if (section != NULL) {
        if (!amg_json_read(
                log, "monitoring.config", section, config_fields, &config) ||
            !part_read(
                log, section, "statistics", stats_fields, &config, &part) ||
            !part_read(
                log, section, "time_series", series_fields, &config, &part) ||
            !interval_read(log, part, &config.interval_s))
            return false;
    }
    if (config.sample_every == 0) /* 0 also counts all polls, as in Margo */
        config.sample_every = 1;
    *ret_config = config;
    return true;
}

static struct json_object *part_json(const struct amg_json_field *fields,
    const struct amg_monitor_config *config)
{
    struct amg_json_field told[TOLD_FIELDS + 1] = {fields[0], fields[1], {0}};
    struct json_object *part = json_object_new_object();

    (void)amg_json_write(part, told, config);
    return part;
}

enum { HOST_CAP = 64, COMMAND_CAP = 4096 };

static void address_set(struct amg_monitor *monitor)
{
    hg_addr_t self = HG_ADDR_NULL;
    hg_size_t size = sizeof(monitor->address);

    if (HG_Addr_self(monitor->mid->hg_class, &self) != HG_SUCCESS)
        return;
    if (HG_Addr_to_string(monitor->mid->hg_class, monitor->address, &size,
            self) != HG_SUCCESS)
        monitor->address[0] = '\0';
    (void)HG_Addr_free(monitor->mid->hg_class, self);
}

static void host_name(char host[HOST_CAP])
{
    if (gethostname(host, HOST_CAP) != 0)
        (void)snprintf(host, HOST_CAP, "localhost");
    host[HOST_CAP - 1] = '\0';
}

/* The files of the second and later monitors of the process have a number
 * behind the pid, so as not to overwrite the files of earlier monitors. */
static void file_name_set(struct amg_monitor *monitor)
{
    static atomic_uint opened;
    unsigned number =
        1 + atomic_fetch_add_explicit(&opened, 1, memory_order_relaxed);
    const char *folder = amg_env_text(AMG_ENV_MARGO_OUTPUT_DIR);
    char host[HOST_CAP];
    char suffix[16] = "";

    host_name(host);
    if (number > 1)
        (void)snprintf(suffix, sizeof(suffix), "-%u", number);
    if (monitor->config.prefix[0] == '/')
        folder = NULL;
    (void)snprintf(monitor->file, sizeof(monitor->file), "%s%s%s.%s.%ld%s",
        folder == NULL ? "" : folder, folder == NULL ? "" : "/",
        monitor->config.prefix, host, (long)getpid(), suffix);
}

static struct json_object *command_json(void)
{
    struct json_object *words = json_object_new_array();
    FILE *file = fopen("/proc/self/cmdline", "re");
    char text[COMMAND_CAP + 1];
    size_t len = 0;

    if (file == NULL)
        return words;
    len = fread(text, 1, COMMAND_CAP, file);
    (void)fclose(file);
    text[len] = '\0';
    for (size_t i = 0; i < len; i += strlen(text + i) + 1)
        json_object_array_add(words, amg_json_string(text + i));
    return words;
}

/* Common head of statistics and series. */
static struct json_object *document_begin(const struct amg_monitor *monitor)
{
    struct json_object *object = json_object_new_object();
    char host[HOST_CAP];

    if (object == NULL)
        return NULL;
    host_name(host);
    json_object_object_add(
        object, "address", amg_json_string(monitor->address));
    json_object_object_add(object, "hostname", amg_json_string(host));
    json_object_object_add(
        object, "pid", json_object_new_int64((int64_t)getpid()));
    json_object_object_add(object, "cmdline", command_json());
    return object;
}

static struct json_object *stats_json_locked(const struct amg_monitor *monitor)
{
    unsigned precision = monitor->config.precision;
    struct json_object *object = document_begin(monitor);
    struct json_object *loop = NULL;

    AMG_ASSERT_HELD(&monitor->lock);
    if (object == NULL)
        return NULL;
    loop = json_object_new_object();
    json_object_object_add(loop, "progress_with_timeout",
        amg_stats_json(&monitor->progress_with_timeout, precision));
    json_object_object_add(loop, "progress_timeout_value_msec",
        amg_stats_json(&monitor->progress_timeout_ms, precision));
    json_object_object_add(loop, "progress_without_timeout",
        amg_stats_json(&monitor->progress_without_timeout, precision));
    json_object_object_add(
        loop, "trigger", amg_stats_json(&monitor->trigger, precision));
    json_object_object_add(object, "progress_loop", loop);
    json_object_object_add(
        object, "rpcs", amg_stats_book_json(&monitor->book, precision));
    return object;
}

static struct json_object *series_json_locked(const struct amg_monitor *monitor)
{
    struct json_object *object = document_begin(monitor);

    AMG_ASSERT_HELD(&monitor->lock);
    if (object != NULL)
        amg_timeseries_json(
            &monitor->series, monitor->config.precision, object);
    return object;
}

static void file_write(struct amg_monitor *monitor, const char *end,
    const struct amg_monitor_output *output, struct json_object *object)
{
    char path[AMG_MONITOR_PATH_CAP + 16];
    const char *text = json_object_to_json_string_ext(
        object, output->is_pretty
                    ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE
                    : JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    FILE *file = NULL;
    bool is_written = false;

    (void)snprintf(path, sizeof(path), "%s%s", monitor->file, end);
    errno = 0;
    if (text != NULL)
        file = fopen(path, "we");
    if (file != NULL) {
        is_written = fprintf(file, "%s\n", text) > 0;
        is_written = fclose(file) == 0 && is_written;
    }
    if (!is_written)
        margo_error(monitor->mid,
            "monitoring: '%s' cannot be written (%s); the statistics are lost. "
            "Set filename_prefix or MARGO_OUTPUT_DIR to a writable place",
            path, errno == 0 ? "no memory" : strerror(errno));
}

static void files_write(struct amg_monitor *monitor)
{
    const struct amg_monitor_config *config = &monitor->config;
    struct json_object *stats = NULL;
    struct json_object *series = NULL;

    amg_lock_lock(&monitor->lock);
    if (!config->stats.is_disabled)
        stats = stats_json_locked(monitor);
    if (!config->series.is_disabled)
        series = series_json_locked(monitor);
    amg_lock_unlock(&monitor->lock);
    if (!config->stats.is_disabled)
        file_write(monitor, ".stats.json", &config->stats, stats);
    if (!config->series.is_disabled)
        file_write(monitor, ".series.json", &config->series, series);
    json_object_put(stats);
    json_object_put(series);
}

void amg_monitor_sample(struct amg_monitor *monitor, double now)
{
    margo_instance_id mid = monitor->mid;
    double moment = now - monitor->opened_s;
    struct margo_pool_info info;

    for (uint32_t i = 0; margo_find_pool_by_index(mid, i, &info) == HG_SUCCESS;
         i++) {
        size_t size = 0;
        size_t total = 0;

        /* The program may have removed the pool since its lookup. */
        if (margo_pool_ref_incr_by_handle(mid, info.pool) != HG_SUCCESS)
            continue;
        if (margo_find_pool_by_handle(mid, info.pool, &info) == HG_SUCCESS &&
            ABT_pool_get_size(info.pool, &size) == ABT_SUCCESS &&
            ABT_pool_get_total_size(info.pool, &total) == ABT_SUCCESS) {
            amg_lock_lock(&monitor->lock);
            amg_timeseries_pool(
                &monitor->series, moment, info.pool, info.name, size, total);
            amg_lock_unlock(&monitor->lock);
        }
        (void)margo_pool_release_by_handle(mid, info.pool);
    }
    amg_lock_lock(&monitor->lock);
    amg_timeseries_close(&monitor->series, moment);
    amg_lock_unlock(&monitor->lock);
}

static void monitor_free(struct amg_monitor *monitor)
{
    while (monitor->spare != NULL) {
        struct amg_monitor_operation *operation = monitor->spare;

        monitor->spare = operation->next;
        amg_mem_free(operation);
    }
    amg_stats_book_fini(&monitor->book);
    amg_timeseries_fini(&monitor->series);
    amg_mem_free((char *)monitor->config.prefix);
    amg_mem_free(monitor);
}

void *amg_monitor_initialize(
    margo_instance_id mid, void *uargs, struct json_object *config)
{
    struct amg_monitor *monitor = amg_mem_zalloc(sizeof(*monitor));

    (void)uargs;
    if (monitor == NULL)
        goto no_memory;
    if (!config_read(mid->log, config, &monitor->config)) {
        amg_mem_free(monitor);
        return NULL;
    }
    monitor->config.prefix = amg_mem_strdup(monitor->config.prefix);
    if (monitor->config.prefix == NULL ||
        ABT_key_create(NULL, &monitor->current) != ABT_SUCCESS) {
        monitor_free(monitor);
        goto no_memory;
    }
    monitor->mid = mid;
    monitor->opened_s = ABT_get_wtime();
    amg_lock_init(&monitor->lock);
    monitor->series.interval_s = monitor->config.interval_s;
    monitor->series.next_s = monitor->config.interval_s;
    file_name_set(monitor);
    address_set(monitor);
    return monitor;

no_memory:
    margo_error(mid, "monitoring: no memory for the monitor");
    return NULL;
}

void amg_monitor_finalize(void *uargs)
{
    struct amg_monitor *monitor = uargs;

    /* Closes the last interval, however short it was. */
    if (!monitor->config.series.is_disabled)
        amg_monitor_sample(monitor, ABT_get_wtime());
    if (monitor->is_short || monitor->series.is_short)
        margo_warning(monitor->mid, "monitoring: some statistics are missing, "
                                    "since there was no memory");
    files_write(monitor);
    (void)ABT_key_free(&monitor->current);
    monitor_free(monitor);
}

static void monitor_reset_locked(struct amg_monitor *monitor)
{
    static const struct amg_stats none;

    AMG_ASSERT_HELD(&monitor->lock);
    monitor->progress_with_timeout = none;
    monitor->progress_timeout_ms = none;
    monitor->progress_without_timeout = none;
    monitor->trigger = none;
    amg_stats_book_reset(&monitor->book);
    amg_timeseries_reset(&monitor->series);
}

void amg_monitor_dump(
    void *uargs, margo_monitor_dump_fn dump_fn, void *dump_args, bool reset)
{
    struct amg_monitor *monitor = uargs;
    struct json_object *object = json_object_new_object();
    const char *text = NULL;
    size_t len = 0;

    if (!monitor->config.series.is_disabled)
        amg_monitor_sample(monitor, ABT_get_wtime());
    /* NOTE(why): the JSON objects are allocated under the lock, so that all
     * figures are of one moment. Dumps are rare, so few threads wait. */
    amg_lock_lock(&monitor->lock);
    if (!monitor->config.stats.is_disabled)
        json_object_object_add(object, "stats", stats_json_locked(monitor));
    if (!monitor->config.series.is_disabled)
        json_object_object_add(object, "series", series_json_locked(monitor));
    if (reset)
        monitor_reset_locked(monitor);
    amg_lock_unlock(&monitor->lock);
    text = json_object_to_json_string_length(object,
        JSON_C_TO_STRING_NOSLASHESCAPE |
            (monitor->config.stats.is_pretty ? JSON_C_TO_STRING_PRETTY
                                             : JSON_C_TO_STRING_PLAIN),
        &len);
    if (text != NULL)
        dump_fn(dump_args, text, len);
    json_object_put(object);
}

struct json_object *amg_monitor_config_get(void *uargs)
{
    const struct amg_monitor_config *config =
        &((const struct amg_monitor *)uargs)->config;
    struct json_object *section = json_object_new_object();
    struct json_object *stats = part_json(stats_fields, config);
    struct json_object *series = part_json(series_fields, config);

    (void)amg_json_write(section, config_fields, config);
    /* Margo's configuration lacks this field, so the default is left out. */
    if (config->sample_every != 1)
        json_object_object_add(stats, "sample_progress_every",
            json_object_new_int64(config->sample_every));
    json_object_object_add(series, "time_interval_sec",
        json_object_new_double(config->interval_s));
    json_object_object_add(section, "statistics", stats);
    json_object_object_add(section, "time_series", series);
    return section;
}
