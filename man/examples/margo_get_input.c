/* SPDX-License-Identifier: BSD-3-Clause */
/* The handler of an RPC with two numbers as input, and their sum as output. The
 * handler is a user-level thread, and may wait, for instance for a transfer.
 *
 * Pages: margo_get_input margo_free_input margo_respond margo_destroy */
#include <margo.h>

MERCURY_GEN_PROC(pair_t, ((int32_t)(x))((int32_t)(y)))

static void sum(hg_handle_t handle)
{
    pair_t in;
    int32_t sum = 0;

    if (margo_get_input(handle, &in) == HG_SUCCESS) {
        sum = in.x + in.y;
        margo_free_input(handle, &in);
        margo_respond(handle, &sum);
    }
    /* Without an answer, this ends the call at its origin with an error. */
    margo_destroy(handle);
}
static DEFINE_MARGO_RPC_HANDLER(sum)

    void sum_serve(margo_instance_id mid)
{
    MARGO_REGISTER(mid, "sum", pair_t, int32_t, sum);
}
