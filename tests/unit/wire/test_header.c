/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers are read as written, have the layout of their table, and are refused
 * with a reason if any field is not of this version. */
#include "wire/header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

static void test_header_request_is_read_as_written(void **state)
{
    uint8_t bytes[AMG_HEADER_LEN];
    struct amg_header header;
    const char *why = NULL;
    uint64_t id = 0;

    (void)state;
    memset(bytes, 0xff, sizeof(bytes));
    amg_header_write_request(bytes, AMG_HEADER_MORE, 0x1122334455667788ull);
    assert_int_equal(bytes[0], AMG_HEADER_REQUEST);
    assert_int_equal(bytes[1], AMG_HEADER_VERSION);
    assert_int_equal(bytes[2], AMG_HEADER_MORE);
    for (unsigned i = 3; i < 8; i++)
        assert_int_equal(bytes[i], 0);
    memcpy(&id, bytes + 8, sizeof(id));
    assert_true(id == 0x1122334455667788ull);
    assert_int_equal(amg_header_read(bytes, sizeof(bytes), AMG_HEADER_REQUEST,
                         &header, &why),
        HG_SUCCESS);
    assert_int_equal(header.flags, AMG_HEADER_MORE);
    assert_true(header.id == id);
}

static void test_header_reply_is_read_as_written(void **state)
{
    uint8_t bytes[AMG_HEADER_LEN + 1];
    struct amg_header header;
    const char *why = NULL;

    (void)state;
    for (unsigned ret = 0; ret < HG_RETURN_MAX; ret++) {
        amg_header_write_reply(bytes, 0, (hg_return_t)ret, 9);
        assert_int_equal(amg_header_read(bytes, sizeof(bytes), AMG_HEADER_REPLY,
                             &header, &why),
            HG_SUCCESS);
        assert_int_equal(header.ret, ret);
        assert_int_equal(header.id, 9);
    }
}

static void test_header_wrong_one_is_refused_with_reason(void **state)
{
    uint8_t bytes[AMG_HEADER_LEN];
    struct amg_header header = {.id = 4711};
    const char *why = NULL;

    (void)state;
    for (unsigned at = 0; at < 4;
         at++) { /* bytes 4 to 7 are lengths and checksums */
        amg_header_write_request(bytes, 0, 1);
        bytes[at] = 0xee;
        why = NULL;
        assert_int_equal(amg_header_read(bytes, sizeof(bytes),
                             AMG_HEADER_REQUEST, &header, &why),
            HG_PROTOCOL_ERROR);
        assert_non_null(why);
    }
    amg_header_write_request(bytes, 0, 1);
    assert_int_equal(
        amg_header_read(bytes, sizeof(bytes), AMG_HEADER_REPLY, &header, &why),
        HG_PROTOCOL_ERROR);
    for (uint64_t len = 0; len < AMG_HEADER_LEN; len++)
        assert_int_equal(
            amg_header_read(bytes, len, AMG_HEADER_REQUEST, &header, &why),
            HG_PROTOCOL_ERROR);
    assert_int_equal(header.id, 4711);
}

enum { USER_LEN = 6, SIGNED_LEN = AMG_HEADER_LEN + USER_LEN };

/* A header with a user header, and its checksum. */
static void signed_write(uint8_t bytes[SIGNED_LEN], uint64_t id)
{
    amg_header_write_request(bytes, 0, id);
    memset(bytes + AMG_HEADER_LEN, 7, USER_LEN);
    amg_header_complete(bytes, USER_LEN, true);
}

static void test_header_signed_one_is_read_as_written(void **state)
{
    uint8_t bytes[SIGNED_LEN + AMG_HEADER_TAIL_LEN] = {0};
    struct amg_header header;
    const char *why = NULL;

    (void)state;
    for (uint64_t id = 0; id < 100000; id++) {
        signed_write(bytes, id);
        assert_true(bytes[4] != 0 || bytes[5] != 0);
        assert_int_equal(amg_header_read(bytes, SIGNED_LEN, AMG_HEADER_REQUEST,
                             &header, &why),
            HG_SUCCESS);
        assert_int_equal(header.user_len, USER_LEN);
    }
    assert_int_equal(amg_header_args_len(&header, SIGNED_LEN + 3), 3);
    bytes[2] = AMG_HEADER_SUMMED;
    amg_header_complete(bytes, USER_LEN, true);
    assert_int_equal(amg_header_read(bytes, sizeof(bytes), AMG_HEADER_REQUEST,
                         &header, &why),
        HG_SUCCESS);
    assert_int_equal(amg_header_args_len(&header, sizeof(bytes)), 0);
    for (uint64_t len = AMG_HEADER_LEN; len < sizeof(bytes); len++)
        assert_int_not_equal(
            amg_header_read(bytes, len, AMG_HEADER_REQUEST, &header, &why),
            HG_SUCCESS);
}

/* Any bit and any byte, except where the checksum itself becomes 0, which means
 * none: then all else is right. */
static void test_header_signed_one_that_was_damaged_is_refused(void **state)
{
    uint8_t bytes[SIGNED_LEN];
    struct amg_header header;
    const char *why = NULL;

    (void)state;
    for (uint64_t id = 0; id < 200; id++)
        for (unsigned at = 0; at < SIGNED_LEN; at++)
            for (unsigned mask = 1; mask < 256; mask++) {
                signed_write(bytes, id);
                bytes[at] ^= (uint8_t)mask;
                assert_int_equal(amg_header_read(bytes, sizeof(bytes),
                                     AMG_HEADER_REQUEST, &header, &why),
                    bytes[4] == 0 && bytes[5] == 0 ? HG_SUCCESS
                                                   : HG_CHECKSUM_ERROR);
            }
}

static void test_header_sum_of_arguments_needs_sum_of_head(void **state)
{
    uint8_t bytes[AMG_HEADER_LEN + AMG_HEADER_TAIL_LEN] = {0};
    struct amg_header header;
    const char *why = NULL;

    (void)state;
    amg_header_write_request(bytes, AMG_HEADER_SUMMED, 1);
    assert_int_equal(amg_header_read(bytes, sizeof(bytes), AMG_HEADER_REQUEST,
                         &header, &why),
        HG_PROTOCOL_ERROR);
    assert_non_null(why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_request_is_read_as_written),
        cmocka_unit_test(test_header_reply_is_read_as_written),
        cmocka_unit_test(test_header_wrong_one_is_refused_with_reason),
        cmocka_unit_test(test_header_signed_one_is_read_as_written),
        cmocka_unit_test(test_header_signed_one_that_was_damaged_is_refused),
        cmocka_unit_test(test_header_sum_of_arguments_needs_sum_of_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
