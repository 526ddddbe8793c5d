/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a segment: taken and returned without a wait, memory from their
 * first use on, and back when their receiver dies; readable when their sender
 * died. A message that names a wrong block, or a wrong length, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/stat.h>

#include "shm/shm_domain.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum {
    KIB = 1024,
    LONGEST = AMG_LONG_ARGS_LEN + AMG_LONG_HEADERS_LEN,
    TURNS = 200,
};

static const struct amg_transport *const shm = &amg_shm_transport;

/* Takes all that there are for `len` bytes, and returns their number. */
static unsigned blocks_take(
    struct party *party, uint32_t len, struct amg_buf *bufs[AMG_SHM_BLOCKS])
{
    struct amg_buf *more = NULL;
    unsigned count = 0;

    while (count < AMG_SHM_BLOCKS && shm->msg.get_long_buf(party->ep, NULL, len,
                                         &bufs[count]) == HG_SUCCESS) {
        assert_true(bufs[count]->cap >= len);
        assert_int_equal((uintptr_t)bufs[count]->data % AMG_SHM_LINE, 0);
        memset(bufs[count]->data, (int)count, len);
        count++;
    }
    assert_int_equal(
        shm->msg.get_long_buf(party->ep, NULL, len, &more), HG_AGAIN);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(((uint8_t *)bufs[i]->data)[0], i);
        assert_int_equal(((uint8_t *)bufs[i]->data)[len - 1], i);
    }
    return count;
}

static void blocks_put(
    struct party *party, unsigned count, struct amg_buf *bufs[AMG_SHM_BLOCKS])
{
    for (unsigned i = 0; i < count; i++)
        shm->msg.put_buf(party->ep, bufs[i]);
}

/* Bytes of /dev/shm that the segment has. */
static uint64_t taken(const struct party *party)
{
    const struct amg_shm_domain *domain = amg_shm_domain_of(party->domain);
    struct stat status;

    assert_int_equal(fstat(domain->region.fd, &status), 0);
    return (uint64_t)status.st_blocks * 512;
}

static void test_blocks_are_as_many_as_fit(void **state)
{
    struct amg_buf *bufs[AMG_SHM_BLOCKS];
    struct amg_buf *none = NULL;
    struct party party;
    uint64_t before = 0;

    (void)state;
    party_open(&party, "", 0);
    before = taken(&party);
    for (unsigned turn = 0; turn < 2; turn++) {
        static const unsigned lens[] = {16 * KIB + 1, 64 * KIB + 1, LONGEST};
        static const unsigned counts[] = {56, 24, 8};

        for (size_t i = 0; i < 3; i++) {
            unsigned count = blocks_take(&party, lens[i], bufs);

            assert_int_equal(count, counts[i]);
            blocks_put(&party, count, bufs);
        }
        /* The memory of each block, once. */
        assert_int_equal(taken(&party), before + AMG_SHM_BLOCK_TOTAL_LEN);
    }
    assert_int_equal(
        shm->msg.get_long_buf(party.ep, NULL, LONGEST + 1, &none), HG_MSGSIZE);
    party_close(&party);
}

/* The block that came back last is taken again: one call at a time takes the
 * memory of few of them. */
static void test_blocks_are_used_again(void **state)
{
    struct party_child child;
    struct party_call call;
    struct party party;
    struct amg_peer *peer = NULL;
    uint64_t before = 0;

    (void)state;
    party_child_start(&child, PARTY_ECHO, "");
    party_open(&party, "", 0);
    peer = party_find(&party, child.address);
    party_ask(&party, peer, &call, 0, 16);
    assert_int_equal(party_wait(&party, &call), HG_SUCCESS);
    assert_true(party_answer_is(&party, &call, 0));
    before = taken(&party);
    for (uint32_t i = 0; i < TURNS; i++) {
        party_ask(&party, peer, &call, i, LONGEST);
        assert_int_equal(party_wait(&party, &call), HG_SUCCESS);
        assert_int_equal(call.op.len, LONGEST);
        assert_true(party_answer_is(&party, &call, i));
    }
    /* The target may return a block after its reply has come. */
    assert_in_range(taken(&party) - before, 260 * KIB, 8 * 260 * KIB);
    party_child_end(&child);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

/* Requests in all blocks, to a process that keeps them; then it dies. */
static void test_blocks_of_a_dead_receiver_come_back(void **state)
{
    struct amg_buf *bufs[AMG_SHM_BLOCKS];
    struct party_call calls[8];
    struct party_child child;
    struct party party;
    struct amg_peer *peer = NULL;
    struct amg_buf *none = NULL;

    (void)state;
    party_child_start(&child, PARTY_KEEPER, "");
    party_open(&party, "", 0);
    peer = party_find(&party, child.address);
    for (uint32_t i = 0; i < 8; i++)
        party_ask(&party, peer, &calls[i], i, LONGEST);
    assert_int_equal(
        shm->msg.get_long_buf(party.ep, peer, LONGEST, &none), HG_AGAIN);
    party_child_kill(&child);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(party_wait(&party, &calls[i]), HG_HOSTUNREACH);
    assert_int_equal(blocks_take(&party, LONGEST, bufs), 8);
    blocks_put(&party, 8, bufs);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

/* The reply of a process that is gone stays until it is released. */
static void test_block_of_a_dead_sender_stays(void **state)
{
    struct party_child child;
    struct party_call call;
    struct party_call next;
    struct party party;
    struct amg_peer *peer = NULL;
    const uint8_t *bytes = NULL;

    (void)state;
    party_child_start(&child, PARTY_QUITTER, "");
    party_open(&party, "", 0);
    peer = party_find(&party, child.address);
    party_ask(&party, peer, &call, PARTY_BYE, LONGEST);
    party_child_join(&child);
    assert_int_equal(party_wait(&party, &call), HG_SUCCESS);
    party_ask(&party, peer, &next, 1, LONGEST);
    assert_int_equal(party_wait(&party, &next), HG_HOSTUNREACH);
    shm->addr.unref(party.domain, peer);
    assert_int_equal(call.op.len, LONGEST);
    bytes = call.op.data;
    for (size_t i = sizeof(uint32_t); i < LONGEST; i++)
        assert_int_equal(bytes[i], 0);
    assert_true(party_answer_is(&party, &call, PARTY_BYE));
    party_close(&party);
}

/* Two domains of this process; what one would send is altered on its way. */
static void damaged_is_refused(
    struct party *from, struct party *to, struct amg_peer *peer)
{
    static const struct {
        uint32_t index;
        uint32_t len;
        bool is_served;
    } cells[] = {
        {AMG_SHM_MSGBUFS, 20 * KIB - 64, true},
        {AMG_SHM_MSGBUFS, 20 * KIB - 63, false},
        {AMG_SHM_MSGBUFS + 31, 20 * KIB - 63, false},
        {AMG_SHM_MSGBUFS + 32, 68 * KIB - 64, true},
        {AMG_SHM_MSGBUFS + 32, 68 * KIB - 63, false},
        {AMG_SHM_MSGBUFS + 48, LONGEST, true},
        {AMG_SHM_MSGBUFS + 48, LONGEST + 1, false},
        {AMG_SHM_MSGBUFS + 55, LONGEST, true},
        {AMG_SHM_MSGBUFS + 56, 0, false},
        {AMG_SHM_MSGBUFS + 55, UINT32_MAX, false},
        {UINT32_MAX, 1, false},
        {AMG_SHM_MSGBUFS - 1, 20 * KIB - 64, false},
    };

    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        struct amg_shm_link *link = &((struct amg_shm_peer *)peer)->first;
        struct amg_shm_cell *cell = link->out.cell;
        unsigned served = to->served;
        struct party_call call;

        party_ask(from, peer, &call, (uint32_t)i, 3 * KIB);
        assert_int_equal(cell->kind, AMG_SHM_REQUEST | AMG_SHM_OUT_OF_LINE);
        cell->out_of_line.msgbuf = cells[i].index;
        cell->out_of_line.len = cells[i].len;
        for (unsigned turn = 0; turn < TURNS; turn++)
            party_poll(to);
        assert_int_equal(to->served - served, cells[i].is_served);
        if (!cells[i].is_served)
            assert_int_equal(shm->ep.cancel(from->ep, &call.op), HG_SUCCESS);
        (void)party_wait(from, &call);
        if (cells[i].is_served)
            shm->msg.release_reply(from->ep, &call.op);
    }
}

static void test_damaged_place_is_refused(void **state)
{
    struct party from;
    struct party to;
    struct party_call call;
    struct amg_peer *peer = NULL;
    char text[PARTY_TEXT_CAP];
    size_t len = sizeof(text);

    (void)state;
    party_open(&from, "", 64);
    party_open(&to, "", 64);
    assert_int_equal(
        shm->addr.format(to.domain, shm->addr.self(to.domain), text, &len),
        HG_SUCCESS);
    peer = party_find(&from, text);
    party_ask(&from, peer, &call, 0, 16);
    while (call.done == 0) {
        party_poll(&to);
        party_poll(&from);
    }
    assert_true(party_answer_is(&from, &call, 0));
    damaged_is_refused(&from, &to, peer);
    shm->addr.unref(from.domain, peer);
    shm->domain.abandon(from.domain);
    shm->domain.abandon(to.domain);
    party_close(&from);
    party_close(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_as_many_as_fit),
        cmocka_unit_test(test_blocks_are_used_again),
        cmocka_unit_test(test_blocks_of_a_dead_receiver_come_back),
        cmocka_unit_test(test_block_of_a_dead_sender_stays),
        cmocka_unit_test(test_damaged_place_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
