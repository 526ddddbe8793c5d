/* SPDX-License-Identifier: BSD-3-Clause */
/* The public log: outlets of programs beside the library's own lines, levels,
 * streams, functions, the log in memory, and threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "mercury_class.h"
#include "mercury_log.h"
#include "mercury_thread.h"
#include "mercury_util.h"

enum { TEXT_CAP = 65536 };

HG_LOG_DECL_REGISTER(tool);
static HG_LOG_SUBSYS_DECL_REGISTER(disk, tool);
static HG_LOG_SUBSYS_DECL_STATE_REGISTER(chatty, tool, HG_LOG_OFF);
HG_LOG_SUBSYS_DLOG_DECL_REGISTER(deep, tool);

static char log_text[TEXT_CAP];
static size_t log_len;
static FILE *log_stream_seen;

HG_PRINTF(2, 3)
static int log_catch(FILE *stream, const char *format, ...)
{
    va_list args;
    int len = 0;

    log_stream_seen = stream;
    va_start(args, format);
    len = vsnprintf(log_text + log_len, TEXT_CAP - log_len, format, args);
    va_end(args);
    log_len += (size_t)len;
    return len;
}

static void text_clear(void)
{
    log_text[0] = '\0';
    log_len = 0;
}

static int log_setup(void **state)
{
    (void)state;
    HG_Set_log_func(log_catch);
    HG_Set_log_level("warning");
    HG_Set_log_subsys(NULL);
    HG_Set_log_stream("error", NULL);
    HG_Set_log_stream("debug", NULL);
    text_clear();
    return 0;
}

static void test_log_outlets_are_registered_when_loaded(void **state)
{
    (void)state;
    HG_LOG_WRITE(tool, HG_LOG_LEVEL_ERROR, "one %d", 1);
    assert_non_null(strstr(log_text, "tool: error: one 1 ("));
    assert_non_null(strstr(log_text, "test_log.c:"));
    assert_non_null(strstr(log_text, " test_log_outlets_are_registered"));
    text_clear();
    HG_LOG_WRITE(disk, HG_LOG_LEVEL_WARNING, "two");
    assert_non_null(strstr(log_text, "tool: warning: disk: two ("));
    assert_int_equal(log_text[log_len - 1], '\n');
    text_clear();
    HG_LOG_SUBSYS_WRITE(disk, tool, HG_LOG_LEVEL_INFO, "three");
    HG_LOG_WRITE(chatty, HG_LOG_LEVEL_ERROR, "four");
    assert_string_equal(log_text, "");
}

static void test_log_calls_govern_library_and_program(void **state)
{
    (void)state;
    HG_Set_log_level("debug");
    HG_Set_log_subsys("disk,rpc");
    HG_LOG_WRITE(tool, HG_LOG_LEVEL_ERROR, "hidden");
    HG_LOG_WRITE(disk, HG_LOG_LEVEL_DEBUG, "shown");
    AMG_LOG_ERROR("cls", "hidden");
    AMG_LOG_DEBUG("rpc", "of the library");
    assert_null(strstr(log_text, "hidden"));
    assert_non_null(strstr(log_text, "tool: debug: disk: shown"));
    assert_non_null(strstr(log_text, "amalgam: debug: rpc: of the library\n"));
    assert_string_equal(hg_log_get_subsys(), "disk,rpc");
    HG_Util_set_log_subsys("~tool");
    HG_Util_set_log_level("none");
    text_clear();
    AMG_LOG_ERROR("cls", "hidden");
    HG_LOG_WRITE(chatty, HG_LOG_LEVEL_FATAL, "hidden");
    assert_string_equal(log_text, "");
    hg_log_set_subsys_level("chatty", HG_LOG_LEVEL_INFO);
    hg_log_set_subsys("");
    HG_LOG_WRITE(chatty, HG_LOG_LEVEL_INFO, "asked for");
    assert_non_null(strstr(log_text, "chatty: asked for"));
    assert_int_equal(hg_log_get_level(), HG_LOG_LEVEL_NONE);
}

static void test_log_unknown_names_change_nothing(void **state)
{
    char list[1100];

    (void)state;
    HG_Set_log_level("loud");
    HG_Set_log_level(NULL);
    assert_non_null(strstr(log_text, "'loud' is no log level"));
    assert_non_null(strstr(log_text, "'NULL' is no log level"));
    hg_log_set_level(HG_LOG_LEVEL_MAX);
    assert_int_equal(hg_log_get_level(), HG_LOG_LEVEL_WARNING);
    memset(list, 'a', sizeof(list));
    list[sizeof(list) - 1] = '\0';
    HG_Set_log_subsys(list);
    assert_non_null(strstr(log_text, "1099 bytes"));
    assert_string_equal(hg_log_get_subsys(), "");
    text_clear();
    hg_log_set_subsys_level(list, HG_LOG_LEVEL_DEBUG);
    hg_log_set_subsys_level(NULL, HG_LOG_LEVEL_DEBUG);
    hg_log_set_subsys_level("disk", HG_LOG_LEVEL_MAX);
    HG_LOG_WRITE(disk, HG_LOG_LEVEL_DEBUG, "hidden");
    assert_null(strstr(log_text, "hidden"));
    HG_Set_log_stream("loud", stdout);
    assert_ptr_equal(hg_log_get_stream_error(), stderr);
}

static void test_log_levels_have_names(void **state)
{
    (void)state;
    for (int i = HG_LOG_LEVEL_NONE; i < HG_LOG_LEVEL_MAX; i++) {
        const char *name = hg_log_level_to_string((enum hg_log_level)i);

        assert_non_null(name);
        assert_int_equal(hg_log_name_to_level(name), i);
    }
    assert_null(hg_log_level_to_string(HG_LOG_LEVEL_MAX));
    assert_int_equal(hg_log_name_to_level("DEBUG"), HG_LOG_LEVEL_DEBUG);
    assert_int_equal(hg_log_name_to_level(NULL), HG_LOG_LEVEL_MAX);
}

static void test_log_streams_are_shared_by_levels(void **state)
{
    (void)state;
    HG_Set_log_level("debug");
    HG_Set_log_stream("debug", stdout);
    assert_ptr_equal(hg_log_get_stream_debug(), stdout);
    assert_ptr_equal(hg_log_get_stream_warning(), stderr);
    HG_LOG_WRITE(tool, HG_LOG_LEVEL_INFO, "text");
    assert_ptr_equal(log_stream_seen, stdout);
    HG_LOG_WRITE(tool, HG_LOG_LEVEL_WARNING, "text");
    assert_ptr_equal(log_stream_seen, stderr);
    hg_log_set_stream_warning(stdout);
    assert_ptr_equal(hg_log_get_stream_warning(), stdout);
    HG_Set_log_stream("warning", NULL);
    HG_Util_set_log_stream("fatal", stdout);
    assert_ptr_equal(hg_log_get_stream_error(), stdout);
    HG_LOG_WRITE(tool, HG_LOG_LEVEL_ERROR, "text");
    assert_ptr_equal(log_stream_seen, stdout);
    assert_true(hg_log_get_func() == log_catch);
    HG_Util_set_log_func(NULL);
    assert_true(hg_log_get_func() == fprintf);
}

static void test_log_error_prints_the_log_in_memory(void **state)
{
    (void)state;
    HG_LOG_WRITE_DEBUG(deep, "lost %d", 0);
    HG_Set_log_level("min_debug");
    for (int i = 0; i < HG_LOG_DEBUG_LESIZE + 5; i++)
        HG_LOG_WRITE_DEBUG(deep, "step %d", i);
    assert_string_equal(log_text, "");
    HG_LOG_WRITE(deep, HG_LOG_LEVEL_ERROR, "it broke");
    assert_non_null(strstr(log_text, "deep: it broke"));
    assert_non_null(strstr(log_text, ": 256 entries\n"));
    assert_non_null(strstr(log_text, "step %d"));
    assert_null(strstr(log_text, "lost"));
    text_clear();
    HG_Set_log_level("debug");
    HG_LOG_WRITE_DEBUG(deep, "step %d", 7);
    assert_non_null(strstr(log_text, "tool: debug: deep: step 7"));
    hg_dlog_resetlog(&HG_LOG_DEBUG_DLOG(deep));
}

static void test_log_counters_are_printed(void **state)
{
    static hg_atomic_int32_t *calls;
    static hg_atomic_int64_t *bytes;

    (void)state;
    HG_LOG_ADD_COUNTER32(deep, &calls, "calls", "calls made");
    HG_LOG_ADD_COUNTER64(deep, &bytes, "bytes", "bytes sent");
    hg_atomic_incr32(calls);
    hg_atomic_set64(bytes, INT64_C(1) << 40);
    hg_log_dump_counters(&HG_LOG_OUTLET(deep));
    assert_string_equal(log_text,
        "# calls: 1 (calls made)\n# bytes: 1099511627776 (bytes sent)\n");
    hg_log_dump_counters(&HG_LOG_OUTLET(tool));
    hg_log_dump_counters(NULL);
    hg_dlog_free(&HG_LOG_DEBUG_DLOG(deep));
}

static void test_log_open_and_long_lines(void **state)
{
    char text[3000];

    (void)state;
    hg_log_write(
        &HG_LOG_OUTLET(tool), HG_LOG_LEVEL_ERROR, NULL, 0, NULL, true, "open");
    assert_string_equal(log_text, "tool: error: open");
    text_clear();
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    HG_LOG_WRITE(disk, HG_LOG_LEVEL_ERROR, "%s", text);
    assert_true(log_len < 1100);
    assert_int_equal(log_text[log_len - 1], '\n');
    text_clear();
    hg_log_write(NULL, HG_LOG_LEVEL_ERROR, NULL, 0, NULL, false, "x");
    hg_log_write(
        &HG_LOG_OUTLET(tool), HG_LOG_LEVEL_NONE, NULL, 0, NULL, false, "x");
    hg_log_write_debug(NULL, NULL, 0, NULL, "x");
    assert_string_equal(log_text, "");
}

static hg_thread_ret_t lines_write(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        HG_LOG_WRITE(disk, HG_LOG_LEVEL_ERROR, "a line");
        HG_LOG_WRITE_DEBUG(deep, "a step");
    }
    return NULL;
}

static void test_log_threads_write_while_others_configure(void **state)
{
    hg_thread_t threads[2];
    unsigned lines = 0;

    (void)state;
    for (int i = 0; i < 2; i++)
        hg_thread_create(&threads[i], lines_write, NULL);
    for (int i = 0; i < 100; i++) {
        hg_log_set_level(
            i % 2 == 0 ? HG_LOG_LEVEL_ERROR : HG_LOG_LEVEL_MIN_DEBUG);
        hg_log_set_subsys(i % 3 == 0 ? "tool" : "disk,~deep");
        hg_log_outlet_deregister(&HG_LOG_OUTLET(tool));
        hg_log_outlet_register(&HG_LOG_OUTLET(tool));
    }
    for (int i = 0; i < 2; i++)
        hg_thread_join(threads[i]);
    for (char *at = log_text; (at = strstr(at, "disk: a line (")) != NULL; at++)
        lines++;
    assert_int_equal(lines, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(
            test_log_outlets_are_registered_when_loaded, log_setup),
        cmocka_unit_test_setup(
            test_log_calls_govern_library_and_program, log_setup),
        cmocka_unit_test_setup(
            test_log_unknown_names_change_nothing, log_setup),
        cmocka_unit_test_setup(test_log_levels_have_names, log_setup),
        cmocka_unit_test_setup(
            test_log_streams_are_shared_by_levels, log_setup),
        cmocka_unit_test_setup(
            test_log_error_prints_the_log_in_memory, log_setup),
        cmocka_unit_test_setup(test_log_counters_are_printed, log_setup),
        cmocka_unit_test_setup(test_log_open_and_long_lines, log_setup),
        cmocka_unit_test_setup(
            test_log_threads_write_while_others_configure, log_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
