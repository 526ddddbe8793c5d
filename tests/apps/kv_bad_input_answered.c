/* SPDX-License-Identifier: BSD-3-Clause */
/* A provider of the hash table answers arguments that it cannot decode with the
 * code of the failure, and stores nothing. */
#include <stdio.h>
#include <string.h>

#include "amalgam_margo.h"
#include "jobs/apps/kv/provider.h"
#include "jobs/apps/kv/wire.h"

enum { PROVIDER = 1 };

#define CHECK_RC(call, wanted)                                                 \
    do {                                                                       \
        hg_return_t rc_ = (hg_return_t)(call);                                 \
        if (rc_ != (wanted)) {                                                 \
            fprintf(stderr, "line %d: %s is %s, not %s\n", __LINE__, #call,    \
                HG_Error_to_string(rc_), HG_Error_to_string(wanted));          \
            MPI_Abort(MPI_COMM_WORLD, 1);                                      \
        }                                                                      \
    } while (0)

static margo_instance_id mid;

/* Sends a value of `len` bytes in a message, and returns the provider's code.
 */
static int32_t put(hg_id_t id, hg_addr_t self, uint32_t len)
{
    static char bytes[KV_SMALL_MAX + 1];
    kv_put_in_t in = {(char *)"key", {len, bytes}};
    kv_put_out_t out = {HG_SUCCESS};
    hg_handle_t handle = HG_HANDLE_NULL;

    CHECK_RC(margo_create(mid, self, id, &handle), HG_SUCCESS);
    CHECK_RC(margo_provider_forward(PROVIDER, handle, &in), HG_SUCCESS);
    CHECK_RC(margo_get_output(handle, &out), HG_SUCCESS);
    CHECK_RC(margo_free_output(handle, &out), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    return out.ret;
}

int main(int argc, char **argv)
{
    struct provider provider;
    hg_addr_t self = HG_ADDR_NULL;
    hg_id_t id = 0;

    MPI_Init(&argc, &argv);
    mid = amalgam_margo_init(MPI_COMM_WORLD, NULL, NULL);
    if (mid == MARGO_INSTANCE_NULL || !provider_open(&provider, mid, PROVIDER))
        MPI_Abort(MPI_COMM_WORLD, 1);
    id = MARGO_REGISTER(mid, "kv_put", kv_put_in_t, kv_put_out_t, NULL);
    CHECK_RC(margo_addr_self(mid, &self), HG_SUCCESS);
    CHECK_RC(put(id, self, KV_SMALL_MAX + 1), HG_OVERFLOW);
    if (table_find(&provider.table, "key") != NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    CHECK_RC(put(id, self, KV_SMALL_MAX), HG_SUCCESS);
    CHECK_RC(margo_addr_free(mid, self), HG_SUCCESS);
    margo_finalize(mid);
    provider_close(&provider);
    MPI_Finalize();
    return 0;
}
