/* SPDX-License-Identifier: BSD-3-Clause */
/* Time series: what is counted in each interval, and how full pools are. */
#include "margo/series.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "margo/stats.h"

enum {
    NUMBERS = 3, /* of a point */
    FIRST_CAP = 64,
    KEY_CAP = 256,
    PROVIDER_LEN = 8 /* ":65535" */
};

static void line_free(struct amg_series_line *line)
{
    amg_mem_free(line->name);
    amg_mem_free(line->points);
    amg_mem_free(line);
}

/* The line, made where there was none. */
static struct amg_series_line *line_find(struct amg_series *series,
    struct amg_map *map, struct amg_series_line **all, uint64_t id,
    const char *name)
{
    struct amg_series_line *line = amg_map_get(map, id);

    if (line != NULL)
        return line;
    line = amg_mem_zalloc(sizeof(*line));
    if (line != NULL)
        line->name = amg_mem_strdup(name);
    if (line == NULL || line->name == NULL ||
        amg_map_put(map, id, line) != HG_SUCCESS) {
        if (line != NULL)
            line_free(line);
        series->is_short = true;
        return NULL;
    }
    line->id = id;
    line->next = *all;
    *all = line;
    return line;
}

static void line_add(struct amg_series *series, struct amg_series_line *line,
    double now_s, double first, double second)
{
    if (line->len == line->cap) {
        size_t cap = line->cap == 0 ? FIRST_CAP : 2 * line->cap;
        double *points = amg_mem_realloc(
            line->points, cap * NUMBERS * sizeof(line->points[0]));

        if (points == NULL) {
            series->is_short = true;
            return;
        }
        line->points = points;
        line->cap = cap;
    }
    line->points[NUMBERS * line->len] = now_s;
    line->points[NUMBERS * line->len + 1] = first;
    line->points[NUMBERS * line->len + 2] = second;
    line->len++;
}

void amg_series_rpc(struct amg_series *series, hg_id_t id, const char *name)
{
    (void)line_find(series, &series->rpcs, &series->all_rpcs, id, name);
}

void amg_series_request(struct amg_series *series, hg_id_t id, const char *name)
{
    struct amg_series_line *line =
        line_find(series, &series->rpcs, &series->all_rpcs, id, name);

    if (line != NULL)
        line->counts[0]++;
}

void amg_series_bytes(struct amg_series *series, hg_id_t id, uint64_t bytes)
{
    struct amg_series_line *line = amg_map_get(&series->rpcs, id);

    if (line != NULL)
        line->counts[1] += bytes;
}

bool amg_series_is_due(const struct amg_series *series, double now_s)
{
    return now_s >= series->next_s;
}

void amg_series_close(struct amg_series *series, double now_s)
{
    for (struct amg_series_line *line = series->all_rpcs; line != NULL;
         line = line->next) {
        line_add(series, line, now_s, (double)line->counts[0],
            (double)line->counts[1]);
        memset(line->counts, 0, sizeof(line->counts));
    }
    series->next_s = now_s + series->interval_s;
}

void amg_series_pool(struct amg_series *series, double now_s, ABT_pool pool,
    const char *name, size_t size, size_t total_size)
{
    struct amg_series_line *line = line_find(series, &series->pools,
        &series->all_pools, (uint64_t)(uintptr_t)pool, name);

    if (line != NULL)
        line_add(series, line, now_s, (double)size, (double)total_size);
}

static void lines_reset(struct amg_series_line *line)
{
    for (; line != NULL; line = line->next) {
        line->len = 0;
        memset(line->counts, 0, sizeof(line->counts));
    }
}

void amg_series_reset(struct amg_series *series)
{
    lines_reset(series->all_rpcs);
    lines_reset(series->all_pools);
    series->is_short = false;
}

static void lines_fini(struct amg_series_line **all)
{
    while (*all != NULL) {
        struct amg_series_line *line = *all;

        *all = line->next;
        line_free(line);
    }
}

void amg_series_fini(struct amg_series *series)
{
    lines_fini(&series->all_rpcs);
    lines_fini(&series->all_pools);
    amg_map_fini(&series->rpcs, NULL);
    amg_map_fini(&series->pools, NULL);
}

/* One number of each point; the last two are whole numbers. */
static struct json_object *column_json(
    const struct amg_series_line *line, unsigned number, unsigned precision)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; array != NULL && i < line->len; i++) {
        double value = line->points[NUMBERS * i + number];

        json_object_array_add(
            array, number == 0 ? amg_stats_number(value, precision)
                               : json_object_new_int64((int64_t)value));
    }
    return array;
}

static void line_add_json(struct json_object *to, const char *key,
    const struct amg_series_line *line, const char *const names[NUMBERS],
    unsigned precision)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "name", json_object_new_string(line->name));
    for (unsigned i = 0; i < NUMBERS; i++)
        json_object_object_add(
            object, names[i], column_json(line, i, precision));
    json_object_object_add(to, key, object);
}

void amg_series_json(
    const struct amg_series *series, unsigned precision, struct json_object *to)
{
    static const char *const rpc_names[NUMBERS] = {
        "timestamps", "count", "bulk_size"};
    static const char *const pool_names[NUMBERS] = {
        "timestamps", "size", "total_size"};
    struct json_object *rpcs = json_object_new_object();
    struct json_object *pools = json_object_new_object();

    for (const struct amg_series_line *line = series->all_rpcs; line != NULL;
         line = line->next) {
        char key[KEY_CAP];

        (void)snprintf(key, sizeof(key), "%.*s:%u", KEY_CAP - PROVIDER_LEN,
            line->name, (unsigned)(line->id & MARGO_MAX_PROVIDER_ID));
        line_add_json(rpcs, key, line, rpc_names, precision);
    }
    for (const struct amg_series_line *line = series->all_pools; line != NULL;
         line = line->next)
        line_add_json(pools, line->name, line, pool_names, precision);
    json_object_object_add(to, "rpcs", rpcs);
    json_object_object_add(to, "pools", pools);
}
