/* SPDX-License-Identifier: BSD-3-Clause */
/* The default monitor: statistics and time series of an instance. */
#include "margo/monitor_default.h"

#include <json-c/json.h>
#include <string.h>

#include "base/mem.h"
#include "margo/instance.h"

struct amg_monitor_operation *amg_monitor_served(
    const struct amg_monitor *monitor)
{
    void *served = NULL;

    (void)ABT_key_get(monitor->current, &served);
    return served;
}

struct amg_stats_call *amg_monitor_call_find(struct amg_monitor *monitor,
    enum amg_stats_side side, hg_id_t parent, hg_handle_t handle)
{
    const struct hg_info *info =
        handle == HG_HANDLE_NULL ? NULL : HG_Get_info(handle);
    struct amg_stats_path path = {.parent = parent, .side = side};
    char peer[AMG_MONITOR_ADDRESS_CAP] = "nobody";
    hg_size_t size = sizeof(peer);
    struct amg_stats_call *call = NULL;

    if (info != NULL) {
        path.id = info->id;
        path.name = margo_handle_get_name(handle);
        if (HG_Addr_to_string(info->hg_class, peer, &size, info->addr) !=
            HG_SUCCESS)
            (void)strcpy(peer, "unknown");
    }
    if (path.name == NULL)
        path.name = "";
    path.peer = peer;
    amg_lock_take(&monitor->lock);
    call = amg_stats_book_find(&monitor->book, &path);
    if (call == NULL)
        monitor->is_short = true;
    amg_lock_give(&monitor->lock);
    return call;
}

struct amg_monitor_operation *amg_monitor_operation_begin(
    struct amg_monitor *monitor, struct amg_stats_call *call, double start,
    unsigned holds)
{
    struct amg_monitor_operation *operation = NULL;

    amg_lock_take(&monitor->lock);
    operation = monitor->spare;
    if (operation != NULL)
        monitor->spare = operation->next;
    else
        operation = amg_mem_alloc(sizeof(*operation));
    if (operation == NULL)
        monitor->is_short = true;
    amg_lock_give(&monitor->lock);
    if (operation != NULL)
        *operation = (struct amg_monitor_operation){
            .call = call, .start = start, .holds = holds};
    return operation;
}

void amg_monitor_operation_release(struct amg_monitor *monitor,
    struct amg_monitor_operation *operation, unsigned holds)
{
    amg_lock_take(&monitor->lock);
    operation->holds -= holds;
    if (operation->holds == 0) {
        operation->next = monitor->spare;
        monitor->spare = operation;
    }
    amg_lock_give(&monitor->lock);
}

void amg_monitor_count(struct amg_monitor *monitor,
    struct amg_stats_measure *measure, double duration, double relative,
    double size)
{
    if (measure == NULL || monitor->config.stats.is_disabled)
        return;
    amg_lock_take(&monitor->lock);
    amg_stats_add(&measure->duration, duration);
    if (relative >= 0)
        amg_stats_add(&measure->relative, relative);
    if (size >= 0)
        amg_stats_add(&measure->size, size);
    amg_lock_give(&monitor->lock);
}

static void monitor_free(struct amg_monitor *monitor)
{
    while (monitor->spare != NULL) {
        struct amg_monitor_operation *operation = monitor->spare;

        monitor->spare = operation->next;
        amg_mem_free(operation);
    }
    amg_stats_book_fini(&monitor->book);
    amg_series_fini(&monitor->series);
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
    if (!amg_monitor_config_read(&mid->log, config, &monitor->config)) {
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
    amg_monitor_name(monitor);
    amg_monitor_address(monitor);
    return monitor;

no_memory:
    margo_error(mid, "monitoring: no memory to begin with");
    return NULL;
}

static void monitor_finalize(void *uargs)
{
    struct amg_monitor *monitor = uargs;

    /* What the last interval has seen, however short it was. */
    amg_series_close(&monitor->series, ABT_get_wtime() - monitor->opened_s);
    if (monitor->is_short || monitor->series.is_short)
        margo_warning(monitor->mid,
            "monitoring: some figures are missing, since there was no memory");
    amg_monitor_write(monitor);
    (void)ABT_key_free(&monitor->current);
    monitor_free(monitor);
}

static void monitor_reset_locked(struct amg_monitor *monitor)
{
    static const struct amg_stats none;

    monitor->progress_with_timeout = none;
    monitor->progress_timeout_ms = none;
    monitor->progress_without_timeout = none;
    monitor->trigger = none;
    amg_stats_book_reset(&monitor->book);
    amg_series_reset(&monitor->series);
}

/* {"stats", "series"}, without what is disabled.
 * NOTE(why): allocates under the lock: who comes in between would see figures
 * of two moments, and a dump is made seldom. */
static void monitor_dump(
    void *uargs, margo_monitor_dump_fn dump_fn, void *dump_args, bool reset)
{
    struct amg_monitor *monitor = uargs;
    struct json_object *object = json_object_new_object();
    const char *text = NULL;
    size_t len = 0;

    amg_lock_take(&monitor->lock);
    if (!monitor->config.stats.is_disabled)
        json_object_object_add(
            object, "stats", amg_monitor_stats_json_locked(monitor));
    if (!monitor->config.series.is_disabled)
        json_object_object_add(
            object, "series", amg_monitor_series_json_locked(monitor));
    if (reset)
        monitor_reset_locked(monitor);
    amg_lock_give(&monitor->lock);
    text = json_object_to_json_string_length(object,
        JSON_C_TO_STRING_NOSLASHESCAPE |
            (monitor->config.stats.is_pretty ? JSON_C_TO_STRING_PRETTY
                                             : JSON_C_TO_STRING_PLAIN),
        &len);
    if (text != NULL)
        dump_fn(dump_args, text, len);
    json_object_put(object);
}

static const char *monitor_name(void)
{
    return "default";
}

static struct json_object *monitor_config(void *uargs)
{
    const struct amg_monitor *monitor = uargs;

    return amg_monitor_config_json(&monitor->config);
}

/* Of the rest nothing is kept. */
static const struct margo_monitor default_monitor = {
    .initialize = monitor_initialize,
    .finalize = monitor_finalize,
    .dump = monitor_dump,
    .name = monitor_name,
    .config = monitor_config,
    .on_progress = amg_monitor_on_progress,
    .on_trigger = amg_monitor_on_trigger,
    .on_register = amg_monitor_on_register,
    .on_forward = amg_monitor_on_forward,
    .on_forward_cb = amg_monitor_on_forward_cb,
    .on_respond = amg_monitor_on_respond,
    .on_respond_cb = amg_monitor_on_respond_cb,
    .on_bulk_create = amg_monitor_on_bulk_create,
    .on_bulk_transfer = amg_monitor_on_bulk_transfer,
    .on_bulk_transfer_cb = amg_monitor_on_bulk_transfer_cb,
    .on_bulk_free = amg_monitor_on_bulk_free,
    .on_rpc_handler = amg_monitor_on_rpc_handler,
    .on_rpc_ult = amg_monitor_on_rpc_ult,
    .on_wait = amg_monitor_on_wait,
    .on_set_input = amg_monitor_on_set_input,
    .on_set_output = amg_monitor_on_set_output,
    .on_get_input = amg_monitor_on_get_input,
    .on_get_output = amg_monitor_on_get_output,
    .on_free_input = amg_monitor_on_free_input,
    .on_free_output = amg_monitor_on_free_output,
};

const struct margo_monitor *margo_default_monitor = &default_monitor;
