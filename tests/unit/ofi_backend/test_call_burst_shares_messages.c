/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that share a message: a lone call leaves at once, and those of a burst
 * with the next poll, in order, in few messages; each is cancelled, refused and
 * ended by itself; and packed messages of a wrong form are dropped. Two domains
 * of this process, and a provider that counts posts, or has no room. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_domain.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_msg.h"
#include "party.h"

enum { BURST = 40, LEN = 40, FEW = 4, POLLS = 20 };

static struct party server;
static struct party client;
static struct amg_peer *peer; /* the server, as a peer of the client */
static struct amg_list held;  /* at the server */
static unsigned held_count;
static unsigned came; /* requests, whose numbers are in order */
static unsigned ended;
static unsigned late;
static struct amg_op ops[BURST + 1];

static unsigned posts; /* messages that the provider took */
static int refusal;    /* of all posts; 0: none */

static ssize_t call_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    ssize_t code =
        refusal != 0 ? refusal : fi_send(ep, bytes, len, desc, to, context);

    posts += code == 0 ? 1 : 0;
    return code;
}

static ssize_t call_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    ssize_t code = refusal != 0 ? refusal : fi_inject(ep, bytes, len, to);

    posts += code == 0 ? 1 : 0;
    return code;
}

static void poll_client(void)
{
    struct amg_events events;
    struct amg_link *link = NULL;

    amg_events_init(&events);
    (void)amg_ofi_transport.ep.poll(client.ep, 100, &events);
    while ((link = amg_list_pop(&events.done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        ended++;
        if (op->data != NULL) {
            assert_int_equal(op->len, LEN);
            assert_int_equal(*(unsigned *)op->data, op - ops);
            amg_ofi_transport.msg.release_reply(client.ep, op);
        }
    }
    while ((link = amg_list_pop(&events.arrived)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);

        assert_true(arrival->is_late);
        late++;
        amg_ofi_transport.msg.release(client.ep, arrival);
    }
}

static void poll_server(void)
{
    struct amg_events events;
    struct amg_link *link = NULL;

    amg_events_init(&events);
    (void)amg_ofi_transport.ep.poll(server.ep, 100, &events);
    while ((link = amg_list_pop(&events.arrived)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);

        assert_int_equal(arrival->len, LEN);
        assert_int_equal((uintptr_t)arrival->data % 8, 0);
        if (*(unsigned *)arrival->data < BURST)
            assert_int_equal(*(unsigned *)arrival->data, came++);
        amg_list_push(&held, link);
        held_count++;
    }
}

static void poll_both(void)
{
    poll_client();
    poll_server();
}

static void answer_one(void)
{
    struct amg_arrival *arrival =
        amg_container_of(amg_list_pop(&held), struct amg_arrival, link);
    struct amg_buf *buf = NULL;

    if (!arrival->is_one_way) {
        assert_int_equal(
            amg_ofi_transport.msg.get_buf(server.ep, arrival->from, &buf),
            HG_SUCCESS);
        memcpy(buf->data, arrival->data, LEN);
        assert_int_equal(amg_ofi_transport.msg.send_reply(
                             server.ep, arrival, buf, LEN, NULL),
            HG_SUCCESS);
    }
    amg_ofi_transport.msg.release(server.ep, arrival);
    held_count--;
}

static void post(unsigned number, bool wants_reply)
{
    struct amg_op *op = &ops[number];
    struct amg_buf *buf = NULL;

    memset(op, 0, sizeof(*op));
    assert_int_equal(
        amg_ofi_transport.msg.get_buf(client.ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, (int)number, LEN);
    memcpy(buf->data, &number, sizeof(number));
    assert_int_equal(
        amg_ofi_transport.msg.send_request(
            client.ep, (struct amg_target){peer, 0}, buf, LEN, wants_reply, op),
        HG_SUCCESS);
}

/* Two connected processes with nothing under way. */
static void begin(void)
{
    fake_start(NULL, 0);
    fake_call.send = call_send;
    fake_call.inject = call_inject;
    held_count = came = ended = late = 0;
    refusal = 0;
    amg_list_init(&held);
    /* A peer has credits for a burst from the start. */
    setenv("AMALGAM_MAX_REQUEST_BYTES", "1073741824", 1);
    party_open(&server, 0, 1);
    party_open(&client, 0, 1);
    peer = party_meet(&client, &server);
    post(BURST, true);
    while (held_count == 0)
        poll_both();
    answer_one();
    while (ended == 0)
        poll_both();
    poll_both();
    ended = 0;
    posts = 0;
}

static void end(void)
{
    while (held_count > 0)
        answer_one();
    amg_ofi_transport.addr.unref(client.domain, peer);
    (void)party_close(&client);
    (void)party_close(&server);
    fake_stop();
    unsetenv("AMALGAM_MAX_REQUEST_BYTES");
}

static const struct amg_packer *packer_of(const struct party *party)
{
    return &amg_ofi_domain_of(party->domain)->packer;
}

static void test_call_that_is_alone_leaves_at_once(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < FEW; i++) {
        post(i, true);
        assert_int_equal(posts, 2 * i + 1);
        while (held_count == 0)
            poll_server();
        answer_one();
        assert_int_equal(posts, 2 * i + 2);
        while (ended == i)
            poll_client();
    }
    assert_int_equal(packer_of(&client)->counts.messages, 0);
    end();
}

static void burst_ends_well(unsigned most)
{
    for (unsigned i = 0; i < BURST; i++)
        post(i, i % 5 != 4);
    assert_int_equal(posts, most == BURST ? BURST : 1);
    while (came < BURST)
        poll_both();
    assert_in_range(posts, 1, most);
    posts = 0;
    while (held_count > 0)
        answer_one();
    while (ended < BURST)
        poll_both();
    for (unsigned i = 0; i < BURST; i++)
        assert_int_equal(ops[i].ret, HG_SUCCESS);
    assert_in_range(posts, 1, most);
}

static void test_burst_takes_few_messages_and_keeps_its_order(void **state)
{
    (void)state;
    begin();
    burst_ends_well(3);
    assert_int_equal(packer_of(&client)->counts.calls, BURST - 1);
    end();
}

static void test_burst_without_packing_takes_a_message_for_each(void **state)
{
    (void)state;
    setenv("AMALGAM_PACK_BYTES", "0", 1);
    begin();
    burst_ends_well(BURST);
    assert_int_equal(packer_of(&client)->counts.messages, 0);
    end();
    unsetenv("AMALGAM_PACK_BYTES");
}

static void test_calls_for_which_there_is_no_room_share_messages(void **state)
{
    (void)state;
    begin();
    refusal = -FI_EAGAIN;
    for (unsigned i = 0; i < BURST; i++) {
        post(i, true);
        if (i % 10 == 0)
            poll_both();
    }
    assert_int_equal(posts, 0);
    refusal = 0;
    while (came < BURST)
        poll_both();
    assert_in_range(posts, 1, BURST / 10 + 2);
    while (held_count > 0)
        answer_one();
    while (ended < BURST)
        poll_both();
    end();
}

static void test_calls_leave_at_once_while_a_thread_sleeps(void **state)
{
    (void)state;
    begin();
    while (!amg_ofi_transport.ep.arm(client.ep))
        poll_client();
    for (unsigned i = 0; i < FEW; i++)
        post(i, true);
    assert_int_equal(posts, FEW);
    poll_client();
    end();
}

/* Calls that were kept leave before a thread sleeps. */
static void test_calls_leave_before_a_thread_sleeps(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < FEW; i++)
        post(i, true);
    assert_int_equal(posts, 1);
    (void)amg_ofi_transport.ep.arm(client.ep);
    assert_int_equal(posts, 2);
    poll_client();
    end();
}

static void test_cancel_of_one_leaves_the_others_alone(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < FEW; i++)
        post(i, true);
    assert_int_equal(
        amg_ofi_transport.ep.cancel(client.ep, &ops[2]), HG_SUCCESS);
    while (came < FEW)
        poll_both();
    while (held_count > 0)
        answer_one();
    while (ended < FEW || late < 1)
        poll_both();
    for (unsigned i = 0; i < FEW; i++)
        assert_int_equal(ops[i].ret, i == 2 ? HG_CANCELED : HG_SUCCESS);
    assert_int_equal(late, 1);
    end();
}

static void test_loss_of_the_peer_ends_kept_calls(void **state)
{
    (void)state;
    begin();
    post(0, true);
    refusal = -FI_EIO;
    for (unsigned i = 1; i < FEW; i++)
        post(i, i != FEW - 1);
    while (ended < FEW)
        poll_client();
    refusal = 0;
    for (unsigned i = 0; i < FEW - 1; i++)
        assert_int_equal(ops[i].ret, HG_HOSTUNREACH);
    assert_true(amg_packer_is_empty(packer_of(&client)));
    for (unsigned i = 0; i < POLLS; i++)
        poll_server();
    /* The next calls connect anew. */
    came = 0;
    while (held_count > 0)
        answer_one();
    ended = 0;
    for (unsigned i = 0; i < FEW; i++)
        post(i, true);
    while (came < FEW)
        poll_both();
    while (held_count > 0)
        answer_one();
    while (ended < FEW)
        poll_both();
    end();
}

static void test_close_of_the_endpoint_ends_kept_calls(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < FEW; i++)
        post(i, true);
    assert_int_equal(party_leave(&client), FEW);
    assert_true(amg_packer_is_empty(packer_of(&client)));
    while (came < FEW)
        poll_server();
    end();
}

/* The server receives a message with this body from the client. */
static void say(const void *body, uint32_t len, uint32_t count)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(server.domain);
    struct amg_ofi_header header = {.kind = AMG_OFI_MAGIC | AMG_OFI_PACK,
        .cookie = count,
        .token = peer->conn.my_token};
    unsigned char *bytes = malloc(sizeof(header) + len);
    const struct fi_cq_data_entry entry = {
        .buf = bytes, .len = sizeof(header) + len, .flags = FI_RECV};

    assert_non_null(bytes);
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), body, len);
    amg_bias_lock(&domain->lock);
    domain->in.receives[0].work.done(
        domain, &domain->in.receives[0].work, &entry, 0);
    amg_bias_unlock(&domain->lock);
    free(bytes);
    poll_server();
}

static void test_packed_message_of_a_wrong_form_is_dropped(void **state)
{
    static unsigned char bytes[8192];
    struct amg_pack_head head = {.kind = AMG_OFI_ONEWAY, .len = LEN};
    const uint32_t part = amg_pack_part_len(LEN);
    uint32_t count = (uint32_t)sizeof(bytes) / part;

    (void)state;
    begin();
    for (uint32_t i = 0; i < sizeof(bytes) / part; i++) {
        memset(bytes + i * part, 0xff, part); /* no number of a call */
        memcpy(bytes + i * part, &head, sizeof(head));
    }
    say(bytes, part, 0);
    say(bytes, part, 2);
    say(bytes, part - 1, 1);
    say(bytes, 2 * part, 1);
    say(bytes, sizeof(head) - 1, 1);
    say(bytes, count * part, count); /* longer than any */
    head.kind = AMG_OFI_GET;
    memcpy(bytes, &head, sizeof(head));
    say(bytes, part, 1);
    head.kind = AMG_OFI_PACK;
    memcpy(bytes, &head, sizeof(head));
    say(bytes, part, 1);
    assert_int_equal(held_count, 0);
    assert_true(fake_has_logged("a message of unknown form"));
    head.kind = AMG_OFI_ONEWAY;
    memcpy(bytes, &head, sizeof(head));
    say(bytes, 3 * part, 3);
    assert_int_equal(held_count, 3);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_that_is_alone_leaves_at_once),
        cmocka_unit_test(test_burst_takes_few_messages_and_keeps_its_order),
        cmocka_unit_test(test_burst_without_packing_takes_a_message_for_each),
        cmocka_unit_test(test_calls_for_which_there_is_no_room_share_messages),
        cmocka_unit_test(test_calls_leave_at_once_while_a_thread_sleeps),
        cmocka_unit_test(test_calls_leave_before_a_thread_sleeps),
        cmocka_unit_test(test_cancel_of_one_leaves_the_others_alone),
        cmocka_unit_test(test_loss_of_the_peer_ends_kept_calls),
        cmocka_unit_test(test_close_of_the_endpoint_ends_kept_calls),
        cmocka_unit_test(test_packed_message_of_a_wrong_form_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
