/* SPDX-License-Identifier: BSD-3-Clause */
/* Without addresses HG_Bulk_create() allocates library memory, which
 * HG_Bulk_access() returns and peers can access; misuse of it is refused. */
#include "api_bulk.h"

enum { COUNT = 3, LEN = 60000 };

static const hg_size_t lens[COUNT] = {10000, 0, 50000};

static void transfers(struct api *api)
{
    hg_bulk_t mine = HG_BULK_NULL;
    hg_bulk_t local = HG_BULK_NULL;
    struct api_shown left;
    void *ptrs[COUNT];
    hg_size_t sizes[COUNT];
    uint32_t count = 0;
    hg_size_t offset = 0;

    OK(api,
        HG_Bulk_create(api->cls, COUNT, NULL, lens, HG_BULK_READWRITE, &mine));
    OK(api,
        HG_Bulk_create(api->cls, COUNT, NULL, lens, HG_BULK_READWRITE, &local));
    OK(api, HG_Bulk_access(
                mine, 0, LEN, HG_BULK_READWRITE, COUNT, ptrs, sizes, &count));
    CHECK(api, count == 2);
    for (uint32_t i = 0; i < count; i++) {
        api_fill(ptrs[i], sizes[i], 7, offset);
        offset += sizes[i];
    }
    CHECK(api, offset == LEN);
    api_bulk_show(api, mine, 0, &left);
    OK(api, api_bulk_move(api, HG_BULK_PULL, &left, 0, local, 0, LEN));
    OK(api, HG_Bulk_access(
                local, 0, LEN, HG_BULK_READWRITE, COUNT, ptrs, sizes, &count));
    CHECK(api, api_is_filled(ptrs[0], sizes[0], 7, 0));
    CHECK(api, api_is_filled(ptrs[1], sizes[1], 7, sizes[0]));
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(local));
    OK(api, HG_Bulk_free(mine));
}

static void misuse(struct api *api)
{
    struct hg_bulk_attr attrs = {HG_MEM_TYPE_HOST, 0};
    const hg_size_t huge[2] = {HG_SIZE_MAX, 2};
    hg_bulk_t bulk = HG_BULK_NULL;
    void *none[COUNT] = {NULL, NULL, NULL};

    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_create(NULL, COUNT, NULL, lens, HG_BULK_READ_ONLY, &bulk));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_create(api->cls, 0, NULL, lens, HG_BULK_READ_ONLY, &bulk));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_create(api->cls, COUNT, NULL, NULL, HG_BULK_READ_ONLY, &bulk));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_create(api->cls, COUNT, NULL, lens, HG_BULK_READ_ONLY, NULL));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_create(api->cls, COUNT, NULL, lens, 0, &bulk));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_create(api->cls, COUNT, NULL, lens, 0x83, &bulk));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_create(api->cls, COUNT, none, lens, HG_BULK_READ_ONLY, &bulk));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_create(api->cls, 2, NULL, huge, HG_BULK_READ_ONLY, &bulk));
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_create_attr(
            api->cls, COUNT, NULL, lens, HG_BULK_READ_ONLY, NULL, &bulk));
    attrs.mem_type = HG_MEM_TYPE_CUDA;
    EXPECT(api, HG_OPNOTSUPPORTED,
        HG_Bulk_create_attr(
            api->cls, COUNT, NULL, lens, HG_BULK_READ_ONLY, &attrs, &bulk));
    CHECK(api, bulk == HG_BULK_NULL);
    attrs.mem_type = HG_MEM_TYPE_HOST;
    OK(api, HG_Bulk_create_attr(
                api->cls, COUNT, NULL, lens, HG_BULK_READ_ONLY, &attrs, &bulk));
    OK(api, HG_Bulk_free(bulk));
    OK(api, HG_Bulk_free(HG_BULK_NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Bulk_ref_incr(HG_BULK_NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Bulk_bind(HG_BULK_NULL, api->context));
    EXPECT(api, HG_INVALID_ARG, HG_Bulk_cancel(HG_OP_ID_NULL));
    CHECK(api, HG_Bulk_get_size(HG_BULK_NULL) == 0);
    CHECK(api, HG_Bulk_get_segment_count(HG_BULK_NULL) == 0);
    CHECK(api, HG_Bulk_get_flags(HG_BULK_NULL) == 0);
    CHECK(api, HG_Bulk_get_addr(HG_BULK_NULL) == HG_ADDR_NULL);
    CHECK(api, HG_Bulk_get_context_id(HG_BULK_NULL) == 0);
}

static void test(struct api *api)
{
    api_bulk_start(api);
    misuse(api);
    transfers(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
