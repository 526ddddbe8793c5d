/* SPDX-License-Identifier: BSD-3-Clause */
/* Caller of the sum: exposes the numbers, and waits for the reply. */
#include "margo_sum.h"

#include <stdio.h>
#include <stdlib.h>

void sum_check(hg_return_t ret, const char *what)
{
    if (ret == HG_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, HG_Error_to_string(ret));
    exit(EXIT_FAILURE);
}

hg_id_t sum_register(margo_instance_id mid)
{
    return MARGO_REGISTER(mid, "sum", sum_in_t, sum_out_t, NULL);
}

int64_t sum_call(
    margo_instance_id mid, hg_id_t id, hg_addr_t server, uint64_t count)
{
    /* Bounds the wait for a server that does not exist. */
    const double patience_ms = 30000;
    int32_t *numbers = malloc(count * sizeof(*numbers));
    void *memory = numbers;
    hg_size_t len = count * sizeof(*numbers);
    hg_handle_t handle = HG_HANDLE_NULL;
    sum_in_t in = {count, HG_BULK_NULL};
    sum_out_t out = {HG_SUCCESS, 0};
    int64_t sum = 0;

    if (numbers == NULL)
        sum_check(HG_NOMEM, "the numbers");
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = (int32_t)(i + 1);
    /* From here on peers with `in.numbers` may read them. */
    sum_check(margo_bulk_create(
                  mid, 1, &memory, &len, HG_BULK_READ_ONLY, &in.numbers),
        "margo_bulk_create");
    sum_check(margo_create(mid, server, id, &handle), "margo_create");
    /* Returns when the reply has arrived; other threads run meanwhile. */
    sum_check(margo_forward_timed(handle, &in, patience_ms), "margo_forward");
    sum_check(margo_get_output(handle, &out), "margo_get_output");
    sum_check((hg_return_t)out.ret, "the sum, at the server");
    sum = out.sum;
    sum_check(margo_free_output(handle, &out), "margo_free_output");
    sum_check(margo_destroy(handle), "margo_destroy");
    sum_check(margo_bulk_free(in.numbers), "margo_bulk_free");
    free(numbers);
    return sum;
}
