/* SPDX-License-Identifier: BSD-3-Clause */
/* An argument of any number of patterned bytes. */
#include "api_blob.h"

#include "api.h"

hg_return_t hg_proc_api_blob_t(hg_proc_t proc, void *data)
{
    api_blob_t *blob = data;
    void *bytes = NULL;
    hg_return_t rc = hg_proc_uint64_t(proc, &blob->len);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint64_t(proc, &blob->seed);
    if (rc == HG_SUCCESS)
        rc = hg_proc_uint64_t(proc, &blob->answer_len);
    if (rc != HG_SUCCESS || hg_proc_get_op(proc) == HG_FREE)
        return rc;
    blob->is_right = true;
    if (blob->len == 0)
        return HG_SUCCESS;
    bytes = hg_proc_save_ptr(proc, blob->len);
    if (bytes == NULL)
        return HG_OVERFLOW;
    if (hg_proc_get_op(proc) == HG_ENCODE)
        api_fill(bytes, blob->len, blob->seed, 0);
    else
        blob->is_right = api_is_filled(bytes, blob->len, blob->seed, 0);
    return hg_proc_restore_ptr(proc, bytes, blob->len);
}
