/* SPDX-License-Identifier: BSD-3-Clause */
/* A mapping is zeroed, shared by its descriptor, and cannot be truncated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { PAGES = 8, LEN = PAGES * AMG_PAGE_LEN };

static void test_mapping_open_is_zero_and_rounded(void **state)
{
    struct amg_mapping mapping;
    struct stat file;

    (void)state;
    assert_int_equal(amg_mapping_open("test", LEN - 100, &mapping), HG_SUCCESS);
    assert_int_equal(mapping.len, LEN);
    assert_int_equal(fstat(mapping.fd, &file), 0);
    assert_int_equal(file.st_size, LEN);
    assert_int_equal(file.st_blocks, 0);
    for (int i = 0; i < LEN; i++)
        assert_int_equal(((char *)mapping.base)[i], 0);
    amg_mapping_close(&mapping);
    amg_mapping_close(&mapping);
}

static void test_mapping_is_shared_and_keeps_its_length(void **state)
{
    struct amg_mapping mapping;
    char *other = NULL;

    (void)state;
    assert_int_equal(amg_mapping_open("test", LEN, &mapping), HG_SUCCESS);
    other = mmap(NULL, LEN, PROT_READ, MAP_SHARED, mapping.fd, 0);
    assert_true(other != MAP_FAILED);
    ((char *)mapping.base)[LEN - 1] = 42;
    assert_int_equal(other[LEN - 1], 42);
    assert_int_equal(ftruncate(mapping.fd, LEN / 2), -1);
    munmap(other, LEN);
    amg_mapping_close(&mapping);
}

static void test_mapping_discard_gives_pages_back(void **state)
{
    struct amg_mapping mapping;
    struct stat file;
    char *bytes = NULL;

    (void)state;
    assert_int_equal(amg_mapping_open("test", LEN, &mapping), HG_SUCCESS);
    bytes = mapping.base;
    for (int i = 0; i < LEN; i++)
        bytes[i] = 1;
    assert_int_equal(
        amg_mapping_discard(&mapping, AMG_PAGE_LEN, LEN - 2 * AMG_PAGE_LEN),
        HG_SUCCESS);
    assert_int_equal(fstat(mapping.fd, &file), 0);
    assert_int_equal(file.st_blocks * 512, 2 * AMG_PAGE_LEN);
    for (int i = 0; i < LEN; i++)
        assert_int_equal(
            bytes[i], i < AMG_PAGE_LEN || i >= LEN - AMG_PAGE_LEN ? 1 : 0);
    amg_mapping_close(&mapping);
}

static void test_mapping_open_without_room_is_refused(void **state)
{
    struct amg_mapping mapping = {.fd = 77};

    (void)state;
    assert_int_not_equal(
        amg_mapping_open("test", 1ull << 60, &mapping), HG_SUCCESS);
    assert_int_equal(amg_mapping_open("test", 0, &mapping), HG_INVALID_ARG);
    assert_int_equal(mapping.fd, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mapping_open_is_zero_and_rounded),
        cmocka_unit_test(test_mapping_is_shared_and_keeps_its_length),
        cmocka_unit_test(test_mapping_discard_gives_pages_back),
        cmocka_unit_test(test_mapping_open_without_room_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
