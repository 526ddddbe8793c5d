/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks do not overlap, have the registration of their block, are reused, and
 * come from new blocks when all are in use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "mercury_mem_pool.h"
#include "mercury_thread.h"

enum { CHUNK = 100, CHUNKS = 8 };

static unsigned pool_registered;
static unsigned pool_deregistered;
static unsigned
    pool_refuse_at; /* number of the registration that fails; 0: none */

static int block_register(
    const void *buf, size_t size, unsigned long flags, void **handle, void *arg)
{
    assert_true(flags == 5 && arg == &pool_registered);
    assert_true(size >= CHUNK * CHUNKS);
    if (++pool_registered == pool_refuse_at)
        return HG_UTIL_FAIL;
    *handle = (void *)(uintptr_t)buf;
    return HG_UTIL_SUCCESS;
}

static int block_deregister(void *handle, void *arg)
{
    assert_true(handle != NULL && arg == &pool_registered);
    pool_deregistered++;
    return HG_UTIL_SUCCESS;
}

static int pool_setup(void **state)
{
    (void)state;
    pool_registered = pool_deregistered = pool_refuse_at = 0;
    return 0;
}

static struct hg_mem_pool *pool_create(size_t blocks)
{
    return hg_mem_pool_create(CHUNK, CHUNKS, blocks, block_register, 5,
        block_deregister, &pool_registered);
}

static uint64_t live_blocks(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.live;
}

static void test_mem_pool_gives_chunks_apart(void **state)
{
    struct hg_mem_pool *pool = pool_create(1);
    char *chunks[2 * CHUNKS];
    void *handles[2 * CHUNKS];

    (void)state;
    assert_non_null(pool);
    assert_int_equal(pool_registered, 1);
    for (int i = 0; i < 2 * CHUNKS; i++) {
        chunks[i] = hg_mem_pool_alloc(pool, CHUNK, &handles[i]);
        assert_non_null(chunks[i]);
        memset(chunks[i], i, CHUNK);
        assert_int_equal(chunks[i] - (char *)handles[i],
            hg_mem_pool_chunk_offset(pool, chunks[i], handles[i]));
    }
    assert_int_equal(pool_registered, 2);
    for (int i = 0; i < 2 * CHUNKS; i++) {
        assert_int_equal(chunks[i][0], i);
        assert_int_equal(chunks[i][CHUNK - 1], i);
        hg_mem_pool_free(pool, chunks[i], handles[i]);
    }
    for (int i = 0; i < 2 * CHUNKS; i++)
        assert_non_null(hg_mem_pool_alloc(pool, 1, &handles[i]));
    assert_int_equal(pool_registered, 2);
    hg_mem_pool_destroy(pool);
    assert_int_equal(pool_deregistered, 2);
}

static void test_mem_pool_refused_block_leaves_nothing(void **state)
{
    uint64_t live = live_blocks();
    struct hg_mem_pool *pool = NULL;
    void *handle = NULL;

    (void)state;
    pool_refuse_at = 3;
    assert_null(pool_create(3));
    assert_int_equal(pool_deregistered, 2);
    assert_int_equal(live_blocks(), live);
    pool_setup(NULL);
    pool_refuse_at = 2;
    pool = pool_create(1);
    for (int i = 0; i < CHUNKS; i++)
        assert_non_null(hg_mem_pool_alloc(pool, CHUNK, &handle));
    assert_null(hg_mem_pool_alloc(pool, CHUNK, &handle));
    assert_non_null(hg_mem_pool_alloc(pool, CHUNK, &handle));
    hg_mem_pool_destroy(pool);
    for (unsigned n = 1; n <= 3; n++) {
        amg_mem_fail_nth(n);
        assert_null(pool_create(1));
    }
    amg_mem_fail_nth(0);
    assert_int_equal(live_blocks(), live);
}

static void test_mem_pool_misuse_is_answered(void **state)
{
    struct hg_mem_pool *pool =
        hg_mem_pool_create(CHUNK, 1, 1, NULL, 0, NULL, NULL);
    char *chunk = NULL, other = 0;
    void *handle = NULL;

    (void)state;
    assert_null(hg_mem_pool_create(0, 1, 1, NULL, 0, NULL, NULL));
    assert_null(hg_mem_pool_create(1, 0, 1, NULL, 0, NULL, NULL));
    assert_null(hg_mem_pool_create(1, 1, 0, NULL, 0, NULL, NULL));
    assert_null(hg_mem_pool_create(SIZE_MAX, 1, 1, NULL, 0, NULL, NULL));
    assert_null(hg_mem_pool_create(2, SIZE_MAX, 1, NULL, 0, NULL, NULL));
    assert_null(hg_mem_pool_alloc(NULL, 1, &handle));
    assert_null(hg_mem_pool_alloc(pool, CHUNK + 1, &handle));
    chunk = hg_mem_pool_alloc(pool, CHUNK, NULL);
    assert_non_null(chunk);
    hg_mem_pool_free(pool, &other, NULL);
    hg_mem_pool_free(pool, chunk + 1, NULL);
    hg_mem_pool_free(pool, NULL, NULL);
    assert_int_equal(hg_mem_pool_chunk_offset(pool, &other, NULL), 0);
    hg_mem_pool_free(pool, chunk, NULL);
    assert_ptr_equal(hg_mem_pool_alloc(pool, CHUNK, NULL), chunk);
    hg_mem_pool_destroy(pool);
    hg_mem_pool_destroy(NULL);
}

static hg_thread_ret_t chunks_churn(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        char *chunks[6];

        for (int k = 0; k < 6; k++) {
            chunks[k] = hg_mem_pool_alloc(arg, CHUNK, NULL);
            memset(chunks[k], k, CHUNK);
        }
        for (int k = 0; k < 6; k++) {
            assert_int_equal(chunks[k][CHUNK - 1], k);
            hg_mem_pool_free(arg, chunks[k], NULL);
        }
    }
    return NULL;
}

static void test_mem_pool_threads_share_it(void **state)
{
    struct hg_mem_pool *pool =
        hg_mem_pool_create(CHUNK, CHUNKS, 1, NULL, 0, NULL, NULL);
    hg_thread_t threads[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        hg_thread_create(&threads[i], chunks_churn, pool);
    for (int i = 0; i < 3; i++)
        hg_thread_join(threads[i]);
    hg_mem_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_mem_pool_gives_chunks_apart, pool_setup),
        cmocka_unit_test_setup(
            test_mem_pool_refused_block_leaves_nothing, pool_setup),
        cmocka_unit_test_setup(test_mem_pool_misuse_is_answered, pool_setup),
        cmocka_unit_test_setup(test_mem_pool_threads_share_it, pool_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
