/* SPDX-License-Identifier: BSD-3-Clause */
/* A request with 64 KiB, and such a reply, take one post of libfabric each. A
 * process has so many long requests at a peer as that takes, then no buffer for
 * more until one ends; the peer
 * refuses those beyond. Other messages of that length are dropped. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_domain.h"
#include "ofi_backend/ofi_msg.h"
#include "party.h"

enum { CREDITS = 16, LIMIT = CREDITS / 8 + 1, LEN = 65536 };

static struct amg_ofi_call real;
static struct party server;
static struct party client;
static struct amg_peer *peer; /* the server, as a peer of the client */
static struct amg_list held;  /* at the server */
static unsigned held_count;
static unsigned posts;
static unsigned ended;
static unsigned refused;
static bool is_kept; /* the replies stay with their operations */

static ssize_t call_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    posts++;
    return real.send(ep, bytes, len, desc, to, context);
}

static ssize_t call_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    posts++;
    return real.inject(ep, bytes, len, to);
}

static ssize_t call_readmsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    posts++;
    return real.readmsg(ep, msg, flags);
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
        if (op->data != NULL && !is_kept)
            amg_ofi_transport.msg.release_reply(client.ep, op);
    }
    while ((link = amg_list_pop(&events.arrived)) != NULL) /* late replies */
        amg_ofi_transport.msg.release(
            client.ep, amg_container_of(link, struct amg_arrival, link));
    (void)amg_ofi_transport.ep.poll(server.ep, 100, &events);
    while ((link = amg_list_pop(&events.arrived)) != NULL) {
        amg_list_push(&held, link);
        held_count++;
    }
}

static void poll_until(const unsigned *count, unsigned wanted)
{
    while (*count < wanted)
        poll_both();
    assert_int_equal(*count, wanted);
}

/* HG_SUCCESS: a request of `len` bytes, all `fill`, was posted. */
static hg_return_t post_long(
    struct amg_op *op, uint32_t len, int fill, bool wants_reply)
{
    struct amg_buf *buf = NULL;
    hg_return_t rc =
        amg_ofi_transport.msg.get_long_buf(client.ep, peer, len, &buf);

    if (rc != HG_SUCCESS)
        return rc;
    memset(op, 0, sizeof(*op));
    memset(buf->data, fill, len);
    assert_int_equal(
        amg_ofi_transport.msg.send_request(
            client.ep, (struct amg_target){peer, 0}, buf, len, wants_reply, op),
        HG_SUCCESS);
    return HG_SUCCESS;
}

/* Answers the oldest with its own bytes; releases it if it is one-way. */
static void answer_one(void)
{
    struct amg_link *link = amg_list_pop(&held);
    struct amg_arrival *arrival =
        amg_container_of(link, struct amg_arrival, link);
    struct amg_buf *buf = NULL;

    if (!arrival->is_one_way) {
        assert_int_equal(amg_ofi_transport.msg.get_long_buf(
                             server.ep, arrival->from, arrival->len, &buf),
            HG_SUCCESS);
        memcpy(buf->data, arrival->data, arrival->len);
        assert_int_equal(amg_ofi_transport.msg.send_reply(
                             server.ep, arrival, buf, arrival->len, NULL),
            HG_SUCCESS);
    }
    amg_ofi_transport.msg.release(server.ep, arrival);
}

/* Posts as many as there are buffers for. */
static unsigned post_all(struct amg_op *ops, bool wants_reply)
{
    unsigned count = 0;

    while (count < CREDITS &&
           post_long(&ops[count], LEN, 1, wants_reply) == HG_SUCCESS)
        count++;
    return count;
}

static void test_long_call_is_one_post_each_way(void **state)
{
    struct amg_op op;

    (void)state;
    is_kept = true;
    posts = 0;
    assert_int_equal(post_long(&op, LEN, 7, true), HG_SUCCESS);
    poll_until(&held_count, 1);
    assert_int_equal(posts, 1);
    answer_one();
    poll_until(&ended, 1);
    assert_int_equal(posts, 2);
    assert_int_equal(op.ret, HG_SUCCESS);
    assert_int_equal(op.len, LEN);
    for (unsigned i = 0; i < LEN; i++)
        assert_int_equal(((unsigned char *)op.data)[i], 7);
    amg_ofi_transport.msg.release_reply(client.ep, &op);
}

static void test_long_requests_are_limited(void **state)
{
    struct amg_op ops[CREDITS];
    struct amg_buf *buf = NULL;

    (void)state;
    assert_int_equal(post_all(ops, true), LIMIT);
    assert_int_equal(post_long(&ops[LIMIT], LEN, 1, true), HG_AGAIN);
    poll_until(&held_count, LIMIT);
    answer_one();
    poll_until(&ended, 1);
    /* A buffer counts while it is not sent. */
    assert_int_equal(
        amg_ofi_transport.msg.get_long_buf(client.ep, peer, LEN, &buf),
        HG_SUCCESS);
    assert_int_equal(post_long(&ops[LIMIT], LEN, 1, true), HG_AGAIN);
    amg_ofi_transport.msg.put_buf(client.ep, buf);
    assert_int_equal(
        amg_ofi_transport.ep.cancel(client.ep, &ops[1]), HG_SUCCESS);
    while (!amg_list_is_empty(&held))
        answer_one();
    poll_until(&ended, LIMIT);
    while (peer->requests.longs > 0)
        poll_both();
    assert_int_equal(post_all(ops, true), LIMIT);
    poll_until(&held_count, 2 * LIMIT);
    while (!amg_list_is_empty(&held))
        answer_one();
    poll_until(&ended, 2 * LIMIT);
}

static void test_long_oneway_requests_count_until_credits_are_back(void **state)
{
    struct amg_op ops[CREDITS];

    (void)state;
    assert_int_equal(post_all(ops, false), LIMIT);
    poll_until(&held_count, LIMIT);
    assert_int_equal(post_long(&ops[LIMIT], LEN, 1, true), HG_AGAIN);
    while (!amg_list_is_empty(&held))
        answer_one();
    while (peer->calls.unanswered > 0)
        poll_both();
    assert_int_equal(post_all(ops, true), LIMIT);
    poll_until(&held_count, 2 * LIMIT);
    while (!amg_list_is_empty(&held))
        answer_one();
    poll_until(&ended, 2 * LIMIT);
}

static void test_long_requests_beyond_the_limit_are_refused(void **state)
{
    struct amg_op ops[CREDITS];

    (void)state;
    peer->requests.long_limit = CREDITS; /* as no peer of ours has it */
    assert_int_equal(post_all(ops, true), CREDITS);
    poll_until(&refused, CREDITS - LIMIT);
    assert_int_equal(held_count, LIMIT);
    assert_true(fake_has_logged("more requests came than"));
    while (!amg_list_is_empty(&held))
        answer_one();
    poll_until(&ended, CREDITS);
}

static void test_long_message_of_another_kind_is_dropped(void **state)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(client.domain);
    struct amg_buf *buf = NULL;
    struct amg_op op;

    (void)state;
    assert_int_equal(
        amg_ofi_transport.msg.get_long_buf(client.ep, peer, LEN, &buf),
        HG_SUCCESS);
    memset(buf->data, 0, LEN);
    amg_bias_lock(&domain->lock);
    amg_ofi_send_address_locked(
        amg_ofi_msgbuf_of_buf(buf), peer, 0, 0, AMG_OFI_PUT, LEN);
    amg_ofi_send_locked(amg_ofi_msgbuf_of_buf(buf));
    amg_bias_unlock(&domain->lock);
    assert_int_equal(post_long(&op, LEN, 1, true), HG_SUCCESS);
    poll_until(&held_count, 1);
    assert_true(fake_has_logged("of an unknown form"));
    answer_one();
    poll_until(&ended, 1);
}

static int start(void **state)
{
    struct amg_op op;

    (void)state;
    fake_start(NULL, 0);
    real = fake_call;
    fake_call.send = call_send;
    fake_call.inject = call_inject;
    fake_call.readmsg = call_readmsg;
    is_kept = false;
    amg_list_init(&held);
    party_open(&server, CREDITS, 1);
    party_open(&client, CREDITS, 1);
    peer = party_meet(&client, &server);
    /* There is none for a peer that was never heard of. */
    assert_int_equal(post_long(&op, LEN, 1, true), HG_AGAIN);
    ended = 0;
    while (peer->state != AMG_OFI_PEER_OPEN) {
        struct amg_buf *buf = NULL;

        memset(&op, 0, sizeof(op));
        assert_int_equal(
            amg_ofi_transport.msg.get_buf(client.ep, peer, &buf), HG_SUCCESS);
        assert_int_equal(amg_ofi_transport.msg.send_request(client.ep,
                             (struct amg_target){peer, 0}, buf, 0, false, &op),
            HG_SUCCESS);
        poll_until(&ended, 1);
        while (amg_list_is_empty(&held))
            poll_both();
        answer_one();
    }
    while (peer->calls.unanswered > 0)
        poll_both();
    ended = held_count = refused = 0;
    return 0;
}

static int stop(void **state)
{
    struct amg_link *link = NULL;

    (void)state;
    while ((link = amg_list_pop(&held)) != NULL)
        amg_ofi_transport.msg.release(
            server.ep, amg_container_of(link, struct amg_arrival, link));
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
        UNIT_TEST(test_long_call_is_one_post_each_way),
        UNIT_TEST(test_long_requests_are_limited),
        UNIT_TEST(test_long_oneway_requests_count_until_credits_are_back),
        UNIT_TEST(test_long_requests_beyond_the_limit_are_refused),
        UNIT_TEST(test_long_message_of_another_kind_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
