/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes from the network: whatever a peer sends, this process survives, keeps
 * to its memory, and answers other peers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_domain.h"

enum {
    MESSAGES = 60000,
    POLL_EVERY = 64,
    LEN = 65536,
    LEASES = 6000,
    LEASES_MAX = 4096
};

static uint8_t exposed[LEN];

/* A domain, and a peer that the test plays. */
struct world {
    struct amg_domain *domain;
    struct amg_ep *ep;
    struct amg_mem *mem;
    struct amg_peer *peer;
};

static struct amg_ofi_domain *inside(const struct world *world)
{
    return amg_ofi_domain_of(world->domain);
}

static void world_open(struct world *world)
{
    const struct amg_open how = {.info = "127.0.0.1",
        .protocol = "tcp",
        .is_listening = true,
        .max_contexts = 2};
    const struct amg_segment segment = {exposed, LEN};

    assert_int_equal(
        amg_ofi_transport.domain.open(&how, &world->domain), HG_SUCCESS);
    assert_int_equal(
        amg_ofi_transport.ep.open(world->domain, 0, &world->ep), HG_SUCCESS);
    assert_int_equal(amg_ofi_transport.bulk.reg(
                         world->domain, &segment, 1, AMG_MEM_READ, &world->mem),
        HG_SUCCESS);
    assert_int_equal(amg_ofi_transport.addr.parse(
                         world->domain, "tcp://127.0.0.1:1", &world->peer),
        HG_SUCCESS);
}

static void world_poll(struct world *world)
{
    struct amg_events events;
    struct amg_link *link = NULL;

    amg_events_init(&events);
    (void)amg_ofi_transport.ep.poll(world->ep, 1000, &events);
    assert_true(amg_list_is_empty(&events.done));
    while ((link = amg_list_pop(&events.arrived)) != NULL)
        amg_ofi_transport.msg.release(
            world->ep, amg_container_of(link, struct amg_arrival, link));
}

static void world_close(struct world *world)
{
    struct amg_events events;

    amg_events_init(&events);
    while (amg_ofi_transport.bulk.unreg(world->domain, world->mem, 1000) !=
           HG_SUCCESS)
        world_poll(world);
    amg_ofi_transport.addr.unref(world->domain, world->peer);
    amg_ofi_transport.ep.close(world->ep, &events);
    amg_ofi_transport.domain.close(world->domain);
}

/* As if the provider had received it. */
static void receive(struct world *world, const void *bytes, size_t len)
{
    struct amg_ofi_domain *domain = inside(world);
    struct fi_cq_data_entry entry = {.len = len, .flags = FI_RECV};
    uint8_t *copy = malloc(len == 0 ? 1 : len);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    entry.buf = copy;
    amg_bias_lock(&domain->lock);
    domain->in.receives[0].work.done(
        domain, &domain->in.receives[0].work, &entry, 0);
    /* The provider does not know this work. */
    domain->in.receives[0].sum = 0;
    domain->in.receives[0].end = 0;
    amg_bias_unlock(&domain->lock);
    free(copy);
}

static void connect_send(struct world *world)
{
    struct {
        struct amg_ofi_header header;
        struct amg_ofi_connect connect;
    } message = {
        .header = {.kind = AMG_OFI_MAGIC | AMG_OFI_CONNECT},
        .connect = {.magic = AMG_OFI_CONNECT_MAGIC,
            .version = AMG_OFI_VERSION,
            .addr_len = world->peer->addr_len,
            .incarnation = 77,
            .token = 9,
            .message_len = inside(world)->message_max},
    };

    memcpy(message.connect.addr, world->peer->addr, world->peer->addr_len);
    receive(world, &message, sizeof(message));
}

static void fill_random(void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)(rand() >> 7);
}

static void test_poll_random_bytes_are_dropped(void **state)
{
    struct world world;
    uint8_t bytes[300];

    (void)state;
    world_open(&world);
    for (unsigned i = 0; i < MESSAGES; i++) {
        size_t len = (size_t)rand() % sizeof(bytes);

        fill_random(bytes, len);
        receive(&world, bytes, len);
    }
    world_poll(&world);
    assert_int_equal(world.peer->state, AMG_OFI_PEER_UNKNOWN);
    world_close(&world);
}

/* A known peer sends wrong values in every field but those that identify it. */
static void test_poll_wrong_fields_of_a_peer_do_no_harm(void **state)
{
    struct world world;
    uint8_t bytes[300];
    struct amg_key key;

    (void)state;
    world_open(&world);
    amg_ofi_transport.bulk.key(world.mem, &key);
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct amg_ofi_header header;
        size_t len = sizeof(header) + (size_t)rand() % 200;

        connect_send(&world);
        assert_true(world.peer->state == AMG_OFI_PEER_CLAIMED ||
                    world.peer->state == AMG_OFI_PEER_OPEN);
        fill_random(bytes, len);
        /* Half of the accesses name exposed memory. */
        if (i % 2 == 0)
            memcpy(bytes + sizeof(header), key.bytes, sizeof(key.bytes));
        fill_random(&header, sizeof(header));
        header.kind =
            (uint8_t)(AMG_OFI_MAGIC | (unsigned)rand() % AMG_OFI_KIND_COUNT);
        header.token = world.peer->conn.token;
        header.credits = (uint8_t)(rand() % 3);
        header.target = (uint8_t)(rand() % 3);
        header.cookie = (uint32_t)rand() % 4;
        memcpy(bytes, &header, sizeof(header));
        receive(&world, bytes, len);
        if (i % POLL_EVERY == 0)
            world_poll(&world);
    }
    for (unsigned i = 0; i < LEN; i++)
        assert_int_equal(exposed[i], 0);
    world_close(&world);
}

/* The peer asks for the same memory again and again, and returns no lease. */
static void test_poll_leases_of_one_peer_are_bounded(void **state)
{
    struct {
        struct amg_ofi_header header;
        struct amg_ofi_lease_ask ask;
    } message = {.header = {.kind = AMG_OFI_MAGIC | AMG_OFI_LEASE}};
    struct world world;
    struct amg_key key;

    (void)state;
    world_open(&world);
    amg_ofi_transport.bulk.key(world.mem, &key);
    memcpy(&message.ask, key.bytes, sizeof(message.ask));
    connect_send(&world);
    message.header.token = world.peer->conn.token;
    for (unsigned i = 0; i < LEASES; i++) {
        message.header.cookie = i;
        receive(&world, &message, sizeof(message));
    }
    assert_in_range(world.peer->rma.granted, 1, LEASES_MAX);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poll_random_bytes_are_dropped),
        cmocka_unit_test(test_poll_wrong_fields_of_a_peer_do_no_harm),
        cmocka_unit_test(test_poll_leases_of_one_peer_are_bounded),
    };

    srand(5);
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    setenv("AMALGAM_CONNECT_TIMEOUT_MS", "500", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
