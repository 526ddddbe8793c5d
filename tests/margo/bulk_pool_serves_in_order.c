/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of exposed buffers: threads wait in order for a free one; sets
 * choose the smallest size that fits; and a long transfer in chunks moves
 * every byte. */
#include <string.h>

#include "alone.h"
#include "margo-bulk-pool.h"
#include "margo-bulk-util.h"

enum { BUFFERS = 3, SIZE = 4096, WAITERS = 16, LONG = 1000003, CHUNK = 4096 };

static margo_bulk_pool_t pool;
static unsigned begun;
static unsigned served[WAITERS];
static unsigned served_count;

static hg_size_t size_of(hg_bulk_t bulk)
{
    return margo_bulk_get_size(bulk);
}

static void borrower(void *arg)
{
    hg_bulk_t bulk = HG_BULK_NULL;

    begun++;
    CHECK(margo_bulk_pool_get(pool, &bulk) == 0);
    served[served_count++] = (unsigned)(uintptr_t)arg;
    CHECK(bulk != HG_BULK_NULL && size_of(bulk) == SIZE);
    ABT_thread_yield();
    CHECK(margo_bulk_pool_release(pool, bulk) == 0);
}

/* On one stream, so no lock is needed. */
static void pool_check(void)
{
    hg_bulk_t bulks[BUFFERS];
    hg_bulk_t none = HG_BULK_NULL;
    ABT_thread threads[WAITERS];
    ABT_pool where = ABT_POOL_NULL;

    CHECK_RC(margo_bulk_pool_create(
                 pair.mid, BUFFERS, SIZE, HG_BULK_READWRITE, &pool),
        HG_SUCCESS);
    for (unsigned i = 0; i < BUFFERS; i++)
        CHECK(margo_bulk_pool_get(pool, &bulks[i]) == 0);
    CHECK(bulks[0] != bulks[1] && bulks[1] != bulks[2] && bulks[0] != bulks[2]);
    CHECK(margo_bulk_pool_tryget(pool, &none) == 0 && none == HG_BULK_NULL);
    CHECK(margo_bulk_pool_destroy(pool) == -1);
    CHECK(margo_get_handler_pool(pair.mid, &where) == 0);
    for (unsigned i = 0; i < WAITERS; i++)
        CHECK(ABT_thread_create(where, borrower, (void *)(uintptr_t)i,
                  ABT_THREAD_ATTR_NULL, &threads[i]) == ABT_SUCCESS);
    while (begun < WAITERS)
        ABT_thread_yield();
    CHECK(served_count == 0);
    for (unsigned i = 0; i < BUFFERS; i++)
        CHECK(margo_bulk_pool_release(pool, bulks[i]) == 0);
    for (unsigned i = 0; i < WAITERS; i++)
        CHECK(ABT_thread_free(&threads[i]) == ABT_SUCCESS);
    for (unsigned i = 0; i < WAITERS; i++)
        CHECK(served[i] == i);
    CHECK(margo_bulk_pool_release(pool, bulks[0]) == -1);
    CHECK(margo_bulk_pool_destroy(pool) == 0);
}

static void set_check(void)
{
    margo_bulk_poolset_t set = MARGO_BULK_POOLSET_NULL;
    hg_bulk_t small = HG_BULK_NULL;
    hg_bulk_t more = HG_BULK_NULL;
    hg_bulk_t none = HG_BULK_NULL;
    hg_size_t max = 0;

    CHECK_RC(margo_bulk_poolset_create(
                 pair.mid, 3, 1, 1000, 4, HG_BULK_READWRITE, &set),
        HG_SUCCESS);
    margo_bulk_poolset_get_max(set, &max);
    CHECK(max == 16000);
    CHECK(margo_bulk_poolset_get(set, 1000, &small) == 0);
    CHECK(size_of(small) == 1000);
    CHECK(margo_bulk_poolset_tryget(set, 10, HG_FALSE, &none) == 0);
    CHECK(none == HG_BULK_NULL);
    CHECK(margo_bulk_poolset_tryget(set, 10, HG_TRUE, &more) == 0);
    CHECK(more != HG_BULK_NULL && size_of(more) == 4000);
    CHECK(margo_bulk_poolset_tryget(set, 16001, HG_TRUE, &none) == -1);
    CHECK(margo_bulk_poolset_get(set, 16001, &none) == -1);
    CHECK(margo_bulk_poolset_destroy(set) == -1);
    CHECK(margo_bulk_poolset_release(set, more) == 0);
    CHECK(margo_bulk_poolset_release(set, more) == -1);
    CHECK(margo_bulk_poolset_release(set, small) == 0);
    CHECK(margo_bulk_poolset_destroy(set) == 0);
}

static void misuse_check(void)
{
    margo_bulk_pool_t none = MARGO_BULK_POOL_NULL;
    margo_bulk_poolset_t no_set = MARGO_BULK_POOLSET_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;

    CHECK_RC(margo_bulk_pool_create(NULL, 1, 1, HG_BULK_READWRITE, &none),
        HG_INVALID_ARG);
    CHECK_RC(margo_bulk_pool_create(pair.mid, 0, 1, HG_BULK_READWRITE, &none),
        HG_INVALID_ARG);
    CHECK_RC(margo_bulk_pool_create(
                 pair.mid, 1ull << 40, 1ull << 40, HG_BULK_READWRITE, &none),
        HG_INVALID_ARG);
    CHECK_RC(margo_bulk_poolset_create(
                 pair.mid, 2, 1, 1, 1, HG_BULK_READWRITE, &no_set),
        HG_INVALID_ARG);
    CHECK_RC(margo_bulk_poolset_create(
                 pair.mid, 64, 1, 16, 16, HG_BULK_READWRITE, &no_set),
        HG_INVALID_ARG);
    CHECK(none == MARGO_BULK_POOL_NULL && no_set == MARGO_BULK_POOLSET_NULL);
    CHECK(margo_bulk_pool_get(none, &bulk) == -1);
    CHECK(margo_bulk_pool_destroy(none) == -1);
    CHECK(margo_bulk_poolset_destroy(no_set) == -1);
}

static void parallel_check(void)
{
    static char from[LONG];
    static char to[LONG + 1];
    void *ptrs[2] = {from, to};
    hg_size_t sizes[2] = {sizeof(from), sizeof(to)};
    hg_bulk_t bulks[2];

    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i * 31 + i / 251);
    for (unsigned i = 0; i < 2; i++)
        CHECK_RC(margo_bulk_create(pair.mid, 1, &ptrs[i], &sizes[i],
                     HG_BULK_READWRITE, &bulks[i]),
            HG_SUCCESS);
    CHECK_RC(margo_bulk_parallel_transfer(pair.mid, HG_BULK_PULL, pair.self,
                 bulks[0], 5, bulks[1], 7, LONG - 7, CHUNK),
        HG_SUCCESS);
    CHECK(memcmp(from + 5, to + 7, LONG - 7) == 0);
    CHECK(to[6] == 0 && to[LONG] == 0);
    memset(to, 0, sizeof(to));
    CHECK_RC(margo_bulk_parallel_transfer(pair.mid, HG_BULK_PULL, pair.self,
                 bulks[0], 0, bulks[1], 0, 10, 1000),
        HG_SUCCESS);
    CHECK(memcmp(from, to, 10) == 0 && to[10] == 0);
    CHECK_RC(margo_bulk_parallel_transfer(pair.mid, HG_BULK_PULL, pair.self,
                 bulks[0], 0, bulks[1], 0, 10, 0),
        HG_INVALID_PARAM);
    CHECK_RC(margo_bulk_parallel_transfer(pair.mid, HG_BULK_PULL, pair.self,
                 bulks[0], 0, bulks[1], 0, 0, CHUNK),
        HG_SUCCESS);
    /* The last chunk reaches beyond the origin's memory. */
    CHECK(margo_bulk_parallel_transfer(pair.mid, HG_BULK_PULL, pair.self,
              bulks[0], 0, bulks[1], 0, LONG + 1, CHUNK) != HG_SUCCESS);
    for (unsigned i = 0; i < 2; i++)
        CHECK_RC(margo_bulk_free(bulks[i]), HG_SUCCESS);
}

int main(void)
{
    alone_open(NULL, NULL);
    pool_check();
    set_check();
    misuse_check();
    parallel_check();
    alone_close();
    return 0;
}
