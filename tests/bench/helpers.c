/* SPDX-License-Identifier: BSD-3-Clause */
/* Helper processes are started, heard and ended, and a dead one is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <unistd.h>

#include <cmocka.h>

#include "jobs/bench/frame/helper.h"

enum { COUNT = 5, DEADLINE_S = 30 };

/* This program as a helper; its address says how it is to behave. */
static int helper_act(const char *address)
{
    char byte = 0;

    if (strcmp(address, "dies") == 0)
        return EXIT_FAILURE;
    if (write(STDOUT_FILENO, "r", 1) != 1)
        return EXIT_FAILURE;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return EXIT_SUCCESS;
}

static void test_helpers_ready_stay_until_stopped(void **state)
{
    struct helpers helpers;
    bool has_failed = false;

    (void)state;
    assert_true(helpers_start(&helpers, COUNT, "info", "stays", DEADLINE_S));
    while (!helpers_are_ready(&helpers, &has_failed)) {
        assert_false(has_failed);
        sched_yield();
    }
    assert_int_equal(helpers.ready, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(helpers.pids[i] > 0);
    while (!helpers_stop(&helpers))
        sched_yield();
    assert_int_equal(helpers.count, 0);
    assert_null(helpers.pids);
}

static void test_helpers_one_dead_is_noticed(void **state)
{
    struct helpers helpers;
    bool has_failed = false;

    (void)state;
    assert_true(helpers_start(&helpers, COUNT, "info", "dies", DEADLINE_S));
    while (!has_failed) {
        assert_false(helpers_are_ready(&helpers, &has_failed));
        sched_yield();
    }
    while (!helpers_stop(&helpers))
        sched_yield();
}

static void test_measure_of_a_dead_helper_fails(void **state)
{
    struct smaps before;
    struct smaps after;

    (void)state;
    assert_false(helper_measure("info", DEADLINE_S, &before, &after));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_helpers_ready_stay_until_stopped),
        cmocka_unit_test(test_helpers_one_dead_is_noticed),
        cmocka_unit_test(test_measure_of_a_dead_helper_fails),
    };

    /* "info" alone, without an address, is a measurement: it dies, too. */
    if (argc == 5 && strcmp(argv[1], HELPER_WORD) == 0)
        return helper_act(argv[4][0] == '\0' ? "dies" : argv[4]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
