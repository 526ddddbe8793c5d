/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of separate segments, out of order, and split differently at both ends:
 * 1024 against 1, 1 against 1024, 1000 against 1024. Each byte arrives at its
 * place, and the bytes between segments are unchanged. */
#include <stdlib.h>
#include <string.h>

#include "api_bulk.h"

enum { LEN = 1000003, COUNT_MAX = 4096, GAP = 5, SPARE = 1 };

/* One end of a transfer: LEN bytes in `count` segments. */
struct end {
    uint32_t count;
    hg_size_t lens[COUNT_MAX];
    uint8_t *bases[COUNT_MAX];
    uint8_t *memory;
    size_t memory_len;
    hg_bulk_t holder; /* handle of library memory */
    hg_bulk_t bulk;
};

/* Splits LEN into `count` lengths, which vary with `salt`. */
static void cut(struct end *end, uint32_t salt)
{
    hg_size_t left = LEN;

    for (uint32_t i = 0; i < end->count; i++) {
        hg_size_t fair = left / (end->count - i);
        hg_size_t part = fair * (1 + (i * 7 + salt) % 13) / 7;

        end->lens[i] = i == end->count - 1 || part > left ? left : part;
        left -= end->lens[i];
    }
}

/* Odd and even segments from the two ends of the memory, so that neighbours in
 * the list are apart; one in eight does touch the one before it. */
static void lay_out(struct end *end)
{
    size_t low = SPARE;
    size_t high = end->memory_len;

    for (uint32_t i = 0; i < end->count; i++) {
        size_t gap = i % 8 < 2 ? 0 : GAP;

        if (i % 16 < 8 && i % 2 == 1) {
            high -= end->lens[i] + GAP;
            end->bases[i] = end->memory + high;
        } else {
            low += gap;
            end->bases[i] = end->memory + low;
            low += end->lens[i];
        }
    }
}

static void memory_get(struct api *api, struct end *end, bool is_library)
{
    hg_size_t len = LEN + (size_t)(end->count + 1) * 2 * GAP;
    void *memory = NULL;

    end->memory_len = len;
    end->holder = HG_BULK_NULL;
    if (!is_library) {
        end->memory = malloc(len);
        CHECK(api, end->memory != NULL);
        return;
    }
    OK(api, HG_Bulk_create(
                api->cls, 1, NULL, &len, HG_BULK_READWRITE, &end->holder));
    OK(api, HG_Bulk_access(end->holder, 0, len, HG_BULK_READWRITE, 1, &memory,
                NULL, NULL));
    end->memory = memory;
}

static struct end *end_open(
    struct api *api, uint32_t count, uint32_t salt, bool is_library)
{
    struct end *end = calloc(1, sizeof(*end));

    CHECK(api, end != NULL && count <= COUNT_MAX);
    end->count = count;
    cut(end, salt);
    memory_get(api, end, is_library);
    lay_out(end);
    OK(api, HG_Bulk_create(api->cls, count, (void **)end->bases, end->lens,
                HG_BULK_READWRITE, &end->bulk));
    return end;
}

static void end_close(struct api *api, struct end *end)
{
    OK(api, HG_Bulk_free(end->bulk));
    if (end->holder != HG_BULK_NULL)
        OK(api, HG_Bulk_free(end->holder));
    else
        free(end->memory);
    free(end);
}

static void end_fill(struct end *end, uint64_t seed)
{
    hg_size_t offset = 0;

    memset(end->memory, 0xee, end->memory_len);
    for (uint32_t i = 0; i < end->count; i++) {
        api_fill(end->bases[i], end->lens[i], seed, offset);
        offset += end->lens[i];
    }
}

/* Is the range filled, and all other memory as end_clear() left it? Changes the
 * memory. */
static bool end_is_moved(struct end *end, hg_size_t start, hg_size_t size,
    uint64_t seed, uint64_t seed_offset)
{
    hg_size_t at = 0;

    for (uint32_t i = 0; i < end->count; at += end->lens[i++]) {
        hg_size_t first = start > at ? start - at : 0;
        hg_size_t last = start + size < at ? 0 : start + size - at;

        if (last > end->lens[i])
            last = end->lens[i];
        if (first >= last)
            continue;
        if (!api_is_filled(end->bases[i] + first, last - first, seed,
                seed_offset + at + first - start))
            return false;
        memset(end->bases[i] + first, 0xee, last - first);
    }
    for (size_t i = 0; i < end->memory_len; i++)
        if (end->memory[i] != 0xee)
            return false;
    return true;
}

static void end_clear(struct end *end)
{
    memset(end->memory, 0xee, end->memory_len);
}

static void run(
    struct api *api, uint32_t exposed, uint32_t local, bool is_library)
{
    static const hg_size_t ranges[][3] = {
        {0, 0, LEN}, {1, 2, LEN - 2}, {12345, 0, 700001}, {LEN - 9, 4, 9}};
    struct end *mine = end_open(api, exposed, 1, is_library);
    struct end *own = end_open(api, local, 6, is_library);
    struct api_shown left;

    end_fill(mine, (uint64_t)api->rank + 1);
    api_bulk_show(api, mine->bulk, (uint64_t)api->rank + 1, &left);
    CHECK(api, HG_Bulk_get_segment_count(left.bulk) == exposed);
    for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        const hg_size_t *range = ranges[i];

        end_clear(own);
        OK(api, api_bulk_move(api, HG_BULK_PULL, &left, range[0], own->bulk,
                    range[1], range[2]));
        CHECK(
            api, end_is_moved(own, range[1], range[2], left.number, range[0]));
    }
    end_fill(own, 77);
    for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        const hg_size_t *range = ranges[i];

        api_sync(api);
        end_clear(mine);
        api_sync(api);
        OK(api, api_bulk_move(api, HG_BULK_PUSH, &left, range[0], own->bulk,
                    range[1], range[2]));
        api_sync(api);
        CHECK(api, end_is_moved(mine, range[0], range[2], 77, range[1]));
    }
    api_bulk_forget(api, &left);
    api_sync(api);
    end_close(api, own);
    end_close(api, mine);
}

static void test(struct api *api)
{
    api_bulk_start(api);
    for (unsigned is_library = 0; is_library < 2; is_library++) {
        run(api, 1024, 1, is_library == 1);
        run(api, 1, 1024, is_library == 1);
        run(api, 1000, 1024, is_library == 1);
        run(api, 3, COUNT_MAX, is_library == 1);
    }
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
