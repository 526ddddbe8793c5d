/* SPDX-License-Identifier: BSD-3-Clause */
/* Watch of a rank.
 *
 * It counts pauses and not time: on a loaded machine, or while a debugger holds
 * the process, a rank does not stand because the watch did not run. */
#include "watch.h"

#include <dirent.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "slow.h"

enum {
    PAUSE_MS = 50,
    STALL_MS = 3000 * TEST_SLOW,
    FRAMES_MAX = 40,
    STACK_WAIT_MS = 200,
};

static struct {
    struct book *book;
    struct exchange *exchange;
    unsigned limit_ms;
    watch_report_fn report;
    void *arg;
    pthread_t thread;
    _Atomic(const char *) phase;
    atomic_bool ends;
    atomic_uint stacks; /* written so far: tells the watch to go on */
} watch;

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

static void stall_write(void)
{
    fprintf(stderr, "torture: rank %u stands: %s\n",
        exchange_rank(watch.exchange), atomic_load(&watch.phase));
    watch.report(watch.arg, stderr);
    stacks_write();
    fflush(stderr);
}

static void *watch_run(void *arg)
{
    uint64_t last = 0;
    unsigned still_ms = 0;

    (void)arg;
    while (!atomic_load(&watch.ends)) {
        uint64_t moves = book_moves(watch.book);

        pause_ms(PAUSE_MS);
        if (moves != last) {
            last = moves;
            still_ms = 0;
            continue;
        }
        still_ms += PAUSE_MS;
        if (still_ms == STALL_MS)
            stall_write();
        if (still_ms < watch.limit_ms)
            continue;
        book_finding(watch.book, "nothing moved for %u s: %s",
            watch.limit_ms / 1000, atomic_load(&watch.phase));
        exchange_abort(watch.exchange);
    }
    return NULL;
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
