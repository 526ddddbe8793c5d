/* SPDX-License-Identifier: BSD-3-Clause */
/* What a class needs of the limits of its processes, and which are too small.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "jobs/tools/limits.h"

static char lines[LIMITS_ADVICE_MAX][LIMITS_TEXT_CAP];

static struct limits enough(void)
{
    return (struct limits){.locked = UINT64_MAX,
        .files = 1024,
        .files_open = 20,
        .files_need = 20,
        .shm_free = 1 << 20,
        .is_shm_known = true};
}

static void test_limits_of_this_process_are_read(void **state)
{
    struct rlimit limit;
    struct limits before;
    struct limits now;
    int fd = dup(STDOUT_FILENO);
    long page = sysconf(_SC_PAGESIZE);
    void *bytes = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limits_read(&before);
    assert_int_equal(before.files, limit.rlim_cur);
    assert_true(before.files_open >= 4);
    close(fd);
    limits_read(&now);
    assert_int_equal(now.files_open, before.files_open - 1);
    assert_false(before.is_locking);
    if (mlock(bytes, (size_t)page) == 0) { /* a limit may forbid this page */
        limits_read(&now);
        assert_int_equal(now.locked_now, page);
        assert_true(now.is_locking);
    }
    munmap(bytes, (size_t)page);
    limit.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    limits_read(&now);
    assert_int_equal(now.files, 64);
}

static void test_limits_know_the_provider_of_a_class(void **state)
{
    const struct limits_ask job = {
        .reach = "shm to 1 rank of this node, ofi+tcp;ofi_rxm to 2 ranks of 1 "
                 "other node",
        .address = "mpi://1/0"};
    const struct limits_ask alone = {
        .reach = "ofi to all it reaches", .address = "ofi+net://192.0.2.1:7"};

    (void)state;
    assert_true(limits_is_by(&job, "ofi+tcp;ofi_rxm"));
    assert_false(limits_is_by(&job, "ofi+tcp"));
    assert_false(limits_is_by(&job, "ofi+net"));
    assert_true(limits_is_by(&alone, "ofi+net"));
    assert_false(limits_is_by(&alone, "ofi+net;ofi_rxm"));
}

static void test_limits_count_descriptors_of_peers(void **state)
{
    struct limits limits = enough();
    struct limits_ask ask = {.ranks = 100, .local = 4};

    (void)state;
    limits_need_files(&limits, &ask, "ofi+tcp;ofi_rxm");
    assert_int_equal(limits.files_need, 20 + 96);
    limits_need_files(&limits, &ask, "ofi+cxi");
    assert_int_equal(limits.files_need, 20);
    ask.shares_memory = true;
    limits_need_files(&limits, &ask, NULL);
    assert_int_equal(limits.files_need, 20 + 2 * 3);
    ask.local = 1000;
    ask.ranks = 1000;
    limits_need_files(&limits, &ask, "ofi+net");
    assert_int_equal(limits.files_need, 20 + 2 * 256);
}

static void test_limits_that_suffice_need_no_advice(void **state)
{
    struct limits limits = enough();

    (void)state;
    assert_int_equal(limits_advise(&limits, lines), 0);
    limits.is_locking = true; /* without a limit */
    limits.files_need = limits.files;
    limits.shm_called = limits.shm_free;
    limits.shm_most = limits.shm_free;
    assert_int_equal(limits_advise(&limits, lines), 0);
    limits = enough();
    limits.locked = 65536; /* by nothing */
    limits.is_shm_known = false;
    limits.shm_most = UINT64_MAX;
    assert_int_equal(limits_advise(&limits, lines), 0);
}

static void test_limits_too_small_are_named_with_a_remedy(void **state)
{
    struct limits limits = enough();

    (void)state;
    limits.is_locking = true;
    limits.locked = 65536;
    limits.files_need = 1025;
    limits.shm_called = limits.shm_free + 1;
    limits.shm_most = 2 * limits.shm_called;
    assert_int_equal(limits_advise(&limits, lines), 3);
    assert_non_null(
        strstr(lines[0], "and 65536 bytes are the most. ulimit -l"));
    assert_non_null(strstr(lines[1], "needs 1025 "));
    assert_non_null(strstr(lines[1], "ulimit -n 2050 "));
    assert_non_null(strstr(lines[2], "1048576 bytes are free"));
    assert_non_null(strstr(lines[2], "take 1048577 more to call each other. "));
    assert_non_null(strstr(lines[2], "docker run --shm-size)"));
}

static void test_limits_tell_calls_from_bulk_data(void **state)
{
    struct limits limits = enough();

    (void)state;
    limits.shm_called = limits.shm_free;
    limits.shm_most = limits.shm_free + 1;
    assert_int_equal(limits_advise(&limits, lines), 1);
    assert_non_null(
        strstr(lines[0], "take 1048577 more with long messages and bulk data"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_know_the_provider_of_a_class),
        cmocka_unit_test(test_limits_count_descriptors_of_peers),
        cmocka_unit_test(test_limits_that_suffice_need_no_advice),
        cmocka_unit_test(test_limits_too_small_are_named_with_a_remedy),
        cmocka_unit_test(test_limits_tell_calls_from_bulk_data),
        cmocka_unit_test(test_limits_of_this_process_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
