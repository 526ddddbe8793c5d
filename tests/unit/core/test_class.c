/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of a class, from those of all its routes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/class.h"
#include "transport/self.h"

enum { REQUEST_LEN = 500 };

/* A loopback that acts as a transport between processes. */
static struct amg_transport medium;
static bool medium_must_yield;
static bool medium_is_bound;

/* The same, for any thread. */
static struct amg_transport other;

static hg_return_t other_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    hg_return_t rc = amg_self_transport.domain.open(how, ret_domain);

    if (rc == HG_SUCCESS)
        (*ret_domain)->transport = &other;
    return rc;
}

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
    ret_limits->is_user_bound = medium_is_bound;
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

static void test_class_waits_as_its_transport_demands(void **state)
{
    (void)state;
    assert_false(limits_of(AMG_ROUTE_MPI, false).must_yield);
    assert_true(limits_of(AMG_ROUTE_MPI, true).must_yield);
    assert_true(limits_of(AMG_ROUTE_MPI, false).is_spinning);
}

static void test_class_over_self_yields_its_core(void **state)
{
    (void)state;
    assert_true(limits_of(AMG_ROUTE_SELF, false).must_yield);
}

/* The other route does not exist, exists, or exists but is idle. */
enum company { ALONE, BESIDE, BESIDE_IDLE };

static enum company company;

static hg_return_t company_join(hg_class_t *cls)
{
    if (company == ALONE)
        return HG_SUCCESS;
    cls->is_idle[AMG_ROUTE_SHM] = company == BESIDE_IDLE;
    return amg_class_add_route(cls, AMG_ROUTE_SHM, &other, NULL, "");
}

static bool is_bound(bool medium_is, enum company with)
{
    struct amg_class_plan plan = {
        .transports =
            {[AMG_ROUTE_SELF] = &amg_self_transport, [AMG_ROUTE_MPI] = &medium},
        .main_route = AMG_ROUTE_MPI,
        .how = {.info = "", .is_listening = true, .max_contexts = 1},
        .join = company_join,
    };
    hg_class_t *cls = NULL;
    bool answer = false;

    medium = amg_self_transport;
    medium.domain.open = medium_open;
    medium.domain.limits = medium_limits;
    other = amg_self_transport;
    other.domain.open = other_open;
    medium_is_bound = medium_is;
    company = with;
    assert_int_equal(amg_class_open(&plan, &cls), HG_SUCCESS);
    answer = cls->limits.is_user_bound;
    assert_int_equal(amg_class_is_user_bound(cls, AMG_ROUTE_MPI), medium_is);
    amg_class_close(cls);
    medium_is_bound = false;
    return answer;
}

static void test_class_is_user_bound_where_all_routes_are(void **state)
{
    (void)state;
    assert_true(is_bound(true, ALONE));
    assert_true(is_bound(true, BESIDE_IDLE));
    assert_false(is_bound(true, BESIDE));
    assert_false(is_bound(false, ALONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_limits_smallest_message),
        cmocka_unit_test(test_class_waits_as_its_transport_demands),
        cmocka_unit_test(test_class_over_self_yields_its_core),
        cmocka_unit_test(test_class_is_user_bound_where_all_routes_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
