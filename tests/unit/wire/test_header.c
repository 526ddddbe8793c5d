/* SPDX-License-Identifier: BSD-3-Clause */
/* Heads are read as they were written, lie as their table says, and are
 * refused, with a reason, when anything is not of this version. */
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
    for (unsigned at = 0; at < 4; at++) {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_request_is_read_as_written),
        cmocka_unit_test(test_header_reply_is_read_as_written),
        cmocka_unit_test(test_header_wrong_one_is_refused_with_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
