/* SPDX-License-Identifier: BSD-3-Clause */
/* Loggers: levels, the global one, its environment, long lines, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "lines.h"
#include "margo/log.h"

static struct lines lines;

static void test_log_environment_says_the_level(void **state)
{
    struct margo_logger logger = lines_logger(&lines);

    (void)state;
    /* Must be the first test: the environment is read once. */
    setenv("MARGO_LOG_LEVEL", "error", 1);
    assert_int_equal(margo_set_global_logger(&logger), 0);
    margo_warning(NULL, "hidden");
    margo_error(NULL, "shown %d", 7);
    assert_string_equal(lines.warnings, "");
    assert_string_equal(lines.errors, "shown 7\n");
}

static void test_log_level_filters(void **state)
{
    struct margo_logger logger = lines_logger(&lines);

    (void)state;
    assert_int_equal(margo_set_global_logger(&logger), 0);
    assert_int_equal(margo_set_global_log_level(MARGO_LOG_CRITICAL), 0);
    margo_error(NULL, "hidden");
    margo_critical(NULL, "shown");
    assert_string_equal(lines.errors, "shown\n");
    assert_int_equal(margo_set_log_level(NULL, MARGO_LOG_EXTERNAL), 0);
    margo_warning(NULL, "all");
    margo_trace(NULL, "dropped by the logger of this test");
    assert_string_equal(lines.warnings, "all\n");
}

static void test_log_instance_starts_from_the_global_one(void **state)
{
    struct margo_logger logger = lines_logger(&lines);
    struct amg_margo_log log;

    (void)state;
    assert_int_equal(margo_set_global_logger(&logger), 0);
    assert_int_equal(margo_set_global_log_level(MARGO_LOG_WARNING), 0);
    amg_margo_log_init(&log, NULL);
    assert_int_equal(margo_set_global_log_level(MARGO_LOG_CRITICAL), 0);
    amg_margo_log_write(&log, MARGO_LOG_WARNING, "its own level");
    assert_string_equal(lines.warnings, "its own level\n");
}

static void test_log_long_line_is_whole(void **state)
{
    struct margo_logger logger = lines_logger(&lines);
    char text[2000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(margo_set_global_logger(&logger), 0);
    margo_critical(NULL, "%s", text);
    assert_int_equal(strlen(lines.errors), sizeof(text));
}

static void test_log_nonsense_is_refused(void **state)
{
    struct margo_logger logger = lines_logger(&lines);
    struct margo_logger broken = logger;

    (void)state;
    broken.debug = NULL;
    assert_int_equal(margo_set_global_logger(&logger), 0);
    assert_int_equal(margo_set_global_log_level(MARGO_LOG_ERROR), 0);
    assert_int_equal(margo_set_global_logger(NULL), -1);
    assert_int_equal(margo_set_logger(NULL, &broken), -1);
    assert_true(lines_failed(&lines, "one of its functions is NULL"));
    assert_int_equal(margo_set_log_level(NULL, (margo_log_level)7), -1);
    assert_true(lines_failed(&lines, "the log level 7 was not set"));
    margo_error(NULL, "as before");
    assert_true(lines_failed(&lines, "as before"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_environment_says_the_level),
        cmocka_unit_test(test_log_level_filters),
        cmocka_unit_test(test_log_instance_starts_from_the_global_one),
        cmocka_unit_test(test_log_long_line_is_whole),
        cmocka_unit_test(test_log_nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
