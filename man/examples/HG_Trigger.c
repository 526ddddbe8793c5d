/* SPDX-License-Identifier: BSD-3-Clause */
/* A call whose callback sets a variable. HG_Trigger() runs this callback, and
 * for incoming calls the functions of their RPCs. */
#include <mercury.h>

static hg_return_t answered(const struct hg_cb_info *info)
{
    *(bool *)info->arg = true; /* info->ret says how the call ended */
    return HG_SUCCESS;
}

hg_return_t call(hg_context_t *context, hg_handle_t handle, void *input)
{
    bool is_over = false;
    hg_return_t ret = HG_Forward(handle, answered, &is_over, input);

    while (ret == HG_SUCCESS && !is_over) {
        ret = HG_Progress(context, 100);
        if (ret == HG_TIMEOUT)
            ret = HG_SUCCESS;
        while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
            continue;
    }
    return ret;
}
