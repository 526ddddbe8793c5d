/* SPDX-License-Identifier: BSD-3-Clause */
/* The one operation that a handle may have in flight: a call, or an answer.
 *
 * HG is given Margo's part of the handle, which lives until the operation has
 * ended, and not the request, which lies on the stack of who waits. That part
 * has a slot with the request; whoever takes the request out of it ends it.
 * When its time has passed, the operation is cancelled and ends soon. Where it
 * cannot be cancelled - a call to this process itself, an answer - the request
 * ends at once, and the slot is marked: what comes later is dropped, and until
 * then the handle is busy. */
#include "margo/call.h"

#include <string.h>

#include "base/assert.h"
#include "margo/instance.h"
#include "margo/rpc.h"
#include "mercury.h"

/* In a slot: nobody waits for what is in flight. */
static struct margo_request_struct abandoned;

/* Puts `to` into the slot where `from` is; false: there is something else. */
static bool slot_change(struct amg_margo_handle *data,
    struct margo_request_struct *from, struct margo_request_struct *to)
{
    return atomic_compare_exchange_strong_explicit(
        &data->request, &from, to, memory_order_acq_rel, memory_order_acquire);
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

void amg_margo_call_cancel(struct amg_margo_handle *data)
{
    const struct margo_request_struct *req =
        atomic_load_explicit(&data->request, memory_order_relaxed);

    if (req != NULL && req != &abandoned && !call_is_to_self(data->handle))
        (void)HG_Cancel(data->handle);
}

/* Its time has passed, or the instance ends. */
static void call_cancel(struct margo_request_struct *req)
{
    struct amg_margo_handle *data = amg_margo_handle_find(req->handle);

    if (req->type == MARGO_FORWARD_REQUEST && !call_is_to_self(req->handle) &&
        HG_Cancel(req->handle) == HG_SUCCESS)
        return;
    /* Its end comes, and counts as the operation's; so one more for that. */
    amg_margo_operation_begin(req->mid);
    if (slot_change(data, req, &abandoned)) {
        data->ret = HG_TIMEOUT;
        amg_margo_request_end(req, HG_TIMEOUT);
    } else {
        amg_margo_operation_end(req->mid);
    }
}

/* A call that came back: what the other side's Margo says. */
static hg_return_t call_code(hg_handle_t handle)
{
    hg_size_t args_len = HG_Get_output_payload_size(handle);
    hg_size_t len = 0;
    void *bytes = NULL;
    uint32_t code = 0;

    if (args_len < AMG_MARGO_CODE_LEN)
        return HG_SUCCESS;
    /* A long output is no refusal. */
    if (HG_Get_output_extra_buf(handle, &bytes, &len) != HG_SUCCESS ||
        bytes != NULL)
        return HG_SUCCESS;
    /* In front of it may be a header of the program's own. */
    if (HG_Get_output_buf(handle, &bytes, &len) != HG_SUCCESS || len < args_len)
        return HG_SUCCESS;
    memcpy(&code, (const char *)bytes + (len - args_len), sizeof(code));
    return code < HG_RETURN_MAX ? (hg_return_t)code : HG_PROTOCOL_ERROR;
}

/* The kinds of failure that a person has to know the names of. */
static void call_tell(const struct amg_margo_handle *data, hg_return_t ret)
{
    const struct hg_info *info = HG_Get_info(data->handle);
    const struct amg_margo_rpc *rpc = amg_margo_rpc_of(data->mid, info->id);
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

static hg_return_t call_done(const struct hg_cb_info *info)
{
    struct amg_margo_handle *data = info->arg;
    struct margo_request_struct *req =
        atomic_exchange_explicit(&data->request, NULL, memory_order_acq_rel);
    hg_return_t ret = info->ret;

    if (req == &abandoned) {
        amg_margo_operation_end(data->mid);
        return HG_SUCCESS;
    }
    AMG_ASSERT(req != NULL);
    amg_margo_request_disarm(req);
    if (info->type == HG_CB_FORWARD) {
        if (ret == HG_SUCCESS)
            ret = call_code(data->handle);
        if (ret != HG_SUCCESS)
            call_tell(data, ret);
    }
    if (ret == HG_CANCELED && req->is_timed && atomic_load(&req->is_late))
        ret = HG_TIMEOUT;
    data->ret = ret;
    amg_margo_request_end(req, ret);
    return HG_SUCCESS;
}

static hg_return_t call_post(struct amg_margo_handle *data,
    const struct amg_margo_form *form, struct margo_request_struct *req,
    amg_margo_post_fn post, struct amg_margo_args *args)
{
    hg_return_t rc = HG_SUCCESS;

    if (!slot_change(data, NULL, req)) {
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

hg_return_t amg_margo_call(struct amg_margo_handle *data,
    const struct amg_margo_form *form, margo_request_type type,
    amg_margo_post_fn post, struct amg_margo_args *args)
{
    margo_instance_id mid = data->mid;
    struct margo_request_struct place;
    struct margo_request_struct *req = NULL;
    bool is_bare = args->user == NULL && args->parent_id == 0;
    hg_return_t rc = amg_margo_request_make(form, &place, mid, type, &req);

    if (rc != HG_SUCCESS)
        return rc;
    req->handle = data->handle;
    req->cancel = call_cancel;
    amg_margo_operation_begin(mid);
    rc = call_post(data, form, req, post, is_bare ? NULL : args);
    if (rc != HG_SUCCESS)
        amg_margo_operation_end(mid);
    return amg_margo_request_posted(form, req, rc);
}
