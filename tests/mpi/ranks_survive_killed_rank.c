/* SPDX-License-Identifier: BSD-3-Clause */
/* When a rank is killed the others go on: their calls to it end by HG_Cancel
 * after a timeout of their own, or unreachable where the transport hears of the
 * closed connection, and they still call each other. Run by
 * apart.sh. With a DEAD of tests/mpi/strict the rank makes calls until that
 * stops it. The rank is the last one, or the given one; with another argument
 * it is stopped for a while instead: then all calls to it succeed. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"
#include "strict/strict.h"

enum { CALLS = 100, PATIENCE_MS = 300, WORLD_MAX = 8 };

static struct ranks all;

/* More calls than credits: some wait here, some are in flight, and the first
 * may have been answered before the rank died. Returns the number
 * unanswered. */
static int dead_call(int rank)
{
    static struct ranks_call calls[CALLS];
    uint64_t late_ns = 0;
    int unanswered = 0;

    for (uint64_t i = 0; i < CALLS; i++) {
        ranks_echo_t in = {i, all.rank};

        OK(ranks_begin(&all, &calls[i], rank, all.echo, &in));
    }
    late_ns = ranks_now_ns() + PATIENCE_MS * 1000000ull;
    while (ranks_now_ns() < late_ns)
        ranks_turn();
    for (int i = 0; i < CALLS; i++) {
        OK(HG_Cancel(calls[i].handle));
        (void)ranks_wait(&calls[i]);
        CHECK(calls[i].ret == HG_CANCELED || calls[i].ret == HG_HOSTUNREACH ||
              calls[i].ret == HG_SUCCESS);
        unanswered += calls[i].ret != HG_SUCCESS;
        ranks_end(&calls[i]);
    }
    return unanswered;
}

/* The survivors cannot use a barrier of MPI: they count each other's calls. */
static void others_call(int dead, unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        for (int rank = 0; rank < all.size; rank++)
            if (rank != dead && rank != all.rank) {
                ranks_echo(&all, rank, i);
                ranks_swap(&all, rank, 200001);
            }
}

/* Is the process stopped by a signal? */
static bool is_stopped(pid_t pid)
{
    char path[64];
    char text[512] = "";
    const char *state = NULL;
    FILE *file = NULL;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file != NULL && fgets(text, sizeof(text), file) != NULL)
        state = strrchr(text, ')');
    if (file != NULL)
        (void)fclose(file);
    return state != NULL && state[1] == ' ' && state[2] == 'T';
}

/* The others call each other, and the stopped rank, which a neighbour
 * continues. */
static int stopped_outlive(int stopped, unsigned long before)
{
    static struct ranks_call calls[CALLS];
    unsigned long others = (unsigned long)(all.size - 2) * CALLS;
    int pid = (int)getpid();
    int has_pid[WORLD_MAX];

    MPI_Bcast(&pid, 1, MPI_INT, stopped, MPI_COMM_WORLD);
    /* A message may leave with its sender's next call of MPI only. */
    MPI_Gather(&pid, 1, MPI_INT, has_pid, 1, MPI_INT, stopped, MPI_COMM_WORLD);
    if (all.rank == stopped)
        raise(SIGSTOP);
    UNTIL(all.rank == stopped || is_stopped(pid));
    for (uint64_t i = 0; i < CALLS && all.rank != stopped; i++) {
        ranks_echo_t in = {i, all.rank};

        OK(ranks_begin(&all, &calls[i], stopped, all.echo, &in));
    }
    if (all.rank != stopped) {
        others_call(stopped, CALLS);
        UNTIL(atomic_load(&all.echoed) - before >= others);
    }
    if (all.rank == (stopped + 1) % all.size)
        kill(pid, SIGCONT);
    for (int i = 0; i < CALLS && all.rank != stopped; i++) {
        OK(ranks_wait(&calls[i]));
        ranks_end(&calls[i]);
    }
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    printf("rank %d survived\n", all.rank);
    fflush(stdout);
    return ranks_stop();
}

int main(int argc, char **argv)
{
    unsigned long before = 0;
    int dead = 0;
    const char *seed = NULL;
    FILE *log = NULL;
    char named[32];

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    dead = argc > 1 ? atoi(argv[1]) : all.size - 1;
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    /* The calls below may arrive as soon as another rank begins them. */
    before = atomic_load(&all.echoed);
    ranks_meet(MPI_COMM_WORLD);
    CHECK(all.size <= WORLD_MAX);
    if (argc > 2)
        return stopped_outlive(dead, before);
    seed = getenv(STRICT_ENV_SEED);
    MPI_Pcontrol(STRICT_RESEED, seed != NULL ? strtoull(seed, NULL, 0) : 0ull);
    while (all.rank == dead && getenv(STRICT_ENV_DEAD) != NULL)
        ranks_echo(&all, (dead + 1) % all.size, 1);
    if (all.rank == dead)
        raise(SIGKILL);
    /* It may take its time to die, and answer all of them meanwhile. */
    while (dead_call(dead) == 0)
        continue;
    others_call(dead, CALLS);
    UNTIL(atomic_load(&all.echoed) - before >=
          (unsigned long)(all.size - 2) * CALLS);
    log = ranks_log_catch("warning");
    HG_Set_log_stream("error", log);
    ranks_leave(&all);
    EXPECT(HG_TIMEOUT, amalgam_finalize(all.cls));
    snprintf(named, sizeof(named), "rank %d", dead);
    CHECK(ranks_log_has(log, named));
    ranks_survived(dead);
}
