/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefaulting gives memory its pages and keeps its bytes; memory that is
 * unmapped or read-only is an error and no signal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

enum { PAGES = 16, LEN = PAGES * AMG_PAGE_LEN };

static char *pages_map(int protection)
{
    void *bytes =
        mmap(NULL, LEN, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(bytes != MAP_FAILED);
    return bytes;
}

static unsigned pages_there(void *bytes)
{
    unsigned char states[PAGES];
    unsigned count = 0;

    assert_int_equal(mincore(bytes, LEN, states), 0);
    for (int i = 0; i < PAGES; i++)
        count += states[i] & 1;
    return count;
}

static void test_pages_back_puts_all_there_and_changes_none(void **state)
{
    char *bytes = pages_map(PROT_READ | PROT_WRITE);

    (void)state;
    bytes[5 * AMG_PAGE_LEN + 7] = 'x';
    assert_int_equal(pages_there(bytes), 1);
    /* From the middle of the second page into the seventh. */
    assert_int_equal(
        amg_pages_back(bytes + AMG_PAGE_LEN + 100, 5 * AMG_PAGE_LEN, true),
        HG_SUCCESS);
    assert_int_equal(pages_there(bytes), 6);
    assert_int_equal(amg_pages_back(bytes, LEN, true), HG_SUCCESS);
    assert_int_equal(pages_there(bytes), PAGES);
    for (int i = 0; i < LEN; i++)
        assert_int_equal(bytes[i], i == 5 * AMG_PAGE_LEN + 7 ? 'x' : 0);
    munmap(bytes, LEN);
}

static void test_pages_back_read_only_to_read(void **state)
{
    char *bytes = pages_map(PROT_READ);

    (void)state;
    assert_int_equal(amg_pages_back(bytes, LEN, false), HG_SUCCESS);
    assert_int_equal(pages_there(bytes), PAGES);
    assert_int_equal(amg_pages_back(bytes, LEN, true), HG_INVALID_ARG);
    munmap(bytes, LEN);
}

static void test_pages_back_of_a_hole_is_refused(void **state)
{
    char *bytes = pages_map(PROT_READ | PROT_WRITE);

    (void)state;
    munmap(bytes + LEN / 2, AMG_PAGE_LEN);
    assert_int_equal(amg_pages_back(bytes, LEN, true), HG_INVALID_ARG);
    assert_int_equal(amg_pages_back(bytes, LEN / 2, true), HG_SUCCESS);
    assert_int_equal(amg_pages_back(bytes, UINT64_MAX, true), HG_INVALID_ARG);
    assert_int_equal(amg_pages_back(NULL, 0, true), HG_SUCCESS);
    munmap(bytes, LEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_back_puts_all_there_and_changes_none),
        cmocka_unit_test(test_pages_back_read_only_to_read),
        cmocka_unit_test(test_pages_back_of_a_hole_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
