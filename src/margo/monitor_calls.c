/* SPDX-License-Identifier: BSD-3-Clause */
/* What the default monitor makes of calls and answers. */
#include "margo/monitor_default.h"

#include <stddef.h>

/* The measure of an entry; NULL: there is none. */
static struct amg_stats_measure *measure_of(
    struct amg_stats_call *call, enum amg_stats_what what)
{
    return call == NULL ? NULL : &call->measures[what];
}

static struct amg_stats_call *call_of(hg_handle_t handle)
{
    margo_monitor_data_t data = {.p = NULL};

    (void)margo_get_monitoring_data(handle, &data);
    return data.p;
}

static void request_set(margo_request request, void *kept)
{
    margo_monitor_data_t data = {.p = kept};

    (void)margo_request_set_monitoring_data(request, data);
}

static void *request_get(margo_request request)
{
    margo_monitor_data_t data = {.p = NULL};

    (void)margo_request_get_monitoring_data(request, &data);
    return data.p;
}

/* The post of a call or answer begins: held by the post and by the callback. */
static void *post_begin(struct amg_monitor *monitor,
    struct amg_stats_call *call, margo_request request, double now)
{
    struct amg_monitor_operation *operation = NULL;

    if (call != NULL)
        operation = amg_monitor_operation_begin(monitor, call, now, 2);
    request_set(request, operation);
    return operation;
}

/* It has ended; by now the callback may have run, and the request be gone. */
static void post_end(struct amg_monitor *monitor,
    struct amg_monitor_operation *operation, enum amg_stats_what what,
    double now, double relative, hg_return_t ret)
{
    if (operation == NULL)
        return;
    amg_monitor_count(monitor, measure_of(operation->call, what),
        now - operation->start, relative, -1);
    amg_monitor_operation_release(
        monitor, operation, ret == HG_SUCCESS ? 1 : 2);
}

/* Its callback has run. `whole` is from the post on, or has no measure. The
 * request keeps where its wait is to be counted. */
static void post_done(struct amg_monitor *monitor, margo_request request,
    double began, double now, struct amg_stats_measure *(*whole)(void *call),
    enum amg_stats_what cb, enum amg_stats_what wait)
{
    struct amg_monitor_operation *operation = request_get(request);

    if (operation == NULL)
        return;
    amg_monitor_count(monitor, measure_of(operation->call, cb), now - began,
        began - operation->start, -1);
    if (whole != NULL)
        amg_monitor_count(
            monitor, whole(operation->call), began - operation->start, -1, -1);
    request_set(request, measure_of(operation->call, wait));
    amg_monitor_operation_release(monitor, operation, 1);
}

static struct amg_stats_measure *forward_whole(void *call)
{
    return measure_of(call, AMG_STATS_FORWARD);
}

void amg_monitor_on_forward(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_forward_args_t args)
{
    struct amg_monitor *monitor = uargs;

    if (kind == MARGO_MONITOR_FN_START) {
        hg_id_t parent = 0;
        margo_monitor_data_t data = {.p = NULL};

        (void)margo_get_current_rpc_id(monitor->mid, &parent);
        data.p = amg_monitor_call_find(
            monitor, AMG_STATS_ORIGIN, parent, args->handle);
        (void)margo_set_monitoring_data(args->handle, data);
        args->uctx.p = post_begin(monitor, data.p, args->request, now);
    } else if (kind == MARGO_MONITOR_FN_END) {
        post_end(monitor, args->uctx.p, AMG_STATS_IFORWARD, now, -1, args->ret);
    }
}

void amg_monitor_on_forward_cb(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_forward_cb_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        post_done(uargs, args->request, args->uctx.f, now, forward_whole,
            AMG_STATS_FORWARD_CB, AMG_STATS_FORWARD_WAIT);
    else
        args->uctx.f = now;
}

void amg_monitor_on_respond(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_respond_args_t args)
{
    struct amg_monitor *monitor = uargs;

    if (kind == MARGO_MONITOR_FN_START) {
        args->uctx.p =
            post_begin(monitor, call_of(args->handle), args->request, now);
    } else if (kind == MARGO_MONITOR_FN_END) {
        struct amg_monitor_operation *served = amg_monitor_served(monitor);
        struct amg_monitor_operation *operation = args->uctx.p;
        double relative = -1;

        if (served != NULL && operation != NULL &&
            served->call == operation->call)
            relative = operation->start - served->ult_start;
        post_end(
            monitor, operation, AMG_STATS_IRESPOND, now, relative, args->ret);
    }
}

void amg_monitor_on_respond_cb(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_respond_cb_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        post_done(uargs, args->request, args->uctx.f, now, NULL,
            AMG_STATS_RESPOND_CB, AMG_STATS_RESPOND_WAIT);
    else
        args->uctx.f = now;
}

void amg_monitor_on_register(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_register_args_t args)
{
    struct amg_monitor *monitor = uargs;

    (void)now;
    if (kind != MARGO_MONITOR_FN_END || args->ret != HG_SUCCESS)
        return;
    amg_lock_take(&monitor->lock);
    amg_series_rpc(&monitor->series, args->id, args->name);
    amg_lock_give(&monitor->lock);
}

/* Until its thread begins, a handle keeps the operation; afterwards the entry,
 * as those of calls do. */
void amg_monitor_on_rpc_handler(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_rpc_handler_args_t args)
{
    struct amg_monitor *monitor = uargs;
    struct amg_monitor_operation *operation = args->uctx.p;

    if (kind == MARGO_MONITOR_FN_START) {
        struct amg_stats_call *call = amg_monitor_call_find(
            monitor, AMG_STATS_TARGET, args->parent_rpc_id, args->handle);
        margo_monitor_data_t data = {.p = NULL};

        if (call != NULL) {
            operation = amg_monitor_operation_begin(monitor, call, now, 2);
            amg_lock_take(&monitor->lock);
            amg_series_request(
                &monitor->series, call->path.id, call->path.name);
            amg_lock_give(&monitor->lock);
        }
        data.p = operation;
        args->uctx.p = operation;
        (void)margo_set_monitoring_data(args->handle, data);
    } else if (kind == MARGO_MONITOR_FN_END && operation != NULL) {
        amg_monitor_count(monitor,
            measure_of(operation->call, AMG_STATS_HANDLER),
            now - operation->start, -1, -1);
        if (args->ret != HG_SUCCESS) {
            margo_monitor_data_t data = {.p = NULL};

            (void)margo_set_monitoring_data(args->handle, data);
        }
        amg_monitor_operation_release(
            monitor, operation, args->ret == HG_SUCCESS ? 1 : 2);
    }
}

void amg_monitor_on_rpc_ult(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_rpc_ult_args_t args)
{
    struct amg_monitor *monitor = uargs;
    margo_monitor_data_t data = {.p = NULL};

    if (kind == MARGO_MONITOR_FN_START) {
        struct amg_monitor_operation *operation = NULL;

        (void)margo_get_monitoring_data(args->handle, &data);
        operation = data.p;
        args->uctx.p = operation;
        if (operation == NULL)
            return;
        operation->ult_start = now;
        data.p = operation->call;
        (void)margo_set_monitoring_data(args->handle, data);
        (void)ABT_key_set(monitor->current, operation);
    } else if (kind == MARGO_MONITOR_FN_END && args->uctx.p != NULL) {
        /* The handle may be gone: its function has destroyed it. */
        struct amg_monitor_operation *operation = args->uctx.p;

        (void)ABT_key_set(monitor->current, NULL);
        amg_monitor_count(monitor, measure_of(operation->call, AMG_STATS_ULT),
            now - operation->ult_start, operation->ult_start - operation->start,
            -1);
        amg_monitor_operation_release(monitor, operation, 1);
    }
}

/* The end is told when the request has completed, and keeps a measure. */
void amg_monitor_on_wait(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_wait_args_t args)
{
    if (kind == MARGO_MONITOR_FN_END)
        amg_monitor_count(
            uargs, request_get(args->request), now - args->uctx.f, -1, -1);
    else
        args->uctx.f = now;
}
