/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions of the benchmarks: errors, and valid measurements. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "jobs/bench/frame/figures.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/frame/proc.h"

enum { LEN_MAX = 40, SEED = 7, PAGES = 16 };

static void test_pattern_as_filled_is_right(void **state)
{
    unsigned char bytes[LEN_MAX];

    (void)state;
    for (size_t len = 0; len <= LEN_MAX; len++) {
        pattern_fill(bytes, len, SEED);
        assert_int_equal(pattern_check(bytes, len, SEED), len);
    }
}

static void test_pattern_one_byte_wrong_is_found(void **state)
{
    unsigned char bytes[LEN_MAX];

    (void)state;
    for (size_t len = 1; len <= LEN_MAX; len++)
        for (size_t at = 0; at < len; at++) {
            pattern_fill(bytes, len, SEED);
            bytes[at] ^= 1;
            assert_int_equal(pattern_check(bytes, len, SEED), at);
        }
}

static void test_pattern_of_another_batch_is_found(void **state)
{
    unsigned char bytes[LEN_MAX];

    (void)state;
    for (size_t len = 1; len <= LEN_MAX; len++) {
        pattern_fill(bytes, len, SEED);
        assert_int_equal(pattern_check(bytes, len, SEED + 1), 0);
    }
}

static void test_pattern_shifted_is_found(void **state)
{
    unsigned char bytes[LEN_MAX];

    (void)state;
    pattern_fill(bytes, LEN_MAX, SEED);
    assert_true(pattern_check(bytes + 8, LEN_MAX - 8, SEED) < LEN_MAX - 8);
}

static void test_stats_quantiles_lie_between(void **state)
{
    double samples[] = {4.0, 1.0, 3.0, 2.0};

    (void)state;
    assert_true(stats_median(samples, 4) == 2.5);
    assert_true(stats_quantile(samples, 4, 0.0) == 1.0);
    assert_true(stats_quantile(samples, 4, 1.0) == 4.0);
    assert_true(stats_quantile(samples, 4, 0.25) == 1.75);
    assert_true(stats_quantile(samples, 0, 0.5) == 0.0);
}

static void test_stats_spread_is_of_the_median(void **state)
{
    double even[] = {2.0, 2.0, 2.0, 2.0};
    double wide[] = {5.0, 1.0, 3.0, 2.0, 4.0};
    double none[] = {0.0, 0.0};

    (void)state;
    assert_true(stats_spread(even, 4) == 0.0);
    assert_true(stats_spread(wide, 5) == 2.0 / 3.0);
    assert_true(stats_spread(none, 2) == 0.0);
}

static void test_smaps_shared_pages_touched_are_counted(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct smaps before;
    struct smaps after;
    unsigned char *shared = NULL;

    (void)state;
    assert_true(smaps_read(&before));
    shared = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    shared[0] = 1;
    shared[3 * page] = 1;
    assert_true(smaps_read(&after));
    assert_true(after.shared_len - before.shared_len ==
                (double)(PAGES * page) / 1024.0);
    assert_true(after.shared_touched - before.shared_touched ==
                (double)(2 * page) / 1024.0);
    assert_true(after.anonymous > 0.0 && after.anonymous <= after.rss);
    munmap(shared, PAGES * page);
}

/* Maps a page of a new file of /dev/shm. */
static void *file_map(const char *name)
{
    char path[64];
    int fd = -1;
    void *page = NULL;

    snprintf(path, sizeof(path), "/dev/shm/%s", name);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(ftruncate(fd, 4096), 0);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    close(fd);
    return page;
}

static void test_segments_of_the_library_are_counted(void **state)
{
    long pid = (long)getpid();
    char name[64];
    void *pages[2];

    (void)state;
    assert_int_equal(segments_count(), 0);
    snprintf(name, sizeof(name), "amalgam-0-%ld-0.31", pid);
    pages[0] = file_map(name);
    snprintf(name, sizeof(name), "bench-parts-%ld", pid);
    pages[1] = file_map(name);
    assert_int_equal(segments_count(), 1);
    for (unsigned i = 0; i < 2; i++)
        munmap(pages[i], 4096);
    assert_int_equal(segments_count(), 0);
}

static void test_proc_first_line_of_the_form_is_read(void **state)
{
    char path[] = "/tmp/amalgam-parts-XXXXXX";
    const char *lines = "other: 1\nours: 2\nours: 3\n";
    int fd = mkstemp(path);
    unsigned number = 0;

    (void)state;
    assert_int_equal(write(fd, lines, strlen(lines)), strlen(lines));
    close(fd);
    assert_true(proc_scan(path, "ours: %u", &number));
    assert_int_equal(number, 2);
    assert_false(proc_scan(path, "theirs: %u", &number));
    unlink(path);
    assert_false(proc_scan(path, "ours: %u", &number));
}

static void test_steal_part_is_of_all_cores(void **state)
{
    struct steal before = steal_now();

    (void)state;
    /* As if no time had been taken from any core until a second ago, and all
     * since. */
    before.at_us -= 1e6;
    before.stolen_us -= 1e6 * (double)sysconf(_SC_NPROCESSORS_ONLN);
    assert_true(steal_since(&before) > 0.5 && steal_since(&before) < 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern_as_filled_is_right),
        cmocka_unit_test(test_pattern_one_byte_wrong_is_found),
        cmocka_unit_test(test_pattern_of_another_batch_is_found),
        cmocka_unit_test(test_pattern_shifted_is_found),
        cmocka_unit_test(test_stats_quantiles_lie_between),
        cmocka_unit_test(test_stats_spread_is_of_the_median),
        cmocka_unit_test(test_smaps_shared_pages_touched_are_counted),
        cmocka_unit_test(test_segments_of_the_library_are_counted),
        cmocka_unit_test(test_proc_first_line_of_the_form_is_read),
        cmocka_unit_test(test_steal_part_is_of_all_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
