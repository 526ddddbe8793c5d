/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of an instance: what the default monitor counts of each.
 *
 * An operation (call, answer, transfer, or served request) has an object from
 * begin to end. Each event still to come has a reference: the end of the post,
 * the callback, and the wait, if any; for a served request, the end of dispatch
 * (rpc_handler) and of the thread (rpc_ult). A handle may outlive the object.
 * So handles point to entries of the book of calls; only the handle of a served
 * request points to the object, until the request's thread begins. */
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/handle.h"
#include "margo/monitor_default.h"
#include "margo/request.h"

/* The operation that the calling thread serves, or NULL. */
static struct amg_monitor_operation *served_operation(
    const struct amg_monitor *monitor)
{
    void *served = NULL;

    (void)ABT_key_get(monitor->current, &served);
    return served;
}

static const char unknown[] = "<unknown>"; /* an address, as Margo writes it */

/* Writes the text of an address; `unknown` for HG_ADDR_NULL or on failure. */
static void address_text(hg_class_t *hg_class, hg_addr_t addr,
    char ret_text[AMG_MONITOR_ADDRESS_CAP])
{
    hg_size_t size = AMG_MONITOR_ADDRESS_CAP;

    if (addr == HG_ADDR_NULL ||
        HG_Addr_to_string(hg_class, ret_text, &size, addr) != HG_SUCCESS)
        (void)strcpy(ret_text, unknown);
}

/* Finds or adds the entry of `path`. Takes the lock. NULL: no memory. */
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

/* The entry of a call; if `handle` is NULL, the entry of bulk operations
 * outside of handlers. Takes the lock. NULL: no memory. */
static struct amg_stats_call *call_find(struct amg_monitor *monitor,
    enum amg_stats_side side, hg_id_t parent, hg_handle_t handle)
{
    const struct hg_info *info =
        handle == HG_HANDLE_NULL ? NULL : HG_Get_info(handle);
    char peer[AMG_MONITOR_ADDRESS_CAP] = "";
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

/* A new operation with `refs` references. Takes the lock. NULL: no memory. */
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

/* Adds the three numbers to the measure `what`, but skips negative numbers.
 * Takes the lock. Does nothing if `call` is NULL or statistics are disabled. */
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

/* Data of a handle: the entry of its call, or the operation of a served request
 * whose thread has not begun. */
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

/* The member of a request that points to its operation, or is NULL. */
static void **kept_by(margo_request request)
{
    return &request->monitor_data.p;
}

/* Begins the post of a call, an answer or a transfer. */
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

/* Ends and counts the post. The callback may have run before. */
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

/* The handle points to the operation until the request's thread begins. */
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

/* Stores the time at the end of a wait in the handle of the call, unless the
 * program has destroyed that handle meanwhile. */
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

/* Time since the thread began to serve `call`; -1: it does not serve `call`. */
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
 * counts the duration of margo_free_output(), and no time since another event
 * (-1). */
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

/* The entry for a bulk operation: the entry of the request that the thread
 * serves, or the entry of bulk operations outside of handlers. */
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

/* The entry of transfers with a peer; bulk_call() gives the entry of the other
 * bulk operations. */
static struct amg_stats_call *transfer_call(
    struct amg_monitor *monitor, hg_addr_t addr)
{
    struct amg_stats_call *call = bulk_call(monitor);
    char remote[AMG_MONITOR_ADDRESS_CAP];
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
        amg_monitor_sample(monitor, now);
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

/* Events without a member here are not counted. */
static const struct margo_monitor default_monitor = {
    .initialize = amg_monitor_initialize,
    .finalize = amg_monitor_finalize,
    .dump = amg_monitor_dump,
    .name = default_name,
    .config = amg_monitor_config_get,
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
