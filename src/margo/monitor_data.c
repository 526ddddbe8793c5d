/* SPDX-License-Identifier: BSD-3-Clause */
/* What the default monitor makes of arguments and of bulk. */
#include "margo/monitor_default.h"

#include <stddef.h>

/* The entry of a handle whose call was made, or that is served. */
static struct amg_stats_call *call_of(hg_handle_t handle)
{
    margo_monitor_data_t data = {.p = NULL};

    (void)margo_get_monitoring_data(handle, &data);
    return data.p;
}

/* Since when the operation of a request is under way; -1: nobody knows. */
static double since_post(margo_request request, double began)
{
    margo_monitor_data_t data = {.p = NULL};
    struct amg_monitor_operation *operation = NULL;

    if (request != MARGO_REQUEST_NULL)
        (void)margo_request_get_monitoring_data(request, &data);
    operation = data.p;
    return operation == NULL ? -1 : began - operation->start;
}

/* Since when the calling thread serves that call; -1: it does not. */
static double since_ult(const struct amg_monitor *monitor,
    const struct amg_stats_call *call, double began)
{
    const struct amg_monitor_operation *served = amg_monitor_served(monitor);

    return served == NULL || served->call != call ? -1
                                                  : began - served->ult_start;
}

static void count_data(struct amg_monitor *monitor, hg_handle_t handle,
    enum amg_stats_what what, double began, double now, double relative)
{
    struct amg_stats_call *call = call_of(handle);

    if (call != NULL)
        amg_monitor_count(
            monitor, &call->measures[what], now - began, relative, -1);
}

void amg_monitor_on_set_input(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_set_input_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        count_data(uargs, args->handle, AMG_STATS_SET_INPUT, args->uctx.f, now,
            since_post(args->request, args->uctx.f));
    else
        args->uctx.f = now;
}

void amg_monitor_on_set_output(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_set_output_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        count_data(uargs, args->handle, AMG_STATS_SET_OUTPUT, args->uctx.f, now,
            since_post(args->request, args->uctx.f));
    else
        args->uctx.f = now;
}

void amg_monitor_on_get_input(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_get_input_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        count_data(uargs, args->handle, AMG_STATS_GET_INPUT, args->uctx.f, now,
            since_ult(uargs, call_of(args->handle), args->uctx.f));
    else
        args->uctx.f = now;
}

void amg_monitor_on_free_input(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_free_input_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        count_data(uargs, args->handle, AMG_STATS_FREE_INPUT, args->uctx.f, now,
            since_ult(uargs, call_of(args->handle), args->uctx.f));
    else
        args->uctx.f = now;
}

void amg_monitor_on_get_output(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_get_output_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        count_data(
            uargs, args->handle, AMG_STATS_GET_OUTPUT, args->uctx.f, now, -1);
    else
        args->uctx.f = now;
}

void amg_monitor_on_free_output(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_free_output_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        count_data(
            uargs, args->handle, AMG_STATS_FREE_OUTPUT, args->uctx.f, now, -1);
    else
        args->uctx.f = now;
}

/* What bulk is counted for: the request that the thread serves, or nothing. */
static struct amg_stats_call *bulk_call(struct amg_monitor *monitor)
{
    struct amg_monitor_operation *served = amg_monitor_served(monitor);

    if (served != NULL)
        return served->call;
    return amg_monitor_call_find(monitor, AMG_STATS_TARGET, 0, HG_HANDLE_NULL);
}

static void count_bulk(struct amg_monitor *monitor, enum amg_stats_what what,
    double duration, double size)
{
    struct amg_stats_call *call = bulk_call(monitor);

    if (call != NULL)
        amg_monitor_count(monitor, &call->measures[what], duration, -1, size);
}

void amg_monitor_on_bulk_create(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_bulk_create_args_t args)
{
    double size = 0;

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    for (uint32_t i = 0; args->sizes != NULL && i < args->count; i++)
        size += (double)args->sizes[i];
    count_bulk(uargs, AMG_STATS_BULK_CREATE, now - args->uctx.f, size);
}

void amg_monitor_on_bulk_free(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_bulk_free_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        count_bulk(uargs, AMG_STATS_BULK_FREE, now - args->uctx.f, -1);
    else
        args->uctx.f = now;
}

/* Pushes stand behind pulls, in the same order. */
static struct amg_stats_measure *transfer_measure(
    const struct amg_monitor_operation *operation, enum amg_stats_what pull)
{
    return &operation->call
                ->measures[pull + (operation->is_push
                                          ? AMG_STATS_PUSH - AMG_STATS_PULL
                                          : 0)];
}

static void transfer_begin(struct amg_monitor *monitor,
    margo_monitor_bulk_transfer_args_t args, double now)
{
    struct amg_stats_call *call = bulk_call(monitor);
    struct amg_monitor_operation *operation = NULL;
    margo_monitor_data_t data = {.p = NULL};

    if (call != NULL)
        operation = amg_monitor_operation_begin(monitor, call, now, 2);
    if (operation != NULL) {
        operation->size = args->size;
        operation->is_push = args->op == HG_BULK_PUSH;
        data.p = operation;
    }
    args->uctx.p = operation;
    (void)margo_request_set_monitoring_data(args->request, data);
}

void amg_monitor_on_bulk_transfer(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_bulk_transfer_args_t args)
{
    struct amg_monitor *monitor = uargs;
    struct amg_monitor_operation *operation = args->uctx.p;

    if (kind == MARGO_MONITOR_FN_START) {
        transfer_begin(monitor, args, now);
    } else if (kind == MARGO_MONITOR_FN_END && operation != NULL) {
        amg_monitor_count(monitor, transfer_measure(operation, AMG_STATS_IPULL),
            now - operation->start, -1, (double)operation->size);
        amg_monitor_operation_release(
            monitor, operation, args->ret == HG_SUCCESS ? 1 : 2);
    }
}

void amg_monitor_on_bulk_transfer_cb(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_bulk_transfer_cb_args_t args)
{
    struct amg_monitor *monitor = uargs;
    struct amg_monitor_operation *operation = NULL;
    margo_monitor_data_t data = {.p = NULL};

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    (void)margo_request_get_monitoring_data(args->request, &data);
    operation = data.p;
    if (operation == NULL)
        return;
    amg_monitor_count(monitor, transfer_measure(operation, AMG_STATS_PULL_CB),
        now - args->uctx.f, args->uctx.f - operation->start, -1);
    amg_monitor_count(monitor, transfer_measure(operation, AMG_STATS_PULL),
        args->uctx.f - operation->start, -1, (double)operation->size);
    amg_lock_take(&monitor->lock);
    amg_series_bytes(
        &monitor->series, operation->call->path.id, operation->size);
    amg_lock_give(&monitor->lock);
    data.p = transfer_measure(operation, AMG_STATS_PULL_WAIT);
    (void)margo_request_set_monitoring_data(args->request, data);
    amg_monitor_operation_release(monitor, operation, 1);
}
