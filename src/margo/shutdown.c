/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends the instance of another process, which has to allow it. */
#include "margo/shutdown.h"

#include "base/assert.h"
#include "margo/instance.h"

static void shutdown_serve(hg_handle_t handle);
static DECLARE_MARGO_RPC_HANDLER(shutdown_serve)

    static void shutdown_serve(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    bool is_allowed =
        atomic_load_explicit(&mid->allows_shutdown, memory_order_relaxed);
    int32_t out = is_allowed ? 0 : -1;

    if (!is_allowed)
        margo_warning(mid,
            "another process wants to end this instance, which has not called "
            "margo_enable_remote_shutdown(): refused");
    (void)margo_respond(handle, &out);
    (void)margo_destroy(handle);
    if (is_allowed)
        margo_finalize(mid);
}
static DEFINE_MARGO_RPC_HANDLER(shutdown_serve)

    bool amg_margo_shutdown_init(margo_instance_id mid)
{
    hg_id_t id =
        MARGO_REGISTER(mid, "__shutdown__", void, int32_t, shutdown_serve);

    return id != 0;
}

void margo_enable_remote_shutdown(margo_instance_id mid)
{
    if (mid == MARGO_INSTANCE_NULL)
        margo_error(mid, "%s: the instance is NULL", __func__);
    else
        atomic_store_explicit(
            &mid->allows_shutdown, true, memory_order_relaxed);
}

int margo_shutdown_remote_instance(margo_instance_id mid, hg_addr_t remote_addr)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    int32_t out = -1;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(
            mid != MARGO_INSTANCE_NULL && remote_addr != HG_ADDR_NULL))
        return -1;
    rc = margo_create(mid, remote_addr,
        amg_margo_rpc_id("__shutdown__", MARGO_DEFAULT_PROVIDER_ID), &handle);
    if (rc == HG_SUCCESS)
        rc = margo_forward(handle, NULL);
    if (rc == HG_SUCCESS)
        rc = margo_get_output(handle, &out);
    if (rc == HG_SUCCESS)
        (void)margo_free_output(handle, &out);
    if (handle != HG_HANDLE_NULL)
        (void)margo_destroy(handle);
    if (rc != HG_SUCCESS)
        margo_error(mid, "the other instance cannot be told to end: %s",
            HG_Error_to_string(rc));
    else if (out != 0)
        margo_error(mid, "the other instance refuses to end: it has not called "
                         "margo_enable_remote_shutdown()");
    return rc == HG_SUCCESS && out == 0 ? 0 : -1;
}
