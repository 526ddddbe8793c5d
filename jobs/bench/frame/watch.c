/* SPDX-License-Identifier: BSD-3-Clause */
/* The watch over a run: deadlines, signals, the time limit.
 *
 * SIGALRM enforces a deadline: this needs no thread, which would take its share
 * of a core, and no reading of the clock among the calls that are measured. All
 * rows are on disk when a signal comes; mpiexec ends the other ranks. The time
 * limit takes effect between two rows, at all ranks. */
#include "jobs/bench/frame/watch.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jobs/bench/frame/clock.h"

enum { LINE_CAP = 512, WHAT_CAP = 128 };

static struct {
    int rank;
    unsigned deadline_s;
    char late[LINE_CAP]; /* line for a deadline: a handler cannot format */
    double end_us;       /* of the run; 0: no limit */
    bool was_reached;
} watch;

static void signal_came(int number)
{
    const char *line =
        number == SIGALRM ? watch.late : "\namalgam_bench: ended by a signal\n";
    ssize_t written = write(STDERR_FILENO, line, strlen(line));

    (void)written;
    _exit(WATCH_EXIT + number);
}

void watch_init(int rank, unsigned deadline_s, unsigned time_s)
{
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
    struct sigaction action = {.sa_handler = signal_came};

    watch.rank = rank;
    watch.deadline_s = deadline_s;
    watch.end_us = time_s == 0 ? 0.0 : clock_now_us() + time_s * 1e6;
    for (unsigned i = 0; i < 4; i++)
        sigaction(numbers[i], &action, NULL);
}

void guard_step(const char *format, ...)
{
    char what[WHAT_CAP];
    va_list args;

    alarm(0);
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(watch.late, sizeof(watch.late),
        "amalgam_bench: rank %d: not done after %u s: %s; is the other rank "
        "alive? --deadline allows more time\n",
        watch.rank, watch.deadline_s, what);
    alarm(watch.deadline_s);
}

void guard_rest(void)
{
    alarm(0);
}

bool limit_is_over(MPI_Comm comm)
{
    int is_over = watch.end_us > 0.0 && clock_now_us() >= watch.end_us;

    if (watch.end_us == 0.0)
        return false;
    MPI_Bcast(&is_over, 1, MPI_INT, 0, comm);
    watch.was_reached = watch.was_reached || is_over;
    return is_over != 0;
}

bool limit_was_reached(void)
{
    return watch.was_reached;
}
