/* SPDX-License-Identifier: BSD-3-Clause */
/* A call of an RPC with two numbers as input, which returns with their sum.
 * While the calling thread waits, other user-level threads run.
 *
 * Pages: margo_forward margo_create margo_get_output margo_free_output */
#include <margo.h>

MERCURY_GEN_PROC(pair_t, ((int32_t)(x))((int32_t)(y)))

hg_return_t sum_ask(
    margo_instance_id mid, hg_addr_t server, hg_id_t id, int32_t *ret_sum)
{
    pair_t in = {40, 2};
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret = margo_create(mid, server, id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = margo_forward(handle, &in);
    if (ret == HG_SUCCESS)
        ret = margo_get_output(handle, ret_sum);
    if (ret == HG_SUCCESS)
        margo_free_output(handle, ret_sum); /* a number survives this */
    margo_destroy(handle);
    return ret;
}
