/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo's header in front of the arguments of a call. */
#include "margo/proc.h"

#include <string.h>

#include "margo/instance.h"
#include "margo/request.h"
#include "mercury.h"
#include "mercury_proc_base.h"
#include "mercury_proc_buf.h"

enum {
    HAS_PARENT = 1, /* the only bit of an input's first word */
};

static hg_return_t user_code(hg_proc_t proc, const struct amg_margo_args *args)
{
    if (args->proc == NULL || args->user == NULL)
        return HG_SUCCESS;
    return args->proc(proc, args->user);
}

/* An empty message has nothing in front. */
static bool is_bare(hg_proc_t proc)
{
    return hg_proc_get_op(proc) == HG_DECODE &&
           hg_proc_get_size_left(proc) == 0;
}

static hg_return_t input_code(hg_proc_t proc, struct amg_margo_args *args)
{
    uint32_t head = args->parent_id != 0 ? HAS_PARENT : 0;
    hg_return_t rc = HG_SUCCESS;

    if (hg_proc_get_op(proc) == HG_FREE || is_bare(proc))
        return user_code(proc, args);
    rc = hg_proc_uint32_t(proc, &head);
    if (rc != HG_SUCCESS)
        return rc;
    if ((head & ~(uint32_t)HAS_PARENT) != 0)
        return HG_PROTOCOL_ERROR;
    if ((head & HAS_PARENT) != 0) {
        rc = hg_proc_uint64_t(proc, &args->parent_id);
        if (rc != HG_SUCCESS)
            return rc;
    }
    return user_code(proc, args);
}

static hg_return_t output_code(hg_proc_t proc, struct amg_margo_args *args)
{
    uint32_t code = (uint32_t)args->code;
    hg_return_t rc = HG_SUCCESS;

    if (hg_proc_get_op(proc) == HG_FREE || is_bare(proc))
        return user_code(proc, args);
    rc = hg_proc_uint32_t(proc, &code);
    if (rc != HG_SUCCESS)
        return rc;
    if (code >= HG_RETURN_MAX)
        return HG_PROTOCOL_ERROR;
    args->code = (hg_return_t)code;
    return code == HG_SUCCESS ? user_code(proc, args) : HG_SUCCESS;
}

hg_return_t amg_margo_proc_input(hg_proc_t proc, void *data)
{
    struct amg_margo_args *args = data;
    struct margo_request_struct *req = args->watched;
    struct margo_monitor_set_input_args told;

    if (req == NULL)
        return input_code(proc, args);
    told = (struct margo_monitor_set_input_args){
        .handle = req->handle, .request = req, .data = args->user};
    AMG_MARGO_NOTIFY_CALL(req->mid, set_input, &told, input_code(proc, args));
    return told.ret;
}

hg_return_t amg_margo_proc_output(hg_proc_t proc, void *data)
{
    struct amg_margo_args *args = data;
    struct margo_request_struct *req = args->watched;
    struct margo_monitor_set_output_args told;

    if (req == NULL)
        return output_code(proc, args);
    told = (struct margo_monitor_set_output_args){
        .handle = req->handle, .request = req, .data = args->user};
    AMG_MARGO_NOTIFY_CALL(req->mid, set_output, &told, output_code(proc, args));
    return told.ret;
}

/* The arguments in a buffer of HG's, the last `args_len` bytes behind a
 * header of the program's own; NULL: less than `len`. */
static const char *args_begin(
    void *buf, hg_size_t buf_len, hg_size_t args_len, hg_size_t len)
{
    if (buf == NULL || args_len < len || buf_len < args_len)
        return NULL;
    return (const char *)buf + (buf_len - args_len);
}

hg_return_t amg_margo_peek_code(hg_handle_t handle)
{
    hg_size_t args_len = HG_Get_output_payload_size(handle);
    hg_size_t len = 0;
    void *buf = NULL;
    const char *bytes = NULL;
    uint32_t code = 0;

    if (args_len < AMG_MARGO_CODE_LEN)
        return HG_SUCCESS;
    if (HG_Get_output_extra_buf(handle, &buf, &len) == HG_SUCCESS &&
        buf == NULL && HG_Get_output_buf(handle, &buf, &len) != HG_SUCCESS)
        return HG_SUCCESS;
    bytes = args_begin(buf, len, args_len, AMG_MARGO_CODE_LEN);
    if (bytes == NULL)
        return HG_SUCCESS;
    memcpy(&code, bytes, sizeof(code));
    return code < HG_RETURN_MAX ? (hg_return_t)code : HG_PROTOCOL_ERROR;
}

hg_id_t amg_margo_peek_parent(hg_handle_t handle)
{
    hg_size_t args_len = HG_Get_input_payload_size(handle);
    hg_size_t len = 0;
    void *buf = NULL;
    const char *bytes = NULL;
    uint32_t head = 0;
    hg_id_t parent_id = 0;

    if (args_len < AMG_MARGO_PARENT_LEN)
        return 0;
    if (HG_Get_input_extra_buf(handle, &buf, &len) == HG_SUCCESS &&
        buf == NULL && HG_Get_input_buf(handle, &buf, &len) != HG_SUCCESS)
        return 0;
    bytes = args_begin(buf, len, args_len, AMG_MARGO_PARENT_LEN);
    if (bytes == NULL)
        return 0;
    memcpy(&head, bytes, sizeof(head));
    if (head == HAS_PARENT)
        memcpy(&parent_id, bytes + sizeof(head), sizeof(parent_id));
    return parent_id;
}
