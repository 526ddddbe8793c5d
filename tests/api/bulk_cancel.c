/* SPDX-License-Identifier: BSD-3-Clause */
/* A cancelled transfer ends once, with HG_CANCELED or its own result, and later
 * transfers are correct. Cancelling it again after its end has no effect, also
 * on the next one. */
#include <stdlib.h>

#include "api_bulk.h"

enum { LEN = 32 << 20, ROUNDS = 12, TURNS_STEP = 3 };

static void round_run(struct api *api, const struct api_shown *left,
    hg_bulk_t local, hg_bulk_op_t op, unsigned turns)
{
    struct api_call call = {0};
    hg_op_id_t id = HG_OP_ID_NULL;
    hg_return_t rc;

    OK(api, HG_Bulk_transfer(api->context, api_done, &call, op, left->addr,
                left->bulk, 0, local, 0, LEN, &id));
    CHECK(api, id != HG_OP_ID_NULL);
    for (unsigned i = 0; i < turns && call.done == 0; i++)
        api_turn(api);
    if (call.done == 0)
        OK(api, HG_Bulk_cancel(id));
    if (call.done == 0)
        OK(api, HG_Bulk_cancel(id));
    rc = api_wait(api, &call);
    CHECK(api, rc == HG_SUCCESS || rc == HG_CANCELED);
    OK(api, HG_Bulk_cancel(id));
}

static void test(struct api *api)
{
    uint8_t *exposed = malloc(LEN);
    uint8_t *bytes = calloc(1, LEN);
    struct api_shown left;
    hg_bulk_t mine;
    hg_bulk_t local;

    api_bulk_start(api);
    CHECK(api, exposed != NULL && bytes != NULL);
    mine = api_bulk_expose_one(api, exposed, LEN, HG_BULK_READWRITE);
    local = api_bulk_expose_one(api, bytes, LEN, HG_BULK_READWRITE);
    api_bulk_show(api, mine, 0, &left);
    for (unsigned i = 0; i < ROUNDS; i++)
        round_run(api, &left, local, i % 2 == 0 ? HG_BULK_PULL : HG_BULK_PUSH,
            i * TURNS_STEP);
    api_sync(api);
    api_fill(exposed, LEN, (uint64_t)api->rank, 0);
    api_sync(api);
    OK(api, api_bulk_move(api, HG_BULK_PULL, &left, 0, local, 0, LEN));
    CHECK(api, api_is_filled(bytes, LEN,
                   (uint64_t)((api->rank + api->size - 1) % api->size), 0));
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(local));
    OK(api, HG_Bulk_free(mine));
    free(bytes);
    free(exposed);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
