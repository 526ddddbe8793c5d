/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks never give two windows of the program the same number, nor one
 * window two: also when a rank has no memory, comes too late, or after more
 * windows than there are numbers; and freeing windows beside a thread that
 * makes progress ends. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "mpi_backend/mpi_user_window.h"
#include "pair.h"

enum { LEN = 4096, MANY = 300, CALLS = 100 };

static struct amg_mpi_domain *domain;
static char memory[2][LEN]; /* of two windows */
static atomic_bool is_over;

static bool is_synchronous; /* MPI sends nothing that is not asked for */

int MPI_Send(const void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm)
{
    if (is_synchronous && tag == domain->tag_window)
        return PMPI_Ssend(buf, count, type, rank, tag, comm);
    return PMPI_Send(buf, count, type, rank, tag, comm);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    if (is_synchronous && tag == domain->tag_window)
        return PMPI_Issend(buf, count, type, rank, tag, comm, request);
    return PMPI_Isend(buf, count, type, rank, tag, comm, request);
}

static MPI_Win window_make(int which, MPI_Comm comm)
{
    MPI_Win win = MPI_WIN_NULL;

    CHECK(MPI_Win_create(memory[which], LEN, 1, MPI_INFO_NULL, comm, &win) ==
          MPI_SUCCESS);
    return win;
}

static hg_return_t learn(MPI_Win win)
{
    struct amg_segment part = {0};
    hg_return_t rc = amg_mpi_window_learn(pair_domain, win, &part);

    CHECK(rc != HG_SUCCESS || part.len == LEN);
    return rc;
}

/* What memory of a window goes by; 0: nothing. */
static uint32_t number_of(int which)
{
    const struct amg_segment all = {memory[which], LEN};
    const struct amg_mpi_user_window *window = NULL;
    uint32_t id = 0;

    amg_bias_take(domain->lock);
    window = amg_mpi_user_window_of_locked(domain, &all, 1);
    id = window == NULL ? 0 : window->id;
    amg_bias_give(domain->lock);
    return id;
}

/* All have the same number for it, but those that have none. */
static void numbers_agree(int which)
{
    uint32_t mine = number_of(which);
    uint32_t theirs = mine;

    MPI_Bcast(&theirs, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
    CHECK(mine == 0 || mine == theirs);
}

static void *progress(void *arg)
{
    while (!atomic_load(&is_over))
        pair_poll();
    return arg;
}

/* Two ranks have 2^31 - 1 numbers each. When they have all been given, they
 * come again; but that of a window that is left is in use. */
static void many_windows_have_numbers(void)
{
    MPI_Win kept = window_make(0, MPI_COMM_WORLD);
    pthread_t thread;
    uint32_t id = 0;

    CHECK(learn(kept) == HG_SUCCESS);
    id = number_of(0);
    CHECK(id != 0);
    domain->user_window_count = INT32_MAX - MANY / 2;
    CHECK(pthread_create(&thread, NULL, progress, NULL) == 0);
    for (int i = 0; i < MANY; i++) {
        MPI_Win win = window_make(1, MPI_COMM_SELF);

        CHECK(learn(win) == HG_SUCCESS && learn(win) == HG_SUCCESS);
        CHECK(number_of(1) != 0 && number_of(1) != id);
        MPI_Win_free(&win);
        CHECK(number_of(1) == 0);
    }
    atomic_store(&is_over, true);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(number_of(0) == id);
    numbers_agree(0);
    MPI_Win_free(&kept);
}

/* Who is first serves the others until they have asked for the number. */
static void first_serves_while_it_tells(void)
{
    MPI_Win win = window_make(0, MPI_COMM_WORLD);
    pthread_t thread;

    is_synchronous = true;
    atomic_store(&is_over, false);
    if (pair_rank == 0)
        CHECK(pthread_create(&thread, NULL, progress, NULL) == 0);
    else
        for (uint32_t i = 0; i < CALLS; i++)
            pair_ask(0, i);
    CHECK(learn(win) == HG_SUCCESS && number_of(0) != 0);
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&is_over, true);
    if (pair_rank == 0)
        CHECK(pthread_join(thread, NULL) == 0);
    is_synchronous = false;
    numbers_agree(0);
    MPI_Win_free(&win);
}

/* Who is first and has no memory says so, and all may try again. */
static void first_without_memory_is_heard(void)
{
    MPI_Win win = window_make(0, MPI_COMM_WORLD);

    amg_mem_fail_nth(pair_rank == 0 ? 1 : 0);
    CHECK(learn(win) == HG_NOMEM);
    amg_mem_fail_nth(0);
    CHECK(number_of(0) == 0);
    CHECK(learn(win) == HG_SUCCESS);
    CHECK(number_of(0) != 0);
    numbers_agree(0);
    MPI_Win_free(&win);
}

/* Who could not take a number takes no other for it. */
static void last_without_memory_learns_no_more(void)
{
    MPI_Win one = window_make(0, MPI_COMM_WORLD);
    MPI_Win other = window_make(1, MPI_COMM_WORLD);
    MPI_Win own = MPI_WIN_NULL;
    bool is_last = pair_rank == pair_size - 1;

    amg_mem_fail_nth(is_last ? 1 : 0);
    CHECK(learn(one) == (is_last ? HG_NOMEM : HG_SUCCESS));
    amg_mem_fail_nth(0);
    CHECK(learn(other) == (is_last ? HG_TIMEOUT : HG_SUCCESS));
    CHECK((number_of(1) == 0) == is_last);
    numbers_agree(0);
    numbers_agree(1);
    MPI_Win_free(&one);
    MPI_Win_free(&other);
    own = window_make(0, MPI_COMM_SELF); /* needs nobody */
    CHECK(learn(own) == HG_SUCCESS && number_of(0) != 0);
    MPI_Win_free(&own);
}

/* A number that comes too late is no other window's. */
static void late_number_is_not_taken(void)
{
    MPI_Win one = window_make(0, MPI_COMM_WORLD);
    MPI_Win other = window_make(1, MPI_COMM_WORLD);

    if (pair_rank != 0)
        CHECK(learn(one) == HG_TIMEOUT && number_of(0) == 0);
    pair_sync(true);
    if (pair_rank == 0)
        CHECK(learn(one) == HG_SUCCESS);
    pair_sync(true);
    CHECK(learn(other) == (pair_rank == 0 ? HG_SUCCESS : HG_TIMEOUT));
    numbers_agree(0);
    numbers_agree(1);
    CHECK(number_of(0) != number_of(1) || pair_rank != 0);
    MPI_Win_free(&one);
    MPI_Win_free(&other);
}

static void class_open(void)
{
    pair_open(0);
    domain = amg_mpi_domain_of(pair_domain);
}

int main(void)
{
    int level = 0;

    setenv("AMALGAM_FINALIZE_TIMEOUT_MS", "3000", 1);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    class_open();
    many_windows_have_numbers();
    first_serves_while_it_tells();
    first_without_memory_is_heard();
    last_without_memory_learns_no_more();
    pair_close();
    class_open();
    late_number_is_not_taken();
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
