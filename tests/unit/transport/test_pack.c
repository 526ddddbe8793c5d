/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed messages: what is kept, joined and sent; the order and bytes of calls
 * that come out; and the refusal of malformed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transport/pack.h"

enum {
    LEN_MAX = 256,
    ROOM = 4 * LEN_MAX,
    COUNT_MAX = (ROOM - LEN_MAX) / sizeof(struct amg_pack_arrival),
    KIND = 0xa1,
    TARGET = 3,
};

/* The buffer of a driver: a head and a body, and the header in front. */
struct buf {
    struct amg_pack pack;
    uint64_t words[2 + ROOM / sizeof(uint64_t)];
};

static struct amg_packer packer;
static struct amg_pack_peer peers[2];

static int setup(void **state)
{
    (void)state;
    memset(peers, 0, sizeof(peers));
    unsetenv("AMALGAM_PACK_BYTES");
    amg_packer_init(&packer, LEN_MAX, ROOM);
    return 0;
}

static unsigned char *body_of(struct buf *buf)
{
    return (unsigned char *)&buf->words[2];
}

/* Posts a call whose bytes and cookie are `number`. */
static enum amg_pack_verdict post_to(struct buf *buf,
    struct amg_pack_peer *peer, uint32_t len, uint32_t number, uint8_t target)
{
    memset(buf, 0xee, sizeof(*buf));
    buf->pack = (struct amg_pack){
        .head = {.kind = KIND, .context = 1, .cookie = number},
        .body = body_of(buf),
        .len = len,
        .target = target,
    };
    memset(buf->pack.body, (int)number, len);
    return amg_packer_post(&packer, peer, &buf->pack);
}

static enum amg_pack_verdict post(
    struct buf *buf, uint32_t len, uint32_t number)
{
    return post_to(buf, &peers[0], len, number, TARGET);
}

/* The packed message of the buffer. */
static const unsigned char *bytes_of(const struct buf *buf)
{
    return (const unsigned char *)&buf->words[1];
}

static void part_check(
    struct amg_pack_iter *iter, uint32_t len, uint32_t number)
{
    struct amg_pack_part part = {.body = NULL};

    assert_true(amg_pack_iter_next(iter, &part));
    assert_int_equal(part.head.kind, KIND);
    assert_int_equal(part.head.context, 1);
    assert_int_equal(part.head.len, len);
    assert_int_equal(part.head.cookie, number);
    assert_int_equal((uintptr_t)part.body % AMG_PACK_ALIGN, 0);
    for (uint32_t i = 0; i < len; i++)
        assert_int_equal(part.body[i], number);
    for (uint32_t i = len; i < amg_pack_part_len(len) - AMG_PACK_HEAD_LEN; i++)
        assert_int_equal(part.body[i], 0);
}

static void test_packer_one_call_at_a_time_is_never_kept(void **state)
{
    struct buf buf;

    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(post(&buf, 24, i), AMG_PACK_SEND);
        assert_int_equal(
            post_to(&buf, &peers[1], 24, i, TARGET), AMG_PACK_SEND);
        amg_packer_turn(&packer);
        assert_true(amg_packer_is_empty(&packer));
    }
}

static void test_packer_burst_is_two_messages(void **state)
{
    static const uint32_t lens[] = {1, 0, 9, 24, 8};
    struct buf first;
    struct buf kept;
    struct buf buf;
    struct amg_pack_part part = {.body = NULL};
    struct amg_pack_iter iter;

    (void)state;
    assert_int_equal(post(&first, 24, 1), AMG_PACK_SEND);
    assert_int_equal(post(&kept, lens[0], 10), AMG_PACK_KEPT);
    for (uint32_t i = 1; i < 5; i++)
        assert_int_equal(post(&buf, lens[i], 10 + i), AMG_PACK_JOINED);
    amg_packer_turn(&packer);
    assert_ptr_equal(amg_packer_first(&packer), &kept.pack);
    amg_packer_take(&packer, &kept.pack);
    assert_true(amg_packer_is_empty(&packer));
    assert_int_equal(kept.pack.count, 5);
    assert_true(amg_pack_iter_init(
        &iter, bytes_of(&kept), kept.pack.len, 5, packer.count_max));
    for (uint32_t i = 0; i < 5; i++)
        part_check(&iter, lens[i], 10 + i);
    assert_false(amg_pack_iter_next(&iter, &part));
    assert_int_equal(atomic_load(&packer.counts.messages), 1);
    assert_int_equal(atomic_load(&packer.counts.calls), 5);
}

/* What a poll sent is under way until the next one. */
static void test_packer_sent_by_poll_is_under_way(void **state)
{
    struct buf bufs[4];

    (void)state;
    assert_int_equal(post(&bufs[0], 24, 0), AMG_PACK_SEND);
    assert_int_equal(post(&bufs[1], 24, 1), AMG_PACK_KEPT);
    amg_packer_turn(&packer);
    amg_packer_take(&packer, &bufs[1].pack);
    assert_int_equal(post(&bufs[2], 24, 2), AMG_PACK_KEPT);
    amg_packer_turn(&packer);
    amg_packer_take(&packer, &bufs[2].pack);
    amg_packer_turn(&packer);
    assert_int_equal(post(&bufs[3], 24, 3), AMG_PACK_SEND);
}

/* Its header and body are those that its driver wrote. */
static void test_packer_kept_alone_is_untouched(void **state)
{
    struct buf buf;
    struct buf before;

    (void)state;
    assert_int_equal(post(&buf, 24, 0), AMG_PACK_SEND);
    assert_int_equal(post(&buf, 21, 1), AMG_PACK_KEPT);
    memset(&before, 0xee, sizeof(before));
    memset(body_of(&before), 1, 21);
    amg_packer_take(&packer, &buf.pack);
    assert_int_equal(buf.pack.count, 1);
    assert_memory_equal(buf.words, before.words, sizeof(buf.words));
    assert_int_equal(atomic_load(&packer.counts.messages), 0);
}

static void test_packer_full_or_other_context_leaves_first(void **state)
{
    struct buf kept;
    struct buf buf;

    (void)state;
    assert_int_equal(post(&buf, 24, 0), AMG_PACK_SEND);
    assert_int_equal(post(&kept, LEN_MAX / 2 - 8, 1), AMG_PACK_KEPT);
    assert_int_equal(post(&buf, LEN_MAX / 2 - 7, 2), AMG_PACK_FULL);
    assert_int_equal(post_to(&buf, &peers[0], 0, 2, TARGET + 1), AMG_PACK_FULL);
    assert_int_equal(post(&buf, LEN_MAX / 2 - 8, 2), AMG_PACK_JOINED);
    assert_int_equal(kept.pack.len, LEN_MAX);
    assert_int_equal(post(&buf, 0, 3), AMG_PACK_FULL);
    amg_packer_take(&packer, &kept.pack);
    assert_int_equal(post(&buf, 0, 3), AMG_PACK_KEPT);
}

static void test_packer_long_call_is_not_kept(void **state)
{
    struct buf buf;

    (void)state;
    assert_int_equal(post(&buf, 24, 0), AMG_PACK_SEND);
    assert_int_equal(post(&buf, LEN_MAX - 8, 1), AMG_PACK_SEND);
    assert_int_equal(post(&buf, ROOM, 2), AMG_PACK_SEND);
    assert_int_equal(post(&buf, LEN_MAX - 16, 3), AMG_PACK_KEPT);
}

static void test_packer_count_is_bounded(void **state)
{
    struct buf kept;
    struct buf buf;

    (void)state;
    assert_int_equal(packer.count_max, COUNT_MAX);
    assert_true(COUNT_MAX * AMG_PACK_HEAD_LEN < LEN_MAX);
    assert_int_equal(post(&buf, 0, 0), AMG_PACK_SEND);
    assert_int_equal(post(&kept, 0, 0), AMG_PACK_KEPT);
    for (uint32_t i = 1; i < COUNT_MAX; i++)
        assert_int_equal(post(&buf, 0, i), AMG_PACK_JOINED);
    assert_int_equal(post(&buf, 0, COUNT_MAX), AMG_PACK_FULL);
}

static void test_packer_limit_of_environment(void **state)
{
    struct buf kept;
    struct buf buf;

    (void)state;
    setenv("AMALGAM_PACK_BYTES", "0", 1);
    amg_packer_init(&packer, LEN_MAX, ROOM);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(post(&buf, 0, i), AMG_PACK_SEND);
    assert_int_equal(packer.count_max, COUNT_MAX); /* peers may */
    setenv("AMALGAM_PACK_BYTES", "64", 1);
    memset(peers, 0, sizeof(peers));
    amg_packer_init(&packer, LEN_MAX, ROOM);
    assert_int_equal(post(&buf, 24, 0), AMG_PACK_SEND);
    assert_int_equal(post(&kept, 24, 1), AMG_PACK_KEPT);
    assert_int_equal(post(&buf, 24, 2), AMG_PACK_JOINED);
    assert_int_equal(post(&buf, 0, 3), AMG_PACK_FULL);
    unsetenv("AMALGAM_PACK_BYTES");
}

/* A packed message of `count` calls of 9 bytes; returns its length. */
static uint32_t message_make(unsigned char *ret_bytes, uint32_t count)
{
    const uint32_t len = amg_pack_part_len(9);

    memset(ret_bytes, 0, (size_t)len * count);
    for (uint32_t i = 0; i < count; i++)
        memcpy(ret_bytes + (size_t)i * len,
            &(struct amg_pack_head){.kind = KIND, .len = 9, .cookie = i},
            AMG_PACK_HEAD_LEN);
    return len * count;
}

static void head_len_set(unsigned char *head, uint16_t len)
{
    memcpy(head + offsetof(struct amg_pack_head, len), &len, sizeof(len));
}

static void test_iter_wrong_lengths_and_counts_refused(void **state)
{
    unsigned char bytes[LEN_MAX];
    uint32_t len = message_make(bytes, 3);
    struct amg_pack_iter iter;

    (void)state;
    assert_true(amg_pack_iter_init(&iter, bytes, len, 3, 3));
    assert_false(amg_pack_iter_init(&iter, bytes, len, 3, 2));
    assert_false(amg_pack_iter_init(&iter, bytes, len, 2, 3));
    assert_false(amg_pack_iter_init(&iter, bytes, len, 4, 9));
    assert_false(amg_pack_iter_init(&iter, bytes, len, UINT32_MAX, UINT32_MAX));
    assert_false(amg_pack_iter_init(&iter, bytes, len, 0, 3));
    assert_false(amg_pack_iter_init(&iter, bytes, 0, 0, 3));
    for (uint32_t i = 0; i < len; i++) /* cut anywhere */
        for (uint32_t count = 0; count <= 3; count++)
            assert_int_equal(amg_pack_iter_init(&iter, bytes, i, count, 3),
                count > 0 && i == count * (len / 3));
    head_len_set(bytes, UINT16_MAX);
    assert_false(amg_pack_iter_init(&iter, bytes, len, 3, 3));
    head_len_set(bytes, 17); /* would begin the second in its body */
    assert_false(amg_pack_iter_init(&iter, bytes, len, 3, 3));
    head_len_set(bytes, 9);
    head_len_set(bytes + 2 * (len / 3), 17);
    assert_false(amg_pack_iter_init(&iter, bytes, len, 3, 3));
    head_len_set(bytes + 2 * (len / 3), 8);
    assert_false(amg_pack_iter_init(&iter, bytes, len, 3, 3));
}

static void test_share_last_user_frees(void **state)
{
    atomic_uint others;

    (void)state;
    atomic_init(&others, 0);
    for (int round = 0; round < 2; round++) {
        amg_pack_share(&others);
        amg_pack_share(&others);
        assert_false(amg_pack_unshare(&others));
        assert_false(amg_pack_unshare(&others));
        assert_true(amg_pack_unshare(&others));
    }
}

static void test_arrivals_lie_behind_the_message(void **state)
{
    static uint64_t words[ROOM / sizeof(uint64_t)];
    struct amg_pack_arrival *arrivals = amg_pack_arrivals(words, LEN_MAX - 3);

    (void)state;
    assert_ptr_equal(arrivals, &words[LEN_MAX / sizeof(words[0])]);
    assert_true((void *)(arrivals + COUNT_MAX) <= (void *)(words + ROOM / 8));
    arrivals[0].whole = words;
    assert_ptr_equal(amg_pack_whole_of(&arrivals[0].arrival), words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(
            test_packer_one_call_at_a_time_is_never_kept, setup),
        cmocka_unit_test_setup(test_packer_burst_is_two_messages, setup),
        cmocka_unit_test_setup(test_packer_sent_by_poll_is_under_way, setup),
        cmocka_unit_test_setup(test_packer_kept_alone_is_untouched, setup),
        cmocka_unit_test_setup(
            test_packer_full_or_other_context_leaves_first, setup),
        cmocka_unit_test_setup(test_packer_long_call_is_not_kept, setup),
        cmocka_unit_test_setup(test_packer_count_is_bounded, setup),
        cmocka_unit_test_setup(test_packer_limit_of_environment, setup),
        cmocka_unit_test(test_iter_wrong_lengths_and_counts_refused),
        cmocka_unit_test(test_share_last_user_frees),
        cmocka_unit_test(test_arrivals_lie_behind_the_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
