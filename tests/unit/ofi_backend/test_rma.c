/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of accesses that are reads of the provider, and the life of leases. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/process.h"
#include "ofi_backend/ofi_domain.h"
#include "party.h"

enum {
    LEN = 65536,
    SOME = 16384,
    TINY = 8,
    UNREG_MS = 20000,
    MANY = 100,
    MANY_AT_ONCE = 16,
    USES = 1024, /* of a slot of a table, until a cookie comes again */
};

static uint8_t exposed[LEN];
static uint8_t landing[LEN];
static unsigned reads;
static unsigned sends;
static struct amg_ofi_call counting;

static ssize_t count_readmsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    ssize_t code = fi_readmsg(ep, msg, flags);

    if (code == 0)
        reads++;
    return code;
}

static ssize_t count_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    ssize_t code = fi_send(ep, bytes, len, desc, to, context);

    if (code == 0)
        sends++;
    return code;
}

static ssize_t count_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    ssize_t code = fi_inject(ep, bytes, len, to);

    if (code == 0)
        sends++;
    return code;
}

/* Returns the number of operations that ended. */
static unsigned side_poll(struct party *side)
{
    struct amg_events events;
    unsigned count = 0;

    amg_events_init(&events);
    (void)amg_ofi_transport.ep.poll(side->ep, 16, &events);
    while (amg_list_pop(&events.done) != NULL)
        count++;
    assert_true(amg_list_is_empty(&events.arrived));
    return count;
}

/* The process that exposes memory, and the one that reads it. */
struct world {
    struct party owner;
    struct party reader;
    struct amg_mem *mem;
    struct amg_peer *peer;
    struct amg_segment segment;
    struct amg_remote remote;
};

static void world_open(struct world *world)
{
    memset(world, 0, sizeof(*world));
    reads = 0;
    party_open(&world->owner, 0, 2);
    party_open(&world->reader, 0, 2);
    world->segment = (struct amg_segment){exposed, LEN};
    assert_int_equal(amg_ofi_transport.bulk.reg(world->owner.domain,
                         &world->segment, 1, AMG_MEM_READ, &world->mem),
        HG_SUCCESS);
    amg_ofi_transport.bulk.key(world->mem, &world->remote.key);
    world->remote.at.segments = &world->segment;
    world->remote.at.count = 1;
    world->peer = party_meet(&world->reader, &world->owner);
}

static void world_close(struct world *world)
{
    amg_ofi_transport.addr.unref(world->reader.domain, world->peer);
    (void)party_close(&world->reader);
    if (world->mem != NULL)
        assert_int_equal(amg_ofi_transport.bulk.unreg(
                             world->owner.domain, world->mem, UNREG_MS),
            HG_SUCCESS);
    (void)party_close(&world->owner);
}

/* Reads so many bytes of the exposed memory, to the end. */
static void pull(struct world *world, uint64_t len)
{
    struct amg_segment segment = {landing, LEN};
    const struct amg_seg_iter local = {.segments = &segment, .count = 1};
    struct amg_op op;

    memset(&op, 0, sizeof(op));
    memset(landing, 0, sizeof(landing));
    for (uint64_t i = 0; i < len; i++)
        exposed[i] = (uint8_t)(i * 7 + len + 1);
    assert_int_equal(amg_ofi_transport.bulk.get(world->reader.ep,
                         (struct amg_target){world->peer, 0}, &local,
                         &world->remote, len, &op),
        HG_SUCCESS);
    while (side_poll(&world->reader) == 0)
        (void)side_poll(&world->owner);
    assert_int_equal(op.ret, HG_SUCCESS);
    assert_memory_equal(landing, exposed, len);
}

static void test_rma_first_access_of_some_bytes_needs_no_lease(void **state)
{
    struct world world;
    unsigned before = 0;

    (void)state;
    world_open(&world);
    pull(&world, TINY); /* now they are connected */
    pull(&world, SOME);
    assert_int_equal(reads, 0);
    amg_role.polls_always = true; /* or no lease is kept */
    pull(&world, SOME);
    amg_role.polls_always = false;
    assert_true(reads > 0);
    /* There was no poll since the lease became idle, so the reader still has
     * it. */
    before = reads;
    pull(&world, TINY);
    assert_int_equal(reads, before + 1);
    world_close(&world);
}

static void test_rma_tiny_accesses_ask_for_no_lease(void **state)
{
    struct world world;

    (void)state;
    world_open(&world);
    for (unsigned i = 0; i < 4; i++)
        pull(&world, TINY);
    assert_int_equal(reads, 0);
    world_close(&world);
}

static void test_rma_long_access_is_read(void **state)
{
    struct world world;

    (void)state;
    world_open(&world);
    pull(&world, LEN);
    assert_true(reads > 0);
    world_close(&world);
}

/* No thread polls for a class without contexts, so its leases are returned
 * first. */
static void test_rma_last_context_returns_its_leases(void **state)
{
    struct world world;

    (void)state;
    world_open(&world);
    amg_role.polls_always = true;
    pull(&world, LEN);
    pull(&world, LEN);
    amg_role.polls_always = false;
    (void)party_leave(&world.reader);
    assert_int_equal(
        amg_ofi_transport.bulk.unreg(world.owner.domain, world.mem, UNREG_MS),
        HG_SUCCESS);
    world.mem = NULL;
    world_close(&world);
}

/* A program that polls by itself may compute for long after a transfer: its
 * leases are returned with the last transfer that uses them. */
static void test_rma_reader_that_polls_no_more_holds_no_lease(void **state)
{
    struct world world;

    (void)state;
    world_open(&world);
    for (unsigned i = 0; i < 4; i++)
        pull(&world, LEN);
    assert_true(reads > 0);
    assert_int_equal(
        amg_ofi_transport.bulk.unreg(world.owner.domain, world.mem, UNREG_MS),
        HG_SUCCESS);
    world.mem = NULL;
    world_close(&world);
}

/* Messages beyond what a peer takes at once wait in the driver, not in the
 * provider. */
static void test_rma_many_messages_wait_for_answers(void **state)
{
    struct amg_segment segment = {landing, LEN};
    const struct amg_seg_iter local = {.segments = &segment, .count = 1};
    struct amg_op ops[MANY];
    struct world world;
    unsigned ended = 0;

    (void)state;
    world_open(&world);
    pull(&world, TINY);
    memset(ops, 0, sizeof(ops));
    sends = 0;
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(amg_ofi_transport.bulk.get(world.reader.ep,
                             (struct amg_target){world.peer, 0}, &local,
                             &world.remote, TINY, &ops[i]),
            HG_SUCCESS);
    assert_true(sends <= MANY_AT_ONCE);
    while (ended < MANY) {
        ended += side_poll(&world.reader);
        (void)side_poll(&world.owner);
    }
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(ops[i].ret, HG_SUCCESS);
    assert_true(sends >= 2 * MANY); /* of both sides */
    world_close(&world);
}

/* The owner answers late: no later transfer takes the bytes of one that was
 * cancelled, however many there were. */
static void test_rma_late_answers_reach_no_later_transfer(void **state)
{
    struct amg_segment segment = {landing, LEN};
    const struct amg_seg_iter local = {.segments = &segment, .count = 1};
    struct amg_op op;
    struct world world;

    (void)state;
    world_open(&world);
    pull(&world, LEN); /* writes all exposed bytes */
    for (unsigned i = 0; i <= USES; i++) {
        memset(&op, 0, sizeof(op));
        world.remote.at.into = i < USES ? 0 : TINY;
        assert_int_equal(amg_ofi_transport.bulk.get(world.reader.ep,
                             (struct amg_target){world.peer, 0}, &local,
                             &world.remote, TINY, &op),
            HG_SUCCESS);
        if (i == USES)
            continue;
        assert_int_equal(
            amg_ofi_transport.ep.cancel(world.reader.ep, &op), HG_SUCCESS);
        while (side_poll(&world.reader) == 0)
            continue;
        assert_int_equal(op.ret, HG_CANCELED);
    }
    while (side_poll(&world.reader) == 0)
        (void)side_poll(&world.owner);
    assert_int_equal(op.ret, HG_SUCCESS);
    assert_memory_equal(landing, exposed + TINY, TINY);
    world.remote.at.into = 0;
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rma_first_access_of_some_bytes_needs_no_lease),
        cmocka_unit_test(test_rma_tiny_accesses_ask_for_no_lease),
        cmocka_unit_test(test_rma_long_access_is_read),
        cmocka_unit_test(test_rma_many_messages_wait_for_answers),
        cmocka_unit_test(test_rma_late_answers_reach_no_later_transfer),
        cmocka_unit_test(test_rma_reader_that_polls_no_more_holds_no_lease),
        cmocka_unit_test(test_rma_last_context_returns_its_leases),
    };

    counting = *amg_ofi_call;
    counting.readmsg = count_readmsg;
    counting.send = count_send;
    counting.inject = count_inject;
    amg_ofi_call_set(&counting);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
