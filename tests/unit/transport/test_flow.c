/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control: credits are never overdrawn, requests wait in order, owed
 * credits are returned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "transport/flow.h"

enum { LIMIT = 4, REQUESTS = 6 };

static struct amg_flow flow;
static struct amg_flow_peer peer;
static struct amg_link requests[REQUESTS];

static int flow_setup(void **state)
{
    (void)state;
    amg_flow_init(&flow, LIMIT);
    peer = (struct amg_flow_peer){0};
    for (int i = 0; i < REQUESTS; i++)
        requests[i] = (struct amg_link){0};
    return 0;
}

static void credits_use_up(void)
{
    for (int i = 0; i < LIMIT; i++)
        assert_true(amg_flow_take(&flow, &peer));
}

static void test_flow_peer_is_small(void **state)
{
    (void)state;
    assert_true(sizeof(struct amg_flow_peer) <= 32);
}

static void test_flow_take_beyond_limit_waits(void **state)
{
    (void)state;
    credits_use_up();
    assert_false(amg_flow_take(&flow, &peer));
    assert_true(amg_flow_give(&peer, 1));
    assert_true(amg_flow_take(&flow, &peer));
}

static void test_flow_give_too_many_is_refused(void **state)
{
    (void)state;
    assert_true(amg_flow_take(&flow, &peer));
    assert_false(amg_flow_give(&peer, 2));
    assert_int_equal(peer.unanswered, 1);
}

static void test_flow_waiting_leaves_in_order(void **state)
{
    (void)state;
    credits_use_up();
    for (int i = 0; i < 3; i++)
        amg_flow_wait(&peer, &requests[i]);
    assert_null(amg_flow_next(&flow, &peer));
    assert_true(amg_flow_give(&peer, 2));
    /* A request does not overtake those that wait. */
    assert_false(amg_flow_take(&flow, &peer));
    assert_ptr_equal(amg_flow_next(&flow, &peer), &requests[0]);
    assert_ptr_equal(amg_flow_next(&flow, &peer), &requests[1]);
    assert_null(amg_flow_next(&flow, &peer));
    assert_false(amg_link_is_listed(&requests[0]));
    assert_int_equal(peer.unanswered, LIMIT);
}

static void test_flow_unnext_is_oldest_again(void **state)
{
    struct amg_link *link = NULL;

    (void)state;
    credits_use_up();
    amg_flow_wait(&peer, &requests[0]);
    amg_flow_wait(&peer, &requests[1]);
    assert_true(amg_flow_give(&peer, 1));
    link = amg_flow_next(&flow, &peer);
    amg_flow_unnext(&peer, link);
    assert_int_equal(peer.unanswered, LIMIT - 1);
    assert_ptr_equal(amg_flow_next(&flow, &peer), &requests[0]);
}

static void test_flow_unwait_any_position(void **state)
{
    (void)state;
    credits_use_up();
    for (int i = 0; i < REQUESTS; i++)
        amg_flow_wait(&peer, &requests[i]);
    amg_flow_unwait(&peer, &requests[0]);
    amg_flow_unwait(&peer, &requests[3]);
    amg_flow_unwait(&peer, &requests[REQUESTS - 1]);
    assert_false(amg_link_is_listed(&requests[3]));
    assert_ptr_equal(amg_flow_evict(&peer), &requests[1]);
    assert_ptr_equal(amg_flow_evict(&peer), &requests[2]);
    assert_ptr_equal(amg_flow_evict(&peer), &requests[4]);
    assert_null(amg_flow_evict(&peer));
    assert_int_equal(peer.unanswered, LIMIT);
}

static void test_flow_owe_half_the_limit_needs_a_message(void **state)
{
    (void)state;
    assert_false(amg_flow_owe(&flow, &peer));
    assert_true(amg_flow_owe(&flow, &peer));
    assert_int_equal(amg_flow_take_owed(&peer, 1), 1);
    assert_int_equal(amg_flow_take_owed(&peer, UINT16_MAX), 1);
    assert_int_equal(amg_flow_take_owed(&peer, UINT16_MAX), 0);
}

static void test_flow_next_owing_lists_each_once(void **state)
{
    struct amg_flow_peer other = {0};
    struct amg_flow_peer paid = {0};
    struct amg_flow_peer *first = NULL;
    struct amg_flow_peer *second = NULL;

    (void)state;
    (void)amg_flow_owe(&flow, &peer);
    (void)amg_flow_owe(&flow, &paid);
    (void)amg_flow_owe(&flow, &peer);
    (void)amg_flow_owe(&flow, &other);
    assert_int_equal(amg_flow_take_owed(&paid, UINT16_MAX), 1);
    first = amg_flow_next_owing(&flow);
    second = amg_flow_next_owing(&flow);
    assert_true((first == &peer && second == &other) ||
                (first == &other && second == &peer));
    assert_null(amg_flow_next_owing(&flow));
    /* The message to `peer` was not sent. */
    assert_int_equal(amg_flow_take_owed(&peer, UINT16_MAX), 2);
    amg_flow_owe_again(&flow, &peer, 2);
    assert_ptr_equal(amg_flow_next_owing(&flow), &peer);
    assert_int_equal(peer.owed, 2);
}

static void test_flow_limit_of_one_pays_at_once(void **state)
{
    (void)state;
    amg_flow_init(&flow, 1);
    assert_true(amg_flow_owe(&flow, &peer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_flow_peer_is_small, flow_setup),
        cmocka_unit_test_setup(test_flow_take_beyond_limit_waits, flow_setup),
        cmocka_unit_test_setup(test_flow_give_too_many_is_refused, flow_setup),
        cmocka_unit_test_setup(test_flow_waiting_leaves_in_order, flow_setup),
        cmocka_unit_test_setup(test_flow_unnext_is_oldest_again, flow_setup),
        cmocka_unit_test_setup(test_flow_unwait_any_position, flow_setup),
        cmocka_unit_test_setup(
            test_flow_owe_half_the_limit_needs_a_message, flow_setup),
        cmocka_unit_test_setup(
            test_flow_next_owing_lists_each_once, flow_setup),
        cmocka_unit_test_setup(test_flow_limit_of_one_pays_at_once, flow_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
