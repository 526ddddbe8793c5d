/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of bulk data. */
#include "api_bulk.h"

#include <stdlib.h>

#include "mercury_macros.h"

MERCURY_GEN_PROC(show_t, ((hg_bulk_t)(bulk))((uint64_t)(number)))

static struct api *the;
static hg_id_t show_id;
static struct api_shown shown;
static bool is_shown;

static hg_return_t show_serve(hg_handle_t handle)
{
    show_t in;

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, !is_shown);
    OK(the, HG_Addr_dup(the->cls, HG_Get_info(handle)->addr, &shown.addr));
    shown.bulk = in.bulk;
    shown.number = in.number;
    if (in.bulk != HG_BULK_NULL)
        OK(the, HG_Bulk_ref_incr(in.bulk));
    is_shown = true;
    OK(the, HG_Free_input(handle, &in));
    OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

void api_bulk_start(struct api *api)
{
    the = api;
    show_id = MERCURY_REGISTER(api->cls, "show", show_t, void, show_serve);
    CHECK(api, show_id != 0);
}

void api_bulk_show(struct api *api, hg_bulk_t mine, uint64_t number,
    struct api_shown *ret_left)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    show_t in = {mine, number};

    api_sync(api);
    handle = api_handle(api, show_id);
    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Destroy(handle));
    UNTIL(api, is_shown);
    is_shown = false;
    *ret_left = shown;
    api_sync(api);
}

void api_bulk_forget(struct api *api, struct api_shown *left)
{
    OK(api, HG_Bulk_free(left->bulk));
    OK(api, HG_Addr_free(api->cls, left->addr));
}

hg_bulk_t api_bulk_expose(struct api *api, void *base, uint32_t count,
    const hg_size_t *lens, uint8_t flags)
{
    void **ptrs = calloc(count, sizeof(void *));
    char *next = base;
    hg_bulk_t bulk = HG_BULK_NULL;

    CHECK(api, ptrs != NULL);
    for (uint32_t i = 0; i < count; i++) {
        ptrs[i] = lens[i] == 0 ? NULL : next;
        next += lens[i];
    }
    OK(api, HG_Bulk_create(api->cls, count, ptrs, lens, flags, &bulk));
    free(ptrs);
    return bulk;
}

hg_bulk_t api_bulk_expose_one(
    struct api *api, void *base, hg_size_t len, uint8_t flags)
{
    return api_bulk_expose(api, base, 1, &len, flags);
}

hg_return_t api_bulk_move(struct api *api, hg_bulk_op_t op,
    const struct api_shown *left, hg_size_t left_offset, hg_bulk_t local,
    hg_size_t local_offset, hg_size_t size)
{
    struct api_call call = {0};
    hg_return_t rc = HG_Bulk_transfer(api->context, api_done, &call, op,
        left->addr, left->bulk, left_offset, local, local_offset, size,
        HG_OP_ID_IGNORE);

    if (rc != HG_SUCCESS) {
        CHECK(api, call.done == 0);
        return rc;
    }
    rc = api_wait(api, &call);
    CHECK(api, call.type == HG_CB_BULK);
    CHECK(api, rc != HG_SUCCESS || call.size == size);
    return rc;
}
