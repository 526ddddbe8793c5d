/* SPDX-License-Identifier: BSD-3-Clause */
/* A library is opened, searched for a function, and closed; failures give a
 * reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "mercury_dl.h"

static void test_dl_finds_a_function(void **state)
{
    HG_DL_HANDLE libm = hg_dl_open("libm.so.6");
    double (*up)(double) = NULL;
    void *place = NULL;

    (void)state;
    assert_non_null(libm);
    place = hg_dl_sym(libm, "ceil");
    assert_non_null(place);
    memcpy(&up, &place, sizeof(up));
    assert_true(up(2.5) == 3.0);
    assert_null(hg_dl_sym(libm, "no_such_function"));
    assert_non_null(strstr(hg_dl_error(), "no_such_function"));
    assert_null(hg_dl_error());
    assert_int_equal(hg_dl_close(libm), HG_UTIL_SUCCESS);
}

static void test_dl_misuse_is_answered(void **state)
{
    (void)state;
    assert_null(hg_dl_open("no_such_library.so"));
    assert_non_null(strstr(hg_dl_error(), "no_such_library.so"));
    assert_null(hg_dl_sym(NULL, "ceil"));
    assert_int_equal(hg_dl_close(NULL), HG_UTIL_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dl_finds_a_function),
        cmocka_unit_test(test_dl_misuse_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
