/* SPDX-License-Identifier: BSD-3-Clause */
/* One process exchanges with itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/log.h"
#include "boot/boot.h"

static void test_boot_alone_is_rank_0_of_1(void **state)
{
    struct amg_boot boot;

    (void)state;
    amg_boot_alone_init(&boot);
    assert_int_equal(boot.rank, 0);
    assert_int_equal(boot.size, 1);
    assert_int_equal(boot.node_rank, 0);
    assert_int_equal(boot.node_size, 1);
}

static void test_boot_alone_exchanges_give_own_bytes(void **state)
{
    struct amg_boot boot;
    char all[8] = "--------";

    (void)state;
    amg_boot_alone_init(&boot);
    assert_int_equal(boot.ops->allgather(&boot, "abc", 3, all), HG_SUCCESS);
    assert_memory_equal(all, "abc-----", sizeof(all));
    assert_int_equal(boot.ops->allgather(&boot, NULL, 0, NULL), HG_SUCCESS);
    assert_int_equal(boot.ops->bcast(&boot, all, 3, 0), HG_SUCCESS);
    assert_memory_equal(all, "abc-----", sizeof(all));
    assert_int_equal(boot.ops->barrier(&boot), HG_SUCCESS);
}

static void test_boot_alone_bcast_of_nobody_is_refused(void **state)
{
    struct amg_boot boot;
    char byte = 'x';

    (void)state;
    amg_boot_alone_init(&boot);
    assert_int_equal(boot.ops->bcast(&boot, &byte, 1, 1), HG_INVALID_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boot_alone_is_rank_0_of_1),
        cmocka_unit_test(test_boot_alone_exchanges_give_own_bytes),
        cmocka_unit_test(test_boot_alone_bcast_of_nobody_is_refused),
    };

    amg_log_level_set(AMG_LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
