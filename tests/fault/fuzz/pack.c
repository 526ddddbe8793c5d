/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed messages: those that a packer makes of any calls come out unchanged,
 * and of any other bytes nothing is read beyond their end. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "transport/pack.h"

enum { LEN_MAX = 512, ROOM = 4 * LEN_MAX, HEADER_LEN = 8, CALLS_MAX = 64 };

/* The buffer of a driver. */
struct buf {
    struct amg_pack pack;
    uint64_t words[(HEADER_LEN + AMG_PACK_HEAD_LEN + ROOM) / sizeof(uint64_t)];
};

/* Reads a message of any bytes, in memory of exact size for the sanitizers. */
static void any_read(struct fuzz *fuzz)
{
    unsigned char bytes[LEN_MAX];
    uint32_t count = (uint32_t)fuzz_near(fuzz, 3);
    uint32_t len = (uint32_t)fuzz_bytes(fuzz, bytes, sizeof(bytes));
    unsigned char *message = malloc(len > 0 ? len : 1);
    struct amg_pack_iter iter;
    struct amg_pack_part part = {.body = NULL};

    FUZZ_CHECK(message != NULL);
    memcpy(message, bytes, len);
    if (amg_pack_iter_init(&iter, message, len, count, CALLS_MAX)) {
        FUZZ_CHECK(count > 0 && count <= CALLS_MAX);
        while (amg_pack_iter_next(&iter, &part)) {
            FUZZ_CHECK(part.body + part.head.len <= message + len);
            memcpy(bytes, part.body, part.head.len);
            count--;
        }
        FUZZ_CHECK(count == 0);
    }
    free(message);
}

/* Sends the kept message; its calls are those since `first`. */
static void kept_read(struct amg_packer *packer, struct buf *buf,
    const struct amg_pack_head *heads, unsigned first, unsigned end)
{
    const unsigned char *bytes = buf->pack.body - AMG_PACK_HEAD_LEN;
    struct amg_pack_iter iter;
    struct amg_pack_part part = {.body = NULL};

    amg_packer_take(packer, &buf->pack);
    FUZZ_CHECK(buf->pack.count == end - first);
    if (buf->pack.count == 1)
        return;
    FUZZ_CHECK(amg_pack_iter_init(
        &iter, bytes, buf->pack.len, buf->pack.count, packer->count_max));
    for (; first < end; first++) {
        FUZZ_CHECK(amg_pack_iter_next(&iter, &part));
        FUZZ_CHECK(part.head.len == heads[first].len &&
                   part.head.cookie == heads[first].cookie &&
                   part.head.kind == heads[first].kind);
        for (uint32_t i = 0; i < part.head.len; i++)
            FUZZ_CHECK(part.body[i] == (unsigned char)part.head.cookie);
    }
    FUZZ_CHECK(!amg_pack_iter_next(&iter, &part));
}

/* Packs calls of any lengths, with polls between them. */
static void calls_pack(struct fuzz *fuzz)
{
    static struct buf bufs[2];
    struct amg_packer packer;
    struct amg_pack_peer peer = {0};
    struct amg_pack_head heads[CALLS_MAX];
    struct buf *kept = &bufs[0];
    struct buf *next = &bufs[1];
    unsigned first = 0;

    amg_packer_init(&packer, LEN_MAX, ROOM);
    for (unsigned i = 0; i < CALLS_MAX && fuzz->left > 0; i++) {
        uint32_t len = fuzz_u16(fuzz);
        enum amg_pack_verdict verdict = AMG_PACK_FULL;

        if (len % 5 == 0)
            amg_packer_turn(&packer);
        len %= len % 3 == 0 ? LEN_MAX : 40;
        heads[i] = (struct amg_pack_head){
            .kind = fuzz_u8(fuzz), .len = (uint16_t)len, .cookie = i};
        next->pack = (struct amg_pack){.head = heads[i],
            .body = (unsigned char *)&next->words[2],
            .len = len};
        memset(next->pack.body, (int)i, len);
        while (verdict == AMG_PACK_FULL) {
            verdict = amg_packer_post(&packer, &peer, &next->pack);
            if (verdict == AMG_PACK_FULL)
                kept_read(&packer, kept, heads, first, i);
        }
        if (verdict == AMG_PACK_KEPT) {
            struct buf *before = kept;

            kept = next;
            next = before;
            first = i;
        }
        FUZZ_CHECK(verdict != AMG_PACK_SEND || peer.kept == NULL);
        if (peer.kept != NULL && len % 7 == 0)
            kept_read(&packer, kept, heads, first, i + 1);
    }
}

void fuzz_run(struct fuzz *fuzz)
{

    if (fuzz_u8(fuzz) % 2 == 0)
        any_read(fuzz);
    else
        calls_pack(fuzz);
}
