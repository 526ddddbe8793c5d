/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves what each thread level of MPI allows, and that the log names it. */
#include <pthread.h>
#include <string.h>

#include "ranks.h"

enum { CALLS = 50 };

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

    (void)arg;
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

/* One rank after the other calls from a thread that is not the first; its
 * first thread stays outside the library and MPI meanwhile. */
static void serialized_test(void)
{
    for (int turn = 0; turn < all.size; turn++) {
        if (turn == all.rank)
            pthread_join(thread_start(calls_make), NULL);
        ranks_meet(MPI_COMM_WORLD);
    }
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

/* The post is taken; the first thread's progress sends it. */
static void funneled_test(void)
{
    pthread_join(thread_start(call_post), NULL);
    OK(post_ret);
    CHECK(atomic_load(&posted.done) == 0);
    answer_check();
}

/* The post is refused, and the handle as good as before. */
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
    FILE *log = NULL;

    CHECK(argc == 2);
    while (strcmp(row->name, argv[1]) != 0)
        row++;
    ranks_start(row->level);
    log = ranks_log_catch("info");
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(ranks_log_has(log, row->log));
    HG_Set_log_level("error");
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    if (row->level == MPI_THREAD_MULTIPLE)
        multiple_test();
    else if (row->level == MPI_THREAD_SERIALIZED)
        serialized_test();
    else if (row->level == MPI_THREAD_FUNNELED)
        funneled_test();
    else
        single_test();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
