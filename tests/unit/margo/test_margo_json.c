/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON objects read by a table: kinds of fields, unknown fields, and paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lines.h"
#include "margo/json.h"

static struct lines lines;
static struct amg_margo_log test_log;

struct target {
    bool flag;
    uint8_t byte;
    int number;
    unsigned count;
    size_t size;
    const char *text;
    int word;
};

static const char *const words[] = {"one", "two", NULL};

static const struct amg_json_field fields[] = {
    {"flag", AMG_JSON_BOOL, offsetof(struct target, flag), 0, 0, NULL},
    {"byte", AMG_JSON_BOOL, offsetof(struct target, byte), 0, 0, NULL},
    {"number", AMG_JSON_INT, offsetof(struct target, number), -5, 5, NULL},
    {"count", AMG_JSON_UINT, offsetof(struct target, count), 0, UINT32_MAX,
        NULL},
    {"size", AMG_JSON_SIZE, offsetof(struct target, size), 1, INT64_MAX, NULL},
    {"text", AMG_JSON_TEXT, offsetof(struct target, text), 0, 0, NULL},
    {"word", AMG_JSON_WORD, offsetof(struct target, word), 0, 0, words},
    {"hint", AMG_JSON_HINT, offsetof(struct target, word), 0, 0, words},
    {"other", AMG_JSON_ELSEWHERE, 0, 0, 0, NULL},
    {0},
};

static bool read_text(const char *text, struct target *target)
{
    struct margo_logger logger = lines_logger(&lines);
    struct json_object *object = NULL;
    bool is_read = false;

    amg_margo_log_init(&test_log, &logger);
    object = amg_json_parse(&test_log, "the text", text);
    if (object == NULL)
        return false;
    is_read = amg_json_read(&test_log, "here", object, fields, target);
    json_object_put(object);
    return is_read;
}

static void test_json_kinds_are_read(void **state)
{
    struct target target = {0};

    (void)state;
    assert_true(read_text("{\"flag\":true,\"byte\":true,\"number\":-5,"
                          "\"count\":4294967295,\"size\":4294967296,"
                          "\"word\":\"two\",\"other\":[1]}",
        &target));
    assert_true(target.flag);
    assert_int_equal(target.byte, 1);
    assert_int_equal(target.number, -5);
    assert_int_equal(target.count, UINT32_MAX);
    assert_true(target.size == 4294967296u);
    assert_int_equal(target.word, 1);
    assert_string_equal(lines.warnings, "");
}

static void test_json_null_and_unknown_leave_it(void **state)
{
    struct target target = {.number = 3, .word = 1};

    (void)state;
    assert_true(
        read_text("{\"number\":null,\"hint\":\"three\",\"x\":1}", &target));
    assert_int_equal(target.number, 3);
    assert_int_equal(target.word, 1);
    assert_true(lines_warned(&lines,
        "here.hint is 'three', which is unknown: there are one, two; using "
        "two"));
    assert_true(lines_warned(&lines, "here.x is unknown"));
}

static void test_json_out_of_range_is_refused(void **state)
{
    struct target target = {0};

    (void)state;
    assert_false(read_text("{\"number\":6}", &target));
    assert_true(lines_failed(&lines, "here.number is 6; -5 to 5 is possible"));
    assert_false(read_text("{\"count\":-1}", &target));
    assert_false(read_text("{\"count\":4294967296}", &target));
    assert_false(read_text("{\"size\":0}", &target));
    assert_false(read_text("{\"flag\":0}", &target));
    assert_false(read_text("{\"text\":7}", &target));
    assert_int_equal(target.number, 0);
    assert_int_equal(target.count, 0);
}

static void test_json_broken_text_names_the_place(void **state)
{
    struct target target = {0};

    (void)state;
    assert_false(read_text("{\n  \"number\": 1,\n  oops\n}", &target));
    assert_true(lines_failed(&lines, "the text is no JSON: line 3, column 3"));
    assert_false(read_text("{\"number\":", &target));
    assert_true(lines_failed(&lines, "it ends too early"));
    assert_false(read_text("", &target));
    assert_false(read_text("[1]", &target));
    assert_true(lines_failed(&lines, "{...}, and is an array"));
}

static void test_json_long_path_is_cut(void **state)
{
    char path[AMG_JSON_PATH_CAP];
    char key[2 * AMG_JSON_PATH_CAP];

    (void)state;
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    amg_json_path_key(path, "a", key);
    assert_int_equal(strlen(path), AMG_JSON_PATH_CAP - 1);
    amg_json_path_key(path, "", "top");
    assert_string_equal(path, "top");
    amg_json_path_index(path, "a.b", 3);
    assert_string_equal(path, "a.b[3]");
}

/* Comments and trailing commas are accepted, as by the original. */
static void test_json_comments_and_commas_are_taken(void **state)
{
    static const char *const texts[] = {
        "{\"number\":3,}",
        "{/* the count */ \"count\": 7, \"number\": 3, // the end\n}",
        "// first\n{'number': 3}\n",
        "{\"number\":3} /* all */\n",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct target target = {0};

        if (!read_text(texts[i], &target))
            fail_msg("%s: %s", texts[i], lines.errors);
        assert_int_equal(target.number, 3);
        assert_string_equal(lines.warnings, "");
    }
}

static void test_json_what_follows_the_object_is_told(void **state)
{
    struct target target = {0};

    (void)state;
    assert_true(read_text("{\"number\":3}\n {\"number\":4}", &target));
    assert_int_equal(target.number, 3);
    assert_true(lines_warned(
        &lines, "the text: line 2, column 2: text after the object"));
}

static void test_json_unknown_word_is_refused(void **state)
{
    struct target target = {.word = 1};

    (void)state;
    assert_false(read_text("{\"word\":\"three\"}", &target));
    assert_true(lines_failed(
        &lines, "here.word is 'three', which is unknown: there are one, two"));
}

static void test_json_string_is_valid_utf8(void **state)
{
    static const char *const rows[][2] = {
        {"plain", "plain"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
            "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"a\xff\xfe", "a\\xff\\xfe"},
        {"\xc3", "\\xc3"},
        {"\xe2\x82z", "\\xe2\\x82z"},
        {"\xc0\xaf", "\\xc0\\xaf"},                   /* too long */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* a surrogate */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* too large */
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_object *string = amg_json_string(rows[i][0]);

        assert_string_equal(json_object_get_string(string), rows[i][1]);
        json_object_put(string);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_kinds_are_read),
        cmocka_unit_test(test_json_null_and_unknown_leave_it),
        cmocka_unit_test(test_json_out_of_range_is_refused),
        cmocka_unit_test(test_json_broken_text_names_the_place),
        cmocka_unit_test(test_json_long_path_is_cut),
        cmocka_unit_test(test_json_comments_and_commas_are_taken),
        cmocka_unit_test(test_json_what_follows_the_object_is_told),
        cmocka_unit_test(test_json_unknown_word_is_refused),
        cmocka_unit_test(test_json_string_is_valid_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
