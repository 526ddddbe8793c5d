/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of 0 and 1 byte, and of lengths and offsets next to each power of
 * two, move exactly these bytes: in memory of the program and of the library,
 * with different alignments of both ends. */
#include <stdlib.h>
#include <string.h>

#include "api_bulk.h"

enum { KIB = 1024, LEN = 3 * KIB * KIB, GUARD = 32 };

static const hg_size_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 63, 64,
    65, 255, 257, KIB - 1, KIB + 1, 4 * KIB - 1, 4 * KIB, 4 * KIB + 1,
    8 * KIB + 7, 64 * KIB - 1, 64 * KIB + 3, 256 * KIB + 1, KIB *KIB - 1,
    2 * KIB *KIB + 5};
/* Offsets of the exposed and the local end, beyond GUARD; of all alignments. */
static const hg_size_t places[][2] = {
    {0, 1}, {1, 0}, {3, 5}, {7, 7}, {4 * KIB - 1, 2}, {2, 64 * KIB - 3}};

enum {
    SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]),
    PLACE_COUNT = sizeof(places) / sizeof(places[0]),
};

/* A handle over LEN bytes, and its memory. */
struct end {
    hg_bulk_t bulk;
    uint8_t *bytes;
};

static struct end end_open(struct api *api, bool is_library)
{
    struct end end = {HG_BULK_NULL, NULL};
    hg_size_t len = LEN;
    void *bytes = NULL;

    if (!is_library) {
        end.bytes = malloc(LEN + 1);
        CHECK(api, end.bytes != NULL);
        /* The memory itself is unaligned, too. */
        end.bulk =
            api_bulk_expose_one(api, end.bytes + 1, LEN, HG_BULK_READWRITE);
        end.bytes++;
        return end;
    }
    OK(api,
        HG_Bulk_create(api->cls, 1, NULL, &len, HG_BULK_READWRITE, &end.bulk));
    OK(api, HG_Bulk_access(
                end.bulk, 0, LEN, HG_BULK_READWRITE, 1, &bytes, NULL, NULL));
    end.bytes = bytes;
    return end;
}

static void end_close(struct api *api, struct end *end, bool is_library)
{
    OK(api, HG_Bulk_free(end->bulk));
    if (!is_library)
        free(end->bytes - 1);
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    while (len > 0 && bytes[len - 1] == 0)
        len--;
    return len == 0;
}

/* Has this range the bytes, and the guard around it none? */
static bool is_moved(
    const uint8_t *at, hg_size_t size, uint64_t seed, uint64_t seed_offset)
{
    return is_zero(at - GUARD, GUARD) &&
           api_is_filled(at, size, seed, seed_offset) &&
           is_zero(at + size, GUARD);
}

static void pull(struct api *api, const struct api_shown *left,
    struct end *local, hg_size_t size, const hg_size_t *place)
{
    hg_size_t from = GUARD + place[0];
    hg_size_t to = GUARD + place[1];

    memset(local->bytes + place[1], 0, size + 2 * GUARD);
    OK(api,
        api_bulk_move(api, HG_BULK_PULL, left, from, local->bulk, to, size));
    CHECK(api, is_moved(local->bytes + to, size, left->number, from));
}

/* All ranks at once; each checks its own memory, which the right one writes. */
static void push(struct api *api, const struct api_shown *left,
    struct end *local, struct end *mine, hg_size_t size, const hg_size_t *place)
{
    hg_size_t to = GUARD + place[0];
    hg_size_t from = GUARD + place[1];

    memset(mine->bytes + place[0], 0, size + 2 * GUARD);
    api_fill(local->bytes + from, size, 99, from);
    api_sync(api);
    OK(api,
        api_bulk_move(api, HG_BULK_PUSH, left, to, local->bulk, from, size));
    api_sync(api);
    CHECK(api, is_moved(mine->bytes + to, size, 99, from));
}

static void run(struct api *api, bool is_library)
{
    struct end mine = end_open(api, is_library);
    struct end local = end_open(api, is_library);
    struct api_shown left;

    api_fill(mine.bytes, LEN, (uint64_t)api->rank + 1, 0);
    api_bulk_show(api, mine.bulk, (uint64_t)api->rank + 1, &left);
    for (unsigned i = 0; i < SIZE_COUNT; i++)
        for (unsigned k = 0; k < PLACE_COUNT; k++)
            pull(api, &left, &local, sizes[i], places[k]);
    api_sync(api);
    for (unsigned i = 0; i < SIZE_COUNT; i++)
        push(api, &left, &local, &mine, sizes[i], places[i % PLACE_COUNT]);
    api_bulk_forget(api, &left);
    api_sync(api);
    end_close(api, &local, is_library);
    end_close(api, &mine, is_library);
}

static void test(struct api *api)
{
    api_bulk_start(api);
    run(api, false);
    run(api, true);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
