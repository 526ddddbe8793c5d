/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Bulk_access() returns the local segments of a range, no empty ones, and
 * refuses remote memory and ranges beyond the end. Memory whose descriptor came
 * back to its own process is local until its owner frees it. */
#include "api_bulk.h"

enum { LEN = 60, COUNT = 5, LARGE = 100000 };

static char block[LEN];
static uint8_t large[LARGE];
static const hg_size_t lens[COUNT] = {10, 0, 20, 0, 30};

static void local_ranges(struct api *api, hg_bulk_t bulk)
{
    void *ptrs[COUNT] = {NULL};
    hg_size_t sizes[COUNT] = {0};
    uint32_t count = 7;

    OK(api, HG_Bulk_access(
                bulk, 0, LEN, HG_BULK_READWRITE, COUNT, ptrs, sizes, &count));
    CHECK(api, count == 3 && ptrs[0] == block && sizes[0] == 10);
    CHECK(api, ptrs[1] == block + 10 && sizes[1] == 20);
    CHECK(api, ptrs[2] == block + 30 && sizes[2] == 30);
    OK(api, HG_Bulk_access(
                bulk, 5, 30, HG_BULK_READ_ONLY, COUNT, ptrs, sizes, &count));
    CHECK(api, count == 3 && ptrs[0] == block + 5 && sizes[0] == 5);
    CHECK(api, sizes[1] == 20 && ptrs[2] == block + 30 && sizes[2] == 5);
    OK(api,
        HG_Bulk_access(bulk, 30, 1, HG_BULK_READ_ONLY, 1, ptrs, NULL, &count));
    CHECK(api, count == 1 && ptrs[0] == block + 30);
    OK(api,
        HG_Bulk_access(bulk, 5, 40, HG_BULK_READ_ONLY, 2, NULL, sizes, &count));
    CHECK(api, count == 2 && sizes[0] == 5 && sizes[1] == 20);
    OK(api, HG_Bulk_access(
                bulk, 0, LEN, HG_BULK_READ_ONLY, COUNT, ptrs, sizes, NULL));
    count = 7;
    OK(api, HG_Bulk_access(bulk, 0, 0, 0, COUNT, ptrs, sizes, &count));
    OK(api, HG_Bulk_access(bulk, 0, LEN, 0, 0, ptrs, sizes, &count));
    CHECK(api, count == 0);
    count = 7;
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_access(bulk, 0, LEN + 1, 0, COUNT, ptrs, sizes, &count));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_access(bulk, LEN, 1, 0, COUNT, ptrs, sizes, &count));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_access(bulk, 1, HG_SIZE_MAX, 0, COUNT, ptrs, sizes, &count));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_access(HG_BULK_NULL, 0, 1, 0, COUNT, ptrs, sizes, &count));
    CHECK(api, count == 7);
}

/* The handle as its own process receives it. */
static hg_bulk_t come_back(struct api *api, hg_bulk_t bulk)
{
    char bytes[512];
    hg_bulk_t back = HG_BULK_NULL;

    OK(api, HG_Bulk_serialize(bytes, sizeof(bytes), 0, bulk));
    OK(api, HG_Bulk_deserialize(api->cls, &back, bytes, sizeof(bytes)));
    return back;
}

static void came_back(struct api *api)
{
    static uint8_t bytes[LARGE];
    hg_bulk_t bulk =
        api_bulk_expose(api, block, COUNT, lens, HG_BULK_READWRITE);
    hg_bulk_t back = come_back(api, bulk);
    hg_bulk_t from = api_bulk_expose_one(api, large, LARGE, HG_BULK_READ_ONLY);
    hg_bulk_t to = api_bulk_expose_one(api, bytes, LARGE, HG_BULK_READWRITE);
    hg_bulk_t to_back = come_back(api, to);
    struct api_shown left;
    void *ptr = NULL;

    local_ranges(api, back);
    OK(api, HG_Bulk_bind(back, api->context));
    OK(api, HG_Bulk_free(bulk));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_access(back, 0, 1, HG_BULK_READ_ONLY, 1, &ptr, NULL, NULL));
    OK(api, HG_Bulk_free(back));
    /* As the local side of a transfer. */
    api_fill(large, LARGE, 1, 0);
    api_bulk_show(api, from, 0, &left);
    OK(api, api_bulk_move(api, HG_BULK_PULL, &left, 0, to_back, 0, LARGE));
    CHECK(api, api_is_filled(bytes, LARGE, 1, 0));
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(to_back));
    OK(api, HG_Bulk_free(to));
    OK(api, HG_Bulk_free(from));
}

static void test(struct api *api)
{
    hg_bulk_t bulk;
    hg_bulk_t far;
    struct api_shown left;
    void *ptr = NULL;
    uint32_t count = 7;

    api_bulk_start(api);
    bulk = api_bulk_expose(api, block, COUNT, lens, HG_BULK_READWRITE);
    local_ranges(api, bulk);
    OK(api, HG_Bulk_free(bulk));
    came_back(api);
    /* Too large to travel with its descriptor, the memory stays remote. */
    far = api_bulk_expose_one(api, large, LARGE, HG_BULK_READ_ONLY);
    api_bulk_show(api, far, 0, &left);
    EXPECT(api, api->is_alone ? HG_SUCCESS : HG_INVALID_ARG,
        HG_Bulk_access(
            left.bulk, 0, 1, HG_BULK_READ_ONLY, 1, &ptr, NULL, &count));
    CHECK(api, ptr == (api->is_alone ? large : NULL));
    CHECK(api, count == (api->is_alone ? 1 : 7));
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(far));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
