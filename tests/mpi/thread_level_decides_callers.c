/* SPDX-License-Identifier: BSD-3-Clause */
/* Allowed calls at each thread level of MPI, which the log names; and, with a
 * progress thread configured, the reason that there is none. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { CALLS = 50, ASKS = 2000 };

static struct ranks all;
static struct ranks_call posted;
static hg_return_t post_ret;
static atomic_bool thread_is_done;

static const struct level_row {
    const char *name;
    const char *log;
    int level;
} level_rows[] = {
    {"single", "MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
    {"funneled", "MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
    {"serialized", "MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
    {"multiple", "MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE},
};

static int neighbour(void)
{
    return (all.rank + 1) % all.size;
}

static void *calls_make(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < CALLS; i++)
        ranks_echo(&all, neighbour(), i);
    ranks_swap(&all, neighbour(), 50000);
    atomic_store(&thread_is_done, true);
    return NULL;
}

static void *call_post(void *arg)
{
    ranks_echo_t in = {41, all.rank};
    hg_bulk_t bulk = HG_BULK_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    (void)arg;
    HG_Set_log_level("none");
    EXPECT(HG_OPNOTSUPPORTED, amalgam_bulk_create_type(all.cls, &all, 1,
                                  MPI_INT, HG_BULK_READ_ONLY, &bulk));
    EXPECT(HG_OPNOTSUPPORTED, amalgam_test(all.cls, &request, &flag, NULL));
    EXPECT(HG_OPNOTSUPPORTED, amalgam_wait(all.cls, &request, 0, NULL));
    EXPECT(HG_OPNOTSUPPORTED, amalgam_barrier(all.cls));
    HG_Set_log_level("error");
    post_ret = ranks_begin(&all, &posted, neighbour(), all.echo, &in);
    atomic_store(&thread_is_done, true);
    return NULL;
}

static pthread_t thread_start(void *(*function)(void *))
{
    pthread_t thread;

    atomic_store(&thread_is_done, false);
    CHECK(pthread_create(&thread, NULL, function, NULL) == 0);
    return thread;
}

/* Both threads call and make progress at the same time. */
static void multiple_test(void)
{
    pthread_t thread = thread_start(calls_make);

    for (uint64_t i = 0; i < CALLS; i++)
        ranks_echo(&all, neighbour(), i + 1000);
    UNTIL(atomic_load(&thread_is_done));
    pthread_join(thread, NULL);
}

/* The ranks in turn call from a thread that is not the first; their first
 * thread stays outside the library and MPI meanwhile. */
static void serialized_test(void)
{
    for (int turn = 0; turn < all.size; turn++) {
        if (turn == all.rank)
            pthread_join(thread_start(calls_make), NULL);
        ranks_meet(MPI_COMM_WORLD);
    }
}

/* Does another call of MPI overlap? For those of the two threads below. */
static atomic_int inside;
static atomic_bool was_broken;

static void mpi_enter(void)
{
    if (atomic_fetch_add(&inside, 1) > 0)
        atomic_store(&was_broken, true);
    sched_yield();
}

static void mpi_leave(void)
{
    atomic_fetch_sub(&inside, 1);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    int rc = MPI_SUCCESS;

    mpi_enter();
    rc = PMPI_Test(request, flag, status);
    mpi_leave();
    return rc;
}

int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int *size)
{
    int rc = MPI_SUCCESS;

    mpi_enter();
    rc = PMPI_Pack_size(count, type, comm, size);
    mpi_leave();
    return rc;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    int rc = MPI_SUCCESS;

    mpi_enter();
    rc = PMPI_Comm_group(comm, group);
    mpi_leave();
    return rc;
}

static void *asks_make(void *arg)
{
    for (int i = 0; i < ASKS; i++) {
        hg_bulk_t bulk = HG_BULK_NULL;
        hg_addr_t addr = HG_ADDR_NULL;

        OK(amalgam_bulk_create_type(
            all.cls, &all, 1, MPI_INT, HG_BULK_READ_ONLY, &bulk));
        OK(HG_Bulk_free(bulk));
        OK(amalgam_addr_comm_rank(all.cls, MPI_COMM_SELF, 0, &addr));
        OK(HG_Addr_free(all.cls, addr));
    }
    atomic_store(&thread_is_done, true);
    return arg;
}

/* Queries of MPI by the library do not overlap other calls. */
static void asks_take_turns(void)
{
    pthread_t thread = thread_start(asks_make);

    while (!atomic_load(&thread_is_done))
        (void)HG_Progress(all.context, 0);
    pthread_join(thread, NULL);
    CHECK(!atomic_load(&was_broken));
}

static void answer_check(void)
{
    ranks_echo_t out = {0, 0};

    OK(ranks_wait(&posted));
    OK(HG_Get_output(posted.handle, &out));
    CHECK(out.value == 42);
    OK(HG_Free_output(posted.handle, &out));
    ranks_end(&posted);
}

/* The post is accepted; the first thread's progress sends it. */
static void funneled_test(void)
{
    pthread_join(thread_start(call_post), NULL);
    OK(post_ret);
    CHECK(atomic_load(&posted.done) == 0);
    answer_check();
}

/* The post is refused, and the handle stays usable. */
static void single_test(void)
{
    ranks_echo_t in = {41, all.rank};

    pthread_join(thread_start(call_post), NULL);
    EXPECT(HG_OPNOTSUPPORTED, post_ret);
    CHECK(atomic_load(&posted.done) == 0);
    OK(HG_Forward(posted.handle, ranks_done, &posted, &in));
    answer_check();
}

int main(int argc, char **argv)
{
    const struct level_row *row = level_rows;
    const char *progress = getenv("AMALGAM_PROGRESS");
    bool wants_thread = progress != NULL && strcmp(progress, "thread") == 0;
    FILE *warnings = NULL;
    FILE *log = NULL;

    CHECK(argc == 2);
    while (strcmp(row->name, argv[1]) != 0)
        row++;
    ranks_start(row->level);
    if (wants_thread)
        warnings = ranks_log_catch("warning");
    log = ranks_log_catch("info");
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(ranks_log_has(log, row->log));
    if (wants_thread)
        CHECK(ranks_log_has(warnings, "MPI_Init_thread(MPI_THREAD_MULTIPLE)") ==
              (row->level < MPI_THREAD_MULTIPLE && all.rank == 0));
    HG_Set_log_level("error");
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    if (row->level == MPI_THREAD_MULTIPLE)
        multiple_test();
    else if (row->level == MPI_THREAD_SERIALIZED) {
        serialized_test();
        asks_take_turns();
    } else if (row->level == MPI_THREAD_FUNNELED)
        funneled_test();
    else
        single_test();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
