/* SPDX-License-Identifier: BSD-3-Clause */
/* Call engine over a fake medium: each call ends once, and each credit returns
 * once, whatever happens to a call and in whichever order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "transport/calls.h"

enum {
    LIMIT = 3,
    PEERS = 2,
    EPS = 2,
    MANY = 400,
    STEPS = 60000,
    USED = 37,
    MUCH = 1 << 30
};

/* A request, its operation and its state. */
struct request {
    struct amg_post post;
    struct amg_op op;
    unsigned ended;
    bool has_buf;      /* the engine or the medium holds its buffer */
    bool is_leaving;   /* in the medium of this side */
    bool is_at_target; /* not answered yet */
    uint32_t cookie;   /* known to the target */
    unsigned peer;
};

static struct amg_calls calls;
static struct amg_flow_peer peers[PEERS];
static struct amg_ep eps[EPS];
static struct request requests[MANY];
static struct request *sent[MANY]; /* in the order of sending */
static unsigned sent_count;
static unsigned room;        /* messages that the medium still takes */
static hg_return_t send_ret; /* of the medium, when it has room */
static unsigned paid;        /* credits */
static uint32_t note;        /* the last one that was paid */
static bool can_pay;
static unsigned named; /* peers, in log lines */

static struct request *request_of(struct amg_post *post)
{
    return amg_container_of(post, struct request, post);
}

static hg_return_t medium_send(struct amg_calls *of, struct amg_post *post)
{
    struct request *request = request_of(post);

    assert_ptr_equal(of, &calls);
    assert_true(request->has_buf);
    assert_true(post->op == NULL || !post->wants_reply);
    assert_true(post->op == NULL ||
                request->op.priv[AMG_CALL_PRIV_STATE] == AMG_CALL_LEAVING);
    if (room == 0)
        return HG_AGAIN;
    if (send_ret != HG_SUCCESS)
        return send_ret;
    room--;
    request->is_leaving = true;
    request->is_at_target = true;
    request->cookie = post->cookie;
    sent[sent_count++ % MANY] = request;
    return HG_SUCCESS;
}

static void medium_put(struct amg_calls *of, struct amg_post *post)
{
    assert_ptr_equal(of, &calls);
    assert_true(request_of(post)->has_buf);
    request_of(post)->has_buf = false;
}

static void op_end(struct amg_op *op, hg_return_t ret)
{
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->ret = ret;
    amg_container_of(op, struct request, op)->ended++;
}

static bool medium_pay(struct amg_calls *of, struct amg_flow_peer *peer)
{
    assert_ptr_equal(of, &calls);
    if (!can_pay)
        return false;
    paid += amg_flow_take_owed(peer, UINT16_MAX);
    note = amg_calls_note_locked(of, peer);
    return true;
}

static void medium_name(const struct amg_calls *of,
    const struct amg_flow_peer *peer, char ret_text[AMG_PEER_NAME_CAP])
{
    assert_ptr_equal(of, &calls);
    named++;
    snprintf(ret_text, AMG_PEER_NAME_CAP, "peer %td", peer - peers);
}

static const struct amg_calls_ops medium_ops = {
    .send = medium_send,
    .put = medium_put,
    .end = op_end,
    .pay = medium_pay,
    .source = "msg",
    .name = medium_name,
};

static struct amg_bias lock; /* of the domain: held in each test */

static int setup(void **state)
{
    (void)state;
    memset(peers, 0, sizeof(peers));
    memset(requests, 0, sizeof(requests));
    sent_count = 0;
    room = MUCH;
    send_ret = HG_SUCCESS;
    paid = 0;
    note = 0;
    can_pay = true;
    named = 0;
    amg_bias_init(&lock);
    amg_bias_lock(&lock);
    amg_calls_init(&calls, &lock, LIMIT, &medium_ops);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    amg_calls_fini(&calls);
    amg_bias_unlock(&lock);
    return 0;
}

static hg_return_t post(
    struct request *request, unsigned peer, unsigned ep, bool wants_reply)
{
    memset(request, 0, sizeof(*request));
    request->peer = peer;
    request->has_buf = true;
    request->post.op = &request->op;
    request->post.ep = &eps[ep];
    request->post.peer = &peers[peer];
    request->post.wants_reply = wants_reply;
    return amg_calls_post_locked(&calls, &request->post, peer, medium_send);
}

static hg_return_t post_unwatched(struct request *request)
{
    request->has_buf = true;
    request->post = (struct amg_post){.ep = &eps[0], .peer = &peers[0]};
    return amg_calls_post_locked(&calls, &request->post, 0, medium_send);
}

static void post_many(unsigned count, bool wants_reply)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(post(&requests[i], 0, 0, wants_reply), HG_SUCCESS);
}

static unsigned state_of(const struct request *request)
{
    return (unsigned)request->op.priv[AMG_CALL_PRIV_STATE];
}

/* The message has left the medium, whose buffer is free again. */
static void leave(struct request *request)
{
    request->is_leaving = false;
    request->has_buf = false;
    if (request->post.op != NULL)
        op_end(request->post.op, HG_SUCCESS);
    request->post.op = NULL;
}

/* The target answers. NULL: the engine has no such call. */
static struct amg_op *answer(struct request *request, hg_return_t ret)
{
    struct amg_op *op =
        amg_calls_find_locked(&calls, request->cookie, request->peer);

    if (op == NULL)
        return NULL;
    request->is_at_target = false;
    amg_calls_settle_locked(&calls, request->cookie, &peers[request->peer]);
    if (op != &amg_call_cancelled)
        op_end(op, ret);
    return op;
}

static void assert_ended(const struct request *request, hg_return_t ret)
{
    assert_int_equal(request->ended, 1);
    assert_int_equal(request->op.ret, ret);
    assert_int_equal(state_of(request), AMG_CALL_DONE);
}

/* No call, credit or warning is left. */
static void assert_nothing_left(void)
{
    uint32_t at = 0;

    assert_int_equal(calls.warnings, 0);
    assert_true(amg_list_is_empty(&calls.waiting));
    for (uint32_t i = 0; i < calls.table.cap; i++)
        assert_null(calls.table.slots[i].object);
    for (unsigned i = 0; i < PEERS; i++) {
        assert_int_equal(peers[i].unanswered, 0);
        assert_null(peers[i].waiting);
    }
    assert_null(amg_calls_pending_locked(&calls, &at));
}

static void test_calls_beyond_the_credits_leave_in_order(void **state)
{
    uint32_t at = 0;

    (void)state;
    post_many(LIMIT + 2, true);
    assert_int_equal(sent_count, LIMIT);
    assert_int_equal(state_of(&requests[LIMIT - 1]), AMG_CALL_ASKED);
    assert_int_equal(state_of(&requests[LIMIT]), AMG_CALL_WAITING);
    assert_int_equal(calls.counts.credits_short, 2);
    for (unsigned i = 0; i < LIMIT + 2; i++) {
        assert_ptr_equal(sent[i], &requests[i]);
        assert_ptr_equal(
            amg_calls_pending_locked(&calls, &at)->object, &requests[i].op);
        assert_ptr_equal(answer(&requests[i], HG_SUCCESS), &requests[i].op);
        assert_ended(&requests[i], HG_SUCCESS);
    }
    assert_nothing_left();
}

static void test_calls_one_way_ends_when_it_left(void **state)
{
    (void)state;
    post_many(LIMIT + 1, false);
    assert_int_equal(sent_count, LIMIT);
    assert_int_equal(state_of(&requests[0]), AMG_CALL_LEAVING);
    leave(&requests[0]);
    assert_ended(&requests[0], HG_SUCCESS);
    amg_calls_credit_locked(&calls, &peers[0], 1);
    assert_int_equal(sent_count, LIMIT + 1);
    amg_calls_credit_locked(&calls, &peers[0], LIMIT);
    assert_nothing_left();
}

static void test_calls_without_operation_leave_or_stay_the_callers(void **state)
{
    (void)state;
    assert_int_equal(post_unwatched(&requests[0]), HG_SUCCESS);
    post_many(LIMIT, false);
    assert_int_equal(post_unwatched(&requests[LIMIT]), HG_AGAIN);
    amg_calls_credit_locked(&calls, &peers[0], 1); /* for the one that waits */
    assert_int_equal(post_unwatched(&requests[LIMIT]), HG_BUSY);
    assert_int_equal(sent_count, LIMIT + 1);
    amg_calls_credit_locked(&calls, &peers[0], LIMIT);
    send_ret = HG_NOENTRY;
    assert_int_equal(post_unwatched(&requests[LIMIT]), HG_NOENTRY);
    room = 0;
    assert_int_equal(post_unwatched(&requests[LIMIT]), HG_BUSY);
    assert_true(requests[LIMIT].has_buf);
    assert_nothing_left();
}

static void test_calls_more_credits_than_taken_are_refused(void **state)
{
    (void)state;
    post_many(1, true);
    amg_calls_credit_locked(&calls, &peers[0], 2);
    assert_int_equal(calls.warnings, 1);
    assert_int_equal(peers[0].unanswered, 1);
    amg_calls_credit_locked(&calls, &peers[1], 1);
    assert_int_equal(calls.warnings, 2);
    assert_int_equal(peers[1].unanswered, 0);
    /* The peer returned the credit of an unanswered call, so its reply has
     * none. */
    peers[0].violations = 0;
    amg_calls_credit_locked(&calls, &peers[0], 1);
    assert_int_equal(calls.warnings, 2);
    amg_calls_settle_locked(&calls, requests[0].cookie, &peers[0]);
    assert_int_equal(calls.warnings, 3);
}

static void test_calls_violations_are_logged_once_per_peer_and_kind(
    void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * PEERS; i++)
        amg_calls_violation(
            &calls, &peers[i % PEERS], AMG_VIOLATION_FORM, 9, 0);
    assert_int_equal(named, PEERS);
    amg_calls_violation(&calls, &peers[0], AMG_VIOLATION_ACCESS, 9, 0);
    assert_int_equal(named, PEERS + 1);
}

static void test_calls_warnings_about_peers_are_bounded(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        peers[0].violations = 0;
        amg_calls_violation(&calls, &peers[0], AMG_VIOLATION_LIMIT, 9, 0);
    }
    assert_int_equal(named, 100);
    assert_false(amg_calls_may_warn(&calls));
}

static void test_calls_answer_without_a_call_is_refused(void **state)
{
    (void)state;
    assert_null(amg_calls_find_locked(&calls, 77, 0)); /* unknown call */
    post_many(LIMIT + 1, true);
    assert_null(amg_calls_find_locked(&calls, requests[0].cookie, 1));
    assert_null(amg_calls_find_locked(&calls, 200, 0));
    /* The request waits, so the peer can only have guessed its cookie. */
    assert_null(amg_calls_find_locked(&calls, requests[LIMIT].post.cookie, 0));
    assert_non_null(answer(&requests[0], HG_SUCCESS));
    assert_null(answer(&requests[0], HG_SUCCESS));
    assert_ended(&requests[0], HG_SUCCESS);
}

static void test_calls_refusal_always_has_a_code(void **state)
{
    (void)state;
    assert_int_equal(amg_call_refusal(HG_NOENTRY), HG_NOENTRY);
    assert_int_equal(amg_call_refusal(HG_SUCCESS), HG_NA_ERROR);
    assert_int_equal(amg_call_refusal(HG_RETURN_MAX), HG_NA_ERROR);
    assert_int_equal(amg_call_refusal(UINT32_MAX), HG_NA_ERROR);
}

static void test_calls_cancelled_waiting_never_leaves(void **state)
{
    (void)state;
    post_many(LIMIT + 2, true);
    amg_calls_cancel_locked(&calls, &requests[LIMIT].op);
    assert_ended(&requests[LIMIT], HG_CANCELED);
    assert_false(requests[LIMIT].has_buf);
    amg_calls_cancel_locked(&calls, &requests[LIMIT].op);
    assert_ended(&requests[LIMIT], HG_CANCELED);
    assert_non_null(answer(&requests[0], HG_SUCCESS));
    assert_ptr_equal(sent[LIMIT], &requests[LIMIT + 1]);
    for (unsigned i = 1; i < LIMIT + 2; i++)
        if (i != LIMIT)
            assert_non_null(answer(&requests[i], HG_SUCCESS));
    assert_nothing_left();
}

static void test_calls_cancelled_asked_keeps_its_credit(void **state)
{
    uint32_t at = 0;

    (void)state;
    post_many(LIMIT + 1, true);
    amg_calls_cancel_locked(&calls, &requests[0].op);
    assert_ended(&requests[0], HG_CANCELED);
    assert_int_equal(sent_count, LIMIT); /* the target still holds it */
    memset(&requests[0].op, 0xff, sizeof(requests[0].op)); /* the caller's */
    assert_ptr_equal(answer(&requests[0], HG_SUCCESS), &amg_call_cancelled);
    assert_int_equal(sent_count, LIMIT + 1);
    assert_null(answer(&requests[0], HG_SUCCESS));
    for (unsigned i = 1; i <= LIMIT; i++)
        amg_calls_cancel_locked(&calls, &requests[i].op);
    assert_null(amg_calls_pending_locked(&calls, &at));
}

static void test_calls_cancelled_leaving_still_leaves(void **state)
{
    (void)state;
    post_many(1, false);
    amg_calls_cancel_locked(&calls, &requests[0].op);
    assert_ended(&requests[0], HG_CANCELED);
    assert_true(requests[0].has_buf);
    leave(&requests[0]);
    assert_ended(&requests[0], HG_CANCELED);
}

static void test_calls_without_room_keep_their_order(void **state)
{
    (void)state;
    room = 1;
    post_many(LIMIT + 1, true);
    assert_int_equal(sent_count, 1);
    assert_int_equal(peers[0].unanswered, 1);
    assert_int_equal(state_of(&requests[1]), AMG_CALL_WAITING);
    room = 1;
    amg_calls_go_locked(&calls, &peers[0]);
    assert_ptr_equal(sent[1], &requests[1]);
    amg_calls_cancel_locked(&calls, &requests[2].op);
    assert_ended(&requests[2], HG_CANCELED);
    room = LIMIT;
    amg_calls_go_locked(&calls, &peers[0]);
    assert_ptr_equal(sent[2], &requests[3]);
    assert_int_equal(peers[0].unanswered, LIMIT);
}

static void test_calls_that_cannot_be_sent_end_so(void **state)
{
    (void)state;
    send_ret = HG_NOENTRY;
    post_many(1, true);
    assert_ended(&requests[0], HG_NOENTRY);
    assert_false(requests[0].has_buf);
    assert_nothing_left();
    send_ret = HG_SUCCESS;
    post_many(LIMIT + 2, true);
    send_ret = HG_HOSTUNREACH;
    assert_non_null(answer(&requests[0], HG_SUCCESS));
    for (unsigned i = LIMIT; i < LIMIT + 2; i++) {
        assert_ended(&requests[i], HG_HOSTUNREACH);
        assert_false(requests[i].has_buf);
    }
    for (unsigned i = 1; i < LIMIT; i++)
        assert_non_null(answer(&requests[i], HG_SUCCESS));
    assert_nothing_left();
}

static void test_calls_that_the_medium_took_and_lost_end(void **state)
{
    (void)state;
    post_many(LIMIT + 1, true);
    amg_calls_unsent_locked(&calls, &requests[0].post, 0, HG_NA_ERROR);
    assert_ended(&requests[0], HG_NA_ERROR);
    assert_int_equal(sent_count, LIMIT + 1); /* its credit is back */
    amg_calls_cancel_locked(&calls, &requests[1].op);
    amg_calls_unsent_locked(&calls, &requests[1].post, 0, HG_NA_ERROR);
    assert_ended(&requests[1], HG_CANCELED);
    assert_non_null(answer(&requests[2], HG_SUCCESS));
    amg_calls_unsent_locked(&calls, &requests[2].post, 0, HG_NA_ERROR);
    assert_ended(&requests[2], HG_SUCCESS); /* it was answered before */
    assert_non_null(answer(&requests[3], HG_SUCCESS));
    assert_nothing_left();
}

static void test_calls_of_a_closed_endpoint_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3 * LIMIT; i++)
        assert_int_equal(
            post(&requests[i], 0, i % EPS, i % 3 != 0), HG_SUCCESS);
    amg_calls_drop_locked(&calls, &eps[0]);
    for (unsigned i = 0; i < 3 * LIMIT; i++) {
        bool is_out = i % 3 == 0 && i < LIMIT; /* the medium holds it */

        assert_int_equal(requests[i].ended, i % EPS == 0 && !is_out ? 1 : 0);
        assert_true(i % EPS == 0 || requests[i].has_buf);
    }
    amg_calls_credit_locked(&calls, &peers[0], 1);
    assert_ptr_equal(sent[LIMIT], &requests[3]); /* the others, in order */
    amg_calls_credit_locked(&calls, &peers[0], 1);
    assert_ptr_equal(sent[LIMIT + 1], &requests[5]);
}

static void test_calls_detached_messages_still_leave(void **state)
{
    struct amg_list posts;

    (void)state;
    amg_list_init(&posts);
    for (unsigned i = 0; i < EPS; i++) {
        assert_int_equal(post(&requests[i], 0, i, false), HG_SUCCESS);
        amg_list_push(&posts, &requests[i].post.link);
    }
    amg_calls_detach_locked(&calls, &posts, &eps[1]);
    assert_int_equal(requests[0].ended, 0);
    assert_ended(&requests[1], HG_CANCELED);
    leave(&requests[1]);
    assert_ended(&requests[1], HG_CANCELED);
}

static bool is_of_first_ep(const struct amg_op *op, const void *arg)
{
    return op != &amg_call_cancelled && amg_call_ep(op) == arg;
}

static void test_calls_to_a_lost_peer_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < LIMIT + 2; i++)
        assert_int_equal(post(&requests[i], 0, i % EPS, true), HG_SUCCESS);
    assert_int_equal(post(&requests[MANY - 1], 1, 0, true), HG_SUCCESS);
    amg_calls_cancel_locked(&calls, &requests[0].op);
    amg_calls_lost_waiting_locked(&calls, &peers[0]);
    for (unsigned i = LIMIT; i < LIMIT + 2; i++) {
        assert_ended(&requests[i], HG_HOSTUNREACH);
        assert_false(requests[i].has_buf);
    }
    amg_calls_lost_asked_locked(&calls, &peers[0], 0, is_of_first_ep, &eps[0]);
    assert_ended(&requests[2], HG_HOSTUNREACH);
    assert_int_equal(requests[1].ended, 0);
    assert_int_equal(
        peers[0].unanswered, 2); /* this one, and the cancelled one */
    amg_calls_lost_asked_locked(&calls, &peers[0], 0, NULL, NULL);
    assert_ended(&requests[0], HG_CANCELED);
    assert_ended(&requests[1], HG_HOSTUNREACH);
    assert_null(answer(&requests[1], HG_SUCCESS));
    assert_int_equal(requests[MANY - 1].ended, 0);
    assert_non_null(answer(&requests[MANY - 1], HG_SUCCESS));
    assert_nothing_left();
}

static void test_calls_owed_credits_are_sent(void **state)
{
    unsigned owed = 0;

    (void)state;
    assert_false(amg_calls_pay_one_locked(&calls));
    while (!amg_calls_owe_locked(&calls, &peers[0]))
        owed++;
    assert_int_equal(paid, owed + 1);
    assert_false(amg_calls_pay_one_locked(&calls));
    can_pay = false;
    assert_false(amg_calls_owe_locked(&calls, &peers[1]));
    assert_false(amg_calls_pay_one_locked(&calls));
    assert_false(amg_calls_pay_one_locked(&calls));
    can_pay = true;
    assert_true(amg_calls_pay_one_locked(&calls));
    assert_int_equal(paid, owed + 2);
}

/* A note of flow.h. */
static uint32_t note_of(int change, int upper)
{
    return (uint32_t)(uint16_t)(int16_t)upper << 16 | (uint16_t)(int16_t)change;
}

static void test_calls_without_credits_wish_for_more(void **state)
{
    (void)state;
    amg_calls_limit(&calls, 0, 1, PEERS);
    post_many(LIMIT + 1, true);
    assert_int_equal(sent_count, 1);
    assert_int_equal(note, note_of(0, -(LIMIT - 1)));
    note = 0;
    amg_calls_on_note_locked(&calls, &peers[0], note_of(1, 0));
    assert_int_equal(sent_count, 2);
    assert_int_equal(note, 0); /* the peer knows the wish */
    amg_calls_on_note_locked(&calls, &peers[0], note_of(LIMIT - 2, 0));
    assert_int_equal(sent_count, LIMIT);
    /* The peer wants all of them back, but the first. */
    amg_calls_on_note_locked(&calls, &peers[0], note_of(1 - LIMIT, 0));
    assert_int_equal(note, 0);
    assert_non_null(answer(&requests[0], HG_SUCCESS));
    assert_int_equal(note, note_of(0, 1));
    assert_int_equal(sent_count, LIMIT);
    assert_non_null(answer(&requests[1], HG_SUCCESS));
    assert_int_equal(note, note_of(0, -(LIMIT - 1))); /* one waits again */
    assert_non_null(answer(&requests[2], HG_SUCCESS));
    assert_int_equal(sent_count, LIMIT + 1);
    assert_non_null(answer(&requests[3], HG_SUCCESS));
    assert_int_equal(calls.warnings, 0);
    amg_calls_on_note_locked(&calls, &peers[0], note_of(LIMIT, 0));
    assert_int_equal(calls.warnings, 1);
}

static void test_calls_share_the_budget_of_the_target(void **state)
{
    (void)state;
    amg_calls_limit(&calls, 2 * PEERS, 1, PEERS); /* a pool of two */
    amg_calls_on_note_locked(&calls, &peers[0], note_of(0, -2));
    assert_int_equal(note, note_of(2, 0));
    note = 0;
    amg_calls_on_note_locked(&calls, &peers[1], note_of(0, -2));
    assert_int_equal(note, note_of(-1, 0)); /* of the first peer */
    assert_int_equal(peers[1].granted, 0);
    can_pay = false; /* leaves later */
    amg_calls_on_note_locked(&calls, &peers[0], note_of(0, 1));
    assert_int_equal(peers[1].granted, 1);
    can_pay = true;
    assert_true(amg_calls_pay_one_locked(&calls));
    assert_int_equal(note, note_of(1, 0));
    assert_false(amg_calls_pay_one_locked(&calls));
}

static void test_calls_without_memory_change_nothing(void **state)
{
    (void)state;
    amg_mem_fail_nth(1);
    assert_int_equal(post(&requests[0], 0, 0, true), HG_NOMEM);
    assert_true(requests[0].has_buf);
    assert_int_equal(requests[0].ended, 0);
    assert_nothing_left();
    assert_int_equal(post(&requests[0], 0, 0, true), HG_SUCCESS);
    assert_non_null(answer(&requests[0], HG_SUCCESS));
}

/* A random event in the life of a request. */
static void event(struct request *request, unsigned draw)
{
    bool is_idle = !request->has_buf && !request->is_at_target &&
                   (request->ended == 1 || request->post.ep == NULL);

    if (is_idle) {
        assert_int_equal(
            post(request, draw % PEERS, draw / 7 % EPS, draw / 3 % 4 != 0),
            HG_SUCCESS);
    } else if (draw % 5 == 0 && request->ended == 0) {
        amg_calls_cancel_locked(&calls, &request->op);
        assert_ended(request, HG_CANCELED);
    } else if (request->is_leaving) {
        leave(request);
    } else if (request->is_at_target && request->post.wants_reply) {
        assert_non_null(answer(request, HG_SUCCESS));
    } else if (request->is_at_target) {
        request->is_at_target = false;
        amg_calls_credit_locked(&calls, &peers[request->peer], 1);
    } else {
        room += draw % 3;
        amg_calls_go_locked(&calls, &peers[request->peer]);
    }
    assert_true(request->ended <= 1);
    assert_true(peers[request->peer].unanswered <= LIMIT);
}

static void test_calls_in_any_order_end_once(void **state)
{
    (void)state;
    srand(1);
    room = 4;
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned draw = (unsigned)rand();

        event(&requests[draw % USED], draw / USED);
    }
    room = MUCH;
    for (unsigned i = 0; i < PEERS; i++)
        amg_calls_go_locked(&calls, &peers[i]);
    for (unsigned turn = 0; turn < USED; turn++)
        for (unsigned i = 0; i < USED; i++)
            if (requests[i].has_buf || requests[i].is_at_target)
                event(&requests[i], 1);
    for (unsigned i = 0; i < USED; i++)
        assert_int_equal(requests[i].ended, 1);
    assert_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_calls_beyond_the_credits_leave_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_one_way_ends_when_it_left, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_without_operation_leave_or_stay_the_callers, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_more_credits_than_taken_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_violations_are_logged_once_per_peer_and_kind, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_warnings_about_peers_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_answer_without_a_call_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_refusal_always_has_a_code, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_cancelled_waiting_never_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_cancelled_asked_keeps_its_credit, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_cancelled_leaving_still_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_without_room_keep_their_order, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_that_cannot_be_sent_end_so, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_that_the_medium_took_and_lost_end, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_of_a_closed_endpoint_end, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_detached_messages_still_leave, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_to_a_lost_peer_end, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_owed_credits_are_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_without_credits_wish_for_more, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_share_the_budget_of_the_target, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_without_memory_change_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_calls_in_any_order_end_once, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
