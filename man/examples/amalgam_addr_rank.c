/* SPDX-License-Identifier: BSD-3-Clause */
/* A call to the next rank, which any rank may make at any time. */
#include <amalgam.h>

hg_return_t next_create(hg_context_t *context, hg_id_t id, hg_handle_t *handle)
{
    hg_class_t *hg_class = HG_Context_get_class(context);
    hg_addr_t next = HG_ADDR_NULL;
    int rank = 0;
    int ranks = 0;
    hg_return_t ret = amalgam_class_ranks(hg_class, &rank, &ranks);

    if (ret == HG_SUCCESS)
        ret = amalgam_addr_rank(hg_class, (rank + 1) % ranks, &next);
    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Create(context, next, id, handle);
    HG_Addr_free(hg_class, next); /* the handle has a reference of its own */
    return ret;
}
