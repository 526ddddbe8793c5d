/* SPDX-License-Identifier: BSD-3-Clause */
/* The caller exposes its memory to the target, which pulls it: the other side
 * of the example of HG_Bulk_transfer(). The input of the RPC is the bulk handle
 * alone, with hg_proc_hg_bulk_t as its proc.
 *
 * Pages: HG_Bulk_create HG_Bulk_free */
#include <mercury.h>
#include <mercury_bulk.h>

struct sending {
    hg_bulk_t bulk;
    hg_return_t ret;
    bool is_over;
};

static hg_return_t saved(const struct hg_cb_info *info)
{
    struct sending *sending = info->arg;

    /* The answer says that the target needs the memory no more. */
    HG_Bulk_free(sending->bulk);
    sending->ret = info->ret;
    sending->is_over = true;
    return HG_SUCCESS;
}

/* `bytes` and `sending` must live until is_over is true. */
hg_return_t save_send(
    hg_handle_t handle, void *bytes, hg_size_t len, struct sending *sending)
{
    hg_class_t *hg_class = HG_Get_info(handle)->hg_class;
    hg_return_t ret = HG_Bulk_create(
        hg_class, 1, &bytes, &len, HG_BULK_READ_ONLY, &sending->bulk);

    if (ret != HG_SUCCESS)
        return ret;
    sending->is_over = false;
    ret = HG_Forward(handle, saved, sending, &sending->bulk);
    if (ret != HG_SUCCESS)
        HG_Bulk_free(sending->bulk);
    return ret;
}
