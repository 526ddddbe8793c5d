/* SPDX-License-Identifier: BSD-3-Clause */
/* Watches of all ranks.
 *
 * The job stands while no rank moves: one that waits for the others does not.
 * And a watch counts pauses and not time, those of the rank that made fewest:
 * a rank that the kernel keeps from the cores, or that a debugger holds, does
 * not move, and its watch does not count. */
#include "watch.h"

#include <assert.h>
#include <dirent.h>
#include <execinfo.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plan.h"
#include "slow.h"

enum {
    PAUSE_MS = 50,
    STALL_MS = 3000 * TEST_SLOW,
    FRAMES_MAX = 40,
    STACK_WAIT_MS = 200,
};

/* What a watch says to the others. */
struct mark {
    _Alignas(EXCHANGE_BOARD_LEN) atomic_ulong moves;
    atomic_ulong pauses;
    atomic_bool is_over;
};

static_assert(sizeof(struct mark) == EXCHANGE_BOARD_LEN, "one for each rank");

static struct {
    struct book *book;
    struct exchange *exchange;
    struct mark *marks; /* of all ranks that this one sees */
    struct mark *mine;
    unsigned marks_count;
    struct mark alone; /* of this rank, if it sees no other one */
    unsigned limit_ms;
    watch_report_fn report;
    void *arg;
    pthread_t thread;
    _Atomic(const char *) phase;
    atomic_bool ends;
    atomic_uint stacks; /* written so far: tells the watch to go on */
} watch;

/* What this rank saw of all others when something moved last. */
struct still {
    unsigned long moves[PLAN_RANKS_MAX];
    unsigned long since[PLAN_RANKS_MAX]; /* pauses */
};

static void pause_ms(unsigned ms)
{
    const struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

    (void)nanosleep(&pause, NULL);
}

static int stack_signal(void)
{
    return SIGRTMIN + 7;
}

static void stack_write(int number)
{
    void *frames[FRAMES_MAX];
    int count = backtrace(frames, FRAMES_MAX);

    (void)number;
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
    atomic_fetch_add(&watch.stacks, 1);
}

/* One thread after another. */
static void stacks_write(void)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry = NULL;
    long self = syscall(SYS_gettid);

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        long id = strtol(entry->d_name, NULL, 10);
        unsigned before = atomic_load(&watch.stacks);

        if (id == 0 || id == self)
            continue;
        fprintf(stderr, "torture: stack of rank %u, thread %ld:\n",
            exchange_rank(watch.exchange), id);
        (void)syscall(SYS_tgkill, (long)getpid(), id, (long)stack_signal());
        for (unsigned ms = 0;
             atomic_load(&watch.stacks) == before && ms < STACK_WAIT_MS; ms++)
            pause_ms(1);
    }
    if (folder != NULL)
        (void)closedir(folder);
}

/* After 3 s, and again after half the limit: what differs still moves. */
static void stall_write(unsigned long ms)
{
    fprintf(stderr, "torture: rank %u stands for %lu s: %s\n",
        exchange_rank(watch.exchange), ms / 1000, atomic_load(&watch.phase));
    watch.report(watch.arg, stderr);
    stacks_write();
    fflush(stderr);
}

/* How long each rank has watched, and none has moved. */
static unsigned long still_ms(struct still *still)
{
    unsigned long least = ULONG_MAX;

    for (unsigned i = 0; i < watch.marks_count; i++) {
        unsigned long pauses = atomic_load(&watch.marks[i].pauses);
        unsigned long moves = atomic_load(&watch.marks[i].moves);

        if (moves != still->moves[i]) {
            for (unsigned k = 0; k < watch.marks_count; k++)
                still->since[k] = atomic_load(&watch.marks[k].pauses);
            still->moves[i] = moves;
            least = 0;
        } else if (!atomic_load(&watch.marks[i].is_over) &&
                   pauses - still->since[i] < least) {
            least = pauses - still->since[i];
        }
    }
    return least == ULONG_MAX ? 0 : least * PAUSE_MS;
}

static void *watch_run(void *arg)
{
    struct still still = {{0}, {0}};
    unsigned long written_ms = 0;

    (void)arg;
    while (!atomic_load(&watch.ends)) {
        unsigned long ms = 0;

        pause_ms(PAUSE_MS);
        atomic_store(&watch.mine->moves, book_moves(watch.book));
        atomic_fetch_add(&watch.mine->pauses, 1);
        ms = still_ms(&still);
        if (ms < STALL_MS) {
            written_ms = 0;
        } else if (written_ms == 0 || (ms >= watch.limit_ms / 2 &&
                                          written_ms < watch.limit_ms / 2)) {
            stall_write(ms);
            written_ms = ms;
        }
        if (ms < watch.limit_ms)
            continue;
        book_finding(watch.book, "nothing moved for %u s: %s",
            watch.limit_ms / 1000, atomic_load(&watch.phase));
        exchange_abort(watch.exchange);
    }
    atomic_store(&watch.mine->is_over, true);
    return NULL;
}

static void marks_find(void)
{
    void *board = exchange_board(watch.exchange);

    watch.marks = board != NULL ? board : &watch.alone;
    watch.marks_count = board != NULL ? exchange_size(watch.exchange) : 1;
    watch.mine = watch.marks;
    if (board != NULL)
        watch.mine += exchange_rank(watch.exchange);
}

void watch_start(struct book *book, struct exchange *exchange, unsigned limit_s,
    watch_report_fn report, void *arg)
{
    struct sigaction action;
    void *frames[1];

    /* Loads what it needs, because a signal handler may not. */
    (void)backtrace(frames, 1);
    memset(&action, 0, sizeof(action));
    action.sa_handler = stack_write;
    action.sa_flags = SA_RESTART;
    (void)sigaction(stack_signal(), &action, NULL);
    watch.book = book;
    watch.exchange = exchange;
    watch.limit_ms = limit_s * 1000 * TEST_SLOW;
    watch.report = report;
    watch.arg = arg;
    marks_find();
    atomic_store(&watch.phase, "starts");
    if (pthread_create(&watch.thread, NULL, watch_run, NULL) != 0)
        abort();
}

void watch_stop(void)
{
    atomic_store(&watch.ends, true);
    pthread_join(watch.thread, NULL);
}

void watch_phase(const char *phase)
{
    atomic_store(&watch.phase, phase);
}
