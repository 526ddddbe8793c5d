/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory pool of a class: blocks are aligned, disjoint, zeroed on request,
 * joined when freed; the heap serves requests that do not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/pool.h"

enum {
    PAGE = 4096,
    LEN = 64 * PAGE,
    BLOCKS = 200,
    ROUNDS = 20000,
    THREADS = 4
};

static struct amg_class_pool *pool_make(uint64_t len)
{
    struct amg_class_pool *pool = NULL;

    assert_int_equal(amg_class_pool_create(len, &pool), HG_SUCCESS);
    assert_non_null(pool);
    return pool;
}

static uint64_t live_now(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.live;
}

/* All bytes of the block have this value. */
static bool is_all(const unsigned char *bytes, size_t len, unsigned char value)
{
    return bytes[0] == value && memcmp(bytes, bytes + 1, len - 1) == 0;
}

/* Bytes of memory in use for the whole pool. */
static uint64_t pool_resident(const struct amg_class_pool *pool)
{
    struct stat file;

    assert_int_equal(fstat(amg_class_pool_area(pool)->fd, &file), 0);
    return (uint64_t)file.st_blocks * 512;
}

/* Is the address inside the pool's memory? */
static bool is_of(const struct amg_class_pool *of, const void *ptr)
{
    const struct amg_area *area = amg_class_pool_area(of);

    return (uintptr_t)ptr >= (uintptr_t)area->base &&
           (uintptr_t)ptr - (uintptr_t)area->base < area->len;
}

static void test_pool_alloc_is_aligned_and_inside(void **state)
{
    struct amg_class_pool *pool = pool_make(LEN);
    void *odd = amg_class_pool_alloc(pool, 1, AMG_CLASS_POOL_ANY);
    void *page = amg_class_pool_alloc(pool, PAGE, AMG_CLASS_POOL_ANY);
    void *none = amg_class_pool_alloc(pool, 0, AMG_CLASS_POOL_ANY);

    (void)state;
    assert_int_equal(pool_resident(pool), 0);
    assert_true(is_of(pool, odd));
    assert_true(is_of(pool, page));
    assert_true(is_of(pool, none));
    assert_false(is_of(pool, &pool));
    assert_int_equal((uintptr_t)odd % 64, 0);
    assert_int_equal((uintptr_t)page % PAGE, 0);
    assert_ptr_not_equal(odd, none);
    amg_class_pool_free(pool, odd);
    amg_class_pool_free(pool, none);
    amg_class_pool_free(pool, page);
    amg_class_pool_free(pool, NULL);
    amg_class_pool_destroy(pool);
}

/* After frees in any order the pool is one free block again. */
static void test_pool_free_joins_neighbours(void **state)
{
    static const int orders[][3] = {
        {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    uint64_t live = live_now();
    struct amg_class_pool *pool = pool_make(LEN);

    (void)state;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        void *parts[3];
        void *whole = NULL;

        for (int k = 0; k < 3; k++)
            parts[k] = amg_class_pool_alloc(
                pool, LEN / 4 + (size_t)k * 64, AMG_CLASS_POOL_ANY);
        for (int k = 0; k < 3; k++)
            amg_class_pool_free(pool, parts[orders[i][k]]);
        whole = amg_class_pool_alloc(pool, LEN, AMG_CLASS_POOL_ANY);
        assert_ptr_equal(whole, amg_class_pool_area(pool)->base);
        amg_class_pool_free(pool, whole);
    }
    amg_class_pool_destroy(pool);
    assert_int_equal(live_now(), live);
}

/* The pool holds what its length says, block by block, then all at once. */
static void test_pool_holds_blocks_up_to_its_length(void **state)
{
    /* The powers of two are the sizes of the lists of free ranges. */
    static const size_t lens[] = {1, 63, 64, 65, 127, 128, 129, 2047, 2048,
        2049, PAGE - 64, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 1,
        LEN / 4, LEN / 4 + 1, LEN / 2 - PAGE, LEN / 2, LEN / 2 + 1, LEN - PAGE,
        LEN - 1, LEN};
    static void *blocks[LEN / 64];
    struct amg_class_pool *pool = pool_make(LEN);

    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        size_t unit = lens[i] < PAGE ? 64 : PAGE;
        size_t count = LEN / ((lens[i] + unit - 1) / unit * unit);
        void *beyond = NULL;

        for (size_t k = 0; k < count; k++) {
            blocks[k] = amg_class_pool_alloc(pool, lens[i], AMG_CLASS_POOL_ANY);
            assert_true(is_of(pool, blocks[k]));
            assert_int_equal((uintptr_t)blocks[k] % unit, 0);
            memset(blocks[k], (int)(k % 251), lens[i]);
        }
        beyond = amg_class_pool_alloc(pool, lens[i], AMG_CLASS_POOL_ANY);
        assert_non_null(beyond);
        assert_false(is_of(pool, beyond));
        amg_class_pool_free(pool, beyond);
        for (size_t k = 0; k < count; k++) {
            /* 7919 is prime to each count, so this is an order of all. */
            size_t other = k * 7919 % count;

            assert_true(
                is_all(blocks[other], lens[i], (unsigned char)(other % 251)));
            amg_class_pool_free(pool, blocks[other]);
        }
    }
    blocks[0] = amg_class_pool_alloc(pool, LEN + 1, AMG_CLASS_POOL_ANY);
    assert_false(is_of(pool, blocks[0]));
    amg_class_pool_free(pool, blocks[0]);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    amg_class_pool_destroy(pool);
}

/* Memory that is not in use, and memory inside a block, cannot be freed. */
static void test_pool_free_of_no_block_stops(void **state)
{
    static const size_t offsets[] = {0, 64, PAGE, LEN - PAGE};
    struct amg_class_pool *pool = pool_make(LEN);

    (void)state;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        char *block = amg_class_pool_alloc(pool, LEN, AMG_CLASS_POOL_ANY);
        pid_t child = fork();
        int status = 0;

        assert_true(child >= 0);
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            close(STDERR_FILENO);
            if (offsets[i] == 0)
                amg_class_pool_free(pool, block);
            amg_class_pool_free(pool, block + offsets[i]);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        amg_class_pool_free(pool, block);
    }
    amg_class_pool_destroy(pool);
}

static void test_pool_zeros_after_use(void **state)
{
    const uint64_t lens[] = {100, PAGE, 3 * PAGE + 5, 70ull << 20};
    struct amg_class_pool *pool = pool_make(256ull << 20);

    (void)state;
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        for (int round = 0; round < 2; round++) {
            unsigned char *bytes =
                amg_class_pool_alloc(pool, lens[i], AMG_CLASS_POOL_ZEROS);

            assert_true(is_of(pool, bytes));
            assert_true(is_all(bytes, lens[i], 0));
            memset(bytes, 0xa5, lens[i]);
            amg_class_pool_free(pool, bytes);
        }
    }
    amg_class_pool_destroy(pool);
}

static void test_pool_free_of_much_gives_pages_back(void **state)
{
    const uint64_t much = 80ull << 20;
    struct amg_class_pool *pool = pool_make(512ull << 20);
    void *parts[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        parts[i] = amg_class_pool_alloc(pool, much, AMG_CLASS_POOL_ANY);
        memset(parts[i], 1, much);
    }
    assert_int_equal(pool_resident(pool), 4 * much);
    for (int i = 0; i < 4; i++)
        amg_class_pool_free(pool, parts[i]);
    assert_true(pool_resident(pool) <= 64ull << 20);
    amg_class_pool_destroy(pool);
}

static void test_pool_used_up_takes_heap(void **state)
{
    uint64_t live = live_now();
    struct amg_class_pool *pool = pool_make(2 * PAGE);
    void *all = amg_class_pool_alloc(pool, 2 * PAGE, AMG_CLASS_POOL_ANY);
    unsigned char *more = NULL;

    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    assert_true(is_of(pool, all));
    more = amg_class_pool_alloc(pool, PAGE, AMG_CLASS_POOL_ZEROS);
    assert_non_null(more);
    assert_false(is_of(pool, more));
    assert_true(is_all(more, PAGE, 0));
    amg_class_pool_free(pool, more);
    more = amg_class_pool_alloc(pool, 3 * PAGE, AMG_CLASS_POOL_ANY);
    assert_false(is_of(pool, more));
    assert_int_equal((uintptr_t)more % PAGE, 0);
    amg_class_pool_free(pool, more);
    assert_null(amg_class_pool_alloc(pool, UINT64_MAX, AMG_CLASS_POOL_ZEROS));
    assert_null(
        amg_class_pool_alloc(pool, UINT64_MAX - 70, AMG_CLASS_POOL_ANY));
    amg_class_pool_free(pool, all);
    more = amg_class_pool_alloc(pool, PAGE, AMG_CLASS_POOL_ANY);
    assert_true(is_of(pool, more));
    amg_class_pool_free(pool, more);
    amg_class_pool_destroy(pool);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    assert_int_equal(live_now(), live);
}

static void test_pool_none_takes_heap(void **state)
{
    struct amg_class_pool *pool = (struct amg_class_pool *)&live_now;
    void *ptr = NULL;

    (void)state;
    assert_int_equal(amg_class_pool_create(0, &pool), HG_SUCCESS);
    assert_null(pool);
    assert_null(amg_class_pool_area(pool));
    ptr = amg_class_pool_alloc(pool, PAGE, AMG_CLASS_POOL_ZEROS);
    assert_non_null(ptr);
    assert_true(is_all(ptr, PAGE, 0));
    amg_class_pool_free(pool, ptr);
    amg_class_pool_destroy(pool);
}

static void test_pool_without_memory_for_its_records(void **state)
{
    uint64_t live = live_now();
    struct amg_class_pool *pool = NULL;
    void *ptrs[8];

    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    for (uint64_t n = 1; n <= 2; n++) {
        amg_mem_fail_nth(n);
        assert_int_equal(amg_class_pool_create(LEN, &pool), HG_NOMEM);
        assert_null(pool);
        amg_mem_fail_nth(0);
    }
    assert_int_equal(live_now(), live);
    pool = pool_make(LEN);
    for (uint64_t n = 1; n <= 8; n++) {
        amg_mem_fail_nth(n);
        ptrs[n - 1] = amg_class_pool_alloc(pool, 500, AMG_CLASS_POOL_ZEROS);
        amg_mem_fail_nth(0);
        assert_non_null(ptrs[n - 1]);
    }
    for (int i = 0; i < 8; i++)
        amg_class_pool_free(pool, ptrs[i]);
    amg_class_pool_destroy(pool);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    assert_int_equal(live_now(), live);
}

/* A page behind a small block takes two cuts and an entry for itself: without
 * memory for one of these the page is of the heap, and the pool as before. */
static void test_pool_without_memory_for_a_cut(void **state)
{
    uint64_t live = live_now();

    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    for (uint64_t n = 1; n <= 4; n++) {
        struct amg_class_pool *pool = pool_make(LEN);
        void *small = amg_class_pool_alloc(pool, 500, AMG_CLASS_POOL_ANY);
        void *page = NULL;
        void *whole = NULL;

        amg_mem_fail_nth(n);
        page = amg_class_pool_alloc(pool, PAGE, AMG_CLASS_POOL_ANY);
        amg_mem_fail_nth(0);
        assert_non_null(page);
        assert_int_equal(is_of(pool, page), n == 4);
        amg_class_pool_free(pool, small);
        amg_class_pool_free(pool, page);
        whole = amg_class_pool_alloc(pool, LEN, AMG_CLASS_POOL_ANY);
        assert_true(is_of(pool, whole));
        amg_class_pool_free(pool, whole);
        amg_class_pool_destroy(pool);
    }
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    assert_int_equal(live_now(), live);
}

struct worker {
    struct amg_class_pool *pool;
    unsigned seed;
    int number;
    bool is_good;
};

/* Allocates and frees at random; every block keeps its bytes. */
static void *worker_run(void *arg)
{
    struct worker *worker = arg;
    unsigned char *blocks[BLOCKS] = {NULL};
    size_t lens[BLOCKS] = {0};

    worker->is_good = true;
    for (int i = 0; i < ROUNDS; i++) {
        int k = rand_r(&worker->seed) % BLOCKS;
        unsigned char mine = (unsigned char)(k + worker->number * 50);

        if (blocks[k] == NULL) {
            lens[k] = (size_t)(rand_r(&worker->seed) % 3 == 0
                                   ? rand_r(&worker->seed) % 20000
                                   : rand_r(&worker->seed) % 300) +
                      1;
            blocks[k] = amg_class_pool_alloc(
                worker->pool, lens[k], AMG_CLASS_POOL_ZEROS);
            worker->is_good = worker->is_good && is_all(blocks[k], lens[k], 0);
            memset(blocks[k], mine, lens[k]);
        } else {
            worker->is_good =
                worker->is_good && is_all(blocks[k], lens[k], mine);
            amg_class_pool_free(worker->pool, blocks[k]);
            blocks[k] = NULL;
        }
    }
    for (int k = 0; k < BLOCKS; k++)
        amg_class_pool_free(worker->pool, blocks[k]);
    return NULL;
}

static void test_pool_threads_at_random(void **state)
{
    struct amg_class_pool *pool = pool_make(1 << 20);
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    void *whole = NULL;

    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){pool, i + 1, (int)i, false};
        assert_int_equal(
            pthread_create(&threads[i], NULL, worker_run, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(workers[i].is_good);
    }
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    whole = amg_class_pool_alloc(pool, 1 << 20, AMG_CLASS_POOL_ANY);
    assert_true(is_of(pool, whole));
    amg_class_pool_free(pool, whole);
    amg_class_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_alloc_is_aligned_and_inside),
        cmocka_unit_test(test_pool_free_joins_neighbours),
        cmocka_unit_test(test_pool_holds_blocks_up_to_its_length),
        cmocka_unit_test(test_pool_free_of_no_block_stops),
        cmocka_unit_test(test_pool_zeros_after_use),
        cmocka_unit_test(test_pool_free_of_much_gives_pages_back),
        cmocka_unit_test(test_pool_used_up_takes_heap),
        cmocka_unit_test(test_pool_none_takes_heap),
        cmocka_unit_test(test_pool_without_memory_for_its_records),
        cmocka_unit_test(test_pool_without_memory_for_a_cut),
        cmocka_unit_test(test_pool_threads_at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
