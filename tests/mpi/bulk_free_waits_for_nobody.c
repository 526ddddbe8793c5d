/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Bulk_free() waits for no rank that makes no progress after its transfers
 * of the memory have ended, or were cancelled; and two ranks that pull from one
 * another in two classes may free the memory of both at once. */
#include <stdlib.h>
#include <string.h>

#include "exposed.h"

enum { TIMES = 4, CROSSED_LEN = 3000000, TAG = 5 };

static struct ranks all;
static struct ranks other;

static void turns(unsigned count)
{
    while (count-- > 0)
        ranks_turn();
}

/* Begins to pull from `rank`; returns the operation. */
static hg_op_id_t pull_begin(struct ranks *ranks, struct ranks_call *call,
    int rank, hg_bulk_t origin, hg_bulk_t local, hg_size_t len)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_op_id_t op = HG_OP_ID_NULL;

    *call = (struct ranks_call){.ret = HG_OTHER_ERROR};
    OK(amalgam_addr_rank(ranks->cls, rank, &addr));
    OK(HG_Bulk_transfer(ranks->context, ranks_done, call, HG_BULK_PULL, addr,
        origin, 0, local, 0, len, &op));
    OK(HG_Addr_free(ranks->cls, addr));
    return op;
}

/* Rank 1 pulls, and then only waits for a message of rank 0, which frees the
 * memory first. `polls` before each transfer is cancelled; none is if it is
 * negative. */
static void pulled_before(size_t len, int polls)
{
    unsigned char *bytes = calloc(1, len);
    hg_bulk_t mine = ranks_bulk(&all, bytes, len, HG_BULK_READWRITE);
    hg_bulk_t origin = HG_BULK_NULL;
    struct ranks_call call;

    CHECK(bytes != NULL);
    if (all.rank == 0)
        exposed_send(mine, 1);
    if (all.rank == 1)
        origin = exposed_take(&all, 0);
    for (int i = 0; all.rank == 1 && i < 2; i++) {
        hg_op_id_t op = pull_begin(&all, &call, 0, origin, mine, len);

        if (polls >= 0) {
            turns((unsigned)polls);
            OK(HG_Bulk_cancel(op));
        }
        (void)ranks_wait(&call);
        CHECK(
            call.ret == HG_SUCCESS || (polls >= 0 && call.ret == HG_CANCELED));
    }
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 1)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    OK(HG_Bulk_free(mine));
    if (all.rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    if (all.rank == 1)
        OK(HG_Bulk_free(origin));
    free(bytes);
    ranks_meet(MPI_COMM_WORLD);
}

/* Rank 0 exposes memory in one class, and rank 1 in the other one. */
static void crossed(unsigned polls)
{
    struct ranks *here = all.rank == 0 ? &all : &other;
    struct ranks *there = all.rank == 0 ? &other : &all;
    unsigned char *bytes = calloc(2, CROSSED_LEN);
    hg_bulk_t mine = ranks_bulk(here, bytes, CROSSED_LEN, HG_BULK_READ_ONLY);
    hg_bulk_t local =
        ranks_bulk(there, bytes + CROSSED_LEN, CROSSED_LEN, HG_BULK_READWRITE);
    hg_bulk_t origin = HG_BULK_NULL;
    struct ranks_call call;

    exposed_send(mine, 1 - all.rank);
    origin = exposed_take(there, 1 - all.rank);
    (void)pull_begin(there, &call, 1 - all.rank, origin, local, CROSSED_LEN);
    turns(polls);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(HG_Bulk_free(mine));
    (void)ranks_wait(&call);
    CHECK(call.ret == HG_SUCCESS || call.ret == HG_CANCELED ||
          call.ret == HG_NOENTRY);
    OK(HG_Bulk_free(origin));
    OK(HG_Bulk_free(local));
    free(bytes);
    ranks_meet(MPI_COMM_WORLD);
}

/* The argument "ended": all transfers have ended before, without a cancel. */
int main(int argc, char **argv)
{
    int times = argc > 1 && strcmp(argv[1], "ended") == 0 ? 0 : TIMES;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    for (int polls = -1; polls < times; polls++) {
        pulled_before(300000, polls);
        pulled_before(4 << 20, polls);
        pulled_before(5000000, polls);
    }
    if (times == 0) {
        ranks_close(&all);
        return ranks_stop();
    }
    ranks_open(&other, MPI_COMM_WORLD);
    HG_Set_log_level("none"); /* refusals are expected */
    for (unsigned polls = 1; polls < TIMES; polls++)
        crossed(polls);
    ranks_close(&other);
    ranks_close(&all);
    return ranks_stop();
}
