/* SPDX-License-Identifier: BSD-3-Clause */
/* Every byte of transfers in many small fragments is right: odd lengths and
 * offsets up to 40 MiB, all ranks in both directions at once. Run with
 * AMALGAM_FRAGMENT_BYTES set low. */
#include <stdlib.h>
#include <string.h>

#include "exposed.h"

enum { MIB = 1 << 20, LONG_LEN = 40 * MIB + 5, IN_FLIGHT = 2 };

static const size_t lengths[] = {
    1, 4095, 4096, 4097, 8191, 12289, 65537, 999983, 3 * MIB - 1};

static struct ranks all;

struct side {
    unsigned char *mine; /* to the left rank; half to read, half to write */
    unsigned char *local;
    hg_bulk_t mine_bulk;
    hg_bulk_t local_bulk;
    hg_bulk_t remote; /* of the right-hand neighbour */
    hg_addr_t right;
};

/* Pull and push at once, of `len` bytes, at an odd offset. */
static void both_move(struct side *side, size_t len, size_t offset)
{
    static const hg_bulk_op_t ops[IN_FLIGHT] = {HG_BULK_PULL, HG_BULK_PUSH};
    struct ranks_call calls[IN_FLIGHT];

    memset(calls, 0, sizeof(calls));
    for (size_t i = 0; i < IN_FLIGHT; i++)
        OK(HG_Bulk_transfer(all.context, ranks_done, &calls[i], ops[i],
            side->right, side->remote, i * LONG_LEN + offset, side->local_bulk,
            i * LONG_LEN + offset, len, HG_OP_ID_IGNORE));
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        OK(ranks_wait(&calls[i]));
        CHECK(calls[i].size == len);
    }
}

static uint64_t seed_of(int rank, bool is_push)
{
    return (uint64_t)rank * 2 + is_push + 1;
}

static void case_run(struct side *side, size_t len, size_t offset)
{
    int left = (all.rank + all.size - 1) % all.size;
    int right = (all.rank + 1) % all.size;

    memset(side->mine + LONG_LEN + offset, 0, len);
    memset(side->local + offset, 0, len);
    ranks_fill(side->mine, LONG_LEN, seed_of(all.rank, false), 0);
    ranks_fill(side->local + LONG_LEN, LONG_LEN, seed_of(all.rank, true), 0);
    ranks_meet(MPI_COMM_WORLD);
    both_move(side, len, offset);
    CHECK(ranks_is_filled(
        side->local + offset, len, seed_of(right, false), offset));
    ranks_meet(MPI_COMM_WORLD);
    CHECK(ranks_is_filled(
        side->mine + LONG_LEN + offset, len, seed_of(left, true), offset));
}

static void side_open(struct side *side)
{
    side->mine = malloc(2 * (size_t)LONG_LEN);
    side->local = malloc(2 * (size_t)LONG_LEN);
    CHECK(side->mine != NULL && side->local != NULL);
    side->mine_bulk =
        ranks_bulk(&all, side->mine, 2 * (size_t)LONG_LEN, HG_BULK_READWRITE);
    side->local_bulk =
        ranks_bulk(&all, side->local, 2 * (size_t)LONG_LEN, HG_BULK_READWRITE);
    exposed_send(side->mine_bulk, (all.rank + all.size - 1) % all.size);
    side->remote = exposed_take(&all, (all.rank + 1) % all.size);
    OK(amalgam_addr_rank(all.cls, (all.rank + 1) % all.size, &side->right));
}

static void side_close(struct side *side)
{
    OK(HG_Addr_free(all.cls, side->right));
    OK(HG_Bulk_free(side->remote));
    OK(HG_Bulk_free(side->local_bulk));
    OK(HG_Bulk_free(side->mine_bulk));
    free(side->local);
    free(side->mine);
}

int main(void)
{
    struct side side;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    side_open(&side);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        case_run(&side, lengths[i], i * 1021);
    case_run(&side, LONG_LEN, 0);
    side_close(&side);
    ranks_close(&all);
    return ranks_stop();
}
