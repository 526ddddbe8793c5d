/* SPDX-License-Identifier: BSD-3-Clause */
/* An in-memory log keeps its last or first entries and its counters, and prints
 * them to a function or a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "mercury_dlog.h"

enum { TEXT_CAP = 8192 };

static char dlog_text[TEXT_CAP];
static size_t dlog_len;

HG_PRINTF(2, 3)
static int text_print(FILE *stream, const char *format, ...)
{
    va_list args;

    assert_ptr_equal(stream, stderr);
    va_start(args, format);
    dlog_len += (size_t)vsnprintf(
        dlog_text + dlog_len, TEXT_CAP - dlog_len, format, args);
    va_end(args);
    return 0;
}

static const char *dump(struct hg_dlog *d)
{
    dlog_len = 0;
    dlog_text[0] = '\0';
    hg_dlog_dump(d, text_print, stderr, 0);
    return dlog_text;
}

static void test_dlog_ring_keeps_the_last(void **state)
{
    static struct hg_dlog_entry entries[3];
    static struct hg_dlog ring =
        HG_DLOG_INITIALIZER("ring", ring, entries, 3, 1);
    const char *const words[] = {"w0", "w1", "w2", "w3", "w4"};

    (void)state;
    assert_non_null(strstr(dump(&ring), "debug log ring: 0 entries"));
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(
            hg_dlog_addlog(&ring, "file", i, "func", words[i], NULL), 1);
    assert_non_null(strstr(dump(&ring), ": 3 entries"));
    assert_null(strstr(dlog_text, "w1"));
    assert_true(strstr(dlog_text, "w2") < strstr(dlog_text, "w3"));
    assert_true(strstr(dlog_text, "w3") < strstr(dlog_text, "w4"));
    assert_non_null(strstr(dlog_text, "file:4 func() w4"));
    hg_dlog_setlogstop(&ring, 1);
    assert_int_equal(hg_dlog_addlog(&ring, NULL, 0, NULL, "no", NULL), 0);
    hg_dlog_setlogstop(&ring, 0);
    hg_dlog_resetlog(&ring);
    assert_non_null(strstr(dump(&ring), ": 0 entries"));
    hg_dlog_free(&ring);
}

static void test_dlog_without_loop_keeps_the_first(void **state)
{
    char name[] = "a long name";
    struct hg_dlog *d = hg_dlog_alloc(name, 2, 0);

    (void)state;
    assert_non_null(d);
    assert_memory_equal(d->dlog_magic, HG_DLOG_STDMAGIC, 8);
    assert_int_equal(hg_dlog_addlog(d, NULL, 0, NULL, "w0", NULL), 1);
    assert_int_equal(hg_dlog_addlog(d, NULL, 0, NULL, "w1", NULL), 1);
    assert_int_equal(hg_dlog_addlog(d, NULL, 0, NULL, "w2", NULL), 0);
    assert_non_null(strstr(dump(d), "w0"));
    assert_null(strstr(dlog_text, "w2"));
    hg_dlog_free(d);
}

static void test_dlog_counters_are_made_once(void **state)
{
    char name[] = "count";
    struct hg_dlog *d = hg_dlog_alloc(name, 1, 1);
    hg_atomic_int32_t *calls = NULL, *same = NULL;
    hg_atomic_int64_t *bytes = NULL;

    (void)state;
    hg_dlog_mkcount32(d, &calls, "calls", "made");
    same = calls;
    hg_dlog_mkcount32(d, &same, "calls", "made");
    assert_ptr_equal(same, calls);
    hg_dlog_mkcount64(d, &bytes, "bytes", NULL);
    hg_atomic_set32(calls, 3);
    hg_atomic_set64(bytes, -5);
    dlog_len = 0;
    hg_dlog_dump_counters(d, text_print, stderr, 1);
    assert_string_equal(dlog_text, "# calls: 3 (made)\n# bytes: -5 ()\n");
    /* Another thread holds the log: nothing is printed, and no caller waits. */
    dlog_len = 0;
    dlog_text[0] = '\0';
    hg_thread_mutex_lock(&d->dlock);
    hg_dlog_dump(d, text_print, stderr, 1);
    hg_dlog_dump_counters(d, text_print, stderr, 1);
    hg_thread_mutex_unlock(&d->dlock);
    assert_string_equal(dlog_text, "");
    hg_dlog_free(d);
}

static void test_dlog_counters_stand_in_order_of_creation_once(void **state)
{
    static struct hg_dlog_entry entries[2];
    static struct hg_dlog d = HG_DLOG_INITIALIZER("order", d, entries, 2, 1);
    hg_atomic_int32_t *small[3] = {NULL};
    hg_atomic_int64_t *large[2] = {NULL};

    (void)state;
    hg_dlog_mkcount32(&d, &small[0], "s0", "d");
    hg_dlog_mkcount64(&d, &large[0], "l0", "d");
    hg_dlog_mkcount32(&d, &small[1], "s1", "d");
    hg_dlog_mkcount64(&d, &large[1], "l1", "d");
    hg_dlog_mkcount32(&d, &small[2], "s2", "d");
    dlog_len = 0;
    hg_dlog_dump_counters(&d, text_print, stderr, 0);
    assert_string_equal(dlog_text, "# s0: 0 (d)\n# s1: 0 (d)\n# s2: 0 (d)\n"
                                   "# l0: 0 (d)\n# l1: 0 (d)\n");
    /* Printing the entries leaves out the counters. */
    assert_null(strstr(dump(&d), "s0"));
    hg_dlog_free(&d);
}

/* Occurrences of a word in a file. */
static unsigned count_in_file(const char *path, const char *word)
{
    char line[256];
    unsigned count = 0;
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        count += strstr(line, word) != NULL;
    fclose(file);
    return count;
}

static void test_dlog_is_printed_to_a_file(void **state)
{
    char folder[] = "/tmp/amalgam_dlog_XXXXXX", base[64], path[128];
    char name[] = "file";
    struct hg_dlog *d = hg_dlog_alloc(name, 1, 1);
    hg_atomic_int32_t *calls = NULL;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(base, sizeof(base), "%s/log", folder);
    hg_dlog_addlog(d, "here", 1, "me", "w0", NULL);
    hg_dlog_mkcount32(d, &calls, "calls", "made");
    hg_dlog_dump_file(d, base, 0, 0);
    snprintf(path, sizeof(path), "%s.log", base);
    assert_int_equal(count_in_file(path, "# debug log file: 1 entries\n"), 1);
    assert_int_equal(count_in_file(path, "# calls: 0 (made)\n"), 1);
    unlink(path);
    hg_dlog_dump_file(d, base, 1, 0);
    snprintf(path, sizeof(path), "%s-%ld.log", base, (long)getpid());
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    hg_dlog_dump_file(d, "/no/such/folder", 0, 0);
    hg_dlog_free(d);
}

static void test_dlog_no_memory_leaves_nothing(void **state)
{
    char name[] = "none";
    struct amg_mem_stats before, after;
    hg_atomic_int32_t *count32 = NULL;
    hg_atomic_int64_t *count64 = NULL;
    struct hg_dlog *d = NULL;

    (void)state;
    amg_mem_stats_get(&before);
    assert_null(hg_dlog_alloc(NULL, 1, 1));
    assert_null(hg_dlog_alloc(name, 0, 1));
    for (unsigned n = 1; n <= 2; n++) {
        amg_mem_fail_nth(n);
        assert_null(hg_dlog_alloc(name, 1, 1));
    }
    amg_mem_fail_nth(0);
    d = hg_dlog_alloc(name, 1, 1);
    amg_mem_fail_nth(1);
    hg_dlog_mkcount32(d, &count32, "c", "d");
    amg_mem_fail_nth(1);
    hg_dlog_mkcount64(d, &count64, "c", "d");
    amg_mem_fail_nth(0);
    assert_null(count32);
    assert_null(count64);
    hg_dlog_free(d);
    hg_dlog_free(NULL);
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dlog_ring_keeps_the_last),
        cmocka_unit_test(test_dlog_without_loop_keeps_the_first),
        cmocka_unit_test(test_dlog_counters_are_made_once),
        cmocka_unit_test(test_dlog_counters_stand_in_order_of_creation_once),
        cmocka_unit_test(test_dlog_is_printed_to_a_file),
        cmocka_unit_test(test_dlog_no_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
