/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers, in all forms.
 *
 * The blocking form waits until the answer has left, so that the caller may end
 * the process after it. An answer without an output is given to the transport
 * as it is, and needs no such wait unless it has a limit of time. */
#include "base/assert.h"
#include "margo/call.h"
#include "margo/instance.h"
#include "margo/rpc.h"
#include "mercury.h"

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

static hg_return_t respond(
    hg_handle_t handle, void *out_struct, const struct amg_margo_form *form)
{
    struct amg_margo_handle *data = NULL;
    struct amg_margo_args args = {.proc = NULL};
    bool was_answered = false;
    hg_return_t rc = HG_SUCCESS;

    if (!amg_margo_handle_is_there(handle, "margo_respond"))
        return HG_INVALID_ARG;
    data = amg_margo_handle_find(handle);
    if (!AMG_CONTRACT(data != NULL && data->mid != MARGO_INSTANCE_NULL &&
                      data->is_served))
        return HG_INVALID_ARG;
    rc = output_prepare(data, out_struct, &args);
    if (rc != HG_SUCCESS)
        return rc;
    /* Before the answer leaves: what its callback does sees it. */
    was_answered = data->is_answered;
    data->is_answered = true;
    if (form->blocks && form->timeout_ms == 0 && args.user == NULL &&
        !AMG_MARGO_HAS_MONITOR(data->mid))
        rc = HG_Respond(handle, NULL, NULL, NULL);
    else
        rc = amg_margo_call(
            data, form, MARGO_RESPONSE_REQUEST, HG_Respond, &args);
    /* It has answered, also if that does not reach the caller. */
    if (rc != HG_SUCCESS && !args.is_posted) {
        data->is_answered = was_answered;
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

    if (!AMG_CONTRACT(req != NULL))
        return HG_INVALID_ARG;
    return respond(handle, out_struct, &form);
}

hg_return_t margo_crespond_timed(hg_handle_t handle, void *out_struct,
    double timeout_ms, void (*on_complete)(void *, hg_return_t), void *uargs)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .callback = on_complete, .arg = uargs};

    if (!AMG_CONTRACT(on_complete != NULL))
        return HG_INVALID_ARG;
    return respond(handle, out_struct, &form);
}
