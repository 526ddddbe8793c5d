/* SPDX-License-Identifier: BSD-3-Clause */
/* A helper process that dies, or says something else, is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "jobs/bench/frame/helper.h"

enum { DEADLINE_S = 30 };

/* This program as a helper; its transport says how it is to behave. */
static int helper_act(const char *info)
{
    struct smaps both[2] = {{.rss = 1.0}, {.rss = 2.0}};
    size_t len = strcmp(info, "short") == 0 ? sizeof(both) / 2 : sizeof(both);

    if (strcmp(info, "dies") == 0)
        return EXIT_FAILURE;
    if (write(STDOUT_FILENO, both, len) != (ssize_t)len)
        return EXIT_FAILURE;
    return strcmp(info, "fails") == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void test_measure_of_a_helper_is_read(void **state)
{
    struct smaps before;
    struct smaps after;

    (void)state;
    assert_true(helper_measure("good", DEADLINE_S, &before, &after));
    assert_true(before.rss == 1.0 && after.rss == 2.0);
}

static void test_measure_of_a_dead_helper_fails(void **state)
{
    const char *const infos[] = {"dies", "short", "fails"};
    struct smaps before;
    struct smaps after;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_false(helper_measure(infos[i], DEADLINE_S, &before, &after));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measure_of_a_helper_is_read),
        cmocka_unit_test(test_measure_of_a_dead_helper_fails),
    };

    if (argc == 4 && strcmp(argv[1], HELPER_WORD) == 0)
        return helper_act(argv[3]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
