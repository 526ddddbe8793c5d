/* SPDX-License-Identifier: BSD-3-Clause */
/* Records are read as written, have the layout of their table, and are counted
 * only if all of them are whole. */
#include "wire/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { MAX = AMG_RECORD_ARG_MAX, WORDS = 1 + MAX / 8 };

static void fill(uint8_t arg[AMG_RECORD_ARG_MAX], unsigned seed)
{
    for (unsigned i = 0; i < AMG_RECORD_ARG_MAX; i++)
        arg[i] = (uint8_t)(seed + i + 1);
}

static void test_records_are_read_as_written(void **state)
{
    uint8_t arg[AMG_RECORD_ARG_MAX];

    (void)state;
    for (uint32_t len = 0; len <= AMG_RECORD_ARG_MAX; len++) {
        uint64_t words[WORDS];
        const uint8_t *bytes = (const uint8_t *)words;
        uint32_t read_len = 0;
        uint32_t all = amg_record_len(len);

        fill(arg, len);
        memset(words, 0xff, sizeof(words));
        amg_record_write(words, arg, len);
        assert_int_equal(bytes[0], len);
        for (unsigned i = 1; i < AMG_RECORD_HEAD_LEN; i++)
            assert_int_equal(bytes[i], 0);
        assert_memory_equal(bytes + AMG_RECORD_HEAD_LEN, arg, len);
        for (uint32_t i = AMG_RECORD_HEAD_LEN + len; i < all; i++)
            assert_int_equal(bytes[i], 0);
        if (all < sizeof(words))
            assert_int_equal(bytes[all], 0xff);
        assert_int_equal(amg_record_read(words, all, MAX, &read_len), all);
        assert_int_equal(read_len, len);
        assert_int_equal(amg_records_count(words, all, 0, MAX), 1);
        for (uint32_t rest = 0; rest < all; rest++) {
            assert_int_equal(amg_record_read(words, rest, MAX, &read_len), 0);
            assert_int_equal(amg_records_count(words, rest, 0, MAX), 0);
        }
    }
}

static void test_records_of_words_are_the_same(void **state)
{
    uint8_t arg[AMG_RECORD_ARG_MAX];

    (void)state;
    for (uint32_t len = 0; len <= AMG_RECORD_ARG_MAX; len += 8) {
        uint64_t one[WORDS];
        uint64_t other[WORDS];

        fill(arg, len);
        amg_record_write(one, arg, len);
        amg_record_write_words(other, arg, len);
        assert_memory_equal(one, other, amg_record_len(len));
    }
}

static void test_records_count_refuses_a_malformed_one(void **state)
{
    const uint8_t arg[8] = {1};
    const uint64_t wrong[] = {AMG_RECORD_ARG_MAX + 1, 1u << 16,
        (uint64_t)1 << 32, UINT64_MAX, UINT64_MAX - 7};
    uint64_t words[6];

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        amg_record_write(&words[2 * i], arg, sizeof(arg));
    assert_int_equal(amg_records_count(words, sizeof(words), 0, MAX), 3);
    assert_int_equal(amg_records_count(words, sizeof(words), 8, 8), 3);
    assert_int_equal(amg_records_count(words, sizeof(words), 0, 7), 0);
    assert_int_equal(amg_records_count(words, sizeof(words), 9, MAX), 0);
    assert_int_equal(amg_records_count(words, 0, 0, MAX), 0);
    assert_int_equal(
        amg_records_count(words, (uint64_t)UINT32_MAX + 1, 0, MAX), 0);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        words[4] = wrong[i];
        assert_int_equal(amg_records_count(words, sizeof(words), 0, MAX), 0);
        assert_int_equal(
            amg_records_count(words, 4 * sizeof(words[0]), 0, MAX), 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_are_read_as_written),
        cmocka_unit_test(test_records_of_words_are_the_same),
        cmocka_unit_test(test_records_count_refuses_a_malformed_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
