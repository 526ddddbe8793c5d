/* SPDX-License-Identifier: BSD-3-Clause */
/* Wakeups by the descriptor of the provider's queue, whatever came before. Two
 * domains of this process. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_domain.h"
#include "party.h"

enum { LEN = 64 << 20, TICKS_MAX = 30 };

/* The server arms whenever it can. */
static void put_while_server_waits(const struct party *client,
    const struct party *server, struct amg_peer *peer, struct amg_mem *mem,
    void *local)
{
    const struct amg_segment here = {local, LEN};
    const struct amg_segment there = {NULL, LEN};
    const struct amg_seg_iter place = {.segments = &here, .count = 1};
    struct amg_remote remote = {.at = {.segments = &there, .count = 1}};
    struct amg_events events;
    struct amg_op op;

    memset(&op, 0, sizeof(op));
    amg_events_init(&events);
    amg_ofi_transport.bulk.key(mem, &remote.key);
    assert_int_equal(
        amg_ofi_transport.bulk.put(client->ep, (struct amg_target){peer, 0},
            &place, &remote, LEN, &op),
        HG_SUCCESS);
    while (amg_list_is_empty(&events.done)) {
        (void)amg_ofi_transport.ep.poll(client->ep, 16, &events);
        if (!amg_ofi_transport.ep.arm(server->ep))
            (void)amg_ofi_transport.ep.poll(server->ep, 16, &events);
    }
    assert_int_equal(op.ret, HG_SUCCESS);
}

/* After some time the queue's descriptor wakes the endpoint again. */
static void wait_is_asleep(const struct party *party)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of(party->domain);
    const struct amg_ofi_ep *ep = amg_ofi_ep_of(party->ep);
    unsigned tick = domain->clock.tick;
    struct amg_events events;

    amg_events_init(&events);
    do {
        (void)amg_ofi_transport.ep.poll(party->ep, 16, &events);
    } while ((!amg_ofi_transport.ep.arm(party->ep) || !ep->is_joined) &&
             domain->clock.tick - tick < TICKS_MAX);
    assert_true(ep->is_joined);
}

/* The provider's descriptor is readable while bytes of a long access come in,
 * of which the queue says nothing. */
static void test_wait_long_access_keeps_the_descriptor(void **state)
{
    unsigned char *exposed = calloc(1, LEN);
    unsigned char *local = malloc(LEN);
    const struct amg_segment segment = {exposed, LEN};
    struct party server;
    struct party client;
    struct amg_peer *peer = NULL;
    struct amg_mem *mem = NULL;

    (void)state;
    assert_true(exposed != NULL && local != NULL);
    fake_start(NULL, 0);
    party_open(&server, 0, 1);
    party_open(&client, 0, 1);
    peer = party_meet(&client, &server);
    assert_int_equal(amg_ofi_transport.bulk.reg(
                         server.domain, &segment, 1, AMG_MEM_WRITE, &mem),
        HG_SUCCESS);
    put_while_server_waits(&client, &server, peer, mem, local);
    wait_is_asleep(&server);
    assert_int_equal(
        amg_ofi_transport.bulk.unreg(server.domain, mem, 1000), HG_SUCCESS);
    amg_ofi_transport.addr.unref(client.domain, peer);
    (void)party_close(&client);
    (void)party_close(&server);
    fake_stop();
    free(local);
    free(exposed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_long_access_keeps_the_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
