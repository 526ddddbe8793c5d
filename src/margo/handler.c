/* SPDX-License-Identifier: BSD-3-Clause */
/* Dispatch of requests, each to its own user-level thread. The path of a
 * request allocates nothing: the argument of the thread is Margo's part of the
 * handle, and stacks are reused.
 *
 * With a limit on handlers, further requests wait in order of arrival; a
 * handler that ends starts the next request. */
#include "margo/handle.h"

#include <stdio.h>

#include "amalgam_thallium.h"
#include "base/assert.h"
#include "base/trace.h"
#include "margo/instance.h"
#include "margo/registry.h"
#include "margo/rpc.h"
#include "mercury.h"

static void handler_main(void *arg);

/* Creates a handler's thread. False: no thread; the request was refused. */
static bool handler_start(struct amg_margo_handle *data, ABT_pool pool)
{
    int rc =
        ABT_thread_create(pool, handler_main, data, ABT_THREAD_ATTR_NULL, NULL);

    if (rc == ABT_SUCCESS)
        return true;
    margo_error(data->mid,
        "a request of RPC \"%s\" is refused with HG_NOMEM: no thread can be "
        "created for it, ABT_thread_create() returned %d; a limit on handlers, "
        "max_concurrent_rpcs in the JSON text, lets requests wait instead",
        margo_handle_get_name(data->handle), rc);
    __margo_respond_with_error(data->handle, HG_NOMEM);
    margo_destroy(data->handle);
    return false;
}

/* The pool for a handler: a deregistered RPC's own pool may have been freed. */
static ABT_pool pool_of(const struct amg_margo_rpc *rpc)
{
    return rpc->is_registered ? rpc->pool : rpc->mid->pools->rpc_pool;
}

/* With a limit: starts a waiting request in place of a handler that ended. */
static void waiting_start(margo_instance_id mid)
{
    bool has_next = true;

    if (mid->max_handlers == 0)
        return;
    while (has_next) {
        struct amg_link *link = NULL;
        struct amg_margo_handle *data = NULL;

        amg_lock_lock(&mid->handles->queue_lock);
        link = amg_list_pop(&mid->handles->waiting);
        AMG_ASSERT(mid->handles->running > 0);
        if (link == NULL)
            mid->handles->running--;
        amg_lock_unlock(&mid->handles->queue_lock);
        if (link == NULL)
            return;
        data = amg_container_of(link, struct amg_margo_handle, queued);
        has_next = !handler_start(data, pool_of(data->rpc));
        if (has_next)
            amg_margo_handler_end(mid);
    }
}

AMG_NOINLINE static void serve_traced(const struct amg_margo_handle *data)
{
    uint64_t id = (uintptr_t)data->handle;

    amg_trace_add(AMG_TRACE_TASK, id, 0, 0);
    data->serve(data->handle);
    amg_trace_add(AMG_TRACE_TASK_END, id, 0, 0);
}

/* The thread of a handler. `serve` is the wrapper of the program's function,
 * with hooks before and after the function. After the wrapper, the handle may
 * have been freed, unless defer_to_handler() has set `left`. */
static void handler_main(void *arg)
{
    struct amg_margo_handle *data = arg;
    struct amg_margo_handle *left = NULL;
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    data->left = &left;
    if (amg_trace_has(AMALGAM_TRACE_CALLS))
        serve_traced(data);
    else
        data->serve(data->handle);
    if (left == NULL)
        return;
    mid = left->mid;
    amg_margo_handle_abandon(left);
    (void)HG_Destroy(left->handle);
    amg_margo_handler_end(mid);
}

/* The handle that the calling thread serves, if the caller is a handler; else
 * NULL. */
static const struct amg_margo_handle *handler_of_caller(void)
{
    void (*function)(void *) = NULL;
    void *arg = NULL;

    return ABT_self_get_thread_func(&function) == ABT_SUCCESS &&
                   function == handler_main &&
                   ABT_self_get_arg(&arg) == ABT_SUCCESS
               ? arg
               : NULL;
}

/* Does the caller serve a request in a thread that the program has created? */
static bool is_served_by_program(margo_instance_id mid)
{
    void *value = NULL;

    return mid->handles->served_by_program != ABT_KEY_NULL &&
           ABT_self_get_specific(mid->handles->served_by_program, &value) ==
               ABT_SUCCESS &&
           value != NULL;
}

void __margo_internal_pre_wrapper_hooks(margo_instance_id mid,
    hg_handle_t handle, struct margo_monitor_rpc_ult_args *args)
{
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);

    *args = (struct margo_monitor_rpc_ult_args){.handle = handle};
    if (!AMG_GIVEN(mid))
        return;
    if (data == NULL || data->serve == NULL)
        (void)ABT_self_set_specific(mid->handles->served_by_program, mid);
    if (AMG_LIKELY(!AMG_MARGO_HAS_MONITOR(mid)))
        return;
    AMG_MARGO_NOTIFY(mid, rpc_ult, MARGO_MONITOR_FN_START, args);
    (void)margo_set_current_rpc_id(mid, HG_Get_info(handle)->id);
}

void __margo_internal_post_wrapper_hooks(
    margo_instance_id mid, struct margo_monitor_rpc_ult_args *args)
{
    if (mid == MARGO_INSTANCE_NULL)
        return;
    AMG_MARGO_NOTIFY(mid, rpc_ult, MARGO_MONITOR_FN_END, args);
    if (mid->max_handlers != 0 && !is_served_by_program(mid))
        waiting_start(mid);
    amg_margo_handler_end(mid);
}

bool amg_margo_handler_is_self(margo_instance_id mid)
{
    const struct amg_margo_handle *data = handler_of_caller();

    return data != NULL ? data->mid == mid : is_served_by_program(mid);
}

/* With a limit: counts the handler, or queues the request. False: queued. */
static bool handler_admit(margo_instance_id mid, struct amg_margo_handle *data)
{
    bool has_place = true;

    if (mid->max_handlers == 0)
        return true;
    amg_lock_lock(&mid->handles->queue_lock);
    has_place = mid->handles->running < mid->max_handlers;
    if (has_place)
        mid->handles->running++;
    else
        amg_list_push(&mid->handles->waiting, &data->queued);
    amg_lock_unlock(&mid->handles->queue_lock);
    return has_place;
}

static hg_return_t refuse_at_end(
    margo_instance_id mid, hg_handle_t handle, hg_return_t why)
{
    margo_debug(mid,
        "a request of RPC \"%s\" is refused with %s: the instance is ending",
        margo_handle_get_name(handle), HG_Error_to_string(why));
    __margo_respond_with_error(handle, why);
    return margo_destroy(handle);
}

/* Does the instance reject requests of other processes? An instance always
 * serves its calls to itself: a refused one-way call would be lost silently. */
static inline bool rejects_requests(margo_instance_id mid)
{
    return !mid->is_collective &&
           atomic_load_explicit(&mid->is_draining, memory_order_acquire);
}

int __margo_internal_finalize_requested(margo_instance_id mid)
{
    return mid != MARGO_INSTANCE_NULL && rejects_requests(mid);
}

hg_return_t __margo_internal_set_handle_data(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct amg_margo_rpc *rpc =
        info == NULL ? NULL : HG_Registered_data(info->hg_class, info->id);

    if (!AMG_GIVEN(rpc))
        return HG_INVALID_ARG;
    return amg_margo_handle_serve(rpc, handle) == NULL ? HG_NOMEM : HG_SUCCESS;
}

void __margo_internal_incr_pending(margo_instance_id mid)
{
    if (mid != MARGO_INSTANCE_NULL)
        amg_margo_handler_begin(mid);
}

void __margo_internal_decr_pending(margo_instance_id mid)
{
    if (mid != MARGO_INSTANCE_NULL)
        amg_margo_handler_end(mid);
}

/* Steps of amalgam_margo_serve(), also for programs that call each step. */
static inline void serving_begins(margo_instance_id mid, hg_handle_t handle,
    ABT_pool pool, struct margo_monitor_rpc_handler_args *args)
{
    *args =
        (struct margo_monitor_rpc_handler_args){.handle = handle, .pool = pool};
    if (AMG_MARGO_HAS_MONITOR(mid))
        args->parent_rpc_id = amg_margo_peek_parent(handle);
    AMG_MARGO_NOTIFY(mid, rpc_handler, MARGO_MONITOR_FN_START, args);
}

static inline void serving_ends(
    margo_instance_id mid, struct margo_monitor_rpc_handler_args *args)
{
    AMG_MARGO_NOTIFY(mid, rpc_handler, MARGO_MONITOR_FN_END, args);
}

void __margo_internal_pre_handler_hooks(margo_instance_id mid,
    hg_handle_t handle, ABT_pool pool,
    struct margo_monitor_rpc_handler_args *args)
{
    if (mid != MARGO_INSTANCE_NULL)
        serving_begins(mid, handle, pool, args);
    else
        *args = (struct margo_monitor_rpc_handler_args){
            .handle = handle, .pool = pool};
}

void __margo_internal_post_handler_hooks(
    margo_instance_id mid, struct margo_monitor_rpc_handler_args *args)
{
    if (mid != MARGO_INSTANCE_NULL)
        serving_ends(mid, args);
}

/* Starts the handler of a request, or queues the request. */
static hg_return_t serve(struct amg_margo_handle *data, ABT_pool pool)
{
    margo_instance_id mid = data->mid;

    if (!handler_admit(mid, data) || AMG_LIKELY(handler_start(data, pool)))
        return HG_SUCCESS;
    waiting_start(mid);
    amg_margo_handler_end(mid);
    return HG_NOMEM;
}

/* Refuses a request whose RPC was deregistered after the request came, or a
 * request for whose data there is no memory. */
static hg_return_t serve_gone(hg_handle_t handle, hg_return_t ret)
{
    if (amg_handle_expects_answer(handle))
        __margo_respond_with_error(handle, ret);
    return HG_Destroy(handle);
}

hg_return_t amalgam_margo_serve(
    hg_handle_t handle, void (*function)(hg_handle_t))
{
    struct margo_monitor_rpc_handler_args event;
    struct amg_margo_rpc *rpc = NULL;
    struct amg_margo_handle *data = NULL;
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    if (!amg_margo_handle_is_there(handle, __func__) || !AMG_GIVEN(function))
        return HG_INVALID_ARG;
    rpc = handle->rpc == NULL ? NULL : handle->rpc->data;
    if (rpc == NULL)
        return serve_gone(handle, HG_NOENTRY);
    data = amg_margo_handle_serve(rpc, handle);
    if (data == NULL)
        return serve_gone(handle, HG_NOMEM);
    mid = rpc->mid;
    if (rejects_requests(mid) && !amg_addr_is_self(HG_Get_info(handle)->addr))
        return refuse_at_end(mid, handle, HG_PERMISSION);
    amg_margo_handler_begin(mid);
    data->serve = function;
    if (!AMG_MARGO_HAS_MONITOR(mid))
        return serve(data, rpc->pool);
    serving_begins(mid, handle, rpc->pool, &event);
    event.ret = serve(data, rpc->pool);
    serving_ends(mid, &event);
    return event.ret;
}

hg_return_t amg_margo_serve_none(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct amg_margo_rpc *rpc = HG_Registered_data(info->hg_class, info->id);
    char from[256] = "?";
    hg_size_t len = sizeof(from);

    if (rpc == NULL)
        return serve_gone(handle, HG_NOENTRY);
    if (amg_margo_handle_serve(rpc, handle) == NULL)
        return serve_gone(handle, HG_NOMEM);
    if (HG_Addr_to_string(info->hg_class, from, &len, info->addr) != HG_SUCCESS)
        (void)snprintf(from, sizeof(from), "?");
    margo_warning(rpc->mid,
        "a request of RPC \"%s\" (id 0x%llx, provider %u) from %s is refused "
        "with HG_NOENTRY: it is registered here without a handler",
        rpc->name, (unsigned long long)info->id,
        (unsigned)(info->id & MARGO_MAX_PROVIDER_ID), from);
    __margo_respond_with_error(handle, HG_NOENTRY);
    return margo_destroy(handle);
}
