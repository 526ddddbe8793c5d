/* SPDX-License-Identifier: BSD-3-Clause */
/* A call that is tried three times, for 100 ms each. The target may serve a
 * call although its caller has given it up, so the RPC must allow to be
 * repeated. */
#include <margo.h>

hg_return_t try_thrice(
    margo_instance_id mid, hg_addr_t server, hg_id_t id, void *input)
{
    hg_return_t ret = HG_TIMEOUT;

    for (int i = 0; i < 3 && ret == HG_TIMEOUT; i++) {
        hg_handle_t handle = HG_HANDLE_NULL;

        ret = margo_create(mid, server, id, &handle);
        if (ret != HG_SUCCESS)
            break;
        ret = margo_forward_timed(handle, input, 100);
        margo_destroy(handle);
    }
    return ret;
}
