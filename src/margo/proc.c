/* SPDX-License-Identifier: BSD-3-Clause */
/* What Margo puts around the arguments of a call. */
#include "margo/proc.h"

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

hg_return_t amg_margo_proc_input(hg_proc_t proc, void *data)
{
    struct amg_margo_args *args = data;
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

hg_return_t amg_margo_proc_output(hg_proc_t proc, void *data)
{
    struct amg_margo_args *args = data;
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
