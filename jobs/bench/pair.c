/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ranks between which all benchmarks measure. */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam.h"
#include "mercury_proc.h"

enum { PAGE_LEN = 4096 };

struct call {
    hg_return_t ret;
    bool is_done;
};

void pair_check(const struct pair *pair, hg_return_t ret, const char *what)
{
    if (ret == HG_SUCCESS)
        return;
    fprintf(stderr, "amalgam_bench: rank %d: %s: %s\n", pair->rank, what,
        HG_Error_to_string(ret));
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static hg_return_t payload_proc(hg_proc_t proc, void *data)
{
    struct payload *payload = data;
    uint32_t cap = payload->len;
    hg_return_t ret = HG_SUCCESS;

    if (hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    ret = hg_proc_uint32_t(proc, &payload->len);
    if (ret == HG_SUCCESS && payload->len > cap)
        ret = HG_OVERFLOW;
    return ret != HG_SUCCESS ? ret
                             : hg_proc_raw(proc, payload->data, payload->len);
}

static hg_return_t null_serve(hg_handle_t handle)
{
    HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static hg_return_t bytes_serve(hg_handle_t handle)
{
    struct pair *pair = HG_Class_get_data(HG_Get_info(handle)->hg_class);
    struct payload input = {(uint32_t)pair->room_len, pair->room};

    pair_check(pair, HG_Get_input(handle, &input), "HG_Get_input");
    HG_Free_input(handle, &input);
    return null_serve(handle);
}

static hg_return_t stop_serve(hg_handle_t handle)
{
    struct pair *pair = HG_Class_get_data(HG_Get_info(handle)->hg_class);

    pair->is_stopped = true;
    return null_serve(handle);
}

bool pair_open(struct pair *pair)
{
    pair->cls = amalgam_init(MPI_COMM_WORLD, pair->options->transport, NULL);
    if (pair->cls == NULL) {
        fprintf(stderr, "amalgam_bench: rank %d: no class over \"%s\"\n",
            pair->rank,
            pair->options->transport == NULL ? "auto"
                                             : pair->options->transport);
        return false;
    }
    HG_Class_set_data(pair->cls, pair, NULL);
    pair->transport = pair->options->transport;
    if (pair->transport == NULL)
        pair->transport = HG_Class_get_name(pair->cls);
    pair->null_id =
        HG_Register_name(pair->cls, "bench null", NULL, NULL, null_serve);
    pair->bytes_id = HG_Register_name(
        pair->cls, "bench bytes", payload_proc, NULL, bytes_serve);
    pair->stop_id =
        HG_Register_name(pair->cls, "bench stop", NULL, NULL, stop_serve);
    pair_check(pair,
        amalgam_addr_rank(pair->cls, pair->rank == 0 ? 1 : 0, &pair->peer),
        "amalgam_addr_rank");
    return true;
}

void pair_close(struct pair *pair)
{
    HG_Addr_free(pair->cls, pair->peer);
    pair_check(pair, amalgam_finalize(pair->cls), "amalgam_finalize");
    free(pair->room);
}

void pair_enter(struct pair *pair)
{
    pair->context = HG_Context_create(pair->cls);
    if (pair->context == NULL)
        pair_check(pair, HG_NOMEM, "HG_Context_create");
    MPI_Barrier(MPI_COMM_WORLD);
}

void pair_leave(struct pair *pair)
{
    pair_check(pair, HG_Context_destroy(pair->context), "HG_Context_destroy");
    pair->context = NULL;
    MPI_Barrier(MPI_COMM_WORLD);
}

void pair_need_room(struct pair *pair, size_t len)
{
    if (len <= pair->room_len)
        return;
    free(pair->room);
    pair->room_len = (len + PAGE_LEN - 1) / PAGE_LEN * PAGE_LEN;
    pair->room = aligned_alloc(PAGE_LEN, pair->room_len);
    if (pair->room == NULL)
        pair_check(pair, HG_NOMEM, "room for the messages");
    memset(pair->room, 1 + pair->rank, pair->room_len);
}

hg_handle_t pair_handle(struct pair *pair, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    pair_check(
        pair, HG_Create(pair->context, pair->peer, id, &handle), "HG_Create");
    return handle;
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->ret = info->ret;
    call->is_done = true;
    return HG_SUCCESS;
}

void pair_call(struct pair *pair, hg_handle_t handle, void *input)
{
    struct call call = {HG_SUCCESS, false};

    pair_check(
        pair, HG_Forward(handle, call_ended, &call, input), "HG_Forward");
    while (!call.is_done)
        pair_turn(pair);
    pair_check(pair, call.ret, "the call");
}

void pair_serve(struct pair *pair)
{
    pair->is_stopped = false;
    while (!pair->is_stopped)
        pair_turn(pair);
}

void pair_stop(struct pair *pair)
{
    hg_handle_t handle = pair_handle(pair, pair->stop_id);

    pair_call(pair, handle, NULL);
    pair_check(pair, HG_Destroy(handle), "HG_Destroy");
}
