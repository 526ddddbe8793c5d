/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that begins the end of an instance wakes the loop, which may end
 * at once: the context stays open until the loop has been woken. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/assert.h"
#include "margo-util.h"
#include "margo.h"
#include "margo/instance.h"

#if defined(AMG_TEST_POINTS)
enum { TURNS = 5, ROUNDS = 4 };

static margo_instance_id mid;
static unsigned wakes;
static bool was_open;

/* Waits until the loop has made rounds, of which the first may be its last. */
static void wait_at_point(const char *name)
{
    uint64_t rounds = 0;

    if (strcmp(name, "margo.wake") != 0 || !mid->is_draining)
        return;
    rounds = margo_get_num_progress_calls(mid) + ROUNDS;
    while (
        mid->hg_context != NULL && margo_get_num_progress_calls(mid) < rounds)
        sched_yield();
    wakes++;
    was_open = was_open && mid->hg_context != NULL;
}
#endif

static void test_margo_wake_finds_the_context_open(void **state)
{
    (void)state;
#if defined(AMG_TEST_POINTS)
    was_open = true;
    for (unsigned i = 0; i < TURNS; i++) {
        mid = margo_init("na+sm", MARGO_SERVER_MODE, 1, 0);
        assert_non_null(mid);
        amg_test_point_set(wait_at_point);
        margo_finalize(mid);
        amg_test_point_set(NULL);
    }
    assert_true(wakes >= TURNS);
    assert_true(was_open);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_margo_wake_finds_the_context_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
