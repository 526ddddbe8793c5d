/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that a window of the program may be freed while bulk data move through
 * it to memory that stays exposed: what is left goes by messages, all bytes are
 * right, and a window that MPI then gives the same number is left alone. Run
 * with AMALGAM_PIECE_BYTES set low. */
#include <string.h>
#include <stdlib.h>

#include "exposed.h"

enum { LEN = 16 << 20, TIMES = 3 };

static struct ranks all;
static unsigned char *part;  /* of rank 0 in the window */
static unsigned char *local; /* of rank 1 */
static unsigned char *decoy; /* in the window that comes next */
static MPI_Win watched = MPI_WIN_NULL;
static unsigned moved; /* pieces that were posted to it */

int MPI_Rget(void *to, int to_count, MPI_Datatype to_type, int rank,
    MPI_Aint disp, int count, MPI_Datatype type, MPI_Win win,
    MPI_Request *request)
{
    moved += win == watched;
    return PMPI_Rget(
        to, to_count, to_type, rank, disp, count, type, win, request);
}

int MPI_Rput(const void *from, int from_count, MPI_Datatype from_type, int rank,
    MPI_Aint disp, int count, MPI_Datatype type, MPI_Win win,
    MPI_Request *request)
{
    moved += win == watched;
    return PMPI_Rput(
        from, from_count, from_type, rank, disp, count, type, win, request);
}

/* Both ranks know it, and no handle was made of it. */
static MPI_Win window_open(void)
{
    MPI_Win win = MPI_WIN_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;

    CHECK(MPI_Win_create(part, LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) ==
          MPI_SUCCESS);
    OK(amalgam_bulk_from_win(
        all.cls, win, 0, AMALGAM_REST, HG_BULK_READWRITE, &bulk));
    OK(HG_Bulk_free(bulk));
    MPI_Win_lock_all(0, win);
    watched = win;
    moved = 0;
    return win;
}

/* Frees it, and makes another one, which MPICH gives the same number. */
static void window_replace(MPI_Win *win)
{
    MPI_Win_unlock_all(*win);
    MPI_Win_free(win);
    memset(decoy, 0, LEN);
    CHECK(MPI_Win_create(decoy, LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win) ==
          MPI_SUCCESS);
    MPI_Win_lock_all(0, *win);
    watched = *win;
    moved = 0;
}

static void window_close(MPI_Win *win)
{
    CHECK(moved == 0);
    for (int i = 0; i < LEN; i++)
        CHECK(decoy[i] == 0);
    watched = MPI_WIN_NULL;
    MPI_Win_unlock_all(*win);
    MPI_Win_free(win);
}

static void exposer_round(bool is_push, uint64_t seed)
{
    MPI_Win win = window_open();
    hg_bulk_t bulk = ranks_bulk(&all, part, LEN, HG_BULK_READWRITE);

    ranks_fill(part, LEN, seed, 0);
    exposed_send(bulk, 1);
    ranks_meet(MPI_COMM_WORLD); /* now it is in motion */
    window_replace(&win);
    ranks_meet(MPI_COMM_WORLD);
    CHECK(!is_push || ranks_is_filled(part, LEN, seed + 1, 0));
    window_close(&win);
    OK(HG_Bulk_free(bulk));
}

static void mover_round(bool is_push, uint64_t seed)
{
    MPI_Win win = window_open();
    hg_bulk_t origin = exposed_take(&all, 0);
    hg_bulk_t near = ranks_bulk(&all, local, LEN, HG_BULK_READWRITE);
    hg_addr_t addr = HG_ADDR_NULL;
    struct ranks_call call;

    memset(&call, 0, sizeof(call));
    ranks_fill(local, LEN, seed + 1, 0);
    OK(amalgam_addr_rank(all.cls, 0, &addr));
    OK(HG_Bulk_transfer(all.context, ranks_done, &call,
        is_push ? HG_BULK_PUSH : HG_BULK_PULL, addr, origin, 0, near, 0, LEN,
        HG_OP_ID_IGNORE));
    UNTIL(moved > 2);
    CHECK(atomic_load(&call.done) == 0);
    ranks_meet(MPI_COMM_WORLD);
    window_replace(&win);
    OK(ranks_wait(&call));
    CHECK(is_push || ranks_is_filled(local, LEN, seed, 0));
    ranks_meet(MPI_COMM_WORLD);
    window_close(&win);
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Bulk_free(near));
    OK(HG_Bulk_free(origin));
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    HG_Set_log_level("error");
    ranks_open(&all, MPI_COMM_WORLD);
    part = malloc(LEN);
    local = malloc(LEN);
    decoy = malloc(LEN);
    CHECK(part != NULL && local != NULL && decoy != NULL);
    for (uint64_t i = 0; i < 2 * TIMES; i++) {
        if (all.rank == 0)
            exposer_round(i % 2 != 0, 10 * i);
        else
            mover_round(i % 2 != 0, 10 * i);
    }
    ranks_close(&all);
    free(part);
    free(local);
    free(decoy);
    return ranks_stop();
}
