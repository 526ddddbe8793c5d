/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: copies, comparison, and address strings; the class counts those of
 * the program, not those inside handles. */
#include "core/addr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "mercury_address.h"
#include "mercury_class.h"

static hg_class_t *cls;

static int class_setup(void **state)
{
    (void)state;
    HG_Set_log_level("none");
    cls = HG_Init("self", HG_TRUE);
    return cls == NULL;
}

static int class_teardown(void **state)
{
    (void)state;
    return HG_Finalize(cls) != HG_SUCCESS;
}

static void test_addr_self_is_itself(void **state)
{
    struct hg_addr self;
    struct hg_addr copy;

    (void)state;
    amg_addr_init_self(cls, &self);
    amg_addr_init_copy(&self, &copy);
    assert_true(amg_addr_is_self(&self) && amg_addr_is_self(&copy));
    assert_true(amg_addr_is_same(&self, &copy));
    amg_addr_fini(&copy);
    assert_null(copy.peer);
    assert_false(amg_addr_is_same(&self, &copy));
    amg_addr_fini(&copy); /* twice is allowed */
    amg_addr_fini(&self);
}

static void test_addr_users_are_counted(void **state)
{
    struct hg_addr self;
    struct hg_addr *made = NULL;

    (void)state;
    amg_addr_init_self(cls, &self);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_ADDRS), 0);
    assert_int_equal(amg_addr_create(&self, &made), HG_SUCCESS);
    assert_true(made->is_users && !self.is_users);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_ADDRS), 1);
    assert_int_equal(HG_Addr_free(cls, made), HG_SUCCESS);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_ADDRS), 0);
    amg_addr_fini(&self);
}

static void test_addr_text_leads_back(void **state)
{
    struct hg_addr self;
    struct hg_addr parsed;
    char text[128];
    char small[4];
    size_t len = sizeof(text);

    (void)state;
    amg_addr_init_self(cls, &self);
    assert_int_equal(amg_addr_format(&self, text, &len), HG_SUCCESS);
    assert_int_equal(len, strlen(text) + 1);
    assert_string_equal(amg_addr_text(&self, small, sizeof(small)), "?");
    assert_int_equal(amg_addr_parse(cls, text, &parsed), HG_SUCCESS);
    assert_true(amg_addr_is_same(&self, &parsed));
    amg_addr_fini(&parsed);
    len = 3;
    assert_int_equal(amg_addr_format(&self, small, &len), HG_OVERFLOW);
    assert_int_equal(len, strlen(text) + 1);
    amg_addr_fini(&self);
}

static void test_addr_of_others_is_refused(void **state)
{
    struct hg_addr parsed;

    (void)state;
    assert_int_equal(amg_addr_parse(cls, "x", &parsed), HG_INVALID_ARG);
    assert_int_equal(amg_addr_parse(cls, "self://x", &parsed), HG_INVALID_ARG);
    assert_int_equal(
        amg_addr_parse(cls, "self://1-0", &parsed), HG_ADDRNOTAVAIL);
    assert_int_equal(
        amg_addr_parse(cls, "mpi://1/0", &parsed), HG_PROTONOSUPPORT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addr_self_is_itself),
        cmocka_unit_test(test_addr_users_are_counted),
        cmocka_unit_test(test_addr_text_leads_back),
        cmocka_unit_test(test_addr_of_others_is_refused),
    };

    return cmocka_run_group_tests(tests, class_setup, class_teardown);
}
