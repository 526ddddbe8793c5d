/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of the hash table refuses a reply whose two lengths differ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_margo.h"
#include "jobs/apps/kv/client.h"
#include "jobs/apps/kv/wire.h"

/* The provider's reply: the length, and that of the bytes with it. */
struct answer {
    uint64_t len;
    uint32_t value_len;
    hg_return_t wanted;
};

static const struct answer answers[] = {
    {5, 5, HG_SUCCESS},
    {0, KV_SMALL_MAX, HG_PROTOCOL_ERROR},
    {KV_SMALL_MAX, 0, HG_PROTOCOL_ERROR},
};

static const struct answer *answer; /* the next reply */

static void get(hg_handle_t handle)
{
    char bytes[KV_SMALL_MAX];
    kv_get_in_t in;
    kv_get_out_t out = {HG_SUCCESS, answer->len, {answer->value_len, bytes}};

    memset(bytes, 'x', sizeof(bytes));
    if (margo_get_input(handle, &in) == HG_SUCCESS)
        margo_free_input(handle, &in);
    margo_respond(handle, &out);
    margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(get)

int main(int argc, char **argv)
{
    struct client client;
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    int failed = 0;

    MPI_Init(&argc, &argv);
    mid = amalgam_margo_init(MPI_COMM_WORLD, NULL, NULL);
    if (mid == MARGO_INSTANCE_NULL || client_open(&client, mid, 1) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MARGO_REGISTER_PROVIDER(
        mid, "kv_get", kv_get_in_t, kv_get_out_t, get, 1, ABT_POOL_NULL);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        void *value = NULL;
        size_t len = 0;
        hg_return_t ret = HG_SUCCESS;

        answer = &answers[i];
        ret = client_get(&client, "key", &value, &len);
        if (ret != answer->wanted || (ret == HG_SUCCESS && len != 5)) {
            fprintf(stderr, "lengths %d and %d: %s, %zu bytes\n",
                (int)answer->len, (int)answer->value_len,
                HG_Error_to_string(ret), len);
            failed = 1;
        }
        free(value);
    }
    client_close(&client);
    margo_finalize(mid);
    MPI_Finalize();
    return failed;
}
