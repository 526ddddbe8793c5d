/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines are filtered by level and outlet, and go to the function and stream
 * that are set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/log.h"

enum { TEXT_CAP = 4096 };

static char log_text[TEXT_CAP];
static FILE *log_stream_seen;

__attribute__((format(printf, 2, 3))) static int log_catch(
    FILE *stream, const char *format, ...)
{
    size_t used = strlen(log_text);
    va_list args;
    int len = 0;

    log_stream_seen = stream;
    va_start(args, format);
    len = vsnprintf(log_text + used, sizeof(log_text) - used, format, args);
    va_end(args);
    return len;
}

static int log_setup(void **state)
{
    (void)state;
    log_text[0] = '\0';
    log_stream_seen = NULL;
    hg_log_set_func(log_catch);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    hg_log_set_subsys("");
    amg_log_rank_set(-1);
    return 0;
}

static int log_teardown(void **state)
{
    (void)state;
    hg_log_set_func(NULL);
    hg_log_set_stream_error(NULL);
    return 0;
}

static void test_log_level_hides_what_is_above(void **state)
{
    (void)state;
    AMG_LOG_ERROR("cls", "an error %d", 1);
    AMG_LOG_WARNING("cls", "a warning %d", 2);
    AMG_LOG_INFO("cls", "an info %d", 3);
    assert_non_null(strstr(log_text, "error: cls: an error 1\n"));
    assert_non_null(strstr(log_text, "warning: cls: a warning 2\n"));
    assert_null(strstr(log_text, "info 3"));
    assert_false(amg_log_is_on(HG_LOG_LEVEL_INFO));
    hg_log_set_level(HG_LOG_LEVEL_DEBUG);
    assert_true(amg_log_is_on(HG_LOG_LEVEL_DEBUG));
    AMG_LOG_DEBUG("cls", "a detail");
    assert_non_null(strstr(log_text, "a detail"));
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    assert_false(amg_log_is_on(HG_LOG_LEVEL_ERROR));
}

static void test_log_level_of_knows_names(void **state)
{
    (void)state;
    assert_int_equal(hg_log_name_to_level("none"), HG_LOG_LEVEL_NONE);
    assert_int_equal(hg_log_name_to_level("WARNING"), HG_LOG_LEVEL_WARNING);
    assert_int_equal(hg_log_name_to_level("debug"), HG_LOG_LEVEL_DEBUG);
    assert_int_equal(hg_log_name_to_level("loud"), HG_LOG_LEVEL_MAX);
}

static void test_log_subsys_shows_and_hides(void **state)
{
    (void)state;
    hg_log_set_subsys("bulk,rpc");
    AMG_LOG_ERROR("cls", "one");
    AMG_LOG_ERROR("rpc", "two");
    assert_null(strstr(log_text, "one"));
    assert_non_null(strstr(log_text, "two"));
    hg_log_set_subsys("~rpc");
    AMG_LOG_ERROR("cls", "three");
    AMG_LOG_ERROR("rpc", "four");
    assert_non_null(strstr(log_text, "three"));
    assert_null(strstr(log_text, "four"));
}

static void test_log_lines_name_the_rank(void **state)
{
    (void)state;
    amg_log_rank_set(3);
    AMG_LOG_ERROR("cls", "text");
    assert_string_equal(log_text, "amalgam [rank 3]: error: cls: text\n");
}

static void test_log_stream_is_passed_on(void **state)
{
    (void)state;
    AMG_LOG_ERROR("cls", "text");
    assert_ptr_equal(log_stream_seen, stderr);
    hg_log_set_stream_error(stdout);
    AMG_LOG_ERROR("cls", "text");
    assert_ptr_equal(log_stream_seen, stdout);
    AMG_LOG_WARNING("cls", "text");
    assert_ptr_equal(log_stream_seen, stderr);
}

static void test_log_long_line_is_cut(void **state)
{
    char text[3000];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    AMG_LOG_ERROR("cls", "%s", text);
    assert_true(strlen(log_text) < 1100);
    assert_int_equal(log_text[strlen(log_text) - 1], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_log_level_hides_what_is_above, log_setup, log_teardown),
        cmocka_unit_test_setup_teardown(
            test_log_level_of_knows_names, log_setup, log_teardown),
        cmocka_unit_test_setup_teardown(
            test_log_subsys_shows_and_hides, log_setup, log_teardown),
        cmocka_unit_test_setup_teardown(
            test_log_lines_name_the_rank, log_setup, log_teardown),
        cmocka_unit_test_setup_teardown(
            test_log_stream_is_passed_on, log_setup, log_teardown),
        cmocka_unit_test_setup_teardown(
            test_log_long_line_is_cut, log_setup, log_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
