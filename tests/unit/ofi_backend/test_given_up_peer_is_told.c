/* SPDX-License-Identifier: BSD-3-Clause */
/* A post of the server fails for good, so that the server gives up a client
 * that lives. The client is told: its waiting calls end, and its next calls
 * succeed over a new connection, as do those of the server. If the client is
 * told late, over a connection that is no longer used, the new connection
 * stays. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_domain.h"
#include "ofi_backend/ofi_wire.h"
#include "party.h"

enum {
    LEN = 40,
    POLLS = 10000000, /* of both, until all has ended */
    POLLS_FEW = 1000,
};

static struct amg_ofi_call real;
static struct party server;
static struct party client;
static struct amg_peer *to_server; /* the server, as a peer of the client */
static struct amg_peer *to_client;
static int fail_kind; /* the next message of this kind fails; -1: none */
static bool keeps;    /* does not send the next DISCONNECT, but keeps it */
static struct amg_ofi_header kept;

static ssize_t call_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    const struct amg_ofi_header *header = bytes;
    int kind = header->kind & ~AMG_OFI_MAGIC_MASK;

    if (kind == fail_kind) {
        fail_kind = -1;
        return -FI_EIO;
    }
    if (keeps && kind == AMG_OFI_DISCONNECT) {
        assert_int_equal(len, sizeof(kept));
        kept = *header;
        keeps = false;
        return 0;
    }
    return real.inject(ep, bytes, len, to);
}

static void arrivals_answer(struct amg_ep *ep, struct amg_list *arrived)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(arrived)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);
        struct amg_buf *buf = NULL;

        assert_int_equal(
            amg_ofi_transport.msg.get_buf(ep, arrival->from, &buf), HG_SUCCESS);
        memset(buf->data, 1, arrival->len);
        assert_int_equal(amg_ofi_transport.msg.send_reply(
                             ep, arrival, buf, arrival->len, NULL),
            HG_SUCCESS);
        amg_ofi_transport.msg.release(ep, arrival);
    }
}

static void poll_both(void)
{
    const struct party *parties[] = {&client, &server};

    for (unsigned i = 0; i < 2; i++) {
        struct amg_events events;
        struct amg_link *link = NULL;

        amg_events_init(&events);
        (void)amg_ofi_transport.ep.poll(parties[i]->ep, 100, &events);
        while ((link = amg_list_pop(&events.done)) != NULL) {
            struct amg_op *op = amg_container_of(link, struct amg_op, link);

            if (op->data != NULL)
                amg_ofi_transport.msg.release_reply(parties[i]->ep, op);
            op->step = NULL; /* it has ended */
        }
        arrivals_answer(parties[i]->ep, &events.arrived);
    }
}

static void poll_often(void)
{
    for (unsigned i = 0; i < POLLS_FEW; i++)
        poll_both();
}

static void op_step(struct amg_op *op)
{
    (void)op;
}

static void post(
    const struct party *from, struct amg_peer *peer, struct amg_op *op)
{
    struct amg_buf *buf = NULL;

    memset(op, 0, sizeof(*op));
    op->step = op_step;
    assert_int_equal(
        amg_ofi_transport.msg.get_buf(from->ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, 1, LEN);
    assert_int_equal(amg_ofi_transport.msg.send_request(from->ep,
                         (struct amg_target){peer, 0}, buf, LEN, true, op),
        HG_SUCCESS);
}

static hg_return_t wait_for(const struct amg_op *op)
{
    for (unsigned i = 0; i < POLLS && op->step != NULL; i++)
        poll_both();
    assert_null(op->step);
    return op->ret;
}

static hg_return_t call(const struct party *from, struct amg_peer *peer)
{
    static struct amg_op op;

    post(from, peer, &op);
    return wait_for(&op);
}

static void test_idle_client_calls_anew(void **state)
{
    (void)state;
    fail_kind = AMG_OFI_REQUEST;
    assert_int_equal(call(&server, to_client), HG_HOSTUNREACH);
    assert_int_equal(fail_kind, -1);
    poll_often();
    assert_int_equal(call(&client, to_server), HG_SUCCESS);
    assert_int_equal(call(&server, to_client), HG_SUCCESS);
}

static void test_waiting_call_ends(void **state)
{
    (void)state;
    fail_kind = AMG_OFI_REPLY;
    assert_int_equal(call(&client, to_server), HG_HOSTUNREACH);
    assert_int_equal(fail_kind, -1);
    assert_true(fake_has_logged("it has given this process up"));
    assert_false(fake_has_logged("begins anew")); /* no check was needed */
    assert_int_equal(call(&client, to_server), HG_SUCCESS);
    assert_int_equal(call(&server, to_client), HG_SUCCESS);
}

static void test_told_late_keeps_the_new_connection(void **state)
{
    static struct amg_op op;

    (void)state;
    keeps = true;
    fail_kind = AMG_OFI_REQUEST;
    assert_int_equal(call(&server, to_client), HG_HOSTUNREACH);
    assert_false(keeps);
    assert_int_equal(call(&server, to_client), HG_SUCCESS);
    post(&client, to_server, &op);
    assert_int_equal(real.inject(amg_ofi_domain_of(server.domain)->fi.ep, &kept,
                         sizeof(kept), to_client->fi_addr),
        0);
    assert_int_equal(wait_for(&op), HG_SUCCESS);
    poll_often();
    fake_log_clear();
    assert_int_equal(call(&client, to_server), HG_SUCCESS);
    assert_int_equal(call(&server, to_client), HG_SUCCESS);
    assert_false(fake_has_logged("is not reached"));
}

static int start(void **state)
{
    (void)state;
    fake_start(NULL, 0);
    real = fake_call;
    fake_call.inject = call_inject;
    fail_kind = -1;
    keeps = false;
    party_open(&server, 0, 1);
    party_open(&client, 0, 1);
    to_server = party_meet(&client, &server);
    to_client = party_meet(&server, &client);
    assert_int_equal(call(&client, to_server), HG_SUCCESS);
    assert_int_equal(call(&server, to_client), HG_SUCCESS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    amg_ofi_transport.addr.unref(client.domain, to_server);
    amg_ofi_transport.addr.unref(server.domain, to_client);
    (void)party_close(&client);
    (void)party_close(&server);
    fake_stop();
    return 0;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_idle_client_calls_anew),
        UNIT_TEST(test_waiting_call_ends),
        UNIT_TEST(test_told_late_keeps_the_new_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
