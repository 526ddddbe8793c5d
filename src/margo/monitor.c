/* SPDX-License-Identifier: BSD-3-Clause */
/* Monitoring of an instance: the choice of its monitor, the public calls about
 * it, and the default monitor, which gathers figures from each event and writes
 * them into files.
 *
 * An operation - a call, an answer, a transfer, or a served request - has an
 * object from begin to end. The function that posts the operation, its
 * callback, its wait and its thread each hold the object. Handles outlive the
 * object: they keep a pointer into the book of calls, whose entries stay. */
#include <errno.h>
#include <json-c/json.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/mem.h"
#include "margo/config.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/json.h"
#include "margo/monitor_stats.h"
#include "margo/request.h"

/* Settings of the statistics or of the series. */
struct amg_monitor_output {
    bool is_disabled;
    bool is_pretty;
};

/* Owned by the monitor. */
struct amg_monitor_config {
    const char *prefix; /* lies in the text, or the environment */
    unsigned precision; /* digits of numbers with a fraction */
    struct amg_monitor_output stats;
    unsigned sample_every; /* counts every so many polls of the loop */
    struct amg_monitor_output series;
    double interval_s; /* between two samples */
};

enum { ADDRESS_CAP = 256, PATH_CAP = 1024 };

/* Guarded by the monitor's lock; the times are of ABT_get_wtime(). */
struct amg_monitor_operation {
    struct amg_monitor_operation *next; /* next free operation */
    struct amg_stats_call *call;
    double start;
    double posted;            /* when the post had ended */
    double ult_start;         /* of a request that is served */
    hg_size_t size;           /* of a transfer */
    enum amg_stats_what wait; /* measure of the wait */
    bool is_awaited;          /* by a wait, not by a callback */
    unsigned refs;
};

/* Owned by the instance, from its begin to its end. */
struct amg_monitor {
    margo_instance_id mid;
    struct amg_monitor_config config; /* with its own copy of the prefix */
    ABT_key current;                  /* what the calling thread serves */
    double opened_s;
    char address[ADDRESS_CAP]; /* the instance's own */
    char file[PATH_CAP];       /* up to ".stats.json" */
    struct amg_lock lock;      /* guards all below */
    struct amg_stats progress_with_timeout;
    struct amg_stats progress_timeout_ms;
    struct amg_stats progress_without_timeout;
    struct amg_stats trigger;
    uint64_t looks;  /* polls of the loop, counted or not */
    uint64_t rounds; /* calls of trigger, counted or not */
    struct amg_stats_book book;
    struct amg_timeseries series;
    struct amg_monitor_operation *spare;
    bool is_short; /* something was not counted, since there was no memory */
};

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

/* A description has the first two fields of a part, in Margo's order. The other
 * fields are only read: "precision" is common to the parts, and described
 * once. */
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

/* Is a boolean of the environment set? Not if it is 0, false, no or off. */
static bool env_is_on(enum amg_env_id id)
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
    /* The form refuses NaN, too. */
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

    config.stats.is_disabled = env_is_on(AMG_ENV_MONITORING_NO_STATS);
    config.series.is_disabled = env_is_on(AMG_ENV_MONITORING_NO_SERIES);
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
    if (config.sample_every == 0) /* in Margo: all */
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

/* The file of a second instance of the process has a number behind the pid, so
 * as not to overwrite the files of the first instance. */
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

/* The command line of the process. */
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
    struct json_object *loop = json_object_new_object();

    AMG_ASSERT_HELD(&monitor->lock);
    if (object == NULL)
        return NULL;
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
    char path[PATH_CAP + 16];
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
            "Set filename_prefix or MARGO_OUTPUT_DIR to where there is room",
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

/* Adds a point of each pool, and of each RPC, to the series. The lock of the
 * monitor is not held while the pools are read. */
static void sample(struct amg_monitor *monitor, double now)
{
    margo_instance_id mid = monitor->mid;
    double moment = now - monitor->opened_s;
    struct margo_pool_info info;

    for (uint32_t i = 0; margo_find_pool_by_index(mid, i, &info) == HG_SUCCESS;
         i++) {
        size_t size = 0;
        size_t total = 0;

        /* The pool may have been removed since. */
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

static void *monitor_initialize(
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
    margo_error(mid, "monitoring: no memory for its data");
    return NULL;
}

static void monitor_finalize(void *uargs)
{
    struct amg_monitor *monitor = uargs;

    /* Closes the last interval, however short it was. */
    if (!monitor->config.series.is_disabled)
        sample(monitor, ABT_get_wtime());
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

/* {"stats", "series"}, without a disabled part. NOTE(why): allocates under the
 * lock, so that all figures are of one moment; dumps are rare. */
static void monitor_dump(
    void *uargs, margo_monitor_dump_fn dump_fn, void *dump_args, bool reset)
{
    struct amg_monitor *monitor = uargs;
    struct json_object *object = json_object_new_object();
    const char *text = NULL;
    size_t len = 0;

    if (!monitor->config.series.is_disabled)
        sample(monitor, ABT_get_wtime());
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

static struct json_object *monitor_config_get(void *uargs)
{
    const struct amg_monitor_config *config =
        &((const struct amg_monitor *)uargs)->config;
    struct json_object *section = json_object_new_object();
    struct json_object *stats = part_json(stats_fields, config);
    struct json_object *series = part_json(series_fields, config);

    (void)amg_json_write(section, config_fields, config);
    /* Not in the description of Margo, which has no sampling. */
    if (config->sample_every != 1)
        json_object_object_add(stats, "sample_progress_every",
            json_object_new_int64(config->sample_every));
    json_object_object_add(series, "time_interval_sec",
        json_object_new_double(config->interval_s));
    json_object_object_add(section, "statistics", stats);
    json_object_object_add(section, "time_series", series);
    return section;
}

/* The operation that the calling thread serves, or NULL. */
static struct amg_monitor_operation *served_operation(
    const struct amg_monitor *monitor)
{
    void *served = NULL;

    (void)ABT_key_get(monitor->current, &served);
    return served;
}

static const char unknown[] = "<unknown>"; /* an address, as Margo writes it */

/* The text of an address, which may be NULL. */
static void address_text(
    hg_class_t *hg_class, hg_addr_t addr, char ret_text[ADDRESS_CAP])
{
    hg_size_t size = ADDRESS_CAP;

    if (addr == HG_ADDR_NULL ||
        HG_Addr_to_string(hg_class, ret_text, &size, addr) != HG_SUCCESS)
        (void)strcpy(ret_text, unknown);
}

/* Takes the lock. NULL: no memory. */
static struct amg_stats_call *entry_find(
    struct amg_monitor *monitor, const struct amg_breadcrumb *path)
{
    struct amg_stats_call *call = NULL;

    amg_lock_lock(&monitor->lock);
    call = amg_stats_book_find(&monitor->book, path);
    if (call == NULL)
        monitor->is_short = true;
    amg_lock_unlock(&monitor->lock);
    return call;
}

/* The entry of a call; if `handle` is NULL, the entry of bulk outside of
 * handlers. Takes the lock. NULL: no memory. */
static struct amg_stats_call *call_find(struct amg_monitor *monitor,
    enum amg_stats_side side, hg_id_t parent, hg_handle_t handle)
{
    const struct hg_info *info =
        handle == HG_HANDLE_NULL ? NULL : HG_Get_info(handle);
    char peer[ADDRESS_CAP] = "";
    struct amg_breadcrumb path = {
        .parent = parent, .side = side, .peer = unknown};

    if (info != NULL) {
        path.id = info->id;
        path.name = margo_handle_get_name(handle);
        address_text(info->hg_class, info->addr, peer);
        path.peer = peer;
    }
    if (path.name == NULL)
        path.name = "";
    return entry_find(monitor, &path);
}

/* Creates an operation with `refs` references. Takes the lock. NULL: no
 * memory. */
static struct amg_monitor_operation *operation_begin(
    struct amg_monitor *monitor, struct amg_stats_call *call, double start,
    unsigned refs)
{
    struct amg_monitor_operation *operation = NULL;

    amg_lock_lock(&monitor->lock);
    operation = monitor->spare;
    if (operation != NULL)
        monitor->spare = operation->next;
    else
        operation = amg_mem_alloc(sizeof(*operation));
    if (operation == NULL)
        monitor->is_short = true;
    amg_lock_unlock(&monitor->lock);
    if (operation != NULL)
        *operation = (struct amg_monitor_operation){
            .call = call, .start = start, .refs = refs};
    return operation;
}

/* Drops references. Takes the lock. */
static void operation_unref(struct amg_monitor *monitor,
    struct amg_monitor_operation *operation, unsigned refs)
{
    amg_lock_lock(&monitor->lock);
    AMG_ASSERT(operation->refs >= refs);
    operation->refs -= refs;
    if (operation->refs == 0) {
        operation->next = monitor->spare;
        monitor->spare = operation;
    }
    amg_lock_unlock(&monitor->lock);
}

/* Counts numbers of a measure, each unless negative. Takes the lock. Does
 * nothing if `call` is NULL. */
static void count(struct amg_monitor *monitor, struct amg_stats_call *call,
    enum amg_stats_what what, double duration, double relative, double size)
{
    struct amg_stats_measure *measure = NULL;

    if (call == NULL || monitor->config.stats.is_disabled)
        return;
    measure = &call->measures[what];
    amg_lock_lock(&monitor->lock);
    if (duration >= 0)
        amg_stats_add(&measure->duration, duration);
    if (relative >= 0)
        amg_stats_add(&measure->relative, relative);
    if (size >= 0)
        amg_stats_add(&measure->size, size);
    amg_lock_unlock(&monitor->lock);
}

/* Data of a handle: the entry of its call; or, of a served request whose thread
 * has not begun, the operation. */
static void *handle_get(hg_handle_t handle)
{
    margo_monitor_data_t data = {.p = NULL};

    (void)margo_get_monitoring_data(handle, &data);
    return data.p;
}

static void handle_set(hg_handle_t handle, void *kept)
{
    margo_monitor_data_t data = {.p = kept};

    (void)margo_set_monitoring_data(handle, data);
}

/* The place in a request for its operation, or NULL. */
static void **kept_by(margo_request request)
{
    return &request->monitor_data.p;
}

/* Begins the post of a call, an answer or a transfer. The post, the callback
 * and the wait reference the operation. */
static void *post_begin(struct amg_monitor *monitor,
    struct amg_stats_call *call, margo_request request, double now,
    enum amg_stats_what wait)
{
    struct amg_monitor_operation *operation = NULL;
    bool is_awaited = request->callback == NULL;

    if (call != NULL)
        operation = operation_begin(monitor, call, now, 2 + is_awaited);
    if (operation != NULL) {
        operation->wait = wait;
        operation->is_awaited = is_awaited;
    }
    *kept_by(request) = operation;
    return operation;
}

/* Ends the post; by now the callback may have run, and the request may be
 * freed. */
static void post_end(struct amg_monitor *monitor,
    struct amg_monitor_operation *operation, enum amg_stats_what what,
    double now, double relative, hg_return_t ret)
{
    bool is_transfer = false;

    if (operation == NULL)
        return;
    is_transfer = operation->wait > AMG_STATS_RESPOND_WAIT;
    operation->posted = now;
    count(monitor, operation->call, what, now - operation->start, relative,
        is_transfer ? (double)operation->size : -1);
    operation_unref(monitor, operation,
        ret == HG_SUCCESS ? 1u : 2u + operation->is_awaited);
}

/* Called when the callback has run. */
static void post_done(struct amg_monitor *monitor, margo_request request,
    double began, double now, enum amg_stats_what cb)
{
    struct amg_monitor_operation *operation = *kept_by(request);

    if (operation == NULL)
        return;
    count(monitor, operation->call, cb, now - began, began - operation->start,
        -1);
    operation_unref(monitor, operation, 1);
}

static void on_create(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_create_args_t args)
{
    (void)uargs;
    if (kind == MARGO_MONITOR_FN_END && args->ret == HG_SUCCESS)
        amg_margo_handle_find(args->handle)->created_s = now;
}

static void on_forward(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_forward_args_t args)
{
    struct amg_monitor *monitor = uargs;

    if (kind == MARGO_MONITOR_FN_START) {
        hg_id_t parent = 0;
        struct amg_stats_call *call = NULL;

        (void)margo_get_current_rpc_id(monitor->mid, &parent);
        call = call_find(monitor, AMG_STATS_ORIGIN, parent, args->handle);
        handle_set(args->handle, call);
        args->uctx.p = post_begin(
            monitor, call, args->request, now, AMG_STATS_FORWARD_WAIT);
        if (args->uctx.p != NULL)
            count(monitor, call, AMG_STATS_IFORWARD, -1,
                now - amg_margo_handle_find(args->handle)->created_s, -1);
    } else if (kind == MARGO_MONITOR_FN_END) {
        post_end(monitor, args->uctx.p, AMG_STATS_IFORWARD, now, -1, args->ret);
    }
}

static void on_forward_cb(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_forward_cb_args_t args)
{
    const struct amg_monitor_operation *operation = *kept_by(args->request);

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    if (operation != NULL)
        count(uargs, operation->call, AMG_STATS_FORWARD,
            args->uctx.f - operation->start, -1, -1);
    post_done(uargs, args->request, args->uctx.f, now, AMG_STATS_FORWARD_CB);
}

static void on_respond(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_respond_args_t args)
{
    struct amg_monitor *monitor = uargs;

    if (kind == MARGO_MONITOR_FN_START) {
        args->uctx.p = post_begin(monitor, handle_get(args->handle),
            args->request, now, AMG_STATS_RESPOND_WAIT);
    } else if (kind == MARGO_MONITOR_FN_END) {
        struct amg_monitor_operation *served = served_operation(monitor);
        struct amg_monitor_operation *operation = args->uctx.p;
        double relative = -1;

        if (served != NULL && operation != NULL &&
            served->call == operation->call)
            relative = operation->start - served->ult_start;
        post_end(
            monitor, operation, AMG_STATS_IRESPOND, now, relative, args->ret);
    }
}

static void on_respond_cb(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_respond_cb_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        post_done(
            uargs, args->request, args->uctx.f, now, AMG_STATS_RESPOND_CB);
    else
        args->uctx.f = now;
}

static void on_register(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_register_args_t args)
{
    struct amg_monitor *monitor = uargs;

    (void)now;
    if (kind != MARGO_MONITOR_FN_END || args->ret != HG_SUCCESS)
        return;
    amg_lock_lock(&monitor->lock);
    amg_timeseries_request(&monitor->series, args->id, args->name, 0);
    amg_lock_unlock(&monitor->lock);
}

/* Until its thread begins, a served handle keeps the operation; afterwards the
 * entry, like handles of calls. */
static void on_rpc_handler(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_rpc_handler_args_t args)
{
    struct amg_monitor *monitor = uargs;
    struct amg_monitor_operation *operation = args->uctx.p;

    if (kind == MARGO_MONITOR_FN_START) {
        struct amg_stats_call *call = call_find(
            monitor, AMG_STATS_TARGET, args->parent_rpc_id, args->handle);

        if (call != NULL) {
            operation = operation_begin(monitor, call, now, 2);
            amg_lock_lock(&monitor->lock);
            amg_timeseries_request(
                &monitor->series, call->path.id, call->path.name, 1);
            amg_lock_unlock(&monitor->lock);
        }
        args->uctx.p = operation;
        handle_set(args->handle, operation);
    } else if (kind == MARGO_MONITOR_FN_END && operation != NULL) {
        count(monitor, operation->call, AMG_STATS_HANDLER,
            now - operation->start, -1, -1);
        if (args->ret != HG_SUCCESS)
            handle_set(args->handle, NULL);
        operation_unref(monitor, operation, args->ret == HG_SUCCESS ? 1 : 2);
    }
}

static void on_rpc_ult(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_rpc_ult_args_t args)
{
    struct amg_monitor *monitor = uargs;

    if (kind == MARGO_MONITOR_FN_START) {
        struct amg_monitor_operation *operation = handle_get(args->handle);

        args->uctx.p = operation;
        if (operation == NULL)
            return;
        operation->ult_start = now;
        handle_set(args->handle, operation->call);
        (void)ABT_key_set(monitor->current, operation);
    } else if (kind == MARGO_MONITOR_FN_END && args->uctx.p != NULL) {
        /* The handler may have destroyed the handle. */
        struct amg_monitor_operation *operation = args->uctx.p;

        (void)ABT_key_set(monitor->current, NULL);
        count(monitor, operation->call, AMG_STATS_ULT,
            now - operation->ult_start, operation->ult_start - operation->start,
            -1);
        operation_unref(monitor, operation, 1);
    }
}

/* Notes the end of a wait in the handle of the call, unless the program has
 * destroyed that handle meanwhile. */
static void waited_note(hg_handle_t handle, double now)
{
    struct amg_margo_handle *kept =
        handle != HG_HANDLE_NULL && amg_refs_get(&handle->refs) > 0
            ? amg_margo_handle_find(handle)
            : NULL;

    if (kept != NULL)
        kept->waited_s = now;
}

static void on_wait(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_wait_args_t args)
{
    struct amg_monitor_operation *operation = NULL;

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    operation = *kept_by(args->request);
    if (operation == NULL)
        return;
    count(uargs, operation->call, operation->wait, now - args->uctx.f,
        args->uctx.f - operation->posted, -1);
    if (operation->wait == AMG_STATS_FORWARD_WAIT)
        waited_note(args->request->handle, now);
    *kept_by(args->request) = NULL;
    operation_unref(uargs, operation, 1);
}

/* Time since the post of a request's operation; -1: unknown. */
static double since_post(margo_request request, double began)
{
    const struct amg_monitor_operation *operation = *kept_by(request);

    return operation == NULL ? -1 : began - operation->start;
}

/* Time since the calling thread began to serve `call`; -1: serves another. */
static double since_ult(const struct amg_monitor *monitor,
    const struct amg_stats_call *call, double began)
{
    const struct amg_monitor_operation *served = served_operation(monitor);

    return served == NULL || served->call != call ? -1
                                                  : began - served->ult_start;
}

/* Time since the last wait for the call of a handle; -1: no wait. */
static double since_wait(hg_handle_t handle, double began)
{
    const struct amg_margo_handle *kept = amg_margo_handle_find(handle);

    return kept == NULL || kept->waited_s == 0 ? -1 : began - kept->waited_s;
}

/* ON_DATA(free_output, AMG_STATS_FREE_OUTPUT, -1) is on_free_output(), which
 * counts the time from its begin to its end, and -1 as the time since another
 * event. */
#define ON_DATA(name, what, relative)                                          \
    static void on_##name(void *uargs, double now, margo_monitor_event_t kind, \
        margo_monitor_##name##_args_t args)                                    \
    {                                                                          \
        if (kind == MARGO_MONITOR_FN_END)                                      \
            count(uargs, handle_get(args->handle), what, now - args->uctx.f,   \
                relative, -1);                                                 \
        else                                                                   \
            args->uctx.f = now;                                                \
    }

ON_DATA(set_input, AMG_STATS_SET_INPUT, since_post(args->request, args->uctx.f))
ON_DATA(
    set_output, AMG_STATS_SET_OUTPUT, since_post(args->request, args->uctx.f))
ON_DATA(get_input, AMG_STATS_GET_INPUT,
    since_ult(uargs, handle_get(args->handle), args->uctx.f))
ON_DATA(free_input, AMG_STATS_FREE_INPUT,
    since_ult(uargs, handle_get(args->handle), args->uctx.f))
ON_DATA(
    get_output, AMG_STATS_GET_OUTPUT, since_wait(args->handle, args->uctx.f))
ON_DATA(free_output, AMG_STATS_FREE_OUTPUT, -1)

/* The entry of bulk operations: of the served request, or of bulk outside of
 * handlers. */
static struct amg_stats_call *bulk_call(struct amg_monitor *monitor)
{
    struct amg_monitor_operation *served = served_operation(monitor);

    if (served != NULL)
        return served->call;
    return call_find(monitor, AMG_STATS_TARGET, 0, HG_HANDLE_NULL);
}

static void on_bulk_create(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_bulk_create_args_t args)
{
    double size = 0;

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    for (uint32_t i = 0; args->sizes != NULL && i < args->count; i++)
        size += (double)args->sizes[i];
    count(uargs, bulk_call(uargs), AMG_STATS_BULK_CREATE, now - args->uctx.f,
        -1, size);
}

static void on_bulk_free(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_bulk_free_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        count(uargs, bulk_call(uargs), AMG_STATS_BULK_FREE, now - args->uctx.f,
            -1, -1);
    else
        args->uctx.f = now;
}

/* The measures of pushes follow the measures of pulls, in the same order. */
static enum amg_stats_what transfer_what(bool is_push, enum amg_stats_what pull)
{
    return is_push ? pull + (AMG_STATS_PUSH - AMG_STATS_PULL) : pull;
}

static bool is_push(const struct amg_monitor_operation *operation)
{
    return operation->wait == AMG_STATS_PUSH_WAIT;
}

/* The entry of transfers with a peer, beside the entry of other bulk. */
static struct amg_stats_call *transfer_call(
    struct amg_monitor *monitor, hg_addr_t addr)
{
    struct amg_stats_call *call = bulk_call(monitor);
    char remote[ADDRESS_CAP];
    struct amg_breadcrumb path = {0};

    if (call == NULL)
        return NULL;
    address_text(margo_get_class(monitor->mid), addr, remote);
    path = call->path;
    path.remote = remote;
    return entry_find(monitor, &path);
}

static void transfer_begin(struct amg_monitor *monitor,
    margo_monitor_bulk_transfer_args_t args, double now)
{
    struct amg_monitor_operation *operation = post_begin(monitor,
        transfer_call(monitor, args->origin_addr), args->request, now,
        transfer_what(args->op == HG_BULK_PUSH, AMG_STATS_PULL_WAIT));

    if (operation != NULL)
        operation->size = args->size;
    args->uctx.p = operation;
}

static void on_bulk_transfer(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_bulk_transfer_args_t args)
{
    struct amg_monitor_operation *operation = args->uctx.p;

    if (kind == MARGO_MONITOR_FN_START)
        transfer_begin(uargs, args, now);
    else if (kind == MARGO_MONITOR_FN_END && operation != NULL)
        post_end(uargs, operation,
            transfer_what(is_push(operation), AMG_STATS_IPULL), now, -1,
            args->ret);
}

static void on_bulk_transfer_cb(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_bulk_transfer_cb_args_t args)
{
    struct amg_monitor *monitor = uargs;
    struct amg_monitor_operation *operation = *kept_by(args->request);

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    if (operation == NULL)
        return;
    count(monitor, operation->call,
        transfer_what(is_push(operation), AMG_STATS_PULL),
        args->uctx.f - operation->start, -1, (double)operation->size);
    amg_lock_lock(&monitor->lock);
    amg_timeseries_bytes(
        &monitor->series, operation->call->path.id, operation->size);
    amg_lock_unlock(&monitor->lock);
    post_done(monitor, args->request, args->uctx.f, now,
        transfer_what(is_push(operation), AMG_STATS_PULL_CB));
}

static void on_progress(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_progress_args_t args)
{
    struct amg_monitor *monitor = uargs;
    double duration = now - args->uctx.f;
    bool is_due = false;

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    amg_lock_lock(&monitor->lock);
    if (!monitor->config.stats.is_disabled &&
        monitor->looks++ % monitor->config.sample_every == 0) {
        if (args->timeout_ms == 0) {
            amg_stats_add(&monitor->progress_without_timeout, duration);
        } else {
            amg_stats_add(&monitor->progress_with_timeout, duration);
            amg_stats_add(
                &monitor->progress_timeout_ms, (double)args->timeout_ms);
        }
    }
    is_due = !monitor->config.series.is_disabled &&
             amg_timeseries_is_due(&monitor->series, now - monitor->opened_s);
    amg_lock_unlock(&monitor->lock);
    if (is_due)
        sample(monitor, now);
}

static void on_trigger(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_trigger_args_t args)
{
    struct amg_monitor *monitor = uargs;

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    if (monitor->config.stats.is_disabled)
        return;
    amg_lock_lock(&monitor->lock);
    if (monitor->rounds++ % monitor->config.sample_every == 0)
        amg_stats_add(&monitor->trigger, now - args->uctx.f);
    amg_lock_unlock(&monitor->lock);
}

static const char *default_name(void)
{
    return "default";
}

/* The other events are not counted. */
static const struct margo_monitor default_monitor = {
    .initialize = monitor_initialize,
    .finalize = monitor_finalize,
    .dump = monitor_dump,
    .name = default_name,
    .config = monitor_config_get,
    .on_progress = on_progress,
    .on_trigger = on_trigger,
    .on_register = on_register,
    .on_create = on_create,
    .on_forward = on_forward,
    .on_forward_cb = on_forward_cb,
    .on_respond = on_respond,
    .on_respond_cb = on_respond_cb,
    .on_bulk_create = on_bulk_create,
    .on_bulk_transfer = on_bulk_transfer,
    .on_bulk_transfer_cb = on_bulk_transfer_cb,
    .on_bulk_free = on_bulk_free,
    .on_rpc_handler = on_rpc_handler,
    .on_rpc_ult = on_rpc_ult,
    .on_wait = on_wait,
    .on_set_input = on_set_input,
    .on_set_output = on_set_output,
    .on_get_input = on_get_input,
    .on_get_output = on_get_output,
    .on_free_input = on_free_input,
    .on_free_output = on_free_output,
};

const struct margo_monitor *margo_default_monitor = &default_monitor;

/* The requested monitor, or NULL. */
static const struct margo_monitor *monitor_wanted(
    margo_instance_id mid, const struct margo_init_info *info)
{
    if (info != NULL && info->monitor != NULL)
        return info->monitor;
    if (amg_json_get(mid->config->json, "monitoring") != NULL ||
        env_is_on(AMG_ENV_MONITORING))
        return margo_default_monitor;
    return NULL;
}

bool amg_margo_monitoring_open(
    margo_instance_id mid, const struct margo_init_info *info)
{
    struct amg_margo_monitoring *monitoring = &mid->monitoring;
    const struct margo_monitor *wanted = monitor_wanted(mid, info);
    struct json_object *section = NULL;
    struct json_object *config = NULL;

    AMG_ASSERT(monitoring->monitor == NULL);
    if (ABT_key_create(NULL, &monitoring->current_rpc) != ABT_SUCCESS) {
        monitoring->current_rpc = ABT_KEY_NULL;
        margo_error(mid, "no memory for the thread key of monitoring");
        return false;
    }
    if (wanted == NULL)
        return true;
    if (!amg_json_section(mid->log, "", mid->config->json, "monitoring",
            json_type_object, &section) ||
        !amg_json_section(mid->log, "monitoring", section, "config",
            json_type_object, &config))
        return false;
    monitoring->own = *wanted;
    if (wanted->initialize != NULL) {
        void *uargs = wanted->initialize(mid, wanted->uargs, config);

        /* initialize() of a monitor of the program may return NULL. */
        if (uargs == NULL && wanted == margo_default_monitor)
            return false;
        monitoring->own.uargs = uargs;
    }
    monitoring->monitor = &monitoring->own;
    return true;
}

void amg_margo_monitoring_close(margo_instance_id mid)
{
    const struct margo_monitor *monitor = mid->monitoring.monitor;

    mid->monitoring.monitor = NULL;
    if (monitor != NULL && monitor->finalize != NULL)
        monitor->finalize(monitor->uargs);
    if (mid->monitoring.current_rpc != ABT_KEY_NULL)
        (void)ABT_key_free(&mid->monitoring.current_rpc);
}

hg_return_t margo_monitor_dump(margo_instance_id mid,
    margo_monitor_dump_fn dump_fn, void *dump_args, bool reset)
{
    const struct margo_monitor *monitor = NULL;

    if (mid == MARGO_INSTANCE_NULL || dump_fn == NULL)
        return HG_INVALID_ARG;
    monitor = mid->monitoring.monitor;
    if (monitor == NULL || monitor->dump == NULL)
        return HG_NOENTRY;
    monitor->dump(monitor->uargs, dump_fn, dump_args, reset);
    return HG_SUCCESS;
}

hg_return_t margo_monitor_call_user(margo_instance_id mid,
    margo_monitor_event_t event_type, margo_monitor_user_args_t args)
{
    const struct margo_monitor *monitor = NULL;

    if (mid == MARGO_INSTANCE_NULL || event_type < MARGO_MONITOR_FN_START ||
        event_type > MARGO_MONITOR_POINT)
        return HG_INVALID_ARG;
    monitor = mid->monitoring.monitor;
    if (monitor == NULL)
        return HG_NOENTRY;
    if (monitor->on_user != NULL)
        monitor->on_user(monitor->uargs, ABT_get_wtime(), event_type, args);
    return HG_SUCCESS;
}

hg_return_t margo_set_monitoring_data(
    hg_handle_t handle, margo_monitor_data_t data)
{
    struct amg_margo_handle *kept = amg_margo_handle_find(handle);

    if (handle == HG_HANDLE_NULL)
        return HG_INVALID_ARG;
    if (kept == NULL)
        return HG_NOENTRY;
    kept->monitor_data = data;
    return HG_SUCCESS;
}

hg_return_t margo_get_monitoring_data(
    hg_handle_t handle, margo_monitor_data_t *data)
{
    const struct amg_margo_handle *kept = amg_margo_handle_find(handle);

    if (handle == HG_HANDLE_NULL || data == NULL)
        return HG_INVALID_ARG;
    if (kept == NULL)
        return HG_NOENTRY;
    *data = kept->monitor_data;
    return HG_SUCCESS;
}

hg_return_t margo_request_set_monitoring_data(
    margo_request req, margo_monitor_data_t data)
{
    if (req == MARGO_REQUEST_NULL)
        return HG_INVALID_ARG;
    req->monitor_data = data;
    return HG_SUCCESS;
}

hg_return_t margo_request_get_monitoring_data(
    margo_request req, margo_monitor_data_t *data)
{
    if (req == MARGO_REQUEST_NULL || data == NULL)
        return HG_INVALID_ARG;
    *data = req->monitor_data;
    return HG_SUCCESS;
}

/* Breadcrumbs: under a key of its own, each instance keeps in every thread that
 * serves a request the id of the served RPC, as a number in the place of a
 * pointer. So calls of an instance are not attributed to handlers of another
 * instance. */
_Static_assert(sizeof(void *) >= sizeof(hg_id_t), "an id fits into a pointer");

hg_return_t margo_set_current_rpc_id(
    margo_instance_id mid, hg_id_t parent_rpc_id)
{
    if (!AMG_GIVEN(mid))
        return HG_INVALID_ARG;
    if (mid->monitoring.current_rpc == ABT_KEY_NULL ||
        ABT_self_set_specific(mid->monitoring.current_rpc,
            (void *)(uintptr_t)parent_rpc_id) != ABT_SUCCESS)
        return HG_OTHER_ERROR;
    return HG_SUCCESS;
}

hg_return_t margo_get_current_rpc_id(
    margo_instance_id mid, hg_id_t *parent_rpc_id)
{
    void *value = NULL;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(parent_rpc_id))
        return HG_INVALID_ARG;
    if (mid->monitoring.current_rpc == ABT_KEY_NULL ||
        ABT_self_get_specific(mid->monitoring.current_rpc, &value) !=
            ABT_SUCCESS)
        return HG_OTHER_ERROR;
    *parent_rpc_id = (hg_id_t)(uintptr_t)value;
    return HG_SUCCESS;
}
