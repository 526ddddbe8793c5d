/* SPDX-License-Identifier: BSD-3-Clause */
/* A bound handle names its owner wherever it is passed on: each rank binds
 * memory and sends it to the right-hand one, which passes it on, and the next
 * rank pulls from the first one directly. */
#include "api_bulk.h"

enum { LEN = 200000, SMALL = 100 };

static uint8_t exposed[LEN];
static uint8_t bytes[LEN];

static void run(struct api *api, hg_size_t len, uint8_t flags)
{
    struct api_shown left;
    struct api_shown second;
    struct api_call call = {0};
    hg_addr_t self = HG_ADDR_NULL;
    hg_bulk_t mine = api_bulk_expose_one(api, exposed, len, flags);
    hg_bulk_t local = api_bulk_expose_one(api, bytes, len, HG_BULK_READWRITE);

    api_fill(exposed, len, (uint64_t)api->rank, 0);
    OK(api, HG_Addr_self(api->cls, &self));
    CHECK(api, HG_Bulk_get_addr(mine) == HG_ADDR_NULL);
    OK(api, HG_Bulk_bind(mine, api->context));
    CHECK(api, HG_Addr_cmp(api->cls, HG_Bulk_get_addr(mine), self) == HG_TRUE);
    CHECK(api, HG_Bulk_get_context_id(mine) == 0);
    EXPECT(api, HG_INVALID_ARG, HG_Bulk_bind(mine, api->context));
    api_bulk_show(api, mine, (uint64_t)api->rank, &left);
    CHECK(api, HG_Addr_cmp(api->cls, HG_Bulk_get_addr(left.bulk), left.addr) ==
                   HG_TRUE);
    api_bulk_show(api, left.bulk, left.number, &second);
    EXPECT(api, HG_INVALID_ARG,
        api_bulk_move(api, HG_BULK_PULL, &second, 0, local, 0, len));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_bind_transfer(api->context, api_done, &call, HG_BULK_PULL,
            local, 0, local, 0, len, HG_OP_ID_IGNORE));
    EXPECT(api, HG_INVALID_ARG, HG_Bulk_bind(second.bulk, api->context));
    OK(api, HG_Bulk_bind_transfer(api->context, api_done, &call, HG_BULK_PULL,
                second.bulk, 0, local, 0, len, HG_OP_ID_IGNORE));
    OK(api, api_wait(api, &call));
    CHECK(api, call.size == len);
    CHECK(api, api_is_filled(bytes, len, second.number, 0));
    CHECK(api, second.number ==
                   (uint64_t)((api->rank + 2 * (api->size - 1)) % api->size));
    api_bulk_forget(api, &second);
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(mine));
    OK(api, HG_Bulk_free(local));
    OK(api, HG_Addr_free(api->cls, self));
}

static void test(struct api *api)
{
    api_bulk_start(api);
    run(api, LEN, HG_BULK_READWRITE);
    run(api, SMALL, HG_BULK_READ_ONLY);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
