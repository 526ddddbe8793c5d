/* SPDX-License-Identifier: BSD-3-Clause */
/* The one operation that a handle may have in flight: a call, or an answer.
 *
 * HG gets Margo's part of the handle, which lives until the operation has
 * ended, and not the request, which lies on the stack of the waiting thread.
 * That part has a slot for the request; the thread that takes the request out
 * of the slot ends it. When its time limit has passed, the operation is
 * cancelled and ends soon. If it cannot be cancelled - a call to this process
 * itself, an answer - the request ends at once, and the slot is marked as
 * abandoned: the late completion is dropped, and until then the handle is busy.
 */
#include "margo/call.h"

#include "base/assert.h"
#include "margo/instance.h"
#include "margo/rpc.h"
#include "mercury.h"

/* In a slot: no request waits for the operation in flight. */
static struct margo_request_struct abandoned;

/* Puts a request into an empty slot; false: there is one. Only one thread
 * uses a handle at a time, so this needs no locked instruction. */
static bool slot_fill(
    struct amg_margo_handle *data, struct margo_request_struct *req)
{
    if (atomic_load_explicit(&data->request, memory_order_acquire) != NULL)
        return false;
    data->is_timed = req->is_timed;
    atomic_store_explicit(&data->request, req, memory_order_release);
    return true;
}

/* Empties the slot. Only with a time limit may another thread do so at the
 * same time; the request itself may be gone then. */
static struct margo_request_struct *slot_empty(struct amg_margo_handle *data)
{
    struct margo_request_struct *req = NULL;

    if (data->is_timed)
        return atomic_exchange_explicit(
            &data->request, NULL, memory_order_acq_rel);
    req = atomic_load_explicit(&data->request, memory_order_acquire);
    atomic_store_explicit(&data->request, NULL, memory_order_release);
    return req;
}

/* Takes the request out before the operation completes; false: it has
 * completed. */
static bool slot_abandon(
    struct amg_margo_handle *data, struct margo_request_struct *req)
{
    return atomic_compare_exchange_strong_explicit(&data->request, &req,
        &abandoned, memory_order_acq_rel, memory_order_acquire);
}

/* Is the target this process itself? */
static bool call_is_to_self(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    hg_addr_t self = HG_ADDR_NULL;
    bool is_self = false;

    if (info->addr == HG_ADDR_NULL ||
        HG_Addr_self(info->hg_class, &self) != HG_SUCCESS)
        return false;
    is_self = HG_Addr_cmp(info->hg_class, self, info->addr) == HG_TRUE;
    HG_Addr_free(info->hg_class, self);
    return is_self;
}

static void in_flight_cancel(struct amg_margo_handle *data, void *arg)
{
    const struct margo_request_struct *req =
        atomic_load_explicit(&data->request, memory_order_relaxed);

    (void)arg;
    if (!data->is_served && req != NULL && req != &abandoned &&
        !call_is_to_self(data->handle))
        (void)HG_Cancel(data->handle);
}

void amg_margo_calls_cancel(margo_instance_id mid)
{
    amg_margo_handles_each(mid, in_flight_cancel, NULL);
}

/* Its time limit has passed, or the instance ends. */
static void call_cancel(struct margo_request_struct *req)
{
    struct amg_margo_handle *data = amg_margo_handle_find(req->handle);

    if (req->type == MARGO_FORWARD_REQUEST && !call_is_to_self(req->handle) &&
        HG_Cancel(req->handle) == HG_SUCCESS)
        return;
    /* Its completion comes later, and ends one operation; so begin one more
     * for that. */
    amg_margo_operation_begin(req->mid);
    if (slot_abandon(data, req)) {
        data->ret = HG_TIMEOUT;
        amg_margo_request_end(req, HG_TIMEOUT);
    } else {
        amg_margo_operation_end(req->mid);
    }
}

/* Logs the failures whose cause is the RPC's name or the peer's state. */
static void call_tell(const struct amg_margo_handle *data, hg_return_t ret)
{
    const struct hg_info *info = HG_Get_info(data->handle);
    const struct amg_margo_rpc *rpc = amg_margo_handle_rpc(data);
    char text[256] = "?";
    hg_size_t len = sizeof(text);

    if (ret != HG_NOENTRY && ret != HG_PERMISSION)
        return;
    (void)HG_Addr_to_string(info->hg_class, text, &len, info->addr);
    margo_error(data->mid, "RPC \"%s\" of provider %u at %s: %s",
        rpc == NULL ? "?" : rpc->name, (unsigned)(info->id & 0xffffu), text,
        ret == HG_NOENTRY
            ? "nobody serves it there (HG_NOENTRY); is the name the same on "
              "both sides, and was the provider registered?"
            : "refused, that process is ending (HG_PERMISSION)");
}

/* Notifies the monitor before and after the result is known. `uctx` is the
 * monitor's, from the one to the other. */
static AMG_NOINLINE void call_notify_done(const struct hg_cb_info *info,
    struct margo_request_struct *req, margo_monitor_event_t kind,
    hg_return_t ret, margo_monitor_data_t *uctx)
{
    if (info->type == HG_CB_FORWARD) {
        struct margo_monitor_forward_cb_args args = {
            .uctx = *uctx, .info = info, .request = req, .ret = ret};

        AMG_MARGO_NOTIFY(req->mid, forward_cb, kind, &args);
        *uctx = args.uctx;
    } else {
        struct margo_monitor_respond_cb_args args = {
            .uctx = *uctx, .info = info, .request = req, .ret = ret};

        AMG_MARGO_NOTIFY(req->mid, respond_cb, kind, &args);
        *uctx = args.uctx;
    }
}

/* Result of an operation that is not abandoned. */
static hg_return_t call_result(const struct hg_cb_info *info,
    struct amg_margo_handle *data, struct margo_request_struct *req)
{
    hg_return_t ret = info->ret;

    if (info->type == HG_CB_FORWARD) {
        if (ret == HG_SUCCESS)
            ret = amg_margo_peek_code(data->handle);
        if (ret != HG_SUCCESS)
            call_tell(data, ret);
    }
    if (ret == HG_CANCELED && req->is_timed && atomic_load(&req->is_late))
        ret = HG_TIMEOUT;
    return ret;
}

static hg_return_t call_done(const struct hg_cb_info *info)
{
    struct amg_margo_handle *data = info->arg;
    struct margo_request_struct *req = slot_empty(data);
    margo_monitor_data_t uctx = {.p = NULL};

    if (req == &abandoned) {
        amg_margo_operation_end(data->mid);
        return HG_SUCCESS;
    }
    AMG_ASSERT(req != NULL);
    amg_margo_request_disarm(req);
    if (AMG_MARGO_HAS_MONITOR(req->mid))
        call_notify_done(info, req, MARGO_MONITOR_FN_START, HG_SUCCESS, &uctx);
    data->ret = call_result(info, data, req);
    if (AMG_MARGO_HAS_MONITOR(req->mid))
        call_notify_done(info, req, MARGO_MONITOR_FN_END, data->ret, &uctx);
    amg_margo_request_end(req, data->ret);
    return HG_SUCCESS;
}

/* Passed from the begin of a post to its end, when the handle may be gone
 * already. */
struct post_watch {
    margo_monitor_data_t uctx; /* the monitor's */
    uint16_t provider_id;
};

/* Notifies the monitor that the operation is about to be posted, or was. */
static AMG_NOINLINE void call_notify_post(const struct amg_margo_form *form,
    struct margo_request_struct *req, const struct amg_margo_args *args,
    margo_monitor_event_t kind, hg_return_t ret, struct post_watch *watch)
{
    if (req->type == MARGO_FORWARD_REQUEST) {
        struct margo_monitor_forward_args told = {
            .uctx = watch->uctx,
            .provider_id = watch->provider_id,
            .handle = req->handle,
            .data = args->user,
            .timeout_ms = form->timeout_ms,
            .request = req,
            .ret = ret,
        };

        AMG_MARGO_NOTIFY(req->mid, forward, kind, &told);
        watch->uctx = told.uctx;
    } else {
        struct margo_monitor_respond_args told = {
            .uctx = watch->uctx,
            .handle = req->handle,
            .data = args->user,
            .timeout_ms = form->timeout_ms,
            .error = args->code != HG_SUCCESS,
            .request = req,
            .ret = ret,
        };

        AMG_MARGO_NOTIFY(req->mid, respond, kind, &told);
        watch->uctx = told.uctx;
    }
}

static hg_return_t call_post(struct amg_margo_handle *data,
    const struct amg_margo_form *form, struct margo_request_struct *req,
    amg_margo_post_fn post, struct amg_margo_args *args)
{
    hg_return_t rc = HG_SUCCESS;

    if (!slot_fill(data, req)) {
        margo_error(data->mid,
            "handle %p is still in flight; it may be used again after its end",
            (void *)data->handle);
        return HG_BUSY;
    }
    rc = amg_margo_request_arm(form, req);
    if (rc == HG_SUCCESS)
        rc = post(data->handle, call_done, data, args);
    if (rc == HG_SUCCESS)
        return HG_SUCCESS;
    amg_margo_request_disarm(req);
    atomic_store_explicit(&data->request, NULL, memory_order_release);
    return rc;
}

/* The same with a monitor, which keeps its data in the request. */
static AMG_NOINLINE hg_return_t call_post_monitored(
    struct amg_margo_handle *data, const struct amg_margo_form *form,
    struct margo_request_struct *req, amg_margo_post_fn post,
    struct amg_margo_args *args)
{
    struct post_watch watch = {
        .provider_id = (uint16_t)HG_Get_info(req->handle)->id};
    hg_return_t rc = HG_SUCCESS;

    args->watched = req;
    call_notify_post(
        form, req, args, MARGO_MONITOR_FN_START, HG_SUCCESS, &watch);
    rc = call_post(data, form, req, post, args);
    call_notify_post(form, req, args, MARGO_MONITOR_FN_END, rc, &watch);
    return rc;
}

hg_return_t amg_margo_call(struct amg_margo_handle *data,
    const struct amg_margo_form *form, margo_request_type type,
    amg_margo_post_fn post, struct amg_margo_args *args)
{
    margo_instance_id mid = data->mid;
    struct margo_request_struct place;
    struct margo_request_struct *req = NULL;
    hg_return_t rc = amg_margo_request_make(form, &place, mid, type, &req);

    if (rc != HG_SUCCESS)
        return rc;
    req->handle = data->handle;
    req->cancel = call_cancel;
    amg_margo_operation_begin(mid);
    if (AMG_MARGO_HAS_MONITOR(mid))
        rc = call_post_monitored(data, form, req, post, args);
    else
        rc = call_post(data, form, req, post, args->user == NULL ? NULL : args);
    args->is_posted = rc == HG_SUCCESS;
    if (rc != HG_SUCCESS)
        amg_margo_operation_end(mid);
    return amg_margo_request_posted(form, req, rc);
}
