/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of a class are those of its routes taken together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/class.h"
#include "transport/self.h"

enum { REQUEST_LEN = 500 };

/* A loopback that passes for a medium between processes. */
static struct amg_transport medium;
static bool medium_must_yield;

static hg_return_t medium_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    hg_return_t rc = amg_self_transport.domain.open(how, ret_domain);

    if (rc == HG_SUCCESS)
        (*ret_domain)->transport = &medium;
    return rc;
}

static void medium_limits(
    const struct amg_domain *domain, struct amg_limits *ret_limits)
{
    amg_self_transport.domain.limits(domain, ret_limits);
    ret_limits->request_len = REQUEST_LEN;
    ret_limits->is_spinning = true;
    ret_limits->must_yield = medium_must_yield;
}

static struct amg_limits limits_of(enum amg_route main_route, bool must_yield)
{
    struct amg_class_plan plan = {
        .transports[AMG_ROUTE_SELF] = &amg_self_transport,
        .main_route = main_route,
        .how = {.info = "", .is_listening = true, .max_contexts = 1},
    };
    struct amg_limits limits;
    hg_class_t *cls = NULL;

    medium = amg_self_transport;
    medium.domain.open = medium_open;
    medium.domain.limits = medium_limits;
    medium_must_yield = must_yield;
    if (main_route == AMG_ROUTE_MPI)
        plan.transports[AMG_ROUTE_MPI] = &medium;
    assert_int_equal(amg_class_open(&plan, &cls), HG_SUCCESS);
    limits = cls->limits;
    amg_class_close(cls);
    return limits;
}

static void test_class_limits_smallest_message(void **state)
{
    (void)state;
    assert_int_equal(limits_of(AMG_ROUTE_MPI, false).request_len, REQUEST_LEN);
}

static void test_class_waits_as_its_medium_says(void **state)
{
    (void)state;
    assert_false(limits_of(AMG_ROUTE_MPI, false).must_yield);
    assert_true(limits_of(AMG_ROUTE_MPI, true).must_yield);
    assert_true(limits_of(AMG_ROUTE_MPI, false).is_spinning);
}

static void test_class_alone_gives_core_away(void **state)
{
    (void)state;
    assert_true(limits_of(AMG_ROUTE_SELF, false).must_yield);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_limits_smallest_message),
        cmocka_unit_test(test_class_waits_as_its_medium_says),
        cmocka_unit_test(test_class_alone_gives_core_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
