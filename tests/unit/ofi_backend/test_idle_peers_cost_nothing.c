/* SPDX-License-Identifier: BSD-3-Clause */
/* Thousands of peers of one process, which the test plays: a tick looks at none
 * of those that are idle; the loss of one reads no call of another; a revoke
 * asks each holder once; ranks of a job that close together send nothing. The
 * provider takes and completes all messages, but sends none. Argument: the
 * number of peers. */
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_rma.h"
#include "ofi_backend/ofi_peer.h"
#include "party.h"

enum {
    PEERS = 10000,
    PEERS_MAX = 1000000,
    CALLS = 2, /* to each of the first PEERS; 1 to the others */
    CALLS_MAX = 1048576,
    LEN = 900,        /* too long to be injected */
    LONG_COUNT = 999, /* of so many calls, one is so long */
    SHORT_LEN = 16,
    SECOND_AND_HALF = 15, /* ticks */
    MINUTE = 600,
    LOOKS = 64,  /* at peers that rest, in one tick */
    TRIES = 256, /* to send, in one poll */
    LOST = PEERS / 2,
    BATCH = 1000,
    ANSWERS = 256,  /* owed at once to processes that are no ranks */
    PEER_LEN = 560, /* bytes of a peer, with its places in tables */
};

static struct party party;
static unsigned peer_count = PEERS;
static struct amg_peer *peers[PEERS_MAX];
static struct amg_op ops[CALLS_MAX];
static void *in_flight[CALLS_MAX];
static unsigned in_flight_count;
static unsigned kinds[AMG_OFI_KIND_COUNT]; /* messages sent, by kind */
static unsigned done_count;
static size_t peer_len;

static struct amg_ofi_domain *inside(void)
{
    return amg_ofi_domain_of(party.domain);
}

static void note(const void *bytes)
{
    const struct amg_ofi_header *header = bytes;

    kinds[header->kind & ~(unsigned)AMG_OFI_MAGIC_MASK]++;
}

static ssize_t call_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    (void)ep;
    (void)len;
    (void)to;
    note(bytes);
    return 0;
}

static ssize_t call_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    (void)ep;
    (void)len;
    (void)desc;
    (void)to;
    assert_true(in_flight_count < CALLS_MAX);
    note(bytes);
    in_flight[in_flight_count++] = context;
    return 0;
}

static ssize_t call_cq_read(struct fid_cq *cq, void *bytes, size_t count)
{
    struct fi_cq_data_entry *entries = bytes;
    size_t got = 0;

    (void)cq;
    memset(entries, 0, count * sizeof(*entries));
    while (got < count && in_flight_count > 0)
        entries[got++].op_context = in_flight[--in_flight_count];
    return got == 0 ? -FI_EAGAIN : (ssize_t)got;
}

static int call_av_insert(
    struct fid_av *av, const void *addr, fi_addr_t *ret_addr)
{
    (void)av;
    (void)addr;
    *ret_addr = 1;
    return 1;
}

static int call_av_remove(struct fid_av *av, fi_addr_t addr)
{
    (void)av;
    (void)addr;
    return 0;
}

/* A tenth of a second later. */
static void tick(void)
{
    struct amg_events events;
    struct amg_op *op = NULL;
    struct amg_link *link = NULL;
    unsigned before = inside()->clock.tick;

    while (inside()->clock.tick == before) {
        inside()->clock.tick_ns = 0;
        amg_events_init(&events);
        (void)amg_ofi_transport.ep.poll(party.ep, 1000, &events);
        for (; (link = amg_list_pop(&events.done)) != NULL; done_count++) {
            op = amg_container_of(link, struct amg_op, link);
            op->step = NULL; /* it has ended */
        }
    }
}

static void ticks(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        tick();
}

/* The user lets go of all peers, and closes the class. */
static void leave(void)
{
    for (unsigned i = 0; i < peer_count; i++)
        amg_ofi_transport.addr.unref(party.domain, peers[i]);
    (void)party_close(&party);
}

static void lose(struct amg_peer *peer)
{
    amg_bias_lock(&inside()->lock);
    amg_ofi_connect_lost_locked(peer, NULL);
    amg_bias_unlock(&inside()->lock);
}

static bool prove(struct amg_peer *peer)
{
    bool is_proven = false;

    amg_bias_lock(&inside()->lock);
    is_proven = amg_ofi_connect_prove_locked(peer);
    amg_bias_unlock(&inside()->lock);
    return is_proven;
}

static unsigned watched_count(void)
{
    const struct amg_peer *peer = NULL;
    unsigned count = 0;

    amg_bias_lock(&inside()->lock);
    while ((peer = amg_ofi_peer_next_watched_locked(inside(), peer)) != NULL)
        count++;
    amg_bias_unlock(&inside()->lock);
    return count;
}

/* Peer i, at an address of its own. */
static struct amg_peer *peer_make(unsigned i)
{
    const struct sockaddr_in addr = {.sin_family = AF_INET,
        .sin_port = htons(1),
        .sin_addr.s_addr = htonl(0x7f100000 + i)};
    struct amg_peer *peer = NULL;

    amg_bias_lock(&inside()->lock);
    assert_int_equal(
        amg_ofi_peer_get_locked(inside(), &addr, sizeof(addr), &peer),
        HG_SUCCESS);
    amg_bias_unlock(&inside()->lock);
    return peer;
}

/* The peer connects. */
static void connect_take(const struct amg_peer *peer)
{
    struct amg_ofi_connect connect = {
        .magic = AMG_OFI_CONNECT_MAGIC,
        .version = AMG_OFI_VERSION,
        .addr_len = peer->addr_len,
        .incarnation = 1 + peer->number,
        .token = 1 + peer->number,
        .message_len = inside()->message_max,
        .credits = 64,
    };

    memcpy(connect.addr, peer->addr, peer->addr_len);
    amg_bias_lock(&inside()->lock);
    amg_ofi_connect_on_connect_locked(
        inside(), (const unsigned char *)&connect, sizeof(connect));
    amg_bias_unlock(&inside()->lock);
}

/* The same, and it proves that it is there. */
static void peer_connect(struct amg_peer *peer)
{
    connect_take(peer);
    assert_int_equal(peer->state, AMG_OFI_PEER_CLAIMED);
    assert_true(prove(peer));
}

static void post(struct amg_peer *peer, struct amg_op *op, uint32_t len)
{
    struct amg_buf *buf = NULL;

    memset(op, 0, sizeof(*op));
    assert_int_equal(
        amg_ofi_transport.msg.get_buf(party.ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, 1, len);
    assert_int_equal(amg_ofi_transport.msg.send_request(party.ep,
                         (struct amg_target){peer, 0}, buf, len, true, op),
        HG_SUCCESS);
}

static bool has_ended(const struct amg_op *op)
{
    return op->priv[AMG_CALL_PRIV_STATE] == AMG_CALL_DONE;
}

/* As many leases of `mem` as there are peers, one for each. */
static void lease_all(const struct amg_mem *mem)
{
    struct amg_ofi_header header = {.kind = AMG_OFI_MAGIC | AMG_OFI_LEASE};
    struct amg_ofi_lease_ask ask;
    struct amg_key key;

    amg_ofi_transport.bulk.key(mem, &key);
    memcpy(&ask, key.bytes, sizeof(ask));
    for (unsigned i = 0; i < peer_count; i++) {
        struct amg_ofi_message message = {.domain = inside(),
            .peer = peers[i],
            .header = &header,
            .body = (const unsigned char *)&ask,
            .len = sizeof(ask)};

        header.cookie = i;
        amg_bias_lock(&inside()->lock);
        amg_ofi_mem_on_lease_locked(&message);
        amg_bias_unlock(&inside()->lock);
        if (i % BATCH == 0)
            tick(); /* the grants leave */
    }
}

static void lease_return(struct amg_peer *peer, uint32_t id)
{
    struct amg_ofi_header header = {.cookie = id};
    struct amg_ofi_message message = {
        .domain = inside(), .peer = peer, .header = &header};

    amg_bias_lock(&inside()->lock);
    amg_ofi_mem_on_return_locked(&message);
    amg_bias_unlock(&inside()->lock);
}

static void test_many_idle_peers_are_not_looked_at(void **state)
{
    unsigned passed = 0;

    (void)state;
    for (unsigned i = 0; i < MINUTE / 2; i++) {
        assert_int_equal(watched_count(), 0);
        tick();
    }
    assert_int_equal(kinds[AMG_OFI_CONNECT], 0);
    /* A minute later it is checked that they still are there, a few at a time.
     */
    for (; kinds[AMG_OFI_CONNECT] < peer_count; passed++) {
        unsigned before = kinds[AMG_OFI_CONNECT];

        assert_in_range(passed, 0, MINUTE + peer_count / LOOKS);
        tick();
        assert_in_range(kinds[AMG_OFI_CONNECT] - before, 0, LOOKS);
    }
}

static void test_many_idle_ranks_get_nothing(void **state)
{
    (void)state;
    memset(kinds, 0, sizeof(kinds));
    for (unsigned i = 0; i < 3 * MINUTE; i++) {
        assert_int_equal(watched_count(), 0);
        assert_true(amg_list_is_empty(&inside()->peers.resting));
        tick();
    }
    for (unsigned i = 0; i < AMG_OFI_KIND_COUNT; i++)
        assert_int_equal(kinds[i], 0);
}

static void test_many_only_the_silent_one_is_checked(void **state)
{
    static struct amg_op op;

    (void)state;
    peers[LOST]->heard_tick = inside()->clock.tick;
    post(peers[LOST], &op, SHORT_LEN);
    assert_int_equal(watched_count(), 1);
    memset(kinds, 0, sizeof(kinds));
    ticks(SECOND_AND_HALF);
    assert_int_equal(watched_count(), 1);
    assert_int_equal(kinds[AMG_OFI_CONNECT], 1);
    assert_true(peers[LOST]->conn.seq > 0);
    lose(peers[LOST]);
    assert_true(has_ended(&op));
    ticks(SECOND_AND_HALF);
    assert_int_equal(watched_count(), 0);
}

/* Replaces memory by a copy of which only the pages of some parts can be
 * touched, so that a walk over all of it ends the test. */
struct guard {
    char *copy;
    size_t len;
};

static void *guard_begin(struct guard *guard, const void *memory, size_t len)
{
    guard->len = len;
    guard->copy = mmap(
        NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(guard->copy, MAP_FAILED);
    memcpy(guard->copy, memory, len);
    assert_int_equal(mprotect(guard->copy, len, PROT_NONE), 0);
    return guard->copy;
}

static void guard_allow(const struct guard *guard, size_t at)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    assert_true(at < guard->len);
    assert_int_equal(
        mprotect(guard->copy + at / page * page, page, PROT_READ | PROT_WRITE),
        0);
}

static void guard_end(const struct guard *guard, void *memory)
{
    assert_int_equal(
        mprotect(guard->copy, guard->len, PROT_READ | PROT_WRITE), 0);
    memcpy(memory, guard->copy, guard->len);
    assert_int_equal(munmap(guard->copy, guard->len), 0);
}

static void test_many_calls_of_others_are_not_touched_by_a_loss(void **state)
{
    struct amg_table *table = &inside()->calls.table;
    struct amg_table_slot *slots = NULL;
    struct guard guard;
    unsigned count = peer_count + PEERS;
    unsigned ended = 0;

    (void)state;
    for (unsigned i = 0; i < count; i++)
        post(peers[i % peer_count], &ops[i],
            i % LONG_COUNT == 0 ? LEN : SHORT_LEN);
    assert_int_equal(
        amg_ofi_transport.ep.cancel(party.ep, &ops[LOST]), HG_SUCCESS);
    slots = table->slots;
    table->slots = guard_begin(&guard, slots, table->cap * sizeof(slots[0]));
    for (uint32_t i = 0; i < table->cap; i++)
        if (slots[i].object != NULL &&
            slots[i].owner_or_next == peers[LOST]->number)
            guard_allow(&guard, i * sizeof(slots[0]));
    lose(peers[LOST]);
    guard_end(&guard, slots);
    table->slots = slots;
    for (unsigned i = 0; i < count; i++)
        ended += has_ended(&ops[i]) ? 1 : 0;
    assert_int_equal(ended, CALLS);
    assert_int_equal(ops[LOST].ret, HG_CANCELED);
    assert_int_equal(ops[LOST + peer_count].ret, HG_HOSTUNREACH);
    assert_int_equal(peers[LOST]->calls.unanswered, 0);
    for (unsigned i = 0; i < peer_count; i++)
        lose(peers[i]);
    for (unsigned i = 0; i < count; i++)
        assert_true(has_ended(&ops[i]));
    for (unsigned i = 0; i < peer_count && done_count < count; i++)
        tick();
    assert_int_equal(done_count, count);
}

static void test_many_leases_are_revoked_once_each(void **state)
{
    static uint8_t memory[4096];
    const struct amg_segment segment = {memory, sizeof(memory)};
    struct amg_mem *mem = NULL;

    (void)state;
    assert_int_equal(amg_ofi_transport.bulk.reg(
                         party.domain, &segment, 1, AMG_MEM_READ, &mem),
        HG_SUCCESS);
    lease_all(mem);
    assert_int_equal(
        amg_ofi_transport.bulk.unreg(party.domain, mem, 0), HG_BUSY);
    assert_int_equal(kinds[AMG_OFI_REVOKE], peer_count);
    assert_int_equal(
        amg_ofi_transport.bulk.unreg(party.domain, mem, 0), HG_BUSY);
    assert_int_equal(kinds[AMG_OFI_REVOKE], peer_count);
    /* Half of them return it, and the others are lost. */
    for (uint32_t i = 0; i < peer_count; i++)
        if (i % 2 == 0)
            lease_return(peers[i], i);
        else
            lose(peers[i]);
    for (uint32_t i = 0; i < peer_count; i++)
        assert_int_equal(peers[i]->rma.granted, 0);
    assert_int_equal(
        amg_ofi_transport.bulk.unreg(party.domain, mem, 0), HG_SUCCESS);
}

/* Messages to peers that have not answered yet cost a poll nothing; there is
 * more to send than one poll tries, and each message leaves. */
static void test_many_first_contacts_wait_aside(void **state)
{
    unsigned polls = 0;

    (void)state;
    if (peer_count > PEERS)
        skip(); /* each message has a buffer of 16 KiB */
    for (unsigned i = 0; i < peer_count; i++)
        lose(peers[i]);
    memset(kinds, 0, sizeof(kinds));
    for (unsigned i = 0; i < peer_count; i++)
        post(peers[i], &ops[i], SHORT_LEN);
    for (; kinds[AMG_OFI_CONNECT] < peer_count; polls++) {
        struct amg_events events;

        assert_in_range(polls, 0, peer_count);
        amg_events_init(&events);
        (void)amg_ofi_transport.ep.poll(party.ep, 16, &events);
    }
    assert_in_range(polls, peer_count / TRIES, peer_count);
    assert_int_equal(kinds[AMG_OFI_CONNECT], peer_count);
    assert_true(amg_list_is_empty(&inside()->peers.pending));
    assert_int_equal(inside()->peers.unsent_count, peer_count);
    assert_true(inside()->base.counts->retries >= peer_count);
    peers[0]->conn.my_token = 1;
    assert_true(prove(peers[0]));
    tick();
    assert_int_equal(kinds[AMG_OFI_REQUEST], 1);
    assert_int_equal(inside()->peers.unsent_count, peer_count - 1);
}

static uint32_t rank_of(const void *ranks, const struct amg_peer *peer)
{
    (void)ranks;
    return peer->number;
}

/* Many connect at once, before this process sends any answer. Addresses that
 * are no ranks of the job may be false: only some of them are answered. */
static void test_many_ranks_connect_at_once(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        unsigned count = 0;

        for (unsigned i = 0; i < PEERS; i++)
            lose(peers[i]);
        for (unsigned i = 0; i < PEERS; i++) {
            connect_take(peers[i]);
            count += peers[i]->state == AMG_OFI_PEER_CLAIMED ? 1 : 0;
        }
        assert_int_equal(inside()->peers.accepts, count);
        assert_int_equal(count, round == 0 ? ANSWERS : PEERS);
        party.domain->rank_of = rank_of;
    }
}

static void test_many_peers_are_told_of_the_end(void **state)
{
    (void)state;
    leave();
    assert_int_equal(kinds[AMG_OFI_DISCONNECT], peer_count);
}

static void test_many_ranks_close_without_a_message(void **state)
{
    (void)state;
    while (amg_ofi_transport.domain.quiesce(party.domain) == HG_AGAIN)
        continue;
    memset(kinds, 0, sizeof(kinds));
    leave();
    for (unsigned i = 0; i < AMG_OFI_KIND_COUNT; i++)
        assert_int_equal(kinds[i], 0);
}

static void test_many_peers_cost_as_much_as_documented(void **state)
{
    (void)state;
    print_message("%zu bytes for a peer\n", peer_len);
    assert_in_range(peer_len, 0, PEER_LEN); /* 0: malloc() does not tell */
}

static size_t heap_used(void)
{
    struct mallinfo2 heap = mallinfo2();

    return heap.uordblks + heap.hblkhd;
}

static int start_as(bool is_joined)
{
    size_t before = 0;

    fake_start(NULL, 0);
    fake_call.send = call_send;
    fake_call.inject = call_inject;
    fake_call.cq_read = call_cq_read;
    fake_call.av_insert = call_av_insert;
    fake_call.av_remove = call_av_remove;
    in_flight_count = 0;
    done_count = 0;
    party_open(&party, 0, 1);
    inside()->is_joined = is_joined;
    before = heap_used();
    inside()->facts.is_tcp = false; /* there are no connections */
    for (unsigned i = 0; i < peer_count; i++) {
        struct amg_events events;

        peers[i] = peer_make(i);
        peer_connect(peers[i]);
        amg_events_init(&events); /* sends its ACCEPT */
        (void)amg_ofi_transport.ep.poll(party.ep, 16, &events);
    }
    ticks(SECOND_AND_HALF);
    peer_len = (heap_used() - before) / peer_count;
    memset(kinds, 0, sizeof(kinds));
    return 0;
}

static int start(void **state)
{
    (void)state;
    return start_as(false);
}

static int start_joined(void **state)
{
    (void)state;
    return start_as(true);
}

static int stop(void **state)
{
    (void)state;
    if (party.domain != NULL)
        leave();
    fake_stop();
    return 0;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
#define JOINED_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, start_joined, stop)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_many_idle_peers_are_not_looked_at),
        JOINED_TEST(test_many_idle_ranks_get_nothing),
        UNIT_TEST(test_many_only_the_silent_one_is_checked),
        UNIT_TEST(test_many_calls_of_others_are_not_touched_by_a_loss),
        UNIT_TEST(test_many_leases_are_revoked_once_each),
        UNIT_TEST(test_many_first_contacts_wait_aside),
        UNIT_TEST(test_many_peers_are_told_of_the_end),
        UNIT_TEST(test_many_ranks_connect_at_once),
        JOINED_TEST(test_many_ranks_close_without_a_message),
        UNIT_TEST(test_many_peers_cost_as_much_as_documented),
    };

    if (argc > 1)
        peer_count = (unsigned)atoi(argv[1]);
    if (peer_count < PEERS || peer_count > PEERS_MAX)
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
