/* SPDX-License-Identifier: BSD-3-Clause */
/* 5000 pulls, and then as many pushes, posted before any progress: none fails,
 * each ends once with its bytes, and their memory is bounded - at most 4 KiB
 * for each that waits, and no more when they are posted again. Short and longer
 * ones are mixed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_bulk.h"

enum {
    COUNT = 5000,
    PLACE = 6144, /* distance of the memory of two transfers */
    SHORT = 61,
    LONG = 6007,
    EACH_BYTES = 4096,     /* besides the user's memory */
    SLACK_BYTES = 8 << 20, /* of MPI, and what is allocated once */
};

/* A sanitizer keeps freed memory, and has its own for each byte. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_growth_telling = false;
#else
static const bool is_growth_telling = true;
#endif

static hg_size_t size_of(unsigned i)
{
    return i % 3 == 0 ? LONG : SHORT;
}

/* Resident memory of this process. */
static long resident_bytes(struct api *api)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    CHECK(api, file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Runs all transfers from post to end. They are mirrored: the first block here
 * is the last one there. Returns the growth of the process. */
static long all_move(struct api *api, hg_bulk_op_t op,
    const struct api_shown *left, hg_bulk_t local, struct api_call *calls)
{
    long before = resident_bytes(api);

    memset(calls, 0, COUNT * sizeof(*calls));
    for (unsigned i = 0; i < COUNT; i++)
        OK(api, HG_Bulk_transfer(api->context, api_done, &calls[i], op,
                    left->addr, left->bulk, (hg_size_t)(COUNT - 1 - i) * PLACE,
                    local, (hg_size_t)i * PLACE, size_of(i), HG_OP_ID_IGNORE));
    for (unsigned i = 0; i < COUNT; i++) {
        OK(api, api_wait(api, &calls[i]));
        CHECK(api, calls[i].size == size_of(i));
    }
    return resident_bytes(api) - before;
}

static void pulled_check(struct api *api, const uint8_t *bytes, uint64_t seed)
{
    for (unsigned i = 0; i < COUNT; i++)
        CHECK(api, api_is_filled(bytes + (size_t)i * PLACE, size_of(i), seed,
                       (uint64_t)(COUNT - 1 - i) * PLACE));
}

static void pushed_check(struct api *api, const uint8_t *bytes)
{
    for (unsigned i = 0; i < COUNT; i++)
        CHECK(api, api_is_filled(bytes + (size_t)(COUNT - 1 - i) * PLACE,
                       size_of(i), 99, (uint64_t)i * PLACE));
}

static void test(struct api *api)
{
    size_t len = (size_t)COUNT * PLACE;
    uint8_t *exposed = malloc(len);
    uint8_t *bytes = malloc(len);
    struct api_call *calls = calloc(COUNT, sizeof(*calls));
    struct api_shown left;
    hg_bulk_t mine = HG_BULK_NULL;
    hg_bulk_t local = HG_BULK_NULL;
    long grown = 0;

    CHECK(api, exposed != NULL && bytes != NULL && calls != NULL);
    api_bulk_start(api);
    api_fill(exposed, len, (uint64_t)api->rank + 1, 0);
    memset(bytes, 0, len);
    mine = api_bulk_expose_one(api, exposed, len, HG_BULK_READWRITE);
    local = api_bulk_expose_one(api, bytes, len, HG_BULK_READWRITE);
    api_bulk_show(api, mine, (uint64_t)api->rank + 1, &left);
    grown = all_move(api, HG_BULK_PULL, &left, local, calls);
    printf("rank %d: %d pulls took %ld KiB\n", api->rank, COUNT, grown >> 10);
    CHECK(api,
        !is_growth_telling || grown < (long)COUNT * EACH_BYTES + SLACK_BYTES);
    pulled_check(api, bytes, left.number);
    api_sync(api);
    grown = all_move(api, HG_BULK_PULL, &left, local, calls);
    printf("rank %d: once more %ld KiB\n", api->rank, grown >> 10);
    CHECK(api, !is_growth_telling || grown < SLACK_BYTES);
    api_sync(api);
    api_fill(bytes, len, 99, 0);
    api_sync(api);
    grown = all_move(api, HG_BULK_PUSH, &left, local, calls);
    printf("rank %d: %d pushes took %ld KiB\n", api->rank, COUNT, grown >> 10);
    CHECK(api,
        !is_growth_telling || grown < (long)COUNT * EACH_BYTES + SLACK_BYTES);
    api_sync(api);
    pushed_check(api, exposed);
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(local));
    OK(api, HG_Bulk_free(mine));
    free(calls);
    free(bytes);
    free(exposed);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
