/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the checkpoint job that a run does not show: names from other ranks,
 * partial files, percentiles. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "jobs/apps/checkpoint/server.c"

struct job job; /* main()'s; of one rank */

static char dir[] = "/tmp/checkpoint-parts.XXXXXX";
static int root = -1;

static void test_name_outside_is_refused(void **state)
{
    static const char *const bad[] = {"", "/", "/etc/passwd", "..", "../x",
        "a/../b", "a/..", "a//b", "a/", ".", "./a", "a/./b"};
    size_t i = 0;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(name_is_safe(bad[i]));
}

static void test_name_inside_is_taken(void **state)
{
    static const char *const good[] = {
        "a", "a/b", "...", "..a", "a..", ".git/x", "a/...", "a b"};
    size_t i = 0;

    (void)state;
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(name_is_safe(good[i]));
}

static void test_commit_names_the_file(void **state)
{
    struct partial *partial = NULL;

    (void)state;
    assert_int_equal(partial_create("sub/file", 3, 5, &partial), 0);
    assert_int_equal(faccessat(root, "sub/file", F_OK, 0), -1);
    assert_int_equal(partial_write(partial, "abc", 3, 0), 0);
    assert_int_equal(partial_commit(partial, "sub/file", 0644), 0);
    assert_int_equal(faccessat(root, "sub/file", F_OK, 0), 0);
    assert_int_equal(unlinkat(root, "sub/file", 0), 0);
    /* Fails if the temporary file is left. */
    assert_int_equal(unlinkat(root, "sub", AT_REMOVEDIR), 0);
}

/* A file left by a killed job. */
static void test_taken_temporary_name_is_passed_over(void **state)
{
    struct partial *partial = NULL;
    char name[64];
    unsigned i = 0;

    (void)state;
    assert_int_equal(directories_make(root, "sub", 3), 0);
    for (i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "sub/.file.partial.7.%u", i);
        close(openat(root, name, O_CREAT | O_WRONLY, 0600));
    }
    assert_int_equal(partial_create("sub/file", 7, 5, &partial), 0);
    assert_int_equal(partial_commit(partial, "sub/file", 0600), 0);
    for (i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "sub/.file.partial.7.%u", i);
        assert_int_equal(unlinkat(root, name, 0), 0);
    }
    assert_int_equal(unlinkat(root, "sub/file", 0), 0);
    assert_int_equal(unlinkat(root, "sub", AT_REMOVEDIR), 0);
}

static void test_remove_all_leaves_nothing(void **state)
{
    struct partial *one = NULL;
    struct partial *other = NULL;

    (void)state;
    assert_int_equal(partial_create("sub/one", 0, 5, &one), 0);
    assert_int_equal(partial_create("sub/other", 0, 6, &other), 0);
    assert_ptr_equal(partial_find(0, 5), one);
    assert_ptr_equal(partial_find(0, 6), other);
    assert_null(partial_find(1, 5));
    server_stop();
    assert_null(partial_find(0, 5));
    assert_int_equal(unlinkat(root, "sub", AT_REMOVEDIR), 0);
}

static void test_commit_onto_directory_leaves_nothing(void **state)
{
    struct partial *partial = NULL;

    (void)state;
    assert_int_equal(directories_make(root, "sub/taken", 9), 0);
    assert_int_equal(partial_create("sub/taken", 0, 5, &partial), 0);
    assert_int_equal(partial_commit(partial, "sub/taken", 0644), EISDIR);
    assert_int_equal(unlinkat(root, "sub/taken", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(root, "sub", AT_REMOVEDIR), 0);
}

static void test_percentiles_are_near(void **state)
{
    static uint64_t stats[STATS_LEN];
    uint64_t i = 0;

    (void)state;
    assert_true(stats_percentile_us(stats, 0, 50) == 0);
    for (i = 1; i <= 100000; i++)
        stats_add(stats, i * 1000);
    assert_true(stats_percentile_us(stats, 100000, 50) > 50000 * 31.0 / 32);
    assert_true(stats_percentile_us(stats, 100000, 50) < 50000 * 33.0 / 32);
    assert_true(stats_percentile_us(stats, 100000, 99) > 99000 * 31.0 / 32);
    assert_true(stats_percentile_us(stats, 100000, 99) < 99000 * 33.0 / 32);
    stats_add(stats, 0);
    stats_add(stats, UINT64_MAX);
    assert_true(stats_percentile_us(stats, 100002, 100) > 1e16);
}

static int open_root(void **state)
{
    (void)state;
    if (mkdtemp(dir) != NULL)
        job.out_fd = root = open(dir, O_RDONLY | O_DIRECTORY);
    return root < 0;
}

static int close_root(void **state)
{
    (void)state;
    close(root);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_outside_is_refused),
        cmocka_unit_test(test_name_inside_is_taken),
        cmocka_unit_test(test_commit_names_the_file),
        cmocka_unit_test(test_taken_temporary_name_is_passed_over),
        cmocka_unit_test(test_remove_all_leaves_nothing),
        cmocka_unit_test(test_commit_onto_directory_leaves_nothing),
        cmocka_unit_test(test_percentiles_are_near),
    };

    return cmocka_run_group_tests(tests, open_root, close_root);
}
