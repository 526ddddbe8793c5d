/* SPDX-License-Identifier: BSD-3-Clause */
/* The handler of an RPC with two numbers as input, and their sum as output.
 *
 * Pages: HG_Get_input HG_Respond HG_Free_input HG_Destroy */
#include <mercury.h>
#include <mercury_macros.h>

MERCURY_GEN_PROC(pair_t, ((int32_t)(x))((int32_t)(y)))

hg_return_t sum_cb(hg_handle_t handle)
{
    pair_t in;
    int32_t sum = 0;
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret == HG_SUCCESS) {
        sum = in.x + in.y;
        HG_Free_input(handle, &in);
        /* The output is encoded before the call returns. */
        ret = HG_Respond(handle, NULL, NULL, &sum);
    }
    /* Without an answer, this ends the call at its origin with an error. */
    HG_Destroy(handle);
    return ret;
}
