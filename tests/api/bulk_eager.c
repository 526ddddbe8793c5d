/* SPDX-License-Identifier: BSD-3-Clause */
/* Small read-only data travel with the request: the target gets them as they
 * were at the call. Writable or large data do not, and none do with the option
 * no_bulk_eager; to self they need not. */
#include <string.h>

#include "api_bulk.h"

enum { SMALL = 500, LARGE = 100000 };

static uint8_t exposed[LARGE];
static uint8_t bytes[LARGE];

/* Exposes bytes of seed 1, then changes them to seed 2; returns the seed that
 * arrived. */
static uint64_t seed_pulled(struct api *api, hg_size_t len, uint8_t flags)
{
    static const hg_size_t three[3] = {100, 0, SMALL - 100};
    hg_bulk_t mine;
    hg_bulk_t local = api_bulk_expose_one(api, bytes, len, HG_BULK_WRITE_ONLY);
    struct api_shown left;
    uint64_t seed = 0;

    api_fill(exposed, len, 1, 0);
    memset(bytes, 0, len);
    mine = len == SMALL ? api_bulk_expose(api, exposed, 3, three, flags)
                        : api_bulk_expose_one(api, exposed, len, flags);
    api_bulk_show(api, mine, 0, &left);
    api_fill(exposed, len, 2, 0);
    api_sync(api);
    OK(api, api_bulk_move(api, HG_BULK_PULL, &left, 3, local, 2, len - 10));
    for (seed = 1; seed <= 2; seed++)
        if (api_is_filled(bytes + 2, len - 10, seed, 3))
            break;
    CHECK(api, bytes[1] == 0 && bytes[len - 1] == 0);
    if (flags == HG_BULK_READ_ONLY)
        EXPECT(api, HG_PERMISSION,
            api_bulk_move(api, HG_BULK_PUSH, &left, 0, local, 0, len));
    /* A range beyond the data is refused, eager or not. */
    EXPECT(api, HG_INVALID_ARG,
        api_bulk_move(api, HG_BULK_PULL, &left, 1, local, 0, len));
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(mine));
    OK(api, HG_Bulk_free(local));
    return seed;
}

static void test(struct api *api)
{
    uint64_t small = 0;

    api_bulk_start(api);
    small = seed_pulled(api, SMALL, HG_BULK_READ_ONLY);
    if (api->is_alone)
        CHECK(api, small == 1 || small == 2);
    else
        CHECK(api, small == 1);
    CHECK(api, seed_pulled(api, SMALL, HG_BULK_READWRITE) == 2);
    CHECK(api, seed_pulled(api, LARGE, HG_BULK_READ_ONLY) == 2);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
