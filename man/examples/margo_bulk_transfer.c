/* SPDX-License-Identifier: BSD-3-Clause */
/* The handler of an RPC pulls the memory that its caller has exposed. The input
 * is the bulk handle of the caller; the output is an error code. */
#include <margo.h>
#include <stdlib.h>

static hg_return_t memory_pull(hg_handle_t handle, hg_bulk_t remote)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    const struct hg_info *info = margo_get_info(handle);
    hg_size_t len = margo_bulk_get_size(remote);
    void *bytes = malloc(len);
    hg_bulk_t local = HG_BULK_NULL;
    hg_return_t ret = HG_NOMEM;

    if (bytes != NULL)
        ret =
            margo_bulk_create(mid, 1, &bytes, &len, HG_BULK_WRITE_ONLY, &local);
    if (ret == HG_SUCCESS) {
        /* Returns when the bytes are here. */
        ret = margo_bulk_transfer(
            mid, HG_BULK_PULL, info->addr, remote, 0, local, 0, len);
        margo_bulk_free(local);
    }
    free(bytes);
    return ret;
}

static void save(hg_handle_t handle)
{
    hg_bulk_t remote = HG_BULK_NULL;
    int32_t error = 0;

    if (margo_get_input(handle, &remote) == HG_SUCCESS) {
        error = (int32_t)memory_pull(handle, remote);
        margo_free_input(handle, &remote);
        margo_respond(handle, &error);
    }
    margo_destroy(handle);
}
static DEFINE_MARGO_RPC_HANDLER(save)

    void save_serve(margo_instance_id mid)
{
    MARGO_REGISTER(mid, "save", hg_bulk_t, int32_t, save);
}
