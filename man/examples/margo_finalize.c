/* SPDX-License-Identifier: BSD-3-Clause */
/* An RPC that ends its server. The handler answers, and frees its handle,
 * before it ends the instance, which then ends after this handler. */
#include <margo.h>

static void stop(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);

    margo_respond(handle, NULL);
    margo_destroy(handle);
    margo_finalize(mid);
}
static DEFINE_MARGO_RPC_HANDLER(stop)

    void stop_serve(margo_instance_id mid)
{
    MARGO_REGISTER(mid, "stop", void, void, stop);
}
