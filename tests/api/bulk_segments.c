/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulls and pushes between handles of 1 to 5000 segments, some empty, move
 * exactly the requested bytes across all segment borders. */
#include <stdlib.h>
#include <string.h>

#include "api_bulk.h"

enum { LEN = 100000, SEGMENTS_MAX = 5000, GUARD = 64 };

static hg_size_t lens[SEGMENTS_MAX];

/* Splits LEN bytes into `count` segments of uneven length, some empty. */
static void cut(uint32_t count, uint32_t salt)
{
    hg_size_t left = LEN;

    for (uint32_t i = 0; i < count; i++) {
        hg_size_t fair = left / (count - i);
        uint32_t kind = (i + salt) % 5;

        lens[i] = kind == 0 ? 0 : kind < 3 ? fair / 2 + 1 : fair + fair / 3;
        if (lens[i] > left)
            lens[i] = left;
        if (i == count - 1)
            lens[i] = left;
        left -= lens[i];
    }
}

/* All but [offset, offset + size) has `before`, the range has `seed`. */
static bool is_moved(const uint8_t *bytes, hg_size_t offset, hg_size_t size,
    uint64_t seed, hg_size_t seed_offset)
{
    static uint8_t zeros[LEN];

    return memcmp(bytes, zeros, offset) == 0 &&
           api_is_filled(bytes + offset, size, seed, seed_offset) &&
           memcmp(bytes + offset + size, zeros, LEN - offset - size) == 0;
}

static void ranges(struct api *api, const struct api_shown *left,
    hg_bulk_t local, uint8_t *bytes)
{
    static const hg_size_t starts[] = {0, 1, 4097, 33333, LEN - 100};
    static const hg_size_t sizes[] = {0, 1, 99, 5000, 40000, LEN};

    for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            hg_size_t from = starts[i];
            hg_size_t to = starts[(i + k) % 5];
            hg_size_t size = sizes[k];

            if (size > LEN - from)
                size = LEN - from;
            if (size > LEN - to)
                size = LEN - to;
            memset(bytes, 0, LEN);
            OK(api,
                api_bulk_move(api, HG_BULK_PULL, left, from, local, to, size));
            CHECK(api, is_moved(bytes, to, size, left->number, from));
        }
}

/* Each rank writes into the left one's memory, and checks its own. */
static void push(struct api *api, const struct api_shown *left, hg_bulk_t local,
    uint8_t *bytes, uint8_t *exposed)
{
    const hg_size_t from = 777;
    const hg_size_t to = 4321;
    const hg_size_t size = 80000;

    api_sync(api);
    memset(exposed, 0, LEN);
    api_fill(bytes, LEN, 99, 0);
    api_sync(api);
    OK(api, api_bulk_move(api, HG_BULK_PUSH, left, to, local, from, size));
    api_sync(api);
    CHECK(api, is_moved(exposed, to, size, 99, from));
}

static void run(struct api *api, uint32_t exposed_count, uint32_t local_count)
{
    uint8_t *exposed = malloc(LEN);
    uint8_t *bytes = malloc(LEN);
    struct api_shown left;
    hg_bulk_t mine;
    hg_bulk_t local;

    CHECK(api, exposed != NULL && bytes != NULL);
    api_fill(exposed, LEN, (uint64_t)api->rank + 1, 0);
    cut(exposed_count, 0);
    mine =
        api_bulk_expose(api, exposed, exposed_count, lens, HG_BULK_READWRITE);
    CHECK(api, HG_Bulk_get_size(mine) == LEN);
    CHECK(api, HG_Bulk_get_segment_count(mine) == exposed_count);
    CHECK(api, HG_Bulk_get_flags(mine) == HG_BULK_READWRITE);
    cut(local_count, 3);
    local = api_bulk_expose(api, bytes, local_count, lens, HG_BULK_READWRITE);
    api_bulk_show(api, mine, (uint64_t)api->rank + 1, &left);
    CHECK(api, HG_Bulk_get_size(left.bulk) == LEN);
    CHECK(api, HG_Bulk_get_segment_count(left.bulk) == exposed_count);
    CHECK(api, HG_Bulk_get_flags(left.bulk) == HG_BULK_READWRITE);
    ranges(api, &left, local, bytes);
    push(api, &left, local, bytes, exposed);
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(local));
    OK(api, HG_Bulk_free(mine));
    free(bytes);
    free(exposed);
}

static void test(struct api *api)
{
    api_bulk_start(api);
    run(api, 1, 1);
    run(api, 3, 1);
    run(api, 1, 3);
    run(api, 3, 7);
    run(api, 1024, 1);
    run(api, 1024, 1000);
    run(api, SEGMENTS_MAX, 3);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
