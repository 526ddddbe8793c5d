/* SPDX-License-Identifier: BSD-3-Clause */
/* The function of an RPC pulls the memory that its caller has exposed. Here the
 * input is only the bulk handle of the caller; the answer follows the
 * transfer. */
#include <mercury.h>
#include <mercury_bulk.h>
#include <stdlib.h>

struct save {
    hg_handle_t handle;
    hg_bulk_t remote, local;
    void *bytes;
};

static hg_return_t pulled(const struct hg_cb_info *info)
{
    struct save *save = info->arg;

    /* info->ret says whether the bytes are in save->bytes */
    HG_Respond(save->handle, NULL, NULL, NULL);
    HG_Free_input(save->handle, &save->remote);
    HG_Destroy(save->handle);
    HG_Bulk_free(save->local);
    free(save->bytes);
    free(save);
    return HG_SUCCESS;
}

hg_return_t save_cb(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct save *save = calloc(1, sizeof(*save));
    hg_size_t size = 0;

    save->handle = handle;
    HG_Get_input(handle, &save->remote);
    size = HG_Bulk_get_size(save->remote);
    save->bytes = malloc(size);
    HG_Bulk_create(info->hg_class, 1, &save->bytes, &size, HG_BULK_WRITE_ONLY,
        &save->local);
    return HG_Bulk_transfer(info->context, pulled, save, HG_BULK_PULL,
        info->addr, save->remote, 0, save->local, 0, size, HG_OP_ID_IGNORE);
}
