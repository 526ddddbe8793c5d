/* SPDX-License-Identifier: BSD-3-Clause */
/* Next step of a wait: depends on its core, on whether descriptors report all
 * events, on the options, and on the time since the last event. */
#include "core/wait_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define US 1000ull
#define MS 1000000ull

static const struct amg_wait_policy own = {
    .core = AMG_CORE_OWN, .spin_ns = 100 * US};
static const struct amg_wait_policy dedicated = {
    .core = AMG_CORE_DEDICATED, .spin_ns = 100 * US};
static const struct amg_wait_policy shared = {
    .core = AMG_CORE_SHARED, .spin_ns = 100 * US};

static struct amg_wait_policy blind(struct amg_wait_policy pace)
{
    pace.is_not_pollable = true;
    return pace;
}

static struct amg_wait_policy wishing(
    struct amg_wait_policy pace, enum amalgam_wait wish)
{
    pace.hint = wish;
    return pace;
}

static void expect(const struct amg_wait_policy *pace, uint64_t quiet_ns,
    enum amg_wait_kind kind, uint64_t ns)
{
    struct amg_wait_step step = amg_wait_policy_next(pace, quiet_ns);

    assert_int_equal(step.kind, kind);
    assert_int_equal(step.ns, ns);
}

static void test_pace_of_own_core_polls_then_blocks(void **state)
{
    (void)state;
    expect(&own, 0, AMG_WAIT_POLL, 0);
    expect(&own, 100 * US, AMG_WAIT_POLL, 0);
    expect(&own, 101 * US, AMG_WAIT_SLEEP, UINT64_MAX);
}

static void test_pace_of_own_core_without_spin_blocks_at_once(void **state)
{
    struct amg_wait_policy pace = own;

    (void)state;
    pace.spin_ns = 0;
    expect(&pace, 0, AMG_WAIT_SLEEP, UINT64_MAX);
}

static void test_pace_of_own_core_not_pollable_polls_then_waits(void **state)
{
    struct amg_wait_policy pace = blind(own);

    (void)state;
    expect(&pace, 100 * US, AMG_WAIT_POLL, 0);
    expect(&pace, 101 * US, AMG_WAIT_POLL_AND_YIELD, 0);
    expect(&pace, 200 * MS, AMG_WAIT_POLL_AND_YIELD, 0);
    expect(&pace, 200 * MS + 1, AMG_WAIT_SLEEP, MS);
    expect(&pace, 201 * MS, AMG_WAIT_SLEEP, 2 * MS);
    expect(&pace, 203 * MS, AMG_WAIT_SLEEP, 4 * MS);
    expect(&pace, 900 * MS, AMG_WAIT_SLEEP, 5 * MS);
}

static void test_pace_of_dedicated_core_spins_long(void **state)
{
    struct amg_wait_policy pace = blind(dedicated);

    (void)state;
    expect(&dedicated, 200 * MS, AMG_WAIT_POLL, 0);
    expect(&dedicated, 201 * MS, AMG_WAIT_SLEEP, UINT64_MAX);
    expect(&pace, 200 * MS, AMG_WAIT_POLL, 0);
    expect(&pace, 200 * MS + 1, AMG_WAIT_SLEEP, MS);
    expect(&pace, 900 * MS, AMG_WAIT_SLEEP, 5 * MS);
}

static void test_pace_of_shared_core_never_spins(void **state)
{
    struct amg_wait_policy pace = blind(shared);
    uint64_t last = 0;

    (void)state;
    expect(&shared, 0, AMG_WAIT_SLEEP, UINT64_MAX);
    expect(&pace, 0, AMG_WAIT_SLEEP, 20 * US);
    for (uint64_t quiet = 0; quiet < 20 * MS; quiet += 10 * US) {
        struct amg_wait_step step = amg_wait_policy_next(&pace, quiet);

        assert_int_equal(step.kind, AMG_WAIT_SLEEP);
        assert_true(step.ns >= last && step.ns <= MS);
        last = step.ns;
    }
    assert_int_equal(last, MS);
    expect(&pace, 20 * MS + 1, AMG_WAIT_SLEEP, 5 * MS);
}

static void test_pace_of_spin_never_yields(void **state)
{
    const struct amg_wait_policy all[] = {own, dedicated, shared};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct amg_wait_policy pace = wishing(all[i], AMALGAM_WAIT_SPIN);

        pace.is_not_pollable = i % 2 != 0;
        pace.must_yield = true;
        expect(&pace, 0, AMG_WAIT_POLL, 0);
        expect(&pace, 3600000 * MS, AMG_WAIT_POLL, 0);
    }
}

static void test_pace_of_sleep_blocks_at_once(void **state)
{
    const struct amg_wait_policy all[] = {own, dedicated, shared};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct amg_wait_policy pace = wishing(all[i], AMALGAM_WAIT_SLEEP);

        expect(&pace, 0, AMG_WAIT_SLEEP, UINT64_MAX);
        pace.is_not_pollable = true;
        expect(&pace, 0, AMG_WAIT_SLEEP, 20 * US);
        expect(&pace, 10 * MS, AMG_WAIT_SLEEP, MS);
        expect(&pace, 21 * MS, AMG_WAIT_SLEEP, 5 * MS);
    }
}

static void test_pace_of_ranks_beyond_cores_yields_first(void **state)
{
    struct amg_wait_policy pace = blind(own);

    (void)state;
    pace.must_yield = true;
    expect(&pace, 50 * US, AMG_WAIT_YIELD, 0);
    expect(&pace, 101 * US, AMG_WAIT_SLEEP, 20 * US);
    expect(&pace, 150 * MS, AMG_WAIT_SLEEP, 5 * MS);
}

static void test_pace_without_block_never_blocks(void **state)
{
    struct amg_wait_policy pace = blind(own);

    (void)state;
    pace.no_block = true;
    expect(&pace, 50 * US, AMG_WAIT_POLL, 0);
    expect(&pace, 3600000 * MS, AMG_WAIT_POLL_AND_YIELD, 0);
    pace.must_yield = true;
    expect(&pace, 3600000 * MS, AMG_WAIT_YIELD, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace_of_own_core_polls_then_blocks),
        cmocka_unit_test(test_pace_of_own_core_without_spin_blocks_at_once),
        cmocka_unit_test(test_pace_of_own_core_not_pollable_polls_then_waits),
        cmocka_unit_test(test_pace_of_dedicated_core_spins_long),
        cmocka_unit_test(test_pace_of_shared_core_never_spins),
        cmocka_unit_test(test_pace_of_spin_never_yields),
        cmocka_unit_test(test_pace_of_sleep_blocks_at_once),
        cmocka_unit_test(test_pace_of_ranks_beyond_cores_yields_first),
        cmocka_unit_test(test_pace_without_block_never_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
