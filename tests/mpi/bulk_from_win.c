/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of an MPI window of the program can be exposed like any other: inside
 * and outside epochs of the program, whole or in part, with any displacement
 * unit, over some of the ranks in another order, or with ranks outside the
 * class; the window stays unchanged; invalid ones are refused; and, as
 * bulk_from_win passive, a pull then only needs its target to be inside MPI. */
#include <stdlib.h>
#include <string.h>

#include "exposed.h"

enum { LEN = 300000, AT = 4096, PART = 200000, UNIT = 8 };

/* A window of the program, and the bytes that the library moves through it. */
static MPI_Win watched = MPI_WIN_NULL;
static unsigned moved;

static struct ranks all;
static char *part; /* of this rank */
static char *local;

int MPI_Rget(void *to, int to_count, MPI_Datatype to_type, int rank,
    MPI_Aint disp, int count, MPI_Datatype type, MPI_Win win,
    MPI_Request *request)
{
    int rc =
        PMPI_Rget(to, to_count, to_type, rank, disp, count, type, win, request);

    if (win == watched && rc == MPI_SUCCESS)
        moved++;
    return rc;
}

int MPI_Rput(const void *from, int from_count, MPI_Datatype from_type, int rank,
    MPI_Aint disp, int count, MPI_Datatype type, MPI_Win win,
    MPI_Request *request)
{
    int rc = PMPI_Rput(
        from, from_count, from_type, rank, disp, count, type, win, request);

    if (win == watched && rc == MPI_SUCCESS)
        moved++;
    return rc;
}

static MPI_Win window_make(MPI_Comm comm)
{
    MPI_Win win = MPI_WIN_NULL;

    CHECK(MPI_Win_create(part, LEN, UNIT, MPI_INFO_NULL, comm, &win) ==
          MPI_SUCCESS);
    return win;
}

static hg_bulk_t local_bulk(void)
{
    return ranks_bulk(&all, local, PART, HG_BULK_READWRITE);
}

/* Each rank's part, from byte `AT` on, goes to its right neighbour, which
 * checks it, and comes back changed. */
static void neighbours_swap(MPI_Win win, uint64_t seed)
{
    int right = (all.rank + 1) % all.size;
    int left = (all.rank + all.size - 1) % all.size;
    hg_bulk_t mine = HG_BULK_NULL;
    hg_bulk_t theirs = HG_BULK_NULL;
    hg_bulk_t near = local_bulk();
    hg_addr_t addr = HG_ADDR_NULL;

    OK(amalgam_addr_rank(all.cls, left, &addr));
    ranks_fill(part, LEN, seed + (uint64_t)all.rank, 0);
    OK(amalgam_bulk_from_win(all.cls, win, AT, PART, HG_BULK_READWRITE, &mine));
    CHECK(HG_Bulk_get_size(mine) == PART);
    exposed_send(mine, right);
    theirs = exposed_take(&all, left);
    OK(ranks_transfer(&all, HG_BULK_PULL, addr, theirs, 0, near, 0, PART));
    CHECK(ranks_is_filled(local, PART, seed + (uint64_t)left, AT));
    /* Odd offsets on both sides, no multiples of the unit. */
    OK(ranks_transfer(&all, HG_BULK_PULL, addr, theirs, 13, near, 5, 40001));
    CHECK(ranks_is_filled(local + 5, 40001, seed + (uint64_t)left, AT + 13));
    ranks_fill(local, PART, seed + 77 + (uint64_t)all.rank, 0);
    OK(ranks_transfer(&all, HG_BULK_PUSH, addr, theirs, 0, near, 0, PART));
    ranks_meet(MPI_COMM_WORLD);
    CHECK(ranks_is_filled(part + AT, PART, seed + 77 + (uint64_t)right, 0));
    CHECK(ranks_is_filled(part, AT, seed + (uint64_t)all.rank, 0));
    OK(HG_Bulk_free(mine));
    OK(HG_Bulk_free(theirs));
    OK(HG_Bulk_free(near));
    OK(HG_Addr_free(all.cls, addr));
    ranks_meet(MPI_COMM_WORLD);
}

static void epochs_are_the_programs(void)
{
    MPI_Win win = window_make(MPI_COMM_WORLD);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    hg_bulk_t whole = HG_BULK_NULL;

    watched = win;
    neighbours_swap(win, 1);
    MPI_Win_lock_all(0, win);
    neighbours_swap(win, 2);
    MPI_Win_unlock_all(win);
    neighbours_swap(win, 3);
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock(MPI_LOCK_SHARED, (all.rank + all.size - 1) % all.size, 0, win);
    neighbours_swap(win, 4);
    MPI_Win_unlock((all.rank + all.size - 1) % all.size, win);
    CHECK(moved == 0);
    /* The window still belongs to the program, with its error handler. */
    MPI_Win_get_errhandler(win, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    OK(amalgam_bulk_from_win(
        all.cls, win, 1, AMALGAM_REST, HG_BULK_READ_ONLY, &whole));
    CHECK(HG_Bulk_get_size(whole) == LEN - 1);
    OK(HG_Bulk_free(whole));
    MPI_Win_free(&win);
}

/* Two windows, in reverse order of ranks, of which one lacks rank 0. */
static void some_ranks_have_windows(void)
{
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Win win = MPI_WIN_NULL;
    hg_bulk_t mine = HG_BULK_NULL;

    MPI_Comm_split(MPI_COMM_WORLD, all.rank == 0, -all.rank, &some);
    win = window_make(some);
    MPI_Comm_free(&some);
    ranks_fill(part, LEN, 50 + (uint64_t)all.rank, 0);
    OK(amalgam_bulk_from_win(all.cls, win, 0, LEN, HG_BULK_READ_ONLY, &mine));
    MPI_Win_lock_all(0, win);
    /* Rank 0 is not in that window: it pulls from the last rank, too. */
    if (all.rank == all.size - 1) {
        for (int i = 0; i < all.rank; i++)
            exposed_send(mine, i);
    } else {
        hg_bulk_t theirs = exposed_take(&all, all.size - 1);
        hg_bulk_t near = local_bulk();
        hg_addr_t addr = HG_ADDR_NULL;

        OK(amalgam_addr_rank(all.cls, all.size - 1, &addr));
        OK(ranks_transfer(&all, HG_BULK_PULL, addr, theirs, 8, near, 0, PART));
        CHECK(ranks_is_filled(local, PART, 50 + (uint64_t)all.size - 1, 8));
        OK(HG_Bulk_free(theirs));
        OK(HG_Bulk_free(near));
        OK(HG_Addr_free(all.cls, addr));
    }
    ranks_meet(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    OK(HG_Bulk_free(mine));
    MPI_Win_free(&win);
}

/* Only rank 0 has memory in the window. */
static void empty_parts_are_fine(void)
{
    MPI_Win win = MPI_WIN_NULL;
    hg_bulk_t mine = HG_BULK_NULL;
    MPI_Aint len = all.rank == 0 ? LEN : 0;

    CHECK(MPI_Win_create(len > 0 ? part : NULL, len, UNIT, MPI_INFO_NULL,
              MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    OK(amalgam_bulk_from_win(
        all.cls, win, 0, AMALGAM_REST, HG_BULK_READWRITE, &mine));
    CHECK(HG_Bulk_get_size(mine) == (hg_size_t)len);
    if (all.rank == 1) {
        hg_bulk_t near = local_bulk();
        hg_bulk_t none = HG_BULK_NULL;
        hg_addr_t addr = HG_ADDR_NULL;

        OK(amalgam_addr_rank(all.cls, all.rank, &addr));
        OK(ranks_transfer(&all, HG_BULK_PULL, addr, mine, 0, near, 0, 0));
        HG_Set_log_level("none");
        EXPECT(HG_INVALID_ARG, amalgam_bulk_from_win(all.cls, win, 0, 1,
                                   HG_BULK_READWRITE, &none));
        HG_Set_log_level("error");
        exposed_send(mine, 0);
        OK(HG_Bulk_free(near));
        OK(HG_Addr_free(all.cls, addr));
    }
    if (all.rank == 0) {
        hg_bulk_t theirs = exposed_take(&all, 1);

        CHECK(HG_Bulk_get_size(theirs) == 0);
        OK(HG_Bulk_free(theirs));
    }
    ranks_meet(MPI_COMM_WORLD);
    OK(HG_Bulk_free(mine));
    MPI_Win_free(&win);
}

static void wrong_ones_are_refused(void)
{
    MPI_Win win = window_make(MPI_COMM_WORLD);
    MPI_Win dynamic = MPI_WIN_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    HG_Set_log_level("none");
    OK(amalgam_bulk_from_win(all.cls, win, 0, 1, HG_BULK_READ_ONLY, &bulk));
    OK(HG_Bulk_free(bulk));
    bulk = HG_BULK_NULL;
    EXPECT(HG_INVALID_ARG, amalgam_bulk_from_win(all.cls, win, 0, LEN + 1,
                               HG_BULK_READ_ONLY, &bulk));
    EXPECT(HG_INVALID_ARG, amalgam_bulk_from_win(all.cls, win, LEN + 1, 0,
                               HG_BULK_READ_ONLY, &bulk));
    EXPECT(HG_INVALID_ARG, amalgam_bulk_from_win(all.cls, win, 2,
                               UINT64_MAX - 1, HG_BULK_READ_ONLY, &bulk));
    EXPECT(HG_INVALID_ARG, amalgam_bulk_from_win(all.cls, win, 0, 1, 0, &bulk));
    EXPECT(HG_INVALID_ARG,
        amalgam_bulk_from_win(all.cls, win, 0, 1, HG_BULK_READ_ONLY, NULL));
    EXPECT(HG_INVALID_ARG,
        amalgam_bulk_from_win(NULL, win, 0, 1, HG_BULK_READ_ONLY, &bulk));
    EXPECT(HG_INVALID_ARG, amalgam_bulk_from_win(all.cls, MPI_WIN_NULL, 0, 1,
                               HG_BULK_READ_ONLY, &bulk));
    EXPECT(HG_INVALID_ARG, amalgam_bulk_from_win(all.cls, dynamic, 0, 1,
                               HG_BULK_READ_ONLY, &bulk));
    CHECK(bulk == HG_BULK_NULL);
    HG_Set_log_level("error");
    MPI_Win_free(&dynamic);
    MPI_Win_free(&win);
}

/* A window with ranks that the class does not have. */
static void strangers_are_no_matter(void)
{
    MPI_Win win = window_make(MPI_COMM_WORLD);
    MPI_Comm alone = MPI_COMM_NULL;
    hg_class_t *cls = NULL;
    hg_bulk_t bulk = HG_BULK_NULL;

    MPI_Comm_split(MPI_COMM_WORLD, all.rank, 0, &alone);
    cls = amalgam_init(alone, "mpi+p2p", NULL);
    CHECK(cls != NULL);
    OK(amalgam_bulk_from_win(cls, win, 0, LEN, HG_BULK_READ_ONLY, &bulk));
    CHECK(HG_Bulk_get_size(bulk) == LEN);
    OK(HG_Bulk_free(bulk));
    OK(amalgam_finalize(cls));
    MPI_Comm_free(&alone);
    MPI_Win_free(&win);
}

/* Rank 0 pulls from rank 1, which waits in MPI_Barrier all the time. */
static void pull_needs_no_target(void)
{
    MPI_Win win = window_make(MPI_COMM_WORLD);
    hg_bulk_t mine = HG_BULK_NULL;

    ranks_fill(part, LEN, 9 + (uint64_t)all.rank, 0);
    OK(amalgam_bulk_from_win(all.cls, win, 0, LEN, HG_BULK_READ_ONLY, &mine));
    MPI_Win_lock_all(0, win);
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 1)
        exposed_send(mine, 0);
    if (all.rank == 0) {
        hg_bulk_t theirs = exposed_take(&all, 1);
        hg_bulk_t near = local_bulk();
        hg_addr_t addr = HG_ADDR_NULL;

        OK(amalgam_addr_rank(all.cls, 1, &addr));
        OK(ranks_transfer(
            &all, HG_BULK_PULL, addr, theirs, 800, near, 0, PART));
        CHECK(ranks_is_filled(local, PART, 10, 800));
        OK(HG_Bulk_free(theirs));
        OK(HG_Bulk_free(near));
        OK(HG_Addr_free(all.cls, addr));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    OK(HG_Bulk_free(mine));
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    HG_Set_log_level("error");
    ranks_open(&all, MPI_COMM_WORLD);
    part = malloc(LEN);
    local = malloc(PART);
    CHECK(part != NULL && local != NULL);
    if (argc > 1 && strcmp(argv[1], "passive") == 0) {
        pull_needs_no_target();
    } else {
        epochs_are_the_programs();
        some_ranks_have_windows();
        empty_parts_are_fine();
        wrong_ones_are_refused();
        strangers_are_no_matter();
    }
    ranks_close(&all);
    free(part);
    free(local);
    return ranks_stop();
}
