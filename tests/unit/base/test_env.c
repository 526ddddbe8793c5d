/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables are read as numbers in range, or give the default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "log_kept.h"

static uint64_t number_with(enum amg_env_id id, const char *text)
{
    const char *name = amg_env_var(id)->name;

    if (text == NULL)
        unsetenv(name);
    else
        setenv(name, text, 1);
    return amg_env_number(id);
}

static void test_env_table_is_whole(void **state)
{
    (void)state;
    for (unsigned i = 0; i < AMG_ENV_COUNT; i++) {
        const struct amg_env_var *var = amg_env_var((enum amg_env_id)i);

        assert_non_null(var->name);
        assert_non_null(var->unit);
        assert_non_null(var->help);
        assert_true(var->min <= var->default_value);
        assert_true(var->default_value <= var->max);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(
                var->name, amg_env_var((enum amg_env_id)k)->name);
    }
}

static void test_env_unset_gives_default(void **state)
{
    (void)state;
    assert_int_equal(number_with(AMG_ENV_CREDITS, NULL), 64);
    assert_int_equal(number_with(AMG_ENV_CREDITS, ""), 64);
}

static void test_env_in_range_is_taken(void **state)
{
    (void)state;
    assert_int_equal(number_with(AMG_ENV_CREDITS, "1"), 1);
    assert_int_equal(number_with(AMG_ENV_CREDITS, "32767"), 32767);
}

static void test_env_bad_number_gives_default(void **state)
{
    static const char *const bad[] = {
        "0", "32768", "-1", "ten", "6 4", "64k", "99999999999999999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(number_with(AMG_ENV_CREDITS, bad[i]), 64);
    unsetenv(amg_env_var(AMG_ENV_CREDITS)->name);
}

static void test_env_text_empty_is_null(void **state)
{
    const char *name = amg_env_var(AMG_ENV_TRANSPORT)->name;

    (void)state;
    unsetenv(name);
    assert_null(amg_env_text(AMG_ENV_TRANSPORT));
    setenv(name, "", 1);
    assert_null(amg_env_text(AMG_ENV_TRANSPORT));
    setenv(name, "self", 1);
    assert_string_equal(amg_env_text(AMG_ENV_TRANSPORT), "self");
    unsetenv(name);
}

static void test_env_misspelt_name_is_logged(void **state)
{
    (void)state;
    setenv("AMALGAM_TRANSPROT", "mpi", 1);  /* two letters exchanged */
    setenv("AMALGAM_CREDIT", "4", 1);       /* one left out */
    setenv("AMALGUM_REPORTS", "1", 1);      /* one changed, one inserted */
    setenv("ABT_STACKSIZE_THREAD", "1", 1); /* not near enough */
    setenv("AMALGAM_MY_OWN_THING", "1", 1); /* near nothing */
    setenv("AMALGAM_WAIT", "sleep", 1);     /* right */
    hg_log_set_func(log_keep);
    amg_env_check();
    amg_env_check();
    hg_log_set_func(NULL);
    assert_int_equal(atomic_load(&log_lines), 3);
    assert_true(
        log_has("AMALGAM_TRANSPROT, which nothing reads: is AMALGAM_TRANSPORT "
                "meant?"));
    assert_true(log_has(
        "AMALGAM_CREDIT, which nothing reads: is AMALGAM_CREDITS meant?"));
    assert_true(log_has(
        "AMALGUM_REPORTS, which nothing reads: is AMALGAM_REPORT meant?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_env_table_is_whole),
        cmocka_unit_test(test_env_misspelt_name_is_logged),
        cmocka_unit_test(test_env_unset_gives_default),
        cmocka_unit_test(test_env_in_range_is_taken),
        cmocka_unit_test(test_env_bad_number_gives_default),
        cmocka_unit_test(test_env_text_empty_is_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
