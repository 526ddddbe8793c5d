/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls made just before the common end all arrive, also those without
 * a handle, and these in order. */
#include "ranks.h"

enum { CALLS = 200, RANKS_CAP = 16 };

struct call {
    int rank;
    unsigned number;
};

static struct ranks all;
static hg_id_t bare; /* without a handle */
static atomic_ulong bare_came;
static atomic_uint next[RANKS_CAP]; /* the number of the next call of a rank */

static void bare_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    const struct call *call = arg;

    (void)hg_class;
    if (len != sizeof(*call) || call->rank != from_rank ||
        call->number != atomic_fetch_add(&next[from_rank], 1))
        atomic_fetch_add(&all.bad, 1);
    atomic_fetch_add(&bare_came, 1);
}

static void bare_send(int rank)
{
    hg_addr_t addr = HG_ADDR_NULL;

    OK(amalgam_addr_rank(all.cls, rank, &addr));
    for (unsigned i = 0; i < CALLS;) {
        struct call call = {all.rank, i};
        hg_return_t ret = amalgam_forward_oneway(
            all.context, addr, bare, &call, sizeof(call));

        CHECK(ret == HG_SUCCESS || ret == HG_AGAIN);
        if (ret == HG_SUCCESS)
            i++;
        else
            ranks_turn();
    }
    OK(HG_Addr_free(all.cls, addr));
}

static void notes_send(int rank)
{
    for (uint64_t i = 0; i < CALLS; i++) {
        ranks_echo_t in = {i, all.rank};
        hg_addr_t addr = HG_ADDR_NULL;
        hg_handle_t handle = HG_HANDLE_NULL;

        OK(amalgam_addr_rank(all.cls, rank, &addr));
        OK(HG_Create(all.context, addr, all.note, &handle));
        OK(HG_Forward(handle, NULL, NULL, &in));
        OK(HG_Destroy(handle));
        OK(HG_Addr_free(all.cls, addr));
    }
}

int main(void)
{
    unsigned long wanted = 0;
    unsigned long came = 0;
    unsigned long sum = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(all.size <= RANKS_CAP);
    bare = amalgam_register_oneway(all.cls, "bare", bare_serve);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < all.size; i++)
        if (i != all.rank) {
            notes_send(i);
            bare_send(i);
        }
    ranks_close(&all);
    came = atomic_load(&all.noted) + atomic_load(&bare_came);
    MPI_Reduce(&came, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    wanted =
        (unsigned long)all.size * (unsigned long)(all.size - 1) * 2 * CALLS;
    if (all.rank == 0 && sum != wanted)
        fprintf(stderr, "%lu of %lu one-way calls arrived\n", sum, wanted);
    CHECK(all.rank != 0 || sum == wanted);
    CHECK(atomic_load(&all.bad) == 0);
    return ranks_stop();
}
