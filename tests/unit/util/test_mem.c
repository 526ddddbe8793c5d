/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory is aligned, has its header in front, is shared by name, and is freed
 * completely. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "log_kept.h"
#include "mercury_mem.h"

static uint64_t live_blocks(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.live;
}

static void test_mem_page_sizes_are_powers_of_two(void **state)
{
    long page = hg_mem_get_page_size(), huge = hg_mem_get_hugepage_size();

    (void)state;
    assert_int_equal(page, sysconf(_SC_PAGESIZE));
    assert_true(huge == -1 || (huge > page && (huge & (huge - 1)) == 0));
    assert_int_equal(hg_mem_get_hugepage_size(), huge);
}

static void test_mem_is_aligned(void **state)
{
    uint64_t live = live_blocks();

    (void)state;
    for (size_t align = 1; align <= 65536; align *= 2) {
        char *place = hg_mem_aligned_alloc(align, 100);

        assert_non_null(place);
        assert_int_equal((uintptr_t)place % align, 0);
        memset(place, 1, 100);
        hg_mem_aligned_free(place);
    }
    hg_mem_aligned_free(NULL);
    assert_null(hg_mem_aligned_alloc(0, 100));
    assert_null(hg_mem_aligned_alloc(24, 100));
    assert_null(hg_mem_aligned_alloc(64, SIZE_MAX));
    assert_int_equal(live_blocks(), live);
}

static void test_mem_header_is_in_front(void **state)
{
    uint64_t live = live_blocks();

    (void)state;
    for (size_t align = 8; align <= 4096; align *= 8) {
        char *place = hg_mem_header_alloc(24, align, 100);

        assert_non_null(place);
        assert_int_equal((uintptr_t)place % align, 0);
        memset(place - 24, 1, 124);
        hg_mem_header_free(24, align, place);
    }
    hg_mem_header_free(24, 8, NULL);
    assert_null(hg_mem_header_alloc(24, 5, 100));
    assert_null(hg_mem_header_alloc(SIZE_MAX, 8, 100));
    assert_null(hg_mem_header_alloc(24, 8, SIZE_MAX - 8));
    assert_int_equal(live_blocks(), live);
}

static void test_mem_huge_comes_or_is_refused(void **state)
{
    char *place = hg_mem_huge_alloc(1000);

    (void)state;
    if (place != NULL) {
        place[0] = 1;
        place[999] = 2;
        assert_int_equal(hg_mem_huge_free(place, 1000), HG_UTIL_SUCCESS);
    }
    assert_null(hg_mem_huge_alloc(0));
    assert_null(hg_mem_huge_alloc(SIZE_MAX));
    assert_int_equal(hg_mem_huge_free(NULL, 1000), HG_UTIL_SUCCESS);
}

static void test_mem_shm_is_shared_by_name(void **state)
{
    char name[64];
    char *first = NULL, *second = NULL;

    (void)state;
    snprintf(name, sizeof(name), "/amalgam_test_mem_%ld", (long)getpid());
    assert_null(hg_mem_shm_map(name, 8192, false));
    first = hg_mem_shm_map(name, 8192, true);
    if (first == NULL)
        skip(); /* a machine without /dev/shm */
    assert_int_equal(first[8191], 0);
    second = hg_mem_shm_map(name, 4096, false);
    assert_non_null(second);
    first[100] = 42;
    assert_int_equal(second[100], 42);
    /* A smaller size than the existing one is accepted, also from its creator;
     * a larger one is not. */
    assert_null(hg_mem_shm_map(name, 16384, false));
    assert_int_equal(hg_mem_shm_unmap(NULL, second, 4096), HG_UTIL_SUCCESS);
    second = hg_mem_shm_map(name, 4096, true);
    assert_non_null(second);
    assert_int_equal(first[8191], 0);
    assert_int_equal(hg_mem_shm_unmap(name, second, 4096), HG_UTIL_SUCCESS);
    assert_null(hg_mem_shm_map(name, 8192, false));
    assert_int_equal(first[100], 42);
    assert_int_equal(hg_mem_shm_unmap(NULL, first, 8192), HG_UTIL_SUCCESS);
    hg_log_set_func(log_keep);
    assert_int_equal(hg_mem_shm_unmap(name, NULL, 0), HG_UTIL_FAIL);
    assert_true(log_has("cannot remove shared memory"));
    assert_int_equal(hg_mem_shm_unmap(NULL, first + 1, 1), HG_UTIL_FAIL);
    assert_true(log_has("cannot unmap shared memory"));
    hg_log_set_func(NULL);
    assert_null(hg_mem_shm_map(NULL, 8192, true));
    assert_null(hg_mem_shm_map(name, 0, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mem_page_sizes_are_powers_of_two),
        cmocka_unit_test(test_mem_is_aligned),
        cmocka_unit_test(test_mem_header_is_in_front),
        cmocka_unit_test(test_mem_huge_comes_or_is_refused),
        cmocka_unit_test(test_mem_shm_is_shared_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
