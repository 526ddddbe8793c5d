/* SPDX-License-Identifier: BSD-3-Clause */
/* A call of an RPC with two numbers as input. The callback runs in HG_Trigger()
 * when the answer is there. An example of such a callback is in the page of
 * HG_Get_output().
 *
 * Pages: HG_Create HG_Forward */
#include <mercury.h>
#include <mercury_macros.h>

MERCURY_GEN_PROC(pair_t, ((int32_t)(x))((int32_t)(y)))

hg_return_t sum_call(hg_context_t *context, hg_addr_t server, hg_id_t id,
    hg_cb_t answered, void *arg)
{
    pair_t in = {40, 2};
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret = HG_Create(context, server, id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    /* The input is encoded before the call returns; `arg` must live on. */
    ret = HG_Forward(handle, answered, arg, &in);
    if (ret != HG_SUCCESS)
        HG_Destroy(handle); /* nothing was sent, and no callback will run */
    return ret;
}
