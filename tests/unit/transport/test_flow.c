/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control: credits are never overdrawn, requests wait in order, owed
 * credits are returned, and all peers of a target share its budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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
    assert_true(sizeof(struct amg_flow_peer) <= 80);
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

enum {
    ORIGINS = 40,
    BUDGET = 60, /* messages */
    MOST = 16,   /* credits per peer */
    STEPS = 200000,
    TURNS = 60,
    NOTES = 64, /* in flight per direction, more than ever are */
};

/* One target and its origins: both sides of each pair, and the notes and
 * requests between them. */
struct pair {
    struct amg_flow_peer there; /* the target, as its origin sees it */
    struct amg_flow_peer here;  /* the origin, as the target sees it */
    uint32_t to_origin[NOTES];
    uint32_t to_target[NOTES];
    unsigned to_origin_count;
    unsigned to_target_count;
    struct amg_link request; /* one that waits */
    unsigned held;           /* requests at the target */
    unsigned served;
};

static struct amg_flow target;
static struct amg_flow origins[ORIGINS];
static struct pair pairs[ORIGINS];

static void pairs_setup(uint64_t budget, uint64_t expected)
{
    memset(pairs, 0, sizeof(pairs));
    amg_flow_init(&target, MOST);
    amg_flow_set_budget(&target, budget, expected);
    for (unsigned i = 0; i < ORIGINS; i++) {
        amg_flow_init(&origins[i], MOST);
        amg_flow_bound(&origins[i], &pairs[i].there, MOST, target.first);
        amg_flow_bound(&target, &pairs[i].here, MOST, MOST);
    }
}

static void notes_send_all(void)
{
    struct amg_flow_peer *owing = NULL;

    while ((owing = amg_flow_next_owing(&target)) != NULL) {
        struct pair *pair = amg_container_of(owing, struct pair, here);

        assert_true(pair->to_origin_count < NOTES);
        pair->to_origin[pair->to_origin_count++] =
            amg_flow_take_note(&target, owing);
    }
    for (unsigned i = 0; i < ORIGINS; i++)
        while ((owing = amg_flow_next_owing(&origins[i])) != NULL) {
            assert_true(pairs[i].to_target_count < NOTES);
            pairs[i].to_target[pairs[i].to_target_count++] =
                amg_flow_take_note(&origins[i], owing);
        }
}

/* Removes any one of them: notes may overtake each other. */
static uint32_t note_draw(uint32_t *notes, unsigned *count, unsigned draw)
{
    unsigned at = draw % *count;
    uint32_t note = notes[at];

    notes[at] = notes[--*count];
    return note;
}

static void note_arrive(unsigned i, unsigned draw)
{
    struct pair *pair = &pairs[i];

    if (draw % 2 == 0 && pair->to_origin_count > 0)
        assert_true(amg_flow_read_note(&origins[i], &pair->there,
            note_draw(pair->to_origin, &pair->to_origin_count, draw / 2)));
    else if (pair->to_target_count > 0)
        assert_true(amg_flow_read_note(&target, &pair->here,
            note_draw(pair->to_target, &pair->to_target_count, draw / 2)));
}

/* The origin has more requests than credits, always. */
static void origin_call(unsigned i)
{
    struct pair *pair = &pairs[i];

    if (pair->there.waiting == NULL) {
        if (amg_flow_take(&origins[i], &pair->there)) {
            pair->held++;
            return;
        }
        amg_flow_wait(&pair->there, &pair->request);
    }
    if (amg_flow_next(&origins[i], &pair->there) != NULL)
        pair->held++;
    else
        (void)amg_flow_wish(&origins[i], &pair->there);
}

static void target_answer(unsigned i)
{
    struct pair *pair = &pairs[i];

    if (pair->held == 0)
        return;
    pair->held--;
    pair->served++;
    assert_true(amg_flow_give(&pair->there, 1));
    (void)amg_flow_pay_debt(&origins[i], &pair->there);
}

/* The process of the origin ends, and another one begins in its place. */
static void origin_replace(unsigned i)
{
    amg_flow_forget(&target, &pairs[i].here);
    (void)amg_flow_evict(&pairs[i].there);
    memset(&pairs[i], 0, sizeof(pairs[i]));
    amg_flow_init(&origins[i], MOST);
    amg_flow_bound(&origins[i], &pairs[i].there, MOST, target.first);
    amg_flow_bound(&target, &pairs[i].here, MOST, MOST);
}

static void budget_check(void)
{
    unsigned credits = 0;
    unsigned held = 0;
    unsigned granted = 0;

    for (unsigned i = 0; i < ORIGINS; i++) {
        credits += (unsigned)amg_flow_credits(&origins[i], &pairs[i].there) +
                   pairs[i].there.debt;
        held += pairs[i].held;
        granted += pairs[i].here.granted;
        assert_true(amg_flow_credits(&origins[i], &pairs[i].there) +
                        pairs[i].there.debt >=
                    1);
    }
    assert_true(credits <= target.pool + ORIGINS * (unsigned)target.first);
    assert_true(held <= credits);
    assert_int_equal(granted, target.used);
    assert_true(target.used <= target.pool);
}

static void test_flow_budget_is_never_exceeded(void **state)
{
    static const uint64_t budgets[] = {0, 1, 30, BUDGET, 200, 100000};

    (void)state;
    srand(3);
    for (unsigned b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
        pairs_setup(budgets[b], ORIGINS);
        for (unsigned step = 0; step < STEPS; step++) {
            unsigned draw = (unsigned)rand();
            unsigned i = draw / 16 % ORIGINS;

            switch (draw % 16) {
            case 0:
                if (draw / 16 % 97 == 0)
                    origin_replace(i);
                break;
            case 1:
            case 2:
            case 3:
            case 4:
            case 5:
                origin_call(i);
                break;
            case 6:
            case 7:
            case 8:
            case 9:
                target_answer(i);
                break;
            default:
                note_arrive(i, (unsigned)rand());
                break;
            }
            notes_send_all();
            budget_check();
        }
        if (budgets[b] >= 2 * ORIGINS)
            assert_true(target.first * ORIGINS + target.pool <= budgets[b]);
    }
}

/* Some origins call, all notes arrive, and all requests are answered. */
static void turn(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        for (unsigned k = 0; k <= MOST; k++)
            origin_call(i);
    notes_send_all();
    for (unsigned k = 0; k < NOTES; k++)
        for (unsigned i = 0; i < ORIGINS; i++) {
            note_arrive(i, k);
            notes_send_all();
        }
    budget_check();
    for (unsigned i = 0; i < ORIGINS; i++)
        while (pairs[i].held > 0)
            target_answer(i);
    notes_send_all();
}

static void test_flow_one_peer_gets_all_its_credits(void **state)
{
    (void)state;
    pairs_setup(BUDGET, ORIGINS);
    assert_int_equal(target.first, 1);
    for (unsigned k = 0; k < 3; k++)
        turn(0, 1);
    assert_int_equal(amg_flow_credits(&origins[0], &pairs[0].there), MOST);
}

/* Peers that came first have the whole pool, and stop calling: those that come
 * later get it. */
static void test_flow_idle_peers_return_credits(void **state)
{
    (void)state;
    pairs_setup(BUDGET, ORIGINS);
    for (unsigned k = 0; k < TURNS; k++)
        turn(0, 2);
    assert_int_equal(target.used, target.pool);
    for (unsigned k = 0; k < TURNS; k++)
        turn(2, 12);
    for (unsigned i = 2; i < 12; i++)
        assert_true(pairs[i].here.granted >= 2);
}

/* All call as much as they can: each gets its equal part. */
static void test_flow_no_peer_starves(void **state)
{
    unsigned least = UINT32_MAX;
    unsigned most = 0;

    (void)state;
    pairs_setup(4 * BUDGET, ORIGINS);
    for (unsigned k = 0; k < TURNS; k++)
        turn(0, 3);
    for (unsigned k = 0; k < TURNS; k++)
        turn(0, ORIGINS);
    for (unsigned i = 0; i < ORIGINS; i++)
        pairs[i].served = 0;
    for (unsigned k = 0; k < TURNS; k++)
        turn(0, ORIGINS);
    for (unsigned i = 0; i < ORIGINS; i++) {
        least = pairs[i].served < least ? pairs[i].served : least;
        most = pairs[i].served > most ? pairs[i].served : most;
        assert_in_range(pairs[i].here.granted, 1, target.pool / ORIGINS + 1);
    }
    assert_true(most <= 2 * least);
}

static void test_flow_lost_peers_return_credits(void **state)
{
    (void)state;
    pairs_setup(BUDGET, ORIGINS);
    for (unsigned k = 0; k < TURNS; k++)
        turn(0, ORIGINS);
    for (unsigned i = 1; i < ORIGINS; i++)
        origin_replace(i);
    for (unsigned k = 0; k < TURNS; k++)
        turn(0, 1);
    assert_int_equal(amg_flow_credits(&origins[0], &pairs[0].there), MOST);
    origin_replace(0);
    assert_int_equal(target.used, 0);
    assert_int_equal(target.sharers, 0);
    assert_true(amg_flow_is_idle(&target, &pairs[0].here, MOST));
}

/* An origin without a call returns what was recalled, in whatever order the
 * notes came. */
static void test_flow_closed_peer_stays_without_credits(void **state)
{
    (void)state;
    amg_flow_init(&flow, INT16_MAX); /* the most that a sum may reach */
    peer = (struct amg_flow_peer){0};
    assert_false(amg_flow_is_closed(&peer));
    /* A recall of all credits, as often as it may be, closes no peer. */
    while (amg_flow_read_note(&flow, &peer, (uint16_t)-INT16_MAX))
        assert_false(amg_flow_is_closed(&peer));
    amg_flow_close(&peer);
    assert_false(amg_flow_take(&flow, &peer));
    amg_flow_bound(&flow, &peer, LIMIT, LIMIT);
    assert_true(amg_flow_is_closed(&peer));
    assert_false(amg_flow_take(&flow, &peer));
}

static void test_flow_recall_before_its_raise_is_paid(void **state)
{
    struct amg_flow_peer *there = &pairs[0].there;

    (void)state;
    pairs_setup(BUDGET, ORIGINS);
    assert_int_equal(amg_flow_credits(&origins[0], there), 1);
    assert_true(amg_flow_read_note(&origins[0], there, (uint16_t)-1));
    assert_int_equal(there->debt, 1);
    assert_true(amg_flow_read_note(&origins[0], there, 1));
    assert_int_equal(there->debt, 0);
    assert_int_equal(there->returns, 1);
    assert_int_equal(amg_flow_credits(&origins[0], there), 1);
}

static void test_flow_wrong_notes_change_nothing(void **state)
{
    struct pair *pair = &pairs[0];

    (void)state;
    pairs_setup(BUDGET, ORIGINS);
    assert_false(amg_flow_read_note(&target, &pair->here, 1u << 16));
    assert_false(amg_flow_read_note(&origins[0], &pair->there, MOST));
    assert_false(
        amg_flow_read_note(&origins[0], &pair->there, (uint16_t)(-MOST - 1)));
    assert_int_equal(amg_flow_credits(&origins[0], &pair->there), 1);
    /* A wish for more than there is. */
    assert_true(amg_flow_read_note(&target, &pair->here, 0x80000000u));
    assert_int_equal(pair->here.granted, MOST - 1);
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
        cmocka_unit_test(test_flow_budget_is_never_exceeded),
        cmocka_unit_test(test_flow_one_peer_gets_all_its_credits),
        cmocka_unit_test(test_flow_idle_peers_return_credits),
        cmocka_unit_test(test_flow_no_peer_starves),
        cmocka_unit_test(test_flow_lost_peers_return_credits),
        cmocka_unit_test(test_flow_closed_peer_stays_without_credits),
        cmocka_unit_test(test_flow_recall_before_its_raise_is_paid),
        cmocka_unit_test(test_flow_wrong_notes_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
