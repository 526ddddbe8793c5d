/* SPDX-License-Identifier: BSD-3-Clause */
/* Every error code has its own name, and other numbers have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "abt.h"

enum { CODES = ABT_ERR_INV_POOL_USER_DEF + 1 };

static char names[CODES][64];

static void test_error_codes_have_names(void **state)
{
    (void)state;
    for (int code = 0; code < CODES; code++) {
        size_t len = 0;

        assert_int_equal(
            ABT_error_get_str(code, names[code], &len), ABT_SUCCESS);
        assert_int_equal(strlen(names[code]), len);
        assert_int_equal(strncmp(names[code], "ABT_", 4), 0);
        for (int other = 0; other < code; other++)
            assert_string_not_equal(names[other], names[code]);
    }
    assert_string_equal(names[ABT_SUCCESS], "ABT_SUCCESS");
    assert_string_equal(names[ABT_ERR_INV_XSTREAM], "ABT_ERR_INV_XSTREAM");
    assert_string_equal(names[ABT_ERR_COND_TIMEDOUT], "ABT_ERR_COND_TIMEDOUT");
}

static void test_error_asks_for_a_part(void **state)
{
    char name[64] = "";
    size_t len = 0;

    (void)state;
    assert_int_equal(ABT_error_get_str(ABT_ERR_MEM, NULL, &len), ABT_SUCCESS);
    assert_int_equal(len, strlen("ABT_ERR_MEM"));
    assert_int_equal(ABT_error_get_str(ABT_ERR_MEM, name, NULL), ABT_SUCCESS);
    assert_string_equal(name, "ABT_ERR_MEM");
    assert_int_equal(ABT_error_get_str(ABT_ERR_MEM, NULL, NULL), ABT_SUCCESS);
}

static void test_error_unknown_code_writes_nothing(void **state)
{
    char name[64] = "before";
    size_t len = 3;

    (void)state;
    assert_int_equal(ABT_error_get_str(-1, name, &len), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_error_get_str(CODES, name, &len), ABT_ERR_INV_ARG);
    assert_string_equal(name, "before");
    assert_int_equal(len, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_codes_have_names),
        cmocka_unit_test(test_error_asks_for_a_part),
        cmocka_unit_test(test_error_unknown_code_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
