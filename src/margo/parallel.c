/* SPDX-License-Identifier: BSD-3-Clause */
/* A long transfer as several that are under way at the same time. */
#include "margo-bulk-util.h"

#include "base/mem.h"

/* Requests of the chunks: on the stack where they are few. */
enum { FEW = 32 };

/* Waits for `count` chunks; the result is the first error, or `rc` if that is
 * one. */
static hg_return_t chunks_wait(
    margo_request *requests, size_t count, hg_return_t rc)
{
    for (size_t i = 0; i < count; i++) {
        hg_return_t ret = margo_wait(requests[i]);

        if (rc == HG_SUCCESS)
            rc = ret;
    }
    return rc;
}

hg_return_t margo_bulk_parallel_transfer(margo_instance_id mid, hg_bulk_op_t op,
    hg_addr_t origin_addr, hg_bulk_t origin_handle, size_t origin_offset,
    hg_bulk_t local_handle, size_t local_offset, size_t size, size_t chunk_size)
{
    margo_request few[FEW];
    margo_request *requests = few;
    size_t count = 0;
    size_t posted = 0;
    hg_return_t rc = HG_SUCCESS;

    if (mid == MARGO_INSTANCE_NULL || (chunk_size == 0 && size > 0))
        return HG_INVALID_PARAM;
    if (size == 0)
        return HG_SUCCESS;
    count = size / chunk_size + (size % chunk_size != 0);
    if (count > FEW) {
        requests = count > SIZE_MAX / sizeof(requests[0])
                       ? NULL
                       : amg_mem_alloc(count * sizeof(requests[0]));
        if (requests == NULL)
            return HG_NOMEM;
    }
    for (posted = 0; posted < count; posted++) {
        size_t done = posted * chunk_size;
        size_t rest = size - done;

        rc = margo_bulk_itransfer(mid, op, origin_addr, origin_handle,
            origin_offset + done, local_handle, local_offset + done,
            rest < chunk_size ? rest : chunk_size, &requests[posted]);
        if (rc != HG_SUCCESS)
            break;
    }
    rc = chunks_wait(requests, posted, rc);
    if (requests != few)
        amg_mem_free(requests);
    return rc;
}
