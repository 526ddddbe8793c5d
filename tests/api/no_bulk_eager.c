/* SPDX-License-Identifier: BSD-3-Clause */
/* With the option no_bulk_eager the target reads memory at the pull, however
 * small it is. */
#include "api_bulk.h"

enum { LEN = 100 };

static uint8_t exposed[LEN];
static uint8_t bytes[LEN];

static void test(struct api *api)
{
    hg_bulk_t mine;
    hg_bulk_t local;
    struct api_shown left;

    api_bulk_start(api);
    api_fill(exposed, LEN, 1, 0);
    mine = api_bulk_expose_one(api, exposed, LEN, HG_BULK_READ_ONLY);
    local = api_bulk_expose_one(api, bytes, LEN, HG_BULK_WRITE_ONLY);
    api_bulk_show(api, mine, 0, &left);
    api_fill(exposed, LEN, 2, 0);
    api_sync(api);
    OK(api, api_bulk_move(api, HG_BULK_PULL, &left, 0, local, 0, LEN));
    CHECK(api, api_is_filled(bytes, LEN, 2, 0));
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(local));
    OK(api, HG_Bulk_free(mine));
}

int main(int argc, char **argv)
{
    return api_main(
        argc, argv, &(struct api_wish){.no_bulk_eager = true}, test);
}
