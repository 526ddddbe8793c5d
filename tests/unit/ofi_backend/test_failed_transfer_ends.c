/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends of puts, gets and leases after failures: delayed reads, full queues, and
 * lack of memory. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "log_kept.h"
#include "ofi_backend/ofi_rma.h"
#include "ofi_backend/ofi_domain.h"
#include "party.h"

enum {
    LEN = 4 << 20, /* four fragments */
    SOME = 65536,
    UNREG_MS = 20000,
    HELD_MAX = 32,
    BUFS_MAX = 4096,
    POLLS = 100,
    SLOT_USES = 4096, /* uses of a slot until its number repeats */
};

static uint8_t exposed[LEN];
static uint8_t landing[LEN];

/* Reads that are kept back while `holding`, and never posted. */
static bool holding;
static unsigned room; /* room for so many; then EAGAIN */
static void *held[HELD_MAX];
static unsigned held_count;
static unsigned mrs_open;
static struct fid *mrs[HELD_MAX];

static ssize_t call_readmsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    if (!holding)
        return fi_readmsg(ep, msg, flags);
    if (room == 0)
        return -FI_EAGAIN;
    room--;
    assert_true(held_count < HELD_MAX);
    held[held_count++] = msg->context;
    return 0;
}

static int call_mr_reg(struct fid_domain *domain, const void *bytes, size_t len,
    uint64_t access, uint64_t key, struct fid_mr **ret_mr)
{
    int code = fi_mr_reg(domain, bytes, len, access, 0, key, 0, ret_mr, NULL);

    assert_true(mrs_open < HELD_MAX);
    if (code == 0)
        mrs[mrs_open++] = &(*ret_mr)->fid;
    return code;
}

static int call_close(struct fid *fid)
{
    for (unsigned i = 0; i < mrs_open; i++)
        if (mrs[i] == fid) {
            mrs[i] = mrs[--mrs_open];
            break;
        }
    return fi_close(fid);
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
    return count;
}

/* The process that exposes memory, and the one that reads it. */
struct world {
    struct party owner;
    struct party reader;
    struct amg_mem *mem;
    struct amg_peer *peer;
    struct amg_segment segment;
    struct amg_segment local;
    struct amg_remote remote;
};

static void world_open(struct world *world)
{
    memset(world, 0, sizeof(*world));
    holding = false;
    held_count = 0;
    party_open(&world->owner, 0, 1);
    party_open(&world->reader, 0, 1);
    world->segment = (struct amg_segment){exposed, LEN};
    world->local = (struct amg_segment){landing, LEN};
    assert_int_equal(amg_ofi_transport.bulk.reg(world->owner.domain,
                         &world->segment, 1, AMG_MEM_READ, &world->mem),
        HG_SUCCESS);
    amg_ofi_transport.bulk.key(world->mem, &world->remote.key);
    world->remote.at.segments = &world->segment;
    world->remote.at.count = 1;
    world->peer = party_meet(&world->reader, &world->owner);
}

static hg_return_t unreg(struct world *world, unsigned timeout_ms)
{
    return amg_ofi_transport.bulk.unreg(
        world->owner.domain, world->mem, timeout_ms);
}

static void world_close(struct world *world)
{
    amg_ofi_transport.addr.unref(world->reader.domain, world->peer);
    (void)party_close(&world->reader);
    if (world->mem != NULL)
        assert_int_equal(unreg(world, UNREG_MS), HG_SUCCESS);
    (void)party_close(&world->owner);
}

static void get(struct world *world, uint64_t len, struct amg_op *op)
{
    const struct amg_seg_iter local = {.segments = &world->local, .count = 1};

    memset(op, 0, sizeof(*op));
    assert_int_equal(amg_ofi_transport.bulk.get(world->reader.ep,
                         (struct amg_target){world->peer, 0}, &local,
                         &world->remote, len, op),
        HG_SUCCESS);
}

static void pull(struct world *world, uint64_t len)
{
    struct amg_op op;

    get(world, len, &op);
    while (side_poll(&world->reader) == 0)
        (void)side_poll(&world->owner);
    assert_int_equal(op.ret, HG_SUCCESS);
}

/* From now on reads are kept back; the provider takes so many. */
static void hold(unsigned count)
{
    holding = true;
    room = count;
}

/* Completes the reads that were kept back. */
static void held_end(struct world *world)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(world->reader.domain);
    const struct fi_cq_data_entry entry = {.flags = FI_READ};

    amg_bias_lock(&domain->lock);
    while (held_count > 0) {
        struct amg_ofi_work *work =
            amg_container_of(held[--held_count], struct amg_ofi_work, context);

        work->done(domain, work, &entry, 0);
    }
    amg_bias_unlock(&domain->lock);
}

/* A get with fragments in flight that waits for room for more. */
static void half_posted_get(struct world *world, struct amg_op *op)
{
    pull(world, SOME); /* the reader has its lease afterwards */
    pull(world, LEN);
    hold(2);
    get(world, LEN, op);
    while (held_count < 2) {
        assert_int_equal(side_poll(&world->reader), 0);
        (void)side_poll(&world->owner);
    }
}

/* The log of a close that waits tells transfers from requests and messages. */
static void test_transfer_ends_late_and_is_named(void **state)
{
    struct amg_ofi_domain *domain = NULL;
    struct world world;
    struct amg_op op;

    (void)state;
    world_open(&world);
    domain = amg_ofi_domain_of(world.reader.domain);
    half_posted_get(&world, &op);
    hg_log_set_func(log_keep);
    amg_ofi_transport.domain.report(world.reader.domain);
    assert_true(log_has("messages of this process have not left, and 2 reads "
                        "and writes have not ended: "));
    domain->is_joined = true;
    amg_ofi_transport.domain.report(world.reader.domain);
    assert_true(log_has("has not answered 0 requests and 1 transfers; "));
    domain->is_joined = false;
    hg_log_set_func(NULL);
    room = HELD_MAX;
    while (side_poll(&world.reader) == 0)
        held_end(&world);
    assert_int_equal(op.ret, HG_SUCCESS);
    world_close(&world);
}

static void test_transfer_ends_cancelled_posts_no_more(void **state)
{
    struct world world;
    struct amg_op op;

    (void)state;
    world_open(&world);
    half_posted_get(&world, &op);
    amg_ofi_transport.ep.cancel(world.reader.ep, &op);
    room = HELD_MAX;
    for (unsigned i = 0; i < POLLS; i++)
        assert_int_equal(side_poll(&world.reader), 0);
    assert_int_equal(held_count, 2);
    held_end(&world);
    assert_int_equal(side_poll(&world.reader), 1);
    assert_int_equal(op.ret, HG_CANCELED);
    world_close(&world);
}

/* The domain does not wait for reads that the provider never ends, and loses no
 * memory. */
static void test_transfer_ends_with_its_class(void **state)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    struct world world;
    struct amg_op op;

    (void)state;
    amg_mem_stats_get(&before);
    world_open(&world);
    /* Local memory is registered, too, for each fragment. */
    amg_ofi_domain_of(world.reader.domain)->facts.needs_desc = true;
    half_posted_get(&world, &op);
    amg_ofi_transport.addr.unref(world.reader.domain, world.peer);
    assert_int_equal(party_close(&world.reader), 1);
    assert_int_equal(op.ret, HG_CANCELED);
    assert_int_equal(unreg(&world, UNREG_MS), HG_SUCCESS);
    (void)party_close(&world.owner);
    assert_int_equal(mrs_open, 0);
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live);
}

static void test_transfer_ends_busy_memory_is_forgotten_with_its_class(
    void **state)
{
    struct world world;
    struct amg_op op;

    (void)state;
    world_open(&world);
    half_posted_get(&world, &op);
    assert_int_equal(unreg(&world, 0), HG_BUSY);
    assert_int_equal(mrs_open, 1);
    (void)party_close(&world.owner);
    assert_int_equal(mrs_open, 0);
    held_end(&world);
    while (side_poll(&world.reader) == 0)
        continue;
    assert_int_not_equal(op.ret, HG_SUCCESS);
    amg_ofi_transport.addr.unref(world.reader.domain, world.peer);
    (void)party_close(&world.reader);
    amg_mem_free(world.mem);
}

/* Takes all message buffers that exist, without allocating. */
static unsigned bufs_take(
    struct party *side, struct amg_peer *peer, struct amg_buf **bufs)
{
    unsigned count = 0;

    amg_mem_fail_nth(1);
    while (amg_ofi_transport.msg.get_buf(side->ep, peer, &bufs[count]) ==
           HG_SUCCESS)
        assert_true(++count < BUFS_MAX);
    return count;
}

static void bufs_put(struct party *side, struct amg_buf **bufs, unsigned count)
{
    while (count > 0)
        amg_ofi_transport.msg.put_buf(side->ep, bufs[--count]);
}

static void test_transfer_ends_lease_returned_when_there_is_memory(void **state)
{
    static struct amg_buf *bufs[BUFS_MAX];
    const struct amg_ofi_domain *domain = NULL;
    struct world world;
    unsigned count = 0;

    (void)state;
    world_open(&world);
    domain = amg_ofi_domain_of(world.reader.domain);
    pull(&world, SOME);
    amg_role.polls_always = true; /* so that the second lease is kept */
    pull(&world, SOME);
    amg_role.polls_always = false;
    assert_int_equal(domain->leases.idle_count, 1);
    assert_int_equal(unreg(&world, 0), HG_BUSY); /* asks for it */
    count = bufs_take(&world.reader, world.peer, bufs);
    amg_mem_fail_nth(1);
    for (unsigned i = 0; i < POLLS; i++)
        (void)side_poll(&world.reader);
    amg_mem_fail_nth(0);
    assert_int_equal(domain->leases.idle_count, 1);
    bufs_put(&world.reader, bufs, count);
    while (domain->leases.idle_count > 0)
        (void)side_poll(&world.reader);
    assert_int_equal(unreg(&world, UNREG_MS), HG_SUCCESS);
    assert_true(amg_list_is_empty(&domain->leases.idle));
    world.mem = NULL;
    world_close(&world);
}

/* The owner has no memory for the answer to a request for a lease; the asking
 * process does not wait forever. */
static void test_transfer_ends_when_no_answer_can_be_made(void **state)
{
    static struct amg_buf *bufs[BUFS_MAX];
    struct amg_peer *self = NULL;
    struct world world;
    struct amg_op op;
    unsigned count = 0;

    (void)state;
    world_open(&world);
    pull(&world, SOME);
    self = amg_ofi_transport.addr.self(world.owner.domain);
    count = bufs_take(&world.owner, self, bufs);
    world.remote.key.bytes[0] ^= 1; /* a key that the owner does not have */
    get(&world, LEN, &op);
    amg_mem_fail_nth(1); /* the owner's answer */
    while (side_poll(&world.reader) == 0)
        (void)side_poll(&world.owner);
    amg_mem_fail_nth(0);
    assert_int_not_equal(op.ret, HG_SUCCESS);
    bufs_put(&world.owner, bufs, count);
    amg_ofi_transport.addr.unref(world.owner.domain, self);
    world_close(&world);
}

/* A grant shorter than its first row. */
static void grant_give_bad(struct world *world)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(world->reader.domain);
    const struct amg_ofi_grant head = {.count = 1};
    struct amg_ofi_header header = {.kind = AMG_OFI_MAGIC | AMG_OFI_GRANT};
    const struct amg_ofi_message message = {
        .domain = domain,
        .peer = world->peer,
        .header = &header,
        .body = (const unsigned char *)&head,
        .len = sizeof(head),
    };

    amg_bias_lock(&domain->lock);
    for (uint32_t i = 0; i < domain->leases.all.cap; i++) {
        const struct amg_ofi_lease *lease = domain->leases.all.slots[i].object;

        if (lease != NULL)
            header.cookie = lease->cookie;
    }
    amg_ofi_rma_on_grant_locked(&message);
    amg_bias_unlock(&domain->lock);
}

static void test_transfer_ends_when_its_grant_is_of_wrong_form(void **state)
{
    struct world world;
    struct amg_op op;

    (void)state;
    world_open(&world);
    pull(&world, SOME);
    get(&world, LEN, &op);
    grant_give_bad(&world);
    assert_int_equal(side_poll(&world.reader), 1);
    assert_int_equal(op.ret, HG_PROTOCOL_ERROR);
    world_close(&world);
}

/* Peers may still have keys of an earlier process at this address, so keys
 * begin at a random number. */
static unsigned lease_count(const struct world *world)
{
    const struct amg_table *leases =
        &amg_ofi_domain_of(world->reader.domain)->leases.all;
    unsigned count = 0;

    for (uint32_t i = 0; i < leases->cap; i++)
        count += leases->slots[i].object != NULL ? 1 : 0;
    return count;
}

/* The reader has asked for a lease, and makes no progress until the owner has
 * its memory back. */
static void cancelled_before_its_lease(bool is_denied)
{
    const struct amg_link *link = NULL;
    struct world world;
    struct amg_op op;

    world_open(&world);
    pull(&world, SOME); /* they are connected */
    if (is_denied)
        assert_int_equal(unreg(&world, UNREG_MS), HG_SUCCESS);
    get(&world, LEN, &op);
    amg_ofi_transport.ep.cancel(world.reader.ep, &op);
    assert_int_equal(side_poll(&world.reader), 1);
    assert_int_equal(op.ret, HG_CANCELED);
    for (unsigned i = 0; i < POLLS; i++)
        (void)side_poll(&world.owner);
    if (!is_denied)
        assert_int_equal(unreg(&world, UNREG_MS), HG_SUCCESS);
    world.mem = NULL;
    assert_int_equal(lease_count(&world), 1); /* its cookie is in use */
    while (lease_count(&world) > 0)
        (void)side_poll(&world.reader);
    link = amg_list_first(&amg_ofi_domain_of(world.owner.domain)->peers.all);
    assert_int_equal(
        amg_container_of(link, struct amg_peer, all)->calls.violations, 0);
    world_close(&world);
}

static void test_transfer_ends_cancelled_before_its_lease(void **state)
{
    (void)state;
    cancelled_before_its_lease(false);
    cancelled_before_its_lease(true);
}

static void test_transfer_ends_keys_begin_anywhere(void **state)
{
    struct world world;

    (void)state;
    world_open(&world);
    assert_int_not_equal(amg_ofi_domain_of(world.owner.domain)->mems.next_key,
        amg_ofi_domain_of(world.reader.domain)->mems.next_key);
    world_close(&world);
}

/* Slot numbers repeat, keys do not. */
static void test_transfer_ends_key_of_freed_memory_is_refused(void **state)
{
    struct world world;
    struct amg_op op;

    (void)state;
    world_open(&world);
    for (unsigned i = 0; i < SLOT_USES; i++) {
        assert_int_equal(unreg(&world, UNREG_MS), HG_SUCCESS);
        assert_int_equal(amg_ofi_transport.bulk.reg(world.owner.domain,
                             &world.segment, 1, AMG_MEM_READ, &world.mem),
            HG_SUCCESS);
    }
    get(&world, SOME, &op);
    while (side_poll(&world.reader) == 0)
        (void)side_poll(&world.owner);
    assert_int_equal(op.ret, HG_NOENTRY);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfer_ends_late_and_is_named),
        cmocka_unit_test(test_transfer_ends_cancelled_posts_no_more),
        cmocka_unit_test(test_transfer_ends_with_its_class),
        cmocka_unit_test(
            test_transfer_ends_busy_memory_is_forgotten_with_its_class),
        cmocka_unit_test(
            test_transfer_ends_lease_returned_when_there_is_memory),
        cmocka_unit_test(test_transfer_ends_when_no_answer_can_be_made),
        cmocka_unit_test(test_transfer_ends_when_its_grant_is_of_wrong_form),
        cmocka_unit_test(test_transfer_ends_cancelled_before_its_lease),
        cmocka_unit_test(test_transfer_ends_keys_begin_anywhere),
        cmocka_unit_test(test_transfer_ends_key_of_freed_memory_is_refused),
    };
    struct amg_ofi_call call = *amg_ofi_call;

    call.readmsg = call_readmsg;
    call.mr_reg = call_mr_reg;
    call.close = call_close;
    amg_ofi_call_set(&call);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
