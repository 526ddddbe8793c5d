/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer beyond the end of either handle is refused and moves nothing, also
 * where offset plus size overflows; one up to the very end works. */
#include <string.h>

#include "api_bulk.h"

enum { LEN = 5000, LOCAL_LEN = 6000 };

static uint8_t exposed[LEN];
static uint8_t bytes[LOCAL_LEN];

struct range {
    hg_size_t left_offset;
    hg_size_t local_offset;
    hg_size_t size;
    hg_return_t ret;
};

static const struct range ranges[] = {
    {0, 0, LEN, HG_SUCCESS},
    {LEN, 0, 0, HG_SUCCESS},
    {0, LOCAL_LEN, 0, HG_SUCCESS},
    {LEN - 1, LOCAL_LEN - 1, 1, HG_SUCCESS},
    {0, 0, LEN + 1, HG_INVALID_ARG},
    {1, 0, LEN, HG_INVALID_ARG},
    {LEN, 0, 1, HG_INVALID_ARG},
    {LEN + 1, 0, 0, HG_INVALID_ARG},
    {0, LOCAL_LEN - LEN + 1, LEN, HG_INVALID_ARG},
    {0, LOCAL_LEN + 1, 0, HG_INVALID_ARG},
    {1, 0, HG_SIZE_MAX, HG_INVALID_ARG},
    {HG_SIZE_MAX, 0, 1, HG_INVALID_ARG},
    {0, HG_SIZE_MAX, 1, HG_INVALID_ARG},
    {HG_SIZE_MAX, HG_SIZE_MAX, HG_SIZE_MAX, HG_INVALID_ARG},
};

static void test(struct api *api)
{
    static uint8_t zeros[LOCAL_LEN];
    hg_bulk_t mine;
    hg_bulk_t local;
    struct api_shown left;

    api_bulk_start(api);
    api_fill(exposed, LEN, 5, 0);
    mine = api_bulk_expose_one(api, exposed, LEN, HG_BULK_READWRITE);
    local = api_bulk_expose_one(api, bytes, LOCAL_LEN, HG_BULK_READWRITE);
    api_bulk_show(api, mine, 0, &left);
    for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        const struct range *r = &ranges[i];

        memset(bytes, 0, LOCAL_LEN);
        EXPECT(api, r->ret,
            api_bulk_move(api, HG_BULK_PULL, &left, r->left_offset, local,
                r->local_offset, r->size));
        if (r->ret != HG_SUCCESS) {
            CHECK(api, memcmp(bytes, zeros, LOCAL_LEN) == 0);
            EXPECT(api, r->ret,
                api_bulk_move(api, HG_BULK_PUSH, &left, r->left_offset, local,
                    r->local_offset, r->size));
        }
    }
    api_sync(api);
    CHECK(api, api_is_filled(exposed, LEN, 5, 0));
    api_bulk_forget(api, &left);
    OK(api, HG_Bulk_free(local));
    api_sync(api);
    OK(api, HG_Bulk_free(mine));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
