/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers are allowed only in the directions that both handles allow: a pull
 * reads the origin's memory and writes the local one, a push vice versa. */
#include "api_bulk.h"

enum { LEN = 10000, KINDS = 3 };

static uint8_t exposed[KINDS][LEN];
static uint8_t bytes[KINDS][LEN];

static void test(struct api *api)
{
    static const uint8_t flags[KINDS] = {
        HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY, HG_BULK_READWRITE};
    hg_bulk_t mine[KINDS];
    hg_bulk_t local[KINDS];
    struct api_shown left[KINDS];

    api_bulk_start(api);
    for (unsigned i = 0; i < KINDS; i++) {
        mine[i] = api_bulk_expose_one(api, exposed[i], LEN, flags[i]);
        local[i] = api_bulk_expose_one(api, bytes[i], LEN, flags[i]);
        api_bulk_show(api, mine[i], i, &left[i]);
        CHECK(api, HG_Bulk_get_flags(left[i].bulk) == flags[i]);
    }
    for (unsigned o = 0; o < KINDS; o++)
        for (unsigned l = 0; l < KINDS; l++) {
            bool may_pull = (flags[o] & HG_BULK_READ_ONLY) != 0 &&
                            (flags[l] & HG_BULK_WRITE_ONLY) != 0;
            bool may_push = (flags[o] & HG_BULK_WRITE_ONLY) != 0 &&
                            (flags[l] & HG_BULK_READ_ONLY) != 0;

            EXPECT(api, may_pull ? HG_SUCCESS : HG_PERMISSION,
                api_bulk_move(
                    api, HG_BULK_PULL, &left[o], 0, local[l], 0, LEN));
            EXPECT(api, may_push ? HG_SUCCESS : HG_PERMISSION,
                api_bulk_move(
                    api, HG_BULK_PUSH, &left[o], 0, local[l], 0, LEN));
        }
    api_sync(api);
    for (unsigned i = 0; i < KINDS; i++) {
        api_bulk_forget(api, &left[i]);
        OK(api, HG_Bulk_free(local[i]));
    }
    api_sync(api);
    for (unsigned i = 0; i < KINDS; i++)
        OK(api, HG_Bulk_free(mine[i]));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
