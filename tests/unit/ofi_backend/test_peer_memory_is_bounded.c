/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a peer that has called: at most 4 KiB of the library's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ofi_backend/ofi_domain.h"
#include "party.h"

/* More clients would show the same: each has libfabric's buffers. */
enum { CLIENTS = 8, LIMIT_BYTES = 4096, LEN = 8 };

static uint64_t bytes_now(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.bytes;
}

/* Answers all arrived requests. */
static void serve(struct party *server)
{
    struct amg_events events;
    struct amg_link *link = NULL;

    amg_events_init(&events);
    (void)amg_ofi_transport.ep.poll(server->ep, 16, &events);
    while ((link = amg_list_pop(&events.arrived)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);
        struct amg_buf *buf = NULL;

        assert_int_equal(
            amg_ofi_transport.msg.get_buf(server->ep, arrival->from, &buf),
            HG_SUCCESS);
        assert_int_equal(
            amg_ofi_transport.msg.send_reply(server->ep, arrival, buf, 0, NULL),
            HG_SUCCESS);
        amg_ofi_transport.msg.release(server->ep, arrival);
    }
}

/* One request and its answer. */
static void call(
    struct party *client, struct party *server, struct amg_peer *peer)
{
    struct amg_op op;
    struct amg_buf *buf = NULL;
    struct amg_events events;

    memset(&op, 0, sizeof(op));
    amg_events_init(&events);
    assert_int_equal(
        amg_ofi_transport.msg.get_buf(client->ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, 1, LEN);
    assert_int_equal(amg_ofi_transport.msg.send_request(client->ep,
                         (struct amg_target){peer, 0}, buf, LEN, true, &op),
        HG_SUCCESS);
    while (amg_list_is_empty(&events.done)) {
        serve(server);
        (void)amg_ofi_transport.ep.poll(client->ep, 16, &events);
    }
    assert_int_equal(op.ret, HG_SUCCESS);
    amg_ofi_transport.msg.release_reply(client->ep, &op);
}

/* Connects all clients to the server. Returns the bytes per peer: one at the
 * server and one at the client. */
static uint64_t bytes_of_peer(struct party *clients, struct party *server)
{
    uint64_t before = bytes_now();

    for (unsigned i = 0; i < CLIENTS; i++) {
        struct amg_peer *peer = party_meet(&clients[i], server);

        call(&clients[i], server, peer);
        amg_ofi_transport.addr.unref(clients[i].domain, peer);
    }
    return (bytes_now() - before) / (2 * CLIENTS);
}

static void test_peer_memory_is_small(void **state)
{
    struct party servers[2];
    struct party clients[CLIENTS];
    uint64_t each = 0;

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        party_open(&servers[i], 0, 1);
    for (unsigned i = 0; i < CLIENTS; i++)
        party_open(&clients[i], 0, 1);
    /* Memory that the clients allocate once belongs to the first. */
    (void)bytes_of_peer(clients, &servers[0]);
    each = bytes_of_peer(clients, &servers[1]);
    print_message("%u bytes for each peer\n", (unsigned)each);
    assert_true(each > 0 && each <= LIMIT_BYTES);
    for (unsigned i = 0; i < CLIENTS; i++)
        (void)party_close(&clients[i]);
    for (unsigned i = 0; i < 2; i++)
        (void)party_close(&servers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peer_memory_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
