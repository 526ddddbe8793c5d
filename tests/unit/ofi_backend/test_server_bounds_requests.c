/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits on requests: the server decides how many requests of each peer it
 * holds, whatever the limit of that peer is. A peer that keeps to the limit
 * waits, and all its calls end well; the server refuses requests beyond the
 * limit. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_domain.h"
#include "party.h"

enum { FEW = 4, MANY = 1000, CALLS = 60, LEN = 40 };

static struct party server;
static struct party client;
static struct amg_peer *peer; /* the server, as a peer of the client */
static struct amg_list held;  /* at the server */
static unsigned held_count;
static unsigned served;
static unsigned refused;
static unsigned ended;

static void open_both(uint32_t of_server, uint32_t of_client)
{
    fake_start(NULL, 0);
    held_count = served = refused = ended = 0;
    amg_list_init(&held);
    party_open(&server, of_server, 1);
    party_open(&client, of_client, 1);
    peer = party_meet(&client, &server);
}

static int stop(void **state)
{
    (void)state;
    amg_ofi_transport.addr.unref(client.domain, peer);
    (void)party_close(&client);
    (void)party_close(&server);
    fake_stop();
    return 0;
}

static void poll_both(void)
{
    struct amg_events events;
    struct amg_link *link = NULL;

    amg_events_init(&events);
    (void)amg_ofi_transport.ep.poll(client.ep, 100, &events);
    while ((link = amg_list_pop(&events.done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        ended++;
        refused += op->ret == HG_AGAIN ? 1 : 0;
        assert_true(op->ret == HG_SUCCESS || op->ret == HG_AGAIN);
        if (op->data != NULL)
            amg_ofi_transport.msg.release_reply(client.ep, op);
    }
    (void)amg_ofi_transport.ep.poll(server.ep, 100, &events);
    while ((link = amg_list_pop(&events.arrived)) != NULL) {
        amg_list_push(&held, link);
        held_count++;
    }
}

static void answer_one(void)
{
    struct amg_link *link = amg_list_pop(&held);
    struct amg_arrival *arrival =
        amg_container_of(link, struct amg_arrival, link);
    struct amg_buf *buf = NULL;

    if (!arrival->is_one_way) {
        assert_int_equal(
            amg_ofi_transport.msg.get_buf(server.ep, arrival->from, &buf),
            HG_SUCCESS);
        assert_int_equal(
            amg_ofi_transport.msg.send_reply(server.ep, arrival, buf, 0, NULL),
            HG_SUCCESS);
    }
    amg_ofi_transport.msg.release(server.ep, arrival);
    held_count--;
    served++;
}

static void post(struct amg_op *op, bool wants_reply)
{
    struct amg_buf *buf = NULL;

    memset(op, 0, sizeof(*op));
    assert_int_equal(
        amg_ofi_transport.msg.get_buf(client.ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, 1, LEN);
    assert_int_equal(
        amg_ofi_transport.msg.send_request(
            client.ep, (struct amg_target){peer, 0}, buf, LEN, wants_reply, op),
        HG_SUCCESS);
}

/* The client ignores the limit. */
static void be_greedy(void)
{
    struct amg_flow *flow = &amg_ofi_domain_of(client.domain)->calls.flow;

    flow->limit = 2 * MANY;
    flow->first = 2 * MANY;
}

static void calls_end_well(unsigned limit)
{
    static struct amg_op ops[CALLS];

    /* From the first one on, before the two are connected. */
    for (unsigned i = 0; i < CALLS; i++)
        post(&ops[i], i % 3 != 0);
    while (served < CALLS) {
        while (held_count < limit && served + held_count < CALLS)
            poll_both();
        /* Time in which more requests could arrive. */
        for (unsigned i = 0; i < 100; i++)
            poll_both();
        assert_true(held_count <= limit);
        answer_one();
    }
    while (ended < CALLS || peer->calls.unanswered > 0)
        poll_both();
    assert_int_equal(refused, 0);
}

static void test_credits_of_the_server_bound_what_comes(void **state)
{
    (void)state;
    open_both(FEW, MANY);
    calls_end_well(FEW);
}

static void test_credits_of_the_client_bound_what_goes(void **state)
{
    (void)state;
    open_both(MANY, FEW);
    calls_end_well(FEW);
}

static void test_credits_that_were_not_given_are_refused(void **state)
{
    static struct amg_op ops[CALLS];

    (void)state;
    open_both(FEW, MANY);
    post(&ops[0], true);
    while (held_count == 0)
        poll_both();
    answer_one();
    while (ended == 0)
        poll_both();
    be_greedy();
    for (unsigned i = 0; i < CALLS; i++)
        post(&ops[i], true);
    while (refused < CALLS - FEW) {
        poll_both();
        assert_true(held_count <= FEW);
    }
    assert_int_equal(held_count, FEW);
    assert_true(fake_has_logged("more requests came than it has credits for"));
    while (held_count > 0)
        answer_one();
    while (ended < CALLS + 1)
        poll_both();
    assert_int_equal(refused, CALLS - FEW);
    /* Requests within the limit are served again. */
    post(&ops[0], true);
    while (held_count == 0)
        poll_both();
    answer_one();
    while (ended < CALLS + 2)
        poll_both();
    assert_int_equal(refused, CALLS - FEW);
}

#define UNIT_TEST(name) cmocka_unit_test_teardown(name, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_credits_of_the_server_bound_what_comes),
        UNIT_TEST(test_credits_of_the_client_bound_what_goes),
        UNIT_TEST(test_credits_that_were_not_given_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
