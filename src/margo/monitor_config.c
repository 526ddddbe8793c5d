/* SPDX-License-Identifier: BSD-3-Clause */
/* What the default monitor is asked to do. */
#include "margo/monitor_config.h"

#include <json-c/json.h>
#include <string.h>
#include <strings.h>

#include "margo/json.h"

#define FIELD(key, kind, member, min, max)                                     \
    {                                                                          \
        (key), (kind), offsetof(struct amg_monitor_config, member), (min),     \
            (max), NULL                                                        \
    }

static const struct amg_json_field config_fields[] = {
    FIELD("filename_prefix", AMG_JSON_TEXT, prefix, 0, 0),
    FIELD("statistics", AMG_JSON_ELSEWHERE, stats, 0, 0),
    FIELD("time_series", AMG_JSON_ELSEWHERE, series, 0, 0),
};

static const struct amg_json_field stats_fields[] = {
    FIELD("disable", AMG_JSON_BOOL, stats.is_disabled, 0, 0),
    FIELD("precision", AMG_JSON_UINT, stats.precision, 1, 17),
    FIELD("pretty_json", AMG_JSON_BOOL, stats.is_pretty, 0, 0),
    FIELD("sample_progress_every", AMG_JSON_UINT, sample_every, 1, 1000000000),
};

/* "time_interval_sec" may have a fraction, and is read by itself. */
static const struct amg_json_field series_fields[] = {
    FIELD("disable", AMG_JSON_BOOL, series.is_disabled, 0, 0),
    FIELD("precision", AMG_JSON_UINT, series.precision, 1, 17),
    FIELD("pretty_json", AMG_JSON_BOOL, series.is_pretty, 0, 0),
    FIELD("time_interval_sec", AMG_JSON_ELSEWHERE, interval_s, 0, 0),
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
    /* Said so that what is no number at all is refused, too. */
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

/* A section of the section. */
static bool part_read(const struct amg_margo_log *log,
    struct json_object *section, const char *key,
    const struct amg_json_field *fields, size_t count,
    struct amg_monitor_config *config, struct json_object **ret_part)
{
    char path[AMG_JSON_PATH_CAP];

    amg_json_path_key(path, "monitoring.config", key);
    return amg_json_section(log, "monitoring.config", section, key,
               json_type_object, ret_part) &&
           (*ret_part == NULL ||
               amg_json_read(log, path, *ret_part, fields, count, config));
}

bool amg_monitor_config_read(const struct amg_margo_log *log,
    struct json_object *section, struct amg_monitor_config *ret_config)
{
    const char *prefix = amg_env_text(AMG_ENV_MONITORING_PREFIX);
    struct amg_monitor_config config = {
        .prefix = prefix == NULL ? "margo" : prefix,
        .stats = {.precision = 9},
        .sample_every = 1,
        .series = {.precision = 9},
        .interval_s = 1.0,
    };
    struct json_object *part = NULL;

    config.stats.is_disabled =
        amg_monitor_env_is_on(AMG_ENV_MONITORING_NO_STATS);
    config.series.is_disabled =
        amg_monitor_env_is_on(AMG_ENV_MONITORING_NO_SERIES);
    if (section != NULL) {
        if (!amg_json_read(log, "monitoring.config", section, config_fields,
                sizeof(config_fields) / sizeof(config_fields[0]), &config) ||
            !part_read(log, section, "statistics", stats_fields,
                sizeof(stats_fields) / sizeof(stats_fields[0]), &config,
                &part) ||
            !part_read(log, section, "time_series", series_fields,
                sizeof(series_fields) / sizeof(series_fields[0]), &config,
                &part) ||
            !interval_read(log, part, &config.interval_s))
            return false;
    }
    *ret_config = config;
    return true;
}

static void output_add(struct json_object *to, const char *key,
    const struct amg_monitor_output *output, const char *more,
    struct json_object *value)
{
    struct json_object *part = json_object_new_object();

    json_object_object_add(
        part, "disable", json_object_new_boolean(output->is_disabled));
    json_object_object_add(
        part, "precision", json_object_new_int64(output->precision));
    json_object_object_add(
        part, "pretty_json", json_object_new_boolean(output->is_pretty));
    json_object_object_add(part, more, value);
    json_object_object_add(to, key, part);
}

struct json_object *amg_monitor_config_json(
    const struct amg_monitor_config *config)
{
    struct json_object *section = json_object_new_object();

    if (section == NULL)
        return NULL;
    json_object_object_add(
        section, "filename_prefix", json_object_new_string(config->prefix));
    output_add(section, "statistics", &config->stats, "sample_progress_every",
        json_object_new_int64(config->sample_every));
    output_add(section, "time_series", &config->series, "time_interval_sec",
        json_object_new_double(config->interval_s));
    return section;
}
