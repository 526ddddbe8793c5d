/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that alters a descriptor - longer, writable, another key, freed since
 * - gets an error from the exposer, whose memory and the bytes around it stay
 * as they were, and which goes on serving. */
#include <string.h>

#include "exposed.h"

enum {
    LEN = 20000, /* more than one message */
    FENCE = 4096,
    FLAGS_AT = 1, /* offset of the permissions in the packed descriptor */
    SEGMENT_LEN_AT = 16,
    KEYS_AT = 3,       /* offset of the number of keys */
    FIRST_KEY_AT = 24, /* each: route, length, bytes */
};

static struct ranks all;
static hg_addr_t exposer;
static hg_bulk_t local;

/* Result of a transfer with the altered bytes. */
static hg_return_t lie(const char text[EXPOSED_CAP], hg_bulk_op_t op,
    hg_size_t offset, hg_size_t len)
{
    hg_bulk_t origin = exposed_open(&all, text);
    hg_return_t rc =
        ranks_transfer(&all, op, exposer, origin, offset, local, 0, len);

    OK(HG_Bulk_free(origin));
    return rc;
}

static void length_lie(const char honest[EXPOSED_CAP])
{
    char text[EXPOSED_CAP];
    uint64_t len = LEN + 4 * FENCE;

    memcpy(text, honest, sizeof(text));
    memcpy(&text[SEGMENT_LEN_AT], &len, sizeof(len));
    EXPECT(HG_OVERFLOW, lie(text, HG_BULK_PULL, LEN, 100));
    EXPECT(HG_OVERFLOW, lie(text, HG_BULK_PULL, 0, LEN + 1));
    EXPECT(HG_OVERFLOW, lie(text, HG_BULK_PULL, LEN - 1, 2));
    len = UINT64_MAX;
    memcpy(&text[SEGMENT_LEN_AT], &len, sizeof(len));
    EXPECT(HG_OVERFLOW, lie(text, HG_BULK_PULL, UINT64_MAX - 50, 49));
}

/* The memory is read-only. */
static void permission_lie(const char honest[EXPOSED_CAP])
{
    char text[EXPOSED_CAP];

    memcpy(text, honest, sizeof(text));
    text[FLAGS_AT] = HG_BULK_READWRITE;
    EXPECT(HG_PERMISSION, lie(text, HG_BULK_PUSH, 0, 8));
    EXPECT(HG_PERMISSION, lie(text, HG_BULK_PUSH, 0, LEN));
}

/* Each byte of the last key; earlier ones are of other routes. */
static void key_lie(const char honest[EXPOSED_CAP])
{
    char text[EXPOSED_CAP];
    int at = FIRST_KEY_AT;

    for (int i = 1; i < honest[KEYS_AT]; i++)
        at += 2 + honest[at + 1];
    for (int i = 0; i < honest[at + 1]; i++) {
        memcpy(text, honest, sizeof(text));
        text[at + 2 + i] ^= 0x10;
        EXPECT(HG_NOENTRY, lie(text, HG_BULK_PULL, 0, 8));
        EXPECT(HG_NOENTRY, lie(text, HG_BULK_PULL, 0, LEN));
    }
}

static void liar_run(void)
{
    char honest[EXPOSED_CAP];
    static unsigned char bytes[LEN + 8 * FENCE];

    local = ranks_bulk(&all, bytes, sizeof(bytes), HG_BULK_READWRITE);
    OK(amalgam_addr_rank(all.cls, 0, &exposer));
    exposed_receive(honest, 0);
    OK(lie(honest, HG_BULK_PULL, 0, LEN));
    CHECK(ranks_is_filled(bytes, LEN, 5, 0));
    length_lie(honest);
    permission_lie(honest);
    key_lie(honest);
    OK(lie(honest, HG_BULK_PULL, 0, LEN));
    ranks_meet(MPI_COMM_WORLD);
    ranks_meet(MPI_COMM_WORLD);
    /* The exposer has freed it in between. */
    EXPECT(HG_NOENTRY, lie(honest, HG_BULK_PULL, 0, 8));
    EXPECT(HG_NOENTRY, lie(honest, HG_BULK_PULL, 0, LEN));
    OK(HG_Addr_free(all.cls, exposer));
    OK(HG_Bulk_free(local));
}

static void exposer_run(void)
{
    static unsigned char bytes[FENCE + LEN + FENCE];
    FILE *log = ranks_log_catch("warning");
    hg_bulk_t bulk = HG_BULK_NULL;

    memset(bytes, 0xfe, sizeof(bytes));
    ranks_fill(bytes + FENCE, LEN, 5, 0);
    bulk = ranks_bulk(&all, bytes + FENCE, LEN, HG_BULK_READ_ONLY);
    for (int rank = 1; rank < all.size; rank++)
        exposed_send(bulk, rank);
    ranks_meet(MPI_COMM_WORLD);
    CHECK(ranks_log_has(log, "rank 1"));
    CHECK(ranks_is_filled(bytes + FENCE, LEN, 5, 0));
    for (int i = 0; i < FENCE; i++)
        CHECK(bytes[i] == 0xfe && bytes[FENCE + LEN + i] == 0xfe);
    OK(HG_Bulk_free(bulk));
    ranks_meet(MPI_COMM_WORLD);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    if (all.rank == 0)
        exposer_run();
    else
        liar_run();
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
