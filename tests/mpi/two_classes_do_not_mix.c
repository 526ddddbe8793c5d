/* SPDX-License-Identifier: BSD-3-Clause */
/* Two classes on two communicators work side by side, calls of both in flight
 * at once, without mixing them up. */
#include <string.h>

#include "ranks.h"

enum { CALLS = 200 };

static void answer_check(struct ranks_call *call, uint64_t value, int from)
{
    ranks_echo_t out = {0, 0};

    OK(ranks_wait(call));
    OK(HG_Get_output(call->handle, &out));
    CHECK(out.value == value + 1 && out.from == from);
    OK(HG_Free_output(call->handle, &out));
    ranks_end(call);
}

static void interleave(struct ranks *one, struct ranks *other)
{
    struct ranks *both[] = {one, other};
    static struct ranks_call calls[CALLS];

    for (int i = 0; i < CALLS; i++) {
        struct ranks *ranks = both[i % 2];
        ranks_echo_t in = {(uint64_t)i, ranks->rank};

        OK(ranks_begin(
            ranks, &calls[i], i / 2 % ranks->size, ranks->echo, &in));
        if (i % 16 == 0)
            ranks_swap(both[i / 16 % 2], (ranks->rank + 1) % ranks->size, 9999);
    }
    for (int i = 0; i < CALLS; i++)
        answer_check(&calls[i], (uint64_t)i, i / 2 % both[i % 2]->size);
}

/* An address of one class is refused by the other. */
static void strangers_check(struct ranks *one, struct ranks *other)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    int rank = -1;
    char text[256];
    hg_size_t len = sizeof(text);
    hg_addr_t found = HG_ADDR_NULL;

    OK(amalgam_addr_rank(one->cls, 0, &addr));
    EXPECT(HG_INVALID_ARG, amalgam_addr_get_rank(other->cls, addr, &rank));
    EXPECT(
        HG_INVALID_ARG, HG_Create(other->context, addr, other->echo, &handle));
    OK(HG_Addr_to_string(one->cls, text, &len, addr));
    HG_Set_log_level("none");
    EXPECT(HG_ADDRNOTAVAIL, HG_Addr_lookup2(other->cls, text, &found));
    HG_Set_log_level("warning");
    OK(HG_Addr_free(one->cls, addr));
}

int main(void)
{
    struct ranks world;
    struct ranks mirror;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    ranks_open(&world, MPI_COMM_WORLD);
    ranks_open(&mirror, comm);
    CHECK(mirror.rank == world.size - 1 - world.rank);
    strangers_check(&world, &mirror);
    interleave(&world, &mirror);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&world);
    /* The remaining class is unaffected. */
    ranks_exchange(&mirror);
    ranks_meet(comm);
    ranks_close(&mirror);
    MPI_Comm_free(&comm);
    return ranks_stop();
}
