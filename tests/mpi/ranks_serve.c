/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPCs that every rank of these tests serves. */
#include <stdlib.h>

#include "ranks.h"

MERCURY_GEN_PROC(
    swap_in_t, ((hg_bulk_t)(bulk))((uint64_t)(len))((uint64_t)(seed)))

/* A swap while it is served; freed with its reply. */
struct swap {
    hg_handle_t handle;
    swap_in_t in;
    unsigned char *bytes;
    hg_bulk_t local;
};

static struct ranks *ranks_of(hg_handle_t handle)
{
    return HG_Class_get_data(HG_Get_info(handle)->hg_class);
}

/* Is the address of the handle's origin that of rank `from`? */
static bool is_from(hg_handle_t handle, int32_t from)
{
    const struct hg_info *info = HG_Get_info(handle);
    int rank = -1;

    return amalgam_addr_get_rank(info->hg_class, info->addr, &rank) ==
               HG_SUCCESS &&
           rank == from;
}

static hg_return_t echo_serve(hg_handle_t handle)
{
    struct ranks *ranks = ranks_of(handle);
    ranks_echo_t in;
    ranks_echo_t out;

    OK(HG_Get_input(handle, &in));
    CHECK(is_from(handle, in.from));
    out.value = in.value + 1;
    out.from = ranks->rank;
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
    atomic_fetch_add(&ranks->echoed, 1);
    return HG_SUCCESS;
}

static hg_return_t note_serve(hg_handle_t handle)
{
    struct ranks *ranks = ranks_of(handle);
    ranks_echo_t in;

    OK(HG_Get_input(handle, &in));
    if (!is_from(handle, in.from))
        atomic_fetch_add(&ranks->bad, 1);
    ranks->noted_value += in.value;
    OK(HG_Free_input(handle, &in));
    OK(HG_Destroy(handle));
    atomic_fetch_add(&ranks->noted, 1);
    return HG_SUCCESS;
}

static void swap_answer(struct swap *swap, hg_return_t ret)
{
    int32_t out = (int32_t)ret;

    OK(HG_Bulk_free(swap->local));
    OK(HG_Free_input(swap->handle, &swap->in));
    OK(HG_Respond(swap->handle, NULL, NULL, &out));
    OK(HG_Destroy(swap->handle));
    free(swap->bytes);
    free(swap);
}

static hg_return_t swap_pushed(const struct hg_cb_info *info)
{
    swap_answer(info->arg, info->ret);
    return HG_SUCCESS;
}

static hg_return_t swap_pulled(const struct hg_cb_info *info)
{
    struct swap *swap = info->arg;
    const struct hg_info *call = HG_Get_info(swap->handle);

    if (info->ret != HG_SUCCESS) {
        swap_answer(swap, info->ret);
        return HG_SUCCESS;
    }
    CHECK(info->info.bulk.size == swap->in.len);
    CHECK(ranks_is_filled(swap->bytes, swap->in.len, swap->in.seed, 0));
    ranks_fill(swap->bytes, swap->in.len, swap->in.seed + 1, 0);
    OK(HG_Bulk_transfer(call->context, swap_pushed, swap, HG_BULK_PUSH,
        call->addr, swap->in.bulk, 0, swap->local, 0, swap->in.len,
        HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

static hg_return_t swap_serve(hg_handle_t handle)
{
    struct swap *swap = calloc(1, sizeof(*swap));
    const struct hg_info *call = HG_Get_info(handle);
    void *bytes = NULL;
    hg_size_t len = 0;

    CHECK(swap != NULL);
    swap->handle = handle;
    OK(HG_Get_input(handle, &swap->in));
    len = swap->in.len;
    swap->bytes = malloc(len);
    bytes = swap->bytes;
    OK(HG_Bulk_create(
        call->hg_class, 1, &bytes, &len, HG_BULK_READWRITE, &swap->local));
    OK(HG_Bulk_transfer(call->context, swap_pulled, swap, HG_BULK_PULL,
        call->addr, swap->in.bulk, 0, swap->local, 0, len, HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

void ranks_swap(struct ranks *ranks, int rank, size_t len)
{
    swap_in_t in = {HG_BULK_NULL, len, (uint64_t)ranks->rank * 2 + 1};
    struct ranks_call call;
    int32_t out = -1;
    void *bytes = malloc(len);

    CHECK(bytes != NULL);
    ranks_fill(bytes, len, in.seed, 0);
    in.bulk = ranks_bulk(ranks, bytes, len, HG_BULK_READWRITE);
    OK(ranks_begin(ranks, &call, rank, ranks->swap, &in));
    OK(ranks_wait(&call));
    OK(HG_Get_output(call.handle, &out));
    OK((hg_return_t)out);
    OK(HG_Free_output(call.handle, &out));
    ranks_end(&call);
    CHECK(ranks_is_filled(bytes, len, in.seed + 1, 0));
    OK(HG_Bulk_free(in.bulk));
    free(bytes);
}

void ranks_register(struct ranks *ranks)
{
    OK(HG_Class_set_data(ranks->cls, ranks, NULL));
    ranks->echo = MERCURY_REGISTER(
        ranks->cls, "echo", ranks_echo_t, ranks_echo_t, echo_serve);
    ranks->note =
        MERCURY_REGISTER(ranks->cls, "note", ranks_echo_t, void, note_serve);
    ranks->swap =
        MERCURY_REGISTER(ranks->cls, "swap", swap_in_t, int32_t, swap_serve);
    CHECK(ranks->echo != 0 && ranks->note != 0 && ranks->swap != 0);
    OK(HG_Registered_disable_response(ranks->cls, ranks->note, HG_TRUE));
}
