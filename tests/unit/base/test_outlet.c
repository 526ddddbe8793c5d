/* SPDX-License-Identifier: BSD-3-Clause */
/* The list, the state and the level of an outlet decide up to which level it is
 * shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/log.h"

static HG_LOG_OUTLET_DECL(top) = HG_LOG_OUTLET_INITIALIZER(
    top, HG_LOG_PASS, NULL, NULL);
static HG_LOG_OUTLET_DECL(mid) = HG_LOG_OUTLET_SUBSYS_INITIALIZER(mid, top);
static HG_LOG_OUTLET_DECL(noisy) = HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(
    noisy, mid, HG_LOG_OFF);
static HG_LOG_OUTLET_DECL(loud) = HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(
    loud, mid, HG_LOG_ON);

static int outlet_setup(void **state)
{
    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    hg_log_set_subsys(NULL);
    hg_log_outlet_register(&HG_LOG_OUTLET(top));
    hg_log_outlet_register(&HG_LOG_OUTLET(mid));
    hg_log_outlet_register(&HG_LOG_OUTLET(noisy));
    hg_log_outlet_register(&HG_LOG_OUTLET(loud));
    return 0;
}

static int outlet_teardown(void **state)
{
    (void)state;
    hg_log_outlet_deregister(&HG_LOG_OUTLET(top));
    hg_log_outlet_deregister(&HG_LOG_OUTLET(mid));
    hg_log_outlet_deregister(&HG_LOG_OUTLET(noisy));
    hg_log_outlet_deregister(&HG_LOG_OUTLET(loud));
    return 0;
}

/* The levels of top, mid, noisy and loud, one digit each; 0 is hidden. */
static int levels_with(const char *list)
{
    hg_log_set_subsys(list);
    return 1000 * hg_atomic_get32(&HG_LOG_OUTLET(top).level) +
           100 * hg_atomic_get32(&HG_LOG_OUTLET(mid).level) +
           10 * hg_atomic_get32(&HG_LOG_OUTLET(noisy).level) +
           hg_atomic_get32(&HG_LOG_OUTLET(loud).level);
}

static void test_outlet_list_shows_and_hides_trees(void **state)
{
    (void)state;
    assert_int_equal(levels_with(""), 3303);
    assert_int_equal(levels_with("top"), 3303);
    assert_int_equal(levels_with("~top"), 3);
    assert_int_equal(levels_with("top,~mid"), 3003);
    assert_int_equal(levels_with("~mid"), 3003);
    assert_int_equal(levels_with("~top,mid"), 303);
    assert_int_equal(levels_with("noisy"), 33);
    assert_int_equal(levels_with("mid,noisy,~loud"), 330);
    assert_int_equal(levels_with("hg"), 3);
    assert_int_equal(levels_with("to,topp,~"), 3);
    /* The last word wins, and blanks separate words, too. */
    assert_int_equal(levels_with("~top, top"), 3303);
    assert_string_equal(hg_log_get_subsys(), "~top, top");
}

static void test_outlet_list_governs_the_librarys_own(void **state)
{
    (void)state;
    hg_log_set_subsys("hg,~rpc,msg");
    assert_true(amg_outlet_shows(amg_outlet_find("cls"), HG_LOG_LEVEL_ERROR));
    assert_false(amg_outlet_shows(amg_outlet_find("rpc"), HG_LOG_LEVEL_ERROR));
    assert_true(amg_outlet_shows(amg_outlet_find("msg"), HG_LOG_LEVEL_ERROR));
    assert_false(amg_outlet_shows(amg_outlet_find("mpi"), HG_LOG_LEVEL_ERROR));
    assert_false(
        amg_outlet_shows(amg_outlet_find("rpc_ref"), HG_LOG_LEVEL_ERROR));
    hg_log_set_subsys("perf");
    assert_true(amg_outlet_shows(amg_outlet_find("perf"), HG_LOG_LEVEL_ERROR));
    assert_string_equal(amg_outlet_find("nobody")->name, "hg");
}

static void test_outlet_level_of_one_holds_below_it(void **state)
{
    (void)state;
    hg_log_set_subsys_level("mid", HG_LOG_LEVEL_DEBUG);
    assert_int_equal(levels_with(""), 3606);
    hg_log_set_subsys_level("noisy", HG_LOG_LEVEL_ERROR);
    assert_int_equal(levels_with(""), 3626);
    assert_int_equal(levels_with("~noisy"), 3606);
    hg_log_set_subsys_level("mid", HG_LOG_LEVEL_INFO);
    assert_int_equal(levels_with(""), 3525);
    assert_false(amg_log_is_on(HG_LOG_LEVEL_DEBUG));
    hg_log_set_subsys_level("bulk", HG_LOG_LEVEL_DEBUG);
    assert_true(amg_log_is_on(HG_LOG_LEVEL_DEBUG));
    assert_true(amg_outlet_shows(amg_outlet_find("bulk"), HG_LOG_LEVEL_DEBUG));
    assert_false(amg_outlet_shows(amg_outlet_find("rpc"), HG_LOG_LEVEL_DEBUG));
    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    assert_int_equal(levels_with(""), 2202);
    assert_int_equal(hg_log_get_level(), HG_LOG_LEVEL_ERROR);
    assert_false(amg_log_is_on(HG_LOG_LEVEL_DEBUG));
}

static void test_outlet_too_much_changes_nothing(void **state)
{
    char list[2000], name[40];

    (void)state;
    memset(list, 'x', sizeof(list));
    list[sizeof(list) - 1] = '\0';
    hg_log_set_subsys("top");
    hg_log_set_subsys(list);
    assert_string_equal(hg_log_get_subsys(), "top");
    memset(name, 'x', sizeof(name));
    name[32] = '\0';
    hg_log_set_subsys_level(name, HG_LOG_LEVEL_DEBUG);
    for (unsigned i = 0; i < 32; i++) {
        snprintf(name, sizeof(name), "name_%u", i);
        hg_log_set_subsys_level(name, HG_LOG_LEVEL_DEBUG);
    }
    hg_log_set_subsys_level("mid", HG_LOG_LEVEL_DEBUG);
    hg_log_set_subsys_level(name, HG_LOG_LEVEL_ERROR);
    assert_int_equal(levels_with(""), 3303);
}

static void test_outlet_unknown_shows_nothing(void **state)
{
    (void)state;
    hg_log_outlet_register(&HG_LOG_OUTLET(top)); /* a second time */
    hg_log_outlet_deregister(&HG_LOG_OUTLET(top));
    hg_log_outlet_deregister(&HG_LOG_OUTLET(top));
    hg_log_set_level(HG_LOG_LEVEL_DEBUG);
    assert_int_equal(levels_with(""), 606);
    hg_log_outlet_register(&HG_LOG_OUTLET(top));
    assert_int_equal(levels_with(""), 6606);
    hg_log_outlet_register(NULL);
    hg_log_outlet_deregister(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_outlet_list_shows_and_hides_trees,
            outlet_setup, outlet_teardown),
        cmocka_unit_test_setup_teardown(
            test_outlet_list_governs_the_librarys_own, outlet_setup,
            outlet_teardown),
        cmocka_unit_test_setup_teardown(test_outlet_level_of_one_holds_below_it,
            outlet_setup, outlet_teardown),
        cmocka_unit_test_setup_teardown(test_outlet_too_much_changes_nothing,
            outlet_setup, outlet_teardown),
        cmocka_unit_test_setup_teardown(
            test_outlet_unknown_shows_nothing, outlet_setup, outlet_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
