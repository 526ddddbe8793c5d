/* SPDX-License-Identifier: BSD-3-Clause */
/* The spare descriptor is available when all others are used up, and again
 * later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/process.h"

static const char file[] = "/dev/zero";

/* Leaves the process no free descriptor. */
static void use_up(struct rlimit *ret_kept)
{
    struct rlimit limit;
    int next = open(file, O_RDONLY);

    assert_true(next >= 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_kept), 0);
    limit = *ret_kept;
    limit.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    close(next);
}

static void test_spare_is_used_where_no_other_is_left(void **state)
{
    struct rlimit kept;

    (void)state;
    amg_spare_hold();
    use_up(&kept);
    assert_int_equal(open(file, O_RDONLY), -1);
    for (int i = 0; i < 3; i++) {
        int fd = amg_spare_open(file, O_RDONLY);

        assert_true(fd >= 0);
        assert_true(amg_spare_is_out());
        assert_int_equal(amg_spare_open(file, O_RDONLY), -1);
        assert_int_equal(errno, EMFILE);
        amg_spare_close(fd);
        assert_false(amg_spare_is_out());
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
    amg_spare_drop();
    assert_true(amg_spare_is_out());
}

static void test_spare_of_nobody_is_none(void **state)
{
    int fd = -1;

    (void)state;
    fd = amg_spare_open(file, O_RDONLY);
    assert_true(fd >= 0);
    amg_spare_close(fd);
    assert_true(amg_spare_is_out());
}

static void test_spare_failure_keeps_its_reason(void **state)
{
    (void)state;
    amg_spare_hold();
    assert_int_equal(amg_spare_open("/nowhere/at/all", O_RDONLY), -1);
    assert_int_equal(errno, ENOENT);
    assert_false(amg_spare_is_out());
    amg_spare_drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spare_is_used_where_no_other_is_left),
        cmocka_unit_test(test_spare_of_nobody_is_none),
        cmocka_unit_test(test_spare_failure_keeps_its_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
