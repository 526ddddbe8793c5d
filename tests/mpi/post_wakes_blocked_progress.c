/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that block in HG_Progress() are woken by posts of another thread, not
 * only by their timeout: one of them polls, the other waits behind it, and
 * calls to self come from a third. */
#include <pthread.h>
#include <sched.h>

#include "ranks.h"

enum { LONG_MS = 8000, QUICK_MS = LONG_MS / 4, ROUNDS = 20 };

static struct ranks all;
static atomic_int waiting;
static atomic_bool is_over;
static atomic_int ended;

/* Blocks in the library, and runs callbacks when woken. */
static void *sleeper_run(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        unsigned count = 0;

        atomic_fetch_add(&waiting, 1);
        (void)HG_Progress(all.context, LONG_MS);
        atomic_fetch_sub(&waiting, 1);
        (void)HG_Trigger(all.context, 0, 64, &count);
    }
    atomic_fetch_add(&ended, 1);
    return NULL;
}

/* A call to self, for which this thread makes no progress. */
static uint64_t round_ns(uint64_t number)
{
    ranks_echo_t in = {number, all.rank};
    struct ranks_call call;
    uint64_t begin_ns = 0;

    /* Until both threads are about to block. */
    while (atomic_load(&waiting) < 2)
        sched_yield();
    begin_ns = ranks_now_ns();
    OK(ranks_begin(&all, &call, all.rank, all.echo, &in));
    while (atomic_load(&call.done) == 0)
        sched_yield();
    OK(call.ret);
    ranks_end(&call);
    return ranks_now_ns() - begin_ns;
}

int main(void)
{
    pthread_t threads[2];
    uint64_t longest_ns = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, sleeper_run, NULL) == 0);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t ns = round_ns(i);

        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    printf("rank %d: woken after %.3f ms at most\n", all.rank,
        1e-6 * (double)longest_ns);
    CHECK(longest_ns < QUICK_MS * 1000000ull);
    atomic_store(&is_over, true);
    /* Calls wake threads that still block. */
    while (atomic_load(&ended) < 2)
        ranks_echo(&all, all.rank, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
