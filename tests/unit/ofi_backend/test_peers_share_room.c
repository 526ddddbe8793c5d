/* SPDX-License-Identifier: BSD-3-Clause */
/* Sharing among peers: the room of the provider, and credits of many requests.
 * Three domains of this process, and a provider with little room. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_domain.h"
#include "party.h"

enum {
    LEN = 900, /* too long to be injected */
    CREDITS = 1000,
    ROUNDS = 20,
    TICKS_MAX = 20, /* 2 s of polling */
    SERVERS = 2
};

static struct amg_ofi_call real;
static struct party servers[SERVERS];
static struct amg_peer *peers[SERVERS]; /* as peers of the client */
static struct party client;
static unsigned room; /* sends of the client that the provider takes */
static unsigned done_count;

static ssize_t call_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    ssize_t code = 0;

    if (client.domain == NULL || amg_ofi_domain_of(client.domain)->fi.ep != ep)
        return real.send(ep, bytes, len, desc, to, context);
    if (room == 0)
        return -FI_EAGAIN;
    code = real.send(ep, bytes, len, desc, to, context);
    room -= code == 0 ? 1 : 0;
    return code;
}

static void post(struct amg_peer *peer, struct amg_op *op)
{
    struct amg_buf *buf = NULL;

    memset(op, 0, sizeof(*op));
    assert_int_equal(
        amg_ofi_transport.msg.get_buf(client.ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, 1, LEN);
    assert_int_equal(amg_ofi_transport.msg.send_request(client.ep,
                         (struct amg_target){peer, 0}, buf, LEN, false, op),
        HG_SUCCESS);
}

static bool has_ended(const struct amg_op *op)
{
    return op->priv[AMG_CALL_PRIV_STATE] == AMG_CALL_DONE;
}

/* Polls all; keeps arrivals in `ret_events`. */
static void poll_all(struct amg_events *ret_events)
{
    (void)amg_ofi_transport.ep.poll(client.ep, 100, ret_events);
    while (amg_list_pop(&ret_events->done) != NULL)
        done_count++;
    for (unsigned i = 0; i < SERVERS; i++)
        (void)amg_ofi_transport.ep.poll(servers[i].ep, 100, ret_events);
}

static unsigned arrivals_count(const struct amg_list *list)
{
    const struct amg_link *link = amg_list_first(list);
    unsigned count = 0;

    for (; link != NULL; link = amg_list_next(list, link))
        count++;
    return count;
}

static void release_all(struct amg_events *events)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&events->arrived)) != NULL)
        amg_ofi_transport.msg.release(
            NULL, amg_container_of(link, struct amg_arrival, link));
}

/* A peer with a steady stream of messages does not block messages to others. */
static void test_share_room_goes_to_each_peer(void **state)
{
    static struct amg_op many[ROUNDS + 1];
    static struct amg_op one;
    struct amg_events events;
    unsigned rounds = 0;

    (void)state;
    amg_events_init(&events);
    room = 0;
    post(peers[0], &many[ROUNDS]);
    post(peers[1], &one);
    while (rounds < ROUNDS && !has_ended(&one)) {
        post(peers[0], &many[rounds++]);
        room = 1;
        while (room > 0)
            poll_all(&events);
    }
    assert_in_range(rounds, 1, 3);
    room = UINT32_MAX;
    while (done_count < rounds + 2)
        poll_all(&events);
    release_all(&events);
}

/* A message returns at most 255 credits. */
static void test_share_all_credits_come_back(void **state)
{
    static struct amg_op ops[CREDITS];
    const struct amg_ofi_domain *domain = amg_ofi_domain_of(client.domain);
    struct amg_events events;
    unsigned tick = 0;

    (void)state;
    amg_events_init(&events);
    for (unsigned i = 0; i < CREDITS; i++)
        post(peers[0], &ops[i]);
    while (done_count < CREDITS || arrivals_count(&events.arrived) < CREDITS)
        poll_all(&events);
    release_all(&events);
    for (tick = domain->clock.tick; peers[0]->calls.unanswered > 0 &&
                                    domain->clock.tick - tick < TICKS_MAX;) {
        /* Prevents a check of the peer, whose answer would return some. */
        peers[0]->heard_tick = domain->clock.tick;
        poll_all(&events);
        release_all(&events);
    }
    assert_int_equal(peers[0]->calls.unanswered, 0);
}

static int start(void **state)
{
    struct amg_events events;
    struct amg_op op;

    (void)state;
    fake_start(NULL, 0);
    real = fake_call;
    fake_call.send = call_send;
    room = UINT32_MAX;
    amg_events_init(&events);
    party_open(&client, CREDITS, 1);
    for (unsigned i = 0; i < SERVERS; i++)
        party_open(&servers[i], CREDITS, 1);
    for (unsigned i = 0; i < SERVERS; i++) {
        peers[i] = party_meet(&client, &servers[i]);
        post(peers[i], &op);
        while (!has_ended(&op)) {
            poll_all(&events);
            release_all(&events);
        }
    }
    done_count = 0;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    room = UINT32_MAX;
    for (unsigned i = 0; i < SERVERS; i++)
        amg_ofi_transport.addr.unref(client.domain, peers[i]);
    (void)party_close(&client);
    for (unsigned i = 0; i < SERVERS; i++)
        (void)party_close(&servers[i]);
    fake_stop();
    return 0;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_share_room_goes_to_each_peer),
        UNIT_TEST(test_share_all_credits_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
