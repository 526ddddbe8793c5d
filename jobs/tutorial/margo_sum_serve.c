/* SPDX-License-Identifier: BSD-3-Clause */
/* Handler of the sum, which reads like a plain function.
 *
 * The handler runs as a user-level thread with its own stack. While it waits -
 * for the numbers, for the reply to leave - other handlers and the progress
 * loop run; no core is blocked. */
#include "margo_sum.h"

#include <stdlib.h>

/* Pulls the numbers into memory of this process. */
static hg_return_t numbers_pull(
    margo_instance_id mid, hg_addr_t from, const sum_in_t *in, int32_t *numbers)
{
    void *memory = numbers;
    hg_size_t len = in->count * sizeof(*numbers);
    hg_bulk_t here = HG_BULK_NULL;
    hg_return_t ret =
        margo_bulk_create(mid, 1, &memory, &len, HG_BULK_WRITE_ONLY, &here);

    if (ret != HG_SUCCESS)
        return ret;
    /* Returns when the bytes have arrived. A length beyond the exposed memory
     * is an error, and moves nothing. */
    ret = margo_bulk_transfer(
        mid, HG_BULK_PULL, from, in->numbers, 0, here, 0, len);
    margo_bulk_free(here);
    return ret;
}

static hg_return_t sum_make(
    hg_handle_t handle, const sum_in_t *in, int64_t *ret_sum)
{
    enum { COUNT_MAX = 1 << 20 };
    int32_t *numbers = NULL;
    hg_return_t ret = HG_SUCCESS;

    /* Never trust a length from another process. */
    if (in->count == 0 || in->count > COUNT_MAX)
        return HG_INVALID_ARG;
    numbers = malloc(in->count * sizeof(*numbers));
    if (numbers == NULL)
        return HG_NOMEM;
    ret = numbers_pull(margo_hg_handle_get_instance(handle),
        margo_get_info(handle)->addr, in, numbers);
    *ret_sum = 0;
    for (uint64_t i = 0; ret == HG_SUCCESS && i < in->count; i++)
        *ret_sum += numbers[i];
    free(numbers);
    return ret;
}

/* Was this the last call to be served? */
static bool call_count(struct sum_server *server)
{
    bool is_last = false;

    ABT_mutex_lock(server->lock);
    if (server->left > 0)
        is_last = --server->left == 0;
    ABT_mutex_unlock(server->lock);
    return is_last;
}

static void sum(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    struct sum_server *server =
        margo_registered_data(mid, margo_get_info(handle)->id);
    sum_in_t in;
    sum_out_t out = {HG_SUCCESS, 0};

    sum_check(margo_get_input(handle, &in), "margo_get_input");
    /* The caller gets the error: the server goes on. */
    out.ret = (int32_t)sum_make(handle, &in, &out.sum);
    sum_check(margo_free_input(handle, &in), "margo_free_input");
    sum_check(margo_respond(handle, &out), "margo_respond");
    sum_check(margo_destroy(handle), "margo_destroy");
    /* Input and handle are freed; the instance ends after this handler. */
    if (call_count(server))
        margo_finalize(mid);
}
DEFINE_MARGO_RPC_HANDLER(sum)

hg_id_t sum_serve(margo_instance_id mid, struct sum_server *server)
{
    hg_id_t id = MARGO_REGISTER(mid, "sum", sum_in_t, sum_out_t, sum);

    sum_check(
        margo_register_data(mid, id, server, NULL), "margo_register_data");
    return id;
}
