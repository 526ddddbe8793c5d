/* SPDX-License-Identifier: BSD-3-Clause */
/* The caller exposes its memory to the target, which pulls it: the other side
 * of the example of margo_bulk_transfer().
 *
 * Pages: margo_bulk_create margo_bulk_free */
#include <margo.h>

hg_return_t save_ask(
    margo_instance_id mid, hg_handle_t handle, void *bytes, hg_size_t len)
{
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_return_t ret =
        margo_bulk_create(mid, 1, &bytes, &len, HG_BULK_READ_ONLY, &bulk);

    if (ret != HG_SUCCESS)
        return ret;
    ret = margo_forward(handle, &bulk);
    margo_bulk_free(bulk); /* the target needs the memory no more */
    return ret;
}
