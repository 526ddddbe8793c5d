/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics and time series that the default monitor keeps. */
#include "margo/monitor_stats.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "margo.h"
#include "margo/json.h"

/* Moves the mean by 1/num of its distance to `number`, so that a large
 * sum does not round small distances away (Welford, Technometrics 4, 1962). */
void amg_stats_add(struct amg_stats *stats, double number)
{
    double distance = number - stats->avg;

    if (stats->num == 0 || number < stats->min)
        stats->min = number;
    if (stats->num == 0 || number > stats->max)
        stats->max = number;
    stats->num++;
    stats->sum += number;
    stats->avg += distance / (double)stats->num;
    stats->squares += distance * (number - stats->avg);
}

static struct json_object *number_json(double number, unsigned precision)
{
    char text[40];
    int len = snprintf(text, sizeof(text), "%.*g", (int)precision, number);

    /* Adds ".0", so that readers of JSON take a whole number as double, too. */
    if (strpbrk(text, ".eEni") == NULL)
        len += snprintf(text + len, sizeof(text) - (size_t)len, ".0");
    AMG_ASSERT(len > 0 && (size_t)len < sizeof(text));
    return json_object_new_double_s(number, text);
}

struct json_object *amg_stats_json(
    const struct amg_stats *stats, unsigned precision)
{
    struct json_object *object = json_object_new_object();
    double var = stats->num == 0 ? 0 : stats->squares / (double)stats->num;

    if (object == NULL)
        return NULL;
    json_object_object_add(
        object, "num", json_object_new_int64((int64_t)stats->num));
    json_object_object_add(object, "min", number_json(stats->min, precision));
    json_object_object_add(object, "max", number_json(stats->max, precision));
    json_object_object_add(object, "avg", number_json(stats->avg, precision));
    json_object_object_add(object, "var", number_json(var, precision));
    json_object_object_add(object, "sum", number_json(stats->sum, precision));
    return object;
}

enum { TITLE_CAP = 512 };

/* Path of a measure in the JSON object of its peer. */
struct what_name {
    const char *group; /* object in the peer's object, or NULL */
    const char *part;  /* object in `group`, named with the remote address */
    const char *key;
    const char *relative; /* key of `relative`; NULL: not measured */
    bool has_size;
};

static const struct what_name what_names[AMG_STATS_WHAT_COUNT] = {
    [AMG_STATS_FORWARD] = {NULL, NULL, "forward", NULL},
    [AMG_STATS_IFORWARD] = {NULL, NULL, "iforward",
        "relative_timestamp_from_create"},
    [AMG_STATS_SET_INPUT] = {NULL, NULL, "set_input",
        "relative_timestamp_from_iforward_start"},
    [AMG_STATS_FORWARD_CB] = {NULL, NULL, "forward_cb",
        "relative_timestamp_from_iforward_start"},
    [AMG_STATS_FORWARD_WAIT] = {NULL, NULL, "iforward_wait",
        "relative_timestamp_from_iforward_end"},
    [AMG_STATS_GET_OUTPUT] = {NULL, NULL, "get_output",
        "relative_timestamp_from_wait_end"},
    [AMG_STATS_FREE_OUTPUT] = {NULL, NULL, "free_output", NULL},
    [AMG_STATS_HANDLER] = {NULL, NULL, "handler", NULL},
    [AMG_STATS_ULT] = {NULL, NULL, "ult",
        "relative_timestamp_from_handler_start"},
    [AMG_STATS_GET_INPUT] = {NULL, NULL, "get_input",
        "relative_timestamp_from_ult_start"},
    [AMG_STATS_FREE_INPUT] = {NULL, NULL, "free_input",
        "relative_timestamp_from_ult_start"},
    [AMG_STATS_IRESPOND] = {NULL, NULL, "irespond",
        "relative_timestamp_from_ult_start"},
    [AMG_STATS_SET_OUTPUT] = {NULL, NULL, "set_output",
        "relative_timestamp_from_irespond_start"},
    [AMG_STATS_RESPOND_CB] = {NULL, NULL, "respond_cb",
        "relative_timestamp_from_irespond_start"},
    [AMG_STATS_RESPOND_WAIT] = {NULL, NULL, "irespond_wait",
        "relative_timestamp_from_irespond_end"},
    [AMG_STATS_BULK_CREATE] = {"bulk", NULL, "create", NULL, true},
    [AMG_STATS_BULK_FREE] = {"bulk", NULL, "free", NULL},
    [AMG_STATS_PULL] = {"bulk", "pull from", "transfer", NULL, true},
    [AMG_STATS_IPULL] = {"bulk", "pull from", "itransfer", NULL, true},
    [AMG_STATS_PULL_CB] = {"bulk", "pull from", "transfer_cb",
        "relative_timestamp_from_itransfer_start"},
    [AMG_STATS_PULL_WAIT] = {"bulk", "pull from", "itransfer_wait",
        "relative_timestamp_from_itransfer_end"},
    [AMG_STATS_PUSH] = {"bulk", "push to", "transfer", NULL, true},
    [AMG_STATS_IPUSH] = {"bulk", "push to", "itransfer", NULL, true},
    [AMG_STATS_PUSH_CB] = {"bulk", "push to", "transfer_cb",
        "relative_timestamp_from_itransfer_start"},
    [AMG_STATS_PUSH_WAIT] = {"bulk", "push to", "itransfer_wait",
        "relative_timestamp_from_itransfer_end"},
};

/* `text`, or an empty text for NULL. */
static const char *text_of(const char *text)
{
    return text == NULL ? "" : text;
}

static uint64_t breadcrumb_hash(const struct amg_breadcrumb *path)
{
    uint64_t hash =
        amg_hash(AMG_HASH_EMPTY, &path->parent, sizeof(path->parent));

    hash = amg_hash(hash, &path->id, sizeof(path->id));
    hash = amg_hash(hash, &path->side, sizeof(path->side));
    hash = amg_hash(hash, text_of(path->remote), strlen(text_of(path->remote)));
    return amg_hash(hash, path->peer, strlen(path->peer));
}

static bool breadcrumb_is_same(
    const struct amg_breadcrumb *a, const struct amg_breadcrumb *b)
{
    return a->parent == b->parent && a->id == b->id && a->side == b->side &&
           strcmp(a->peer, b->peer) == 0 &&
           strcmp(text_of(a->remote), text_of(b->remote)) == 0;
}

static void call_free(struct amg_stats_call *call)
{
    if (call == NULL)
        return;
    amg_mem_free((char *)call->path.peer);
    amg_mem_free((char *)call->path.name);
    amg_mem_free((char *)call->path.remote);
    amg_mem_free(call);
}

static struct amg_stats_call *call_create(const struct amg_breadcrumb *path)
{
    struct amg_stats_call *call = amg_mem_zalloc(sizeof(*call));

    if (call == NULL)
        return NULL;
    call->path = *path;
    call->path.peer = amg_mem_strdup(path->peer);
    call->path.name = amg_mem_strdup(path->name);
    if (path->remote != NULL)
        call->path.remote = amg_mem_strdup(path->remote);
    if (call->path.peer == NULL || call->path.name == NULL ||
        (path->remote != NULL && call->path.remote == NULL)) {
        call_free(call);
        return NULL;
    }
    return call;
}

struct amg_stats_call *amg_stats_book_find(
    struct amg_stats_book *book, const struct amg_breadcrumb *path)
{
    uint64_t hash = breadcrumb_hash(path);
    struct amg_stats_call *first = amg_map_get(&book->by_hash, hash);
    struct amg_stats_call *call = NULL;

    for (call = first; call != NULL; call = call->same)
        if (breadcrumb_is_same(&call->path, path))
            return call;
    call = call_create(path);
    if (call == NULL)
        return NULL;
    if (first != NULL) {
        call->same = first->same;
        first->same = call;
    } else if (amg_map_put(&book->by_hash, hash, call) != HG_SUCCESS) {
        call_free(call);
        return NULL;
    }
    if (book->end == NULL)
        book->end = &book->all;
    *book->end = call;
    book->end = &call->next;
    return call;
}

static bool measure_is_told(const struct amg_stats_measure *measure)
{
    return measure->duration.num > 0 || measure->was_reset;
}

void amg_stats_book_reset(struct amg_stats_book *book)
{
    for (struct amg_stats_call *call = book->all; call != NULL;
         call = call->next)
        for (unsigned i = 0; i < AMG_STATS_WHAT_COUNT; i++)
            call->measures[i] = (struct amg_stats_measure){
                .was_reset = measure_is_told(&call->measures[i])};
}

void amg_stats_book_fini(struct amg_stats_book *book)
{
    while (book->all != NULL) {
        struct amg_stats_call *call = book->all;

        book->all = call->next;
        call_free(call);
    }
    amg_map_fini(&book->by_hash, NULL);
    book->end = NULL;
}

/* The object `key` of the object `in`, added if missing. */
static struct json_object *object_in(struct json_object *in, const char *key)
{
    struct json_object *object = NULL;

    if (json_object_object_get_ex(in, key, &object))
        return object;
    object = json_object_new_object();
    json_object_object_add(in, key, object);
    return object;
}

static struct json_object *measure_json(const struct amg_stats_measure *measure,
    const struct what_name *name, unsigned precision)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(
        object, "duration", amg_stats_json(&measure->duration, precision));
    if (name->relative != NULL)
        json_object_object_add(object, name->relative,
            amg_stats_json(&measure->relative, precision));
    if (name->has_size)
        json_object_object_add(
            object, "size", amg_stats_json(&measure->size, precision));
    return object;
}

/* The id that the RPC has without a provider, and the provider of an id. For id
 * 0 (no RPC) both functions return 65535. */
static uint64_t id_number(hg_id_t id)
{
    return id | MARGO_MAX_PROVIDER_ID;
}

static unsigned id_provider(hg_id_t id)
{
    return id == 0 ? MARGO_DEFAULT_PROVIDER_ID
                   : (unsigned)(id & MARGO_MAX_PROVIDER_ID);
}

/* The object of a breadcrumb. */
static struct json_object *breadcrumb_json(
    struct json_object *rpcs, const struct amg_breadcrumb *path)
{
    char key[4 * 24];
    struct json_object *object = NULL;

    (void)snprintf(key, sizeof(key), "%" PRIu64 ":%u:%" PRIu64 ":%u",
        id_number(path->parent), id_provider(path->parent), id_number(path->id),
        id_provider(path->id));
    if (json_object_object_get_ex(rpcs, key, &object))
        return object;
    object = object_in(rpcs, key);
    json_object_object_add(
        object, "rpc_id", json_object_new_uint64(id_number(path->id)));
    json_object_object_add(
        object, "provider_id", json_object_new_int64(id_provider(path->id)));
    json_object_object_add(object, "parent_rpc_id",
        json_object_new_uint64(id_number(path->parent)));
    json_object_object_add(object, "parent_provider_id",
        json_object_new_int64(id_provider(path->parent)));
    json_object_object_add(object, "name", amg_json_string(path->name));
    (void)object_in(object, "origin");
    (void)object_in(object, "target");
    return object;
}

/* Is a measure of an entry written? For a call, all measures of the call's side
 * are written; measures of bulk operations only if they have had numbers. */
static bool tells(const struct amg_stats_call *call, enum amg_stats_what what)
{
    bool is_of_target = what >= AMG_STATS_HANDLER;

    return measure_is_told(&call->measures[what]) ||
           (what_names[what].group == NULL && call->path.id != 0 &&
               call->path.remote == NULL &&
               is_of_target == (call->path.side == AMG_STATS_TARGET));
}

static void call_add_json(struct json_object *rpcs,
    const struct amg_stats_call *call, unsigned precision)
{
    const struct amg_breadcrumb *path = &call->path;
    bool is_origin = path->side == AMG_STATS_ORIGIN;
    struct json_object *peer = NULL;
    char title[TITLE_CAP];

    (void)snprintf(title, sizeof(title), "%s %s",
        is_origin ? "sent to" : "received from", path->peer);
    peer = object_in(
        object_in(breadcrumb_json(rpcs, path), is_origin ? "origin" : "target"),
        title);
    for (unsigned i = 0; i < AMG_STATS_WHAT_COUNT; i++) {
        const struct what_name *name = &what_names[i];
        struct json_object *in = peer;

        if (!tells(call, i))
            continue;
        if (name->group != NULL)
            in = object_in(in, name->group);
        if (name->part != NULL) {
            (void)snprintf(title, sizeof(title), "%s %s", name->part,
                text_of(path->remote));
            in = object_in(in, title);
        }
        json_object_object_add(
            in, name->key, measure_json(&call->measures[i], name, precision));
    }
}

struct json_object *amg_stats_book_json(
    const struct amg_stats_book *book, unsigned precision)
{
    struct json_object *rpcs = json_object_new_object();

    for (const struct amg_stats_call *call = book->all;
         rpcs != NULL && call != NULL; call = call->next)
        call_add_json(rpcs, call, precision);
    return rpcs;
}

enum {
    NUMBERS = 3, /* of a point */
    FIRST_CAP = 64,
    KEY_CAP = 256,
    PROVIDER_LEN = 8 /* ":65535" */
};

static void line_free(struct amg_timeseries_line *line)
{
    amg_mem_free(line->name);
    amg_mem_free(line->points);
    amg_mem_free(line);
}

/* Finds or adds a line. */
static struct amg_timeseries_line *line_find(struct amg_timeseries *series,
    struct amg_map *map, struct amg_timeseries_line **all, uint64_t id,
    const char *name)
{
    struct amg_timeseries_line *line = amg_map_get(map, id);

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

static void line_add(struct amg_timeseries *series,
    struct amg_timeseries_line *line, double now_s, double first, double second)
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

void amg_timeseries_request(
    struct amg_timeseries *series, hg_id_t id, const char *name, unsigned count)
{
    struct amg_timeseries_line *line =
        line_find(series, &series->rpcs, &series->all_rpcs, id, name);

    if (line != NULL)
        line->counts[0] += count;
}

void amg_timeseries_bytes(
    struct amg_timeseries *series, hg_id_t id, uint64_t bytes)
{
    struct amg_timeseries_line *line = amg_map_get(&series->rpcs, id);

    if (line != NULL)
        line->counts[1] += bytes;
}

bool amg_timeseries_is_due(const struct amg_timeseries *series, double now_s)
{
    return now_s >= series->next_s;
}

void amg_timeseries_close(struct amg_timeseries *series, double now_s)
{
    for (struct amg_timeseries_line *line = series->all_rpcs; line != NULL;
         line = line->next) {
        line_add(series, line, now_s, (double)line->counts[0],
            (double)line->counts[1]);
        memset(line->counts, 0, sizeof(line->counts));
    }
    series->next_s = now_s + series->interval_s;
}

void amg_timeseries_pool(struct amg_timeseries *series, double now_s,
    ABT_pool pool, const char *name, size_t size, size_t total_size)
{
    struct amg_timeseries_line *line = line_find(series, &series->pools,
        &series->all_pools, (uint64_t)(uintptr_t)pool, name);

    if (line != NULL)
        line_add(series, line, now_s, (double)size, (double)total_size);
}

static void lines_reset(struct amg_timeseries_line *line)
{
    for (; line != NULL; line = line->next) {
        line->len = 0;
        memset(line->counts, 0, sizeof(line->counts));
    }
}

void amg_timeseries_reset(struct amg_timeseries *series)
{
    lines_reset(series->all_rpcs);
    lines_reset(series->all_pools);
    series->is_short = false;
}

static void lines_fini(struct amg_timeseries_line **all)
{
    while (*all != NULL) {
        struct amg_timeseries_line *line = *all;

        *all = line->next;
        line_free(line);
    }
}

void amg_timeseries_fini(struct amg_timeseries *series)
{
    lines_fini(&series->all_rpcs);
    lines_fini(&series->all_pools);
    amg_map_fini(&series->rpcs, NULL);
    amg_map_fini(&series->pools, NULL);
}

/* Array of one number of each point: 0 is the time, 1 and 2 are integers. */
static struct json_object *column_json(
    const struct amg_timeseries_line *line, unsigned number, unsigned precision)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; array != NULL && i < line->len; i++) {
        double value = line->points[NUMBERS * i + number];

        json_object_array_add(
            array, number == 0 ? number_json(value, precision)
                               : json_object_new_int64((int64_t)value));
    }
    return array;
}

static void line_add_json(struct json_object *to, const char *key,
    const struct amg_timeseries_line *line, const char *const names[NUMBERS],
    unsigned precision)
{
    struct json_object *object = json_object_new_object();
    struct json_object *name = amg_json_string(key);

    json_object_object_add(object, "name", amg_json_string(line->name));
    for (unsigned i = 0; i < NUMBERS; i++)
        json_object_object_add(
            object, names[i], column_json(line, i, precision));
    json_object_object_add(to, json_object_get_string(name), object);
    json_object_put(name);
}

void amg_timeseries_json(const struct amg_timeseries *series,
    unsigned precision, struct json_object *to)
{
    static const char *const rpc_names[NUMBERS] = {
        "timestamps", "count", "bulk_size"};
    static const char *const pool_names[NUMBERS] = {
        "timestamps", "size", "total_size"};
    struct json_object *rpcs = json_object_new_object();
    struct json_object *pools = json_object_new_object();

    for (const struct amg_timeseries_line *line = series->all_rpcs;
         line != NULL; line = line->next) {
        char key[KEY_CAP];

        (void)snprintf(key, sizeof(key), "%.*s:%u", KEY_CAP - PROVIDER_LEN,
            line->name, (unsigned)(line->id & MARGO_MAX_PROVIDER_ID));
        line_add_json(rpcs, key, line, rpc_names, precision);
    }
    for (const struct amg_timeseries_line *line = series->all_pools;
         line != NULL; line = line->next)
        line_add_json(pools, line->name, line, pool_names, precision);
    json_object_object_add(to, "rpcs", rpcs);
    json_object_object_add(to, "pools", pools);
}
