/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls and answers. The public forms (blocking, `i` and `c`) differ in struct
 * amg_margo_form alone. A handle has at most one call or answer in flight.
 *
 * The argument of HG's callback is Margo's part of the handle; this struct
 * lives until the operation has ended. The request may be freed earlier, with
 * the stack of the thread that waited. Margo's part has a slot for the request;
 * the thread that takes the request out of the slot ends the request. A call
 * whose time limit has passed is cancelled, and ends soon. An answer, a call to
 * this process itself, and a call that HG_Cancel() refuses are not cancelled:
 * the request ends at once, and `abandoned` takes its place in the slot. So the
 * handle stays busy until the late completion, which call_done() drops. */
#include <limits.h>

#include "amalgam_group_margo.h"
#include "base/assert.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/request.h"
#include "margo/rpc.h"
#include "margo/runtime.h"
#include "mercury.h"

/* HG_Forward() or HG_Respond(). */
typedef hg_return_t (*post_fn)(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *args);

/* Marks a slot: no request waits for the operation in flight. */
static struct margo_request_struct abandoned;

/* Puts a request into an empty slot; false: the slot is not empty. Only one
 * thread uses a handle at a time, so no locked instruction is needed. */
static bool slot_fill(
    struct amg_margo_handle *data, struct margo_request_struct *req)
{
    if (atomic_load_explicit(&data->request, memory_order_acquire) != NULL)
        return false;
    data->is_timed = req->is_timed;
    atomic_store_explicit(
        &data->is_group, req->form->group != NULL, memory_order_relaxed);
    atomic_store_explicit(&data->request, req, memory_order_release);
    return true;
}

/* Empties the slot and returns its content. Only an operation with a time limit
 * needs an exchange: call_cancel() may take its request at the same time. */
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

/* Replaces the request in the slot by `abandoned`. False: the operation has
 * completed, and the slot has another content. */
static bool slot_abandon(
    struct amg_margo_handle *data, struct margo_request_struct *req)
{
    return atomic_compare_exchange_strong_explicit(&data->request, &req,
        &abandoned, memory_order_acq_rel, memory_order_acquire);
}

/* Is the target this process itself, and no group? */
static bool call_is_to_self(const struct amg_margo_handle *data)
{
    const struct hg_info *info = HG_Get_info(data->handle);
    hg_addr_t self = HG_ADDR_NULL;
    bool is_self = false;

    if (data->is_group || info->addr == HG_ADDR_NULL ||
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
        !call_is_to_self(data))
        (void)HG_Cancel(data->handle);
}

void amg_margo_calls_cancel(margo_instance_id mid)
{
    amg_margo_handles_each(mid, in_flight_cancel, NULL);
}

/* Logs failures whose cause is the RPC's name or the peer's state. */
static void call_log(const struct amg_margo_handle *data, hg_return_t ret)
{
    const struct hg_info *info = &data->handle->info;
    const struct amg_margo_rpc *rpc = amg_margo_handle_rpc(data);
    char text[256] = "?";
    hg_size_t len = sizeof(text);

    if (data->is_group || (ret != HG_NOENTRY && ret != HG_PERMISSION))
        return;
    (void)HG_Addr_to_string(info->hg_class, text, &len, info->addr);
    margo_error(data->mid, "RPC \"%s\" of provider %u at %s: %s",
        rpc == NULL ? "?" : rpc->name, (unsigned)(info->id & 0xffffu), text,
        ret == HG_NOENTRY
            ? "it is not served there (HG_NOENTRY); is the name the same on "
              "both sides, and was the provider registered?"
            : "refused, that process is ending (HG_PERMISSION)");
}

/* Notifies the monitor before or after call_end() determines the result. `uctx`
 * passes the monitor's data from the first notification to the second. */
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

/* Ends the request of an operation that has ended or was abandoned, and tells
 * the monitor. */
static AMG_INLINE void call_end(const struct hg_cb_info *info,
    struct amg_margo_handle *data, struct margo_request_struct *req)
{
    margo_monitor_data_t uctx = {.p = NULL};
    hg_return_t ret = info->ret;

    if (AMG_MARGO_HAS_MONITOR(req->mid))
        call_notify_done(info, req, MARGO_MONITOR_FN_START, HG_SUCCESS, &uctx);
    if (info->type == HG_CB_FORWARD) {
        if (ret == HG_SUCCESS)
            ret = amg_margo_peek_code(data->handle);
        if (ret != HG_SUCCESS) {
            data->is_refused = info->ret == HG_SUCCESS;
            call_log(data, ret);
        }
    }
    if (ret == HG_CANCELED && req->is_timed && atomic_load(&req->is_late))
        ret = HG_TIMEOUT;
    /* The output of a group is that of the ranks that have not failed. */
    data->ret = data->is_group ? HG_SUCCESS : ret;
    if (AMG_MARGO_HAS_MONITOR(req->mid))
        call_notify_done(info, req, MARGO_MONITOR_FN_END, ret, &uctx);
    amg_margo_request_end(req, ret);
}

/* Called when the time limit has passed, or the instance ends: cancels the
 * operation, or abandons it. */
static void call_cancel(struct margo_request_struct *req)
{
    struct amg_margo_handle *data = amg_margo_handle_find(req->handle);
    bool is_call = req->type == MARGO_FORWARD_REQUEST;
    const struct hg_cb_info info = {.info.forward.handle = req->handle,
        .type = is_call ? HG_CB_FORWARD : HG_CB_RESPOND,
        .ret = HG_TIMEOUT};

    if (is_call && !call_is_to_self(data) &&
        HG_Cancel(req->handle) == HG_SUCCESS)
        return;
    /* Counts one more operation: call_done() ends it at the late completion. */
    amg_margo_operation_begin(req->mid);
    if (slot_abandon(data, req))
        call_end(&info, data, req);
    else
        amg_margo_operation_end(req->mid);
}

static hg_return_t call_done(const struct hg_cb_info *info)
{
    struct amg_margo_handle *data = info->arg;
    struct margo_request_struct *req = slot_empty(data);

    if (req == &abandoned) {
        amg_margo_operation_end(data->mid);
        return HG_SUCCESS;
    }
    AMG_ASSERT(req != NULL);
    amg_margo_request_disarm(req);
    call_end(info, data, req);
    return HG_SUCCESS;
}

/* Data for the event after a post: the handle may be freed by that time. */
struct monitored_post {
    margo_monitor_data_t uctx; /* data of the monitor */
    uint16_t provider_id;
};

/* Notifies the monitor before or after the post of an operation. */
static AMG_NOINLINE void call_notify_post(const struct amg_margo_form *form,
    struct margo_request_struct *req, const struct amg_margo_args *args,
    margo_monitor_event_t kind, hg_return_t ret,
    struct monitored_post *monitored)
{
    if (req->type == MARGO_FORWARD_REQUEST) {
        struct margo_monitor_forward_args event = {
            .uctx = monitored->uctx,
            .provider_id = monitored->provider_id,
            .handle = req->handle,
            .data = args->user,
            .timeout_ms = form->timeout_ms,
            .request = req,
            .ret = ret,
        };

        AMG_MARGO_NOTIFY(req->mid, forward, kind, &event);
        monitored->uctx = event.uctx;
    } else {
        struct margo_monitor_respond_args event = {
            .uctx = monitored->uctx,
            .handle = req->handle,
            .data = args->user,
            .timeout_ms = form->timeout_ms,
            .error = args->code != HG_SUCCESS,
            .request = req,
            .ret = ret,
        };

        AMG_MARGO_NOTIFY(req->mid, respond, kind, &event);
        monitored->uctx = event.uctx;
    }
}

static hg_return_t call_post(struct amg_margo_handle *data,
    const struct amg_margo_form *form, struct margo_request_struct *req,
    post_fn post, struct amg_margo_args *args)
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

/* Posts an operation with events before and after the post; the monitor may
 * keep data in the request. */
static AMG_NOINLINE hg_return_t call_post_monitored(
    struct amg_margo_handle *data, const struct amg_margo_form *form,
    struct margo_request_struct *req, post_fn post, struct amg_margo_args *args)
{
    struct monitored_post monitored = {
        .provider_id = (uint16_t)HG_Get_info(req->handle)->id};
    hg_return_t rc = HG_SUCCESS;

    args->monitored = req;
    call_notify_post(
        form, req, args, MARGO_MONITOR_FN_START, HG_SUCCESS, &monitored);
    rc = call_post(data, form, req, post, args);
    call_notify_post(form, req, args, MARGO_MONITOR_FN_END, rc, &monitored);
    return rc;
}

/* Posts an operation in any form. Returns the result of the operation, or of
 * the post if the form does not block. HG_BUSY: the handle is in flight. */
static hg_return_t call(struct amg_margo_handle *data,
    const struct amg_margo_form *form, margo_request_type type, post_fn post,
    struct amg_margo_args *args)
{
    margo_instance_id mid = data->mid;
    struct margo_request_struct place;
    struct margo_request_struct *req = NULL;
    hg_return_t rc = amg_margo_request_create(form, &place, mid, type, &req);

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
    if (!args->is_over)
        return amg_margo_request_posted(form, req, rc);
    amg_margo_operation_end(mid); /* the instance may end now */
    return rc;
}

/* The low bits of an RPC's id are the id of the provider. */
#define PROVIDER_MASK ((hg_id_t)MARGO_MAX_PROVIDER_ID)

/* Sets the handle to `id`, the id of its RPC at another provider; registers the
 * RPC for that provider if necessary. */
static hg_return_t provider_aim(struct amg_margo_handle *data, hg_id_t id)
{
    margo_instance_id mid = data->mid;
    const struct amg_margo_rpc *from = amg_margo_handle_rpc(data);
    hg_return_t rc = HG_SUCCESS;

    if (amg_margo_rpc_find(mid, id) == NULL) {
        if (from == NULL)
            return HG_OTHER_ERROR;
        if (margo_provider_register_name(mid, from->name, from->in_proc,
                from->out_proc, NULL, (uint16_t)(id & PROVIDER_MASK),
                ABT_POOL_NULL) == 0)
            return HG_NOMEM;
        if (from->has_no_response) {
            rc = margo_registered_disable_response(mid, id, 1);
            if (rc != HG_SUCCESS)
                return rc;
        }
    }
    rc = HG_Reset(data->handle, HG_ADDR_NULL, id);
    if (rc == HG_SUCCESS)
        data->rpc = amg_margo_rpc_of(mid, id);
    return rc;
}

/* Sets the handle to the provider, and finds the proc of the input. */
static hg_return_t input_prepare(struct amg_margo_handle *data,
    uint16_t provider_id, void *in_struct, struct amg_margo_args *args)
{
    const struct hg_info *info = &data->handle->info;
    hg_id_t id = provider_id == MARGO_DEFAULT_PROVIDER_ID
                     ? info->id
                     : (info->id & ~PROVIDER_MASK) | provider_id;
    const struct amg_margo_rpc *rpc = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (id != info->id)
        rc = provider_aim(data, id);
    if (rc != HG_SUCCESS || in_struct == NULL)
        return rc;
    rpc = amg_margo_handle_rpc(data);
    if (rpc == NULL)
        return HG_OTHER_ERROR;
    if (rpc->in_proc == NULL) {
        margo_error(data->mid,
            "RPC \"%s\" was given an input, and is registered without one",
            rpc->name);
        return HG_NO_MATCH;
    }
    args->proc = rpc->in_proc;
    args->user = in_struct;
    return HG_SUCCESS;
}

static void group_each(hg_handle_t handle, int rank, hg_return_t ret, void *arg)
{
    const struct amg_margo_handle *data = arg;
    const struct margo_request_struct *req = data->request;

    req->form->each(handle, rank, ret, req->arg);
}

/* HG_Forward() for a call to a group. */
static hg_return_t group_post(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *in_struct)
{
    const struct amg_margo_handle *data = arg;
    const struct amg_margo_form *form = data->request->form;
    unsigned ms = form->timeout_ms < UINT_MAX
                      ? (unsigned)(form->timeout_ms + 0.999)
                      : UINT_MAX;

    return form->each == NULL ? amalgam_forward_group_timed(handle, form->group,
                                    ms, callback, arg, in_struct)
                              : amalgam_forward_gather(handle, form->group, ms,
                                    group_each, callback, arg, in_struct);
}

static hg_return_t forward(uint16_t provider_id, hg_handle_t handle,
    void *in_struct, const struct amg_margo_form *form)
{
    struct amg_margo_handle *data = NULL;
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = HG_SUCCESS;

    if (!amg_margo_handle_is_there(handle, "margo_forward"))
        return HG_INVALID_ARG;
    data = amg_margo_handle_find(handle);
    if (!AMG_CONTRACT_OF("margo_forward",
            data != NULL && data->mid != MARGO_INSTANCE_NULL &&
                !data->is_served,
            "handle %p %s", (void *)handle,
            data != NULL && data->is_served ? "came in here; only a handle of "
                                              "margo_create() can be forwarded"
                                            : "is of no Margo instance"))
        return HG_INVALID_ARG;
    data->is_refused = false;
    rc = input_prepare(data, provider_id, in_struct, &args);
    if (rc != HG_SUCCESS)
        return rc;
    if (AMG_MARGO_HAS_MONITOR(data->mid))
        (void)margo_get_current_rpc_id(data->mid, &args.parent_id);
    return call(data, form, MARGO_FORWARD_REQUEST,
        form->group == NULL ? HG_Forward : group_post, &args);
}

static hg_return_t forward_group(
    hg_handle_t handle, void *in_struct, const struct amg_margo_form *form)
{
    return AMG_GIVEN(form->group)
               ? forward(MARGO_DEFAULT_PROVIDER_ID, handle, in_struct, form)
               : HG_INVALID_ARG;
}

hg_return_t margo_forward_group(
    amalgam_group_t group, hg_handle_t handle, void *in_struct)
{
    return margo_forward_group_timed(group, handle, in_struct, 0);
}

hg_return_t margo_forward_group_timed(amalgam_group_t group, hg_handle_t handle,
    void *in_struct, double timeout_ms)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .blocks = true, .group = group};

    return forward_group(handle, in_struct, &form);
}

hg_return_t margo_iforward_group_timed(amalgam_group_t group,
    hg_handle_t handle, void *in_struct, double timeout_ms, margo_request *req)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .ret_req = req, .group = group};

    if (!AMG_GIVEN(req))
        return HG_INVALID_ARG;
    return forward_group(handle, in_struct, &form);
}

hg_return_t margo_forward_gather(amalgam_group_t group, hg_handle_t handle,
    void *in_struct, double timeout_ms, amalgam_gather_cb_t each, void *arg)
{
    const struct amg_margo_form form = {.timeout_ms = timeout_ms,
        .blocks = true,
        .group = group,
        .each = each,
        .arg = arg};

    if (!AMG_GIVEN(each))
        return HG_INVALID_ARG;
    return forward_group(handle, in_struct, &form);
}

hg_return_t margo_provider_forward_timed(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, double timeout_ms)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .blocks = true};

    return forward(provider_id, handle, in_struct, &form);
}

hg_return_t margo_provider_iforward_timed(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, double timeout_ms, margo_request *req)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .ret_req = req};

    if (!AMG_GIVEN(req))
        return HG_INVALID_ARG;
    return forward(provider_id, handle, in_struct, &form);
}

hg_return_t margo_provider_cforward_timed(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, double timeout_ms,
    void (*on_complete)(void *, hg_return_t), void *uargs)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .callback = on_complete, .arg = uargs};

    if (!AMG_GIVEN(on_complete))
        return HG_INVALID_ARG;
    return forward(provider_id, handle, in_struct, &form);
}

static hg_return_t output_prepare(const struct amg_margo_handle *data,
    void *out_struct, struct amg_margo_args *args)
{
    const struct amg_margo_rpc *rpc = NULL;

    if (out_struct == NULL)
        return HG_SUCCESS;
    rpc = data->rpc;
    if (rpc->out_proc == NULL) {
        margo_error(data->mid,
            "RPC \"%s\" was given an output, and is registered without one",
            rpc->name);
        return HG_NO_MATCH;
    }
    args->proc = rpc->out_proc;
    args->user = out_struct;
    return HG_SUCCESS;
}

/* HG_Respond() for the blocking form. If the answer has left at once, HG calls
 * no callback: this function empties the slot in place of call_done(). */
static hg_return_t respond_and_end(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *out_struct)
{
    struct amg_margo_args *args = out_struct;
    hg_return_t rc = HG_SUCCESS;

    /* Keeps the handle, and so `arg`, until the slot is empty: the reference of
     * the answer may end, and another thread may drop that of the program. */
    amg_handle_ref(handle);
    rc = amg_respond(handle, callback, arg, args, &args->is_over);
    if (args->is_over)
        (void)slot_empty(arg);
    (void)amg_handle_drop(handle, 1);
    return rc;
}

/* The blocking form waits until the answer has left, because the process may
 * end after the call. But without a time limit and without a monitor, the form
 * does not wait for an answer that left during the post or has no output. */
static hg_return_t respond(
    hg_handle_t handle, void *out_struct, const struct amg_margo_form *form)
{
    struct amg_margo_handle *data = NULL;
    struct amg_margo_args args = {.proc = NULL};
    bool was_answered = false;
    bool may_end_now = false;
    hg_return_t rc = HG_SUCCESS;

    if (!amg_margo_handle_is_there(handle, "margo_respond"))
        return HG_INVALID_ARG;
    data = amg_margo_handle_find(handle);
    if (!AMG_CONTRACT_OF("margo_respond",
            data != NULL && data->mid != MARGO_INSTANCE_NULL && data->is_served,
            "handle %p %s", (void *)handle,
            data != NULL && !data->is_served
                ? "was made by margo_create(); only the target of a call "
                  "responds"
                : "is of no Margo instance"))
        return HG_INVALID_ARG;
    rc = output_prepare(data, out_struct, &args);
    if (rc != HG_SUCCESS)
        return rc;
    may_end_now = form->blocks && form->timeout_ms == 0 &&
                  !AMG_MARGO_HAS_MONITOR(data->mid);
    /* Set before the answer leaves, so that its callback sees the value. */
    was_answered = data->is_answered;
    atomic_store_explicit(&data->is_answered, true, memory_order_relaxed);
    if (may_end_now && args.user == NULL)
        rc = HG_Respond(handle, NULL, NULL, NULL);
    else
        rc = call(data, form, MARGO_RESPONSE_REQUEST,
            may_end_now ? respond_and_end : HG_Respond, &args);
    /* A posted answer counts as given, even if the answer does not arrive. */
    if (rc != HG_SUCCESS && !args.is_posted) {
        atomic_store_explicit(
            &data->is_answered, was_answered, memory_order_relaxed);
        data->ret = rc;
    }
    return rc;
}

hg_return_t margo_respond_timed(
    hg_handle_t handle, void *out_struct, double timeout_ms)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .blocks = true};

    return respond(handle, out_struct, &form);
}

hg_return_t margo_irespond_timed(
    hg_handle_t handle, void *out_struct, double timeout_ms, margo_request *req)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .ret_req = req};

    if (!AMG_GIVEN(req))
        return HG_INVALID_ARG;
    return respond(handle, out_struct, &form);
}

hg_return_t margo_crespond_timed(hg_handle_t handle, void *out_struct,
    double timeout_ms, void (*on_complete)(void *, hg_return_t), void *uargs)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .callback = on_complete, .arg = uargs};

    if (!AMG_GIVEN(on_complete))
        return HG_INVALID_ARG;
    return respond(handle, out_struct, &form);
}

static void quiet_end(hg_return_t ret, void *arg)
{
    struct amg_margo_quiet *quiet = arg;

    quiet->ret = ret;
    (void)ABT_eventual_set(
        ABT_EVENTUAL_MEMORY_GET_HANDLE(&quiet->over), NULL, 0);
}

/* Begins a quiescence, unless an earlier one has timed out. */
static hg_return_t quiet_begin(margo_instance_id mid)
{
    hg_return_t rc = HG_SUCCESS;

    if (amg_margo_handler_is_self(mid)) {
        margo_error(mid, "margo_quiesce() in a handler, for whose end the "
                         "quiescence would wait");
        return HG_OPNOTSUPPORTED;
    }
    if (mid->quiet.has_begun)
        return HG_SUCCESS;
    (void)ABT_eventual_reset(ABT_EVENTUAL_MEMORY_GET_HANDLE(&mid->quiet.over));
    rc = amalgam_quiesce_start(mid->hg_class, quiet_end, &mid->quiet);
    mid->quiet.has_begun = rc == HG_SUCCESS;
    return rc;
}

hg_return_t margo_quiesce(margo_instance_id mid, double timeout_ms)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .blocks = true};
    uint64_t due_ns = amg_margo_timer_due_ns(timeout_ms);
    ABT_eventual over = ABT_EVENTUAL_NULL;
    hg_return_t rc = HG_SUCCESS;
    uint64_t wait = 0;

    if (!AMG_GIVEN(mid))
        return HG_INVALID_ARG;
    rc = amg_margo_request_check(&form, mid);
    if (rc == HG_SUCCESS)
        rc = quiet_begin(mid);
    if (rc != HG_SUCCESS)
        return rc;
    amg_margo_operation_begin(mid);
    if (amg_margo_loop_may_stall(mid))
        amg_margo_watch_set(mid);
    wait = amg_status_wait(mid->hg_class->job.status, AMG_AWAIT_QUIESCE);
    over = ABT_EVENTUAL_MEMORY_GET_HANDLE(&mid->quiet.over);
    mid->quiet.has_begun = timeout_ms > 0
                               ? !amg_margo_runtime_eventual_wait(over, due_ns)
                               : ABT_eventual_wait(over, NULL) != ABT_SUCCESS;
    amg_status_waited(mid->hg_class->job.status, wait);
    amg_margo_operation_end(mid);
    return mid->quiet.has_begun ? HG_TIMEOUT : mid->quiet.ret;
}

hg_handle_t margo_request_get_handle(margo_request req)
{
    return AMG_GIVEN(req) ? req->handle : HG_HANDLE_NULL;
}

margo_request_type margo_request_get_type(margo_request req)
{
    return AMG_GIVEN(req) ? req->type : MARGO_INVALID_REQUEST;
}

margo_instance_id margo_request_get_instance(margo_request req)
{
    return AMG_GIVEN(req) ? req->mid : MARGO_INSTANCE_NULL;
}
