/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to a peer that reads them leave, whatever others hold: requests that
 * wait for a peer that does not poll, requests that such peers have not read,
 * and buffers that are not sent. A receiver keeps no msgbuf of the transit
 * stock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>

#include "shm/shm_domain.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum {
    LONG = 3000,  /* in a msgbuf, */
    MIDDLE = 200, /* in several cells, */
    SHORT = 16,   /* in one */
    WAITING = 1500,
    ROUNDS = 200,
    DEAF = 3,
    SOME = 40, /* fewer than the credits of a peer */
    KEPT = AMG_SHM_MSGBUFS - AMG_SHM_TRANSIT,
};

static const struct amg_transport *const shm = &amg_shm_transport;

/* Calls of each length to a peer that echoes them. */
static void calls_end(struct party *party, struct amg_peer *peer)
{
    static const uint32_t lens[] = {LONG, MIDDLE, SHORT};

    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct party_call call;

        party_ask(party, peer, &call, i, lens[i % 3]);
        assert_int_equal(party_wait(party, &call), HG_SUCCESS);
        assert_int_equal(call.op.len, lens[i % 3]);
        assert_true(party_answer_is(party, &call, i));
    }
}

static void calls_cancel(
    struct party *party, struct party_call *calls, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(shm->ep.cancel(party->ep, &calls[i].op), HG_SUCCESS);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(party_wait(party, &calls[i]), HG_CANCELED);
}

static void test_requests_that_wait_hold_no_msgbuf(void **state)
{
    static struct party_call calls[WAITING];
    struct party_child deaf;
    struct party_child echo;
    struct party party;
    struct amg_peer *peers[2];

    (void)state;
    party_child_start(&deaf, PARTY_DEAF, "");
    party_child_start(&echo, PARTY_SLEEPER, "");
    party_open(&party, "", 0);
    peers[0] = party_find(&party, deaf.address);
    peers[1] = party_find(&party, echo.address);
    for (uint32_t i = 0; i < WAITING; i++)
        party_ask(&party, peers[0], &calls[i], i, i % 2 == 0 ? LONG : SHORT);
    calls_end(&party, peers[1]);
    calls_cancel(&party, calls, WAITING);
    party_child_kill(&deaf);
    party_child_end(&echo);
    shm->addr.unref(party.domain, peers[0]);
    shm->addr.unref(party.domain, peers[1]);
    party_close(&party);
}

/* Every msgbuf that a receiver may keep is held, and peers that do not poll
 * have as many others as they get. */
static void test_messages_leave_without_msgbufs(void **state)
{
    static struct amg_buf *bufs[KEPT];
    static struct party_call calls[DEAF][WAITING];
    struct party_child deaf[DEAF];
    struct party_child echo;
    struct party party;
    struct amg_peer *peers[DEAF];
    struct amg_peer *reader = NULL;

    (void)state;
    for (unsigned i = 0; i < DEAF; i++)
        party_child_start(&deaf[i], PARTY_DEAF, "");
    party_child_start(&echo, PARTY_SLEEPER, "");
    party_open(&party, "", 1024);
    for (unsigned i = 0; i < KEPT; i++)
        assert_int_equal(
            shm->msg.get_buf(party.ep, NULL, &bufs[i]), HG_SUCCESS);
    for (unsigned i = 0; i < DEAF; i++) {
        peers[i] = party_find(&party, deaf[i].address);
        for (uint32_t j = 0; j < WAITING; j++)
            party_ask(&party, peers[i], &calls[i][j], j, LONG);
    }
    reader = party_find(&party, echo.address);
    calls_end(&party, reader);
    for (unsigned i = 0; i < KEPT; i++)
        shm->msg.put_buf(party.ep, bufs[i]);
    calls_end(&party, reader);
    for (unsigned i = 0; i < DEAF; i++) {
        calls_cancel(&party, calls[i], WAITING);
        party_child_kill(&deaf[i]);
        shm->addr.unref(party.domain, peers[i]);
    }
    party_child_end(&echo);
    shm->addr.unref(party.domain, reader);
    party_close(&party);
}

/* Those that their receivers have not returned. */
static unsigned lent_count(const struct amg_shm_stock *stock)
{
    const struct amg_link *link = amg_list_first(&stock->lent);
    unsigned count = 0;

    for (; link != NULL; link = amg_list_next(&stock->lent, link))
        count +=
            atomic_load(&amg_container_of(link, struct amg_shm_buf, post.link)
                             ->msgbuf->is_lent) != 0;
    return count;
}

static void test_receiver_keeps_no_msgbuf_of_the_transit_stock(void **state)
{
    static struct amg_buf *bufs[KEPT];
    static struct party_call calls[SOME];
    const struct amg_shm_stock *stocks = NULL;
    struct party_child keeper;
    struct party party;
    struct amg_peer *peer = NULL;

    (void)state;
    party_child_start(&keeper, PARTY_KEEPER, "");
    party_open(&party, "", 0);
    stocks = amg_shm_domain_of(party.domain)->bufs.stocks;
    for (unsigned i = 0; i < KEPT; i++)
        assert_int_equal(
            shm->msg.get_buf(party.ep, NULL, &bufs[i]), HG_SUCCESS);
    peer = party_find(&party, keeper.address);
    for (uint32_t i = 0; i < SOME; i++)
        party_ask(&party, peer, &calls[i], i, LONG);
    while (((struct amg_shm_peer *)peer)->calls.waiting != NULL ||
           lent_count(&stocks[AMG_SHM_STOCK_TRANSIT]) > 0)
        (void)party_poll(&party);
    for (unsigned i = 0; i < KEPT; i++)
        shm->msg.put_buf(party.ep, bufs[i]);
    calls_cancel(&party, calls, SOME);
    party_child_kill(&keeper);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_that_wait_hold_no_msgbuf),
        cmocka_unit_test(test_messages_leave_without_msgbufs),
        cmocka_unit_test(test_receiver_keeps_no_msgbuf_of_the_transit_stock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
