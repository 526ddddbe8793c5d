/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks are asked for the largest step that they allow, and the smallest of
 * their answers comes back. If ranks have failed, the callback names them. All
 * ranks run limit_register() before they create a context; any rank may call
 * limit_ask() later. */
#include <amalgam_group.h>
#include <mercury.h>
#include <mercury_proc.h>
#include <stdio.h>

static void smallest(const void *from_out, void *inout_out, void *arg)
{
    const int32_t *from = from_out;
    int32_t *inout = inout_out;

    (void)arg;
    if (*from < *inout)
        *inout = *from;
}

hg_id_t limit_register(hg_class_t *hg_class, hg_rpc_cb_t limit)
{
    hg_id_t id = HG_Register_name(
        hg_class, "limit", hg_proc_int32_t, hg_proc_int32_t, limit);

    amalgam_register_reduce(hg_class, id, smallest, NULL, sizeof(int32_t), 0);
    return id;
}

static hg_return_t answered(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->info.forward.handle;
    const hg_return_t *codes = NULL;
    const int *ranks = NULL;
    size_t count = 0;
    int32_t limit = 0;

    if (info->ret == HG_SUCCESS) {
        HG_Get_output(handle, &limit);
        printf("all ranks allow steps of up to %d\n", limit);
        HG_Free_output(handle, &limit);
    } else {
        amalgam_group_failed(handle, &count, &ranks, &codes);
        for (size_t i = 0; i < count; i++)
            printf("rank %d: %s\n", ranks[i], HG_Error_to_string(codes[i]));
    }
    return HG_Destroy(handle);
}

hg_return_t limit_ask(hg_context_t *context, hg_id_t id, int32_t wish)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret = HG_Create(context, HG_ADDR_NULL, id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret =
        amalgam_forward_group(handle, AMALGAM_GROUP_ALL, answered, NULL, &wish);
    if (ret != HG_SUCCESS)
        HG_Destroy(handle);
    return ret;
}
