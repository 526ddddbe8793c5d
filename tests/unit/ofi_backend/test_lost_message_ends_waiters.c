/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages lost with a connection although the provider had reported them as
 * sent, while both processes live. Lost requests, replies, one-way requests and
 * returned leases end what waits for them; no credit is missing afterwards, and
 * the two connect anew. A peer that only holds requests is not suspected. Two
 * domains of this process, and a provider that drops messages; time passes as
 * fast as they poll. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_rma.h"
#include "ofi_backend/ofi_domain.h"
#include "party.h"

enum {
    SHORT_LEN = 40,
    LONG_LEN = 900,  /* is not injected, and so completes later */
    MEMORY = 100000, /* worth a lease */
    POLLS = 20000,   /* of both, until all has ended */
    CALLS = 8,
};

/* The next messages of this kind that are dropped, and their number; calls that
 * share a message are dropped together. */
static unsigned swallow_kind;
static unsigned swallow_count;

static struct amg_ofi_call real;
static struct party server;
static struct party client;
static struct amg_peer *peer; /* the server, as a peer of the client */
static struct amg_list held;  /* arrivals at the server */
static bool answers;
static uint8_t memory[MEMORY];
static uint8_t local[MEMORY];

static bool is_swallowed(const void *bytes)
{
    const struct amg_ofi_header *header = bytes;
    const struct amg_pack_head *head = (const void *)(header + 1);
    bool is_pack = header->kind == (AMG_OFI_MAGIC | AMG_OFI_PACK);
    unsigned count = is_pack ? header->cookie : 1;
    unsigned kind = is_pack ? head->kind : header->kind & ~AMG_OFI_MAGIC_MASK;

    if (swallow_count == 0 || kind != swallow_kind)
        return false;
    swallow_count -= count < swallow_count ? count : swallow_count;
    return true;
}

static ssize_t call_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    return is_swallowed(bytes) ? 0 : real.inject(ep, bytes, len, to);
}

/* Drops the message: completes it, and sends a byte without meaning instead. */
static ssize_t call_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    return real.send(
        ep, bytes, is_swallowed(bytes) ? 1 : len, desc, to, context);
}

static void arrivals_answer(void)
{
    struct amg_link *link = NULL;

    while (answers && (link = amg_list_pop(&held)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);
        struct amg_buf *buf = NULL;

        if (!arrival->is_one_way) {
            assert_int_equal(
                amg_ofi_transport.msg.get_buf(server.ep, arrival->from, &buf),
                HG_SUCCESS);
            memset(buf->data, 1, arrival->len);
            assert_int_equal(amg_ofi_transport.msg.send_reply(
                                 server.ep, arrival, buf, arrival->len, NULL),
                HG_SUCCESS);
        }
        amg_ofi_transport.msg.release(server.ep, arrival);
    }
}

/* Both poll, each a tenth of a second after its last poll. */
static void poll_both(void)
{
    struct party *parties[] = {&client, &server};

    for (unsigned i = 0; i < 2; i++) {
        struct amg_events events;
        struct amg_link *link = NULL;

        amg_ofi_domain_of(parties[i]->domain)->clock.tick_ns = 0;
        amg_events_init(&events);
        (void)amg_ofi_transport.ep.poll(parties[i]->ep, 100, &events);
        while ((link = amg_list_pop(&events.done)) != NULL) {
            struct amg_op *op = amg_container_of(link, struct amg_op, link);

            if (op->data != NULL)
                amg_ofi_transport.msg.release_reply(parties[i]->ep, op);
            op->step = NULL; /* it has ended */
        }
        amg_list_splice(&held, &events.arrived);
    }
    arrivals_answer();
}

static void op_step(struct amg_op *op)
{
    (void)op;
}

static void post(struct amg_op *op, uint32_t len, bool wants_reply)
{
    struct amg_buf *buf = NULL;

    memset(op, 0, sizeof(*op));
    op->step = op_step;
    assert_int_equal(
        amg_ofi_transport.msg.get_buf(client.ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, 1, len);
    assert_int_equal(
        amg_ofi_transport.msg.send_request(
            client.ep, (struct amg_target){peer, 0}, buf, len, wants_reply, op),
        HG_SUCCESS);
}

static hg_return_t wait_for(const struct amg_op *op)
{
    for (unsigned i = 0; i < POLLS && op->step != NULL; i++)
        poll_both();
    assert_null(op->step);
    return op->ret;
}

/* All credits are back, and calls are answered. */
static void connects_anew(void)
{
    static struct amg_op op;

    for (unsigned i = 0; i < POLLS && swallow_count > 0; i++)
        poll_both();
    assert_int_equal(swallow_count, 0);
    for (unsigned i = 0; i < POLLS && peer->calls.unanswered > 0; i++)
        poll_both();
    assert_int_equal(peer->calls.unanswered, 0);
    post(&op, SHORT_LEN, true);
    assert_int_equal(wait_for(&op), HG_SUCCESS);
    post(&op, LONG_LEN, true);
    assert_int_equal(wait_for(&op), HG_SUCCESS);
}

static void swallow(enum amg_ofi_kind kind, unsigned count)
{
    swallow_kind = kind;
    swallow_count = count;
}

static void calls_are_lost(enum amg_ofi_kind kind, uint32_t len)
{
    static struct amg_op ops[CALLS];
    unsigned lost = 0;

    swallow(kind, CALLS / 2);
    for (unsigned i = 0; i < CALLS; i++)
        post(&ops[i], len, true);
    for (unsigned i = 0; i < CALLS; i++) {
        hg_return_t ret = wait_for(&ops[i]);

        assert_true(ret == HG_SUCCESS || ret == HG_HOSTUNREACH);
        lost += ret == HG_HOSTUNREACH ? 1 : 0;
    }
    assert_true(lost >= CALLS / 2);
    connects_anew();
}

static void test_swallowed_requests_end(void **state)
{
    (void)state;
    calls_are_lost(AMG_OFI_REQUEST, SHORT_LEN);
    calls_are_lost(AMG_OFI_REQUEST, LONG_LEN);
}

static void test_swallowed_replies_end_their_calls(void **state)
{
    (void)state;
    calls_are_lost(AMG_OFI_REPLY, SHORT_LEN);
    calls_are_lost(AMG_OFI_REPLY, LONG_LEN);
}

static void test_swallowed_one_ways_cost_no_credit(void **state)
{
    static struct amg_op op;

    (void)state;
    swallow(AMG_OFI_ONEWAY, 1);
    post(&op, SHORT_LEN, false);
    assert_int_equal(wait_for(&op), HG_SUCCESS); /* the message has left */
    connects_anew();
    swallow(AMG_OFI_CREDIT, 1);
    post(&op, SHORT_LEN, false);
    assert_int_equal(wait_for(&op), HG_SUCCESS);
    connects_anew();
}

/* The owner must get the memory back. */
static void test_swallowed_return_frees_the_memory(void **state)
{
    const struct amg_segment exposed = {memory, MEMORY};
    const struct amg_segment here = {local, MEMORY};
    struct amg_segment there = exposed;
    struct amg_seg_iter place = {&here, 1, 0, 0};
    struct amg_remote remote = {.at = {&there, 1, 0, 0}};
    struct amg_mem *mem = NULL;
    hg_return_t rc = HG_BUSY;
    static struct amg_op op;

    (void)state;
    assert_int_equal(amg_ofi_transport.bulk.reg(
                         server.domain, &exposed, 1, AMG_MEM_READ, &mem),
        HG_SUCCESS);
    amg_ofi_transport.bulk.key(mem, &remote.key);
    swallow(AMG_OFI_RETURN, 1);
    memset(&op, 0, sizeof(op));
    op.step = op_step;
    assert_int_equal(
        amg_ofi_transport.bulk.get(client.ep, (struct amg_target){peer, 0},
            &place, &remote, MEMORY, &op),
        HG_SUCCESS);
    assert_int_equal(wait_for(&op), HG_SUCCESS);
    for (unsigned i = 0; i < POLLS / 10 && rc == HG_BUSY; i++) {
        poll_both();
        rc = amg_ofi_transport.bulk.unreg(server.domain, mem, 0);
    }
    assert_int_equal(rc, HG_SUCCESS);
    connects_anew();
}

/* However often the client checks the server. */
static void test_held_requests_are_not_lost(void **state)
{
    static struct amg_op ops[CALLS];

    (void)state;
    answers = false;
    for (unsigned i = 0; i < CALLS; i++)
        post(&ops[i], i % 2 == 0 ? SHORT_LEN : LONG_LEN, true);
    for (unsigned i = 0; i < 1000; i++)
        poll_both();
    answers = true;
    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(wait_for(&ops[i]), HG_SUCCESS);
    assert_false(fake_has_logged("is not reached"));
}

static int start(void **state)
{
    static struct amg_op op;

    (void)state;
    fake_start(NULL, 0);
    real = fake_call;
    fake_call.send = call_send;
    fake_call.inject = call_inject;
    swallow_count = 0;
    answers = true;
    amg_list_init(&held);
    party_open(&server, 0, 1);
    party_open(&client, 0, 1);
    peer = party_meet(&client, &server);
    post(&op, SHORT_LEN, true);
    assert_int_equal(wait_for(&op), HG_SUCCESS);
    return 0;
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

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_swallowed_requests_end),
        UNIT_TEST(test_swallowed_replies_end_their_calls),
        UNIT_TEST(test_swallowed_one_ways_cost_no_credit),
        UNIT_TEST(test_swallowed_return_frees_the_memory),
        UNIT_TEST(test_held_requests_are_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
