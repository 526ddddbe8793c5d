/* SPDX-License-Identifier: BSD-3-Clause */
/* The callback of HG_Forward() for an RPC whose output is a number. Here `arg`
 * of HG_Forward() is the variable that gets the sum, or -1.
 *
 * Pages: HG_Get_output HG_Free_output */
#include <mercury.h>
#include <stdio.h>

hg_return_t sum_answered(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->info.forward.handle;
    int32_t *ret_sum = info->arg;
    int32_t out = 0;
    hg_return_t ret = info->ret;

    *ret_sum = -1;
    if (ret == HG_SUCCESS)
        ret = HG_Get_output(handle, &out);
    if (ret == HG_SUCCESS) {
        *ret_sum = out;
        HG_Free_output(handle, &out);
    } else {
        fprintf(stderr, "sum: %s\n", HG_Error_to_string(ret));
    }
    return HG_Destroy(handle);
}
