/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer with the own address copies between two own handles, also in a
 * class that does not listen, and checks its arguments. */
#include "api_bulk.h"

enum { LEN = 100000 };

static uint8_t from[LEN];
static uint8_t to[LEN];

static void misuse(
    struct api *api, hg_addr_t self, hg_bulk_t origin, hg_bulk_t local)
{
    struct api_call call = {0};

    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_transfer(NULL, api_done, &call, HG_BULK_PULL, self, origin, 0,
            local, 0, 1, HG_OP_ID_IGNORE));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_transfer(api->context, api_done, &call, HG_BULK_PULL,
            HG_ADDR_NULL, origin, 0, local, 0, 1, HG_OP_ID_IGNORE));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_transfer(api->context, api_done, &call, HG_BULK_PULL, self,
            HG_BULK_NULL, 0, local, 0, 1, HG_OP_ID_IGNORE));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_transfer(api->context, api_done, &call, HG_BULK_PULL, self,
            origin, 0, HG_BULK_NULL, 0, 1, HG_OP_ID_IGNORE));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_transfer(api->context, api_done, &call, (hg_bulk_op_t)7, self,
            origin, 0, local, 0, 1, HG_OP_ID_IGNORE));
    CHECK(api, call.done == 0);
}

/* A handle of another class is refused on either side. */
static void foreign(
    struct api *api, hg_addr_t self, hg_bulk_t origin, hg_bulk_t local)
{
    hg_class_t *cls = HG_Init("self", HG_TRUE);
    hg_bulk_t other = HG_BULK_NULL;
    const hg_size_t len = LEN;
    void *ptr = from;
    struct api_shown shown = {.addr = self};

    CHECK(api, cls != NULL);
    OK(api, HG_Bulk_create(cls, 1, &ptr, &len, HG_BULK_READWRITE, &other));
    EXPECT(api, HG_INVALID_ARG, HG_Bulk_bind(other, api->context));
    shown.bulk = other;
    EXPECT(api, HG_INVALID_ARG,
        api_bulk_move(api, HG_BULK_PULL, &shown, 0, local, 0, 1));
    shown.bulk = origin;
    EXPECT(api, HG_INVALID_ARG,
        api_bulk_move(api, HG_BULK_PULL, &shown, 0, other, 0, 1));
    OK(api, HG_Bulk_free(other));
    OK(api, HG_Finalize(cls));
}

static void test(struct api *api)
{
    struct api_shown shown = {0};
    struct api_call call = {0};
    hg_bulk_t local;

    CHECK(api, !HG_Class_is_listening(api->cls));
    OK(api, HG_Addr_self(api->cls, &shown.addr));
    shown.bulk = api_bulk_expose_one(api, from, LEN, HG_BULK_READWRITE);
    local = api_bulk_expose_one(api, to, LEN, HG_BULK_READWRITE);
    api_fill(from, LEN, 1, 0);
    OK(api, api_bulk_move(api, HG_BULK_PULL, &shown, 0, local, 0, LEN));
    CHECK(api, api_is_filled(to, LEN, 1, 0));
    api_fill(to, LEN, 2, 0);
    OK(api, HG_Bulk_transfer_id(api->context, api_done, &call, HG_BULK_PUSH,
                shown.addr, 0, shown.bulk, 0, local, 0, LEN, NULL));
    OK(api, api_wait(api, &call));
    CHECK(api, api_is_filled(from, LEN, 2, 0));
    misuse(api, shown.addr, shown.bulk, local);
    foreign(api, shown.addr, shown.bulk, local);
    OK(api, HG_Bulk_free(local));
    api_bulk_forget(api, &shown);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){.client_only = true}, test);
}
