/* SPDX-License-Identifier: BSD-3-Clause */
/* A job for trace_job.sh: ranks call each other and move bulk data, and the
 * clock of some ranks is wrong: SKEW_FROM is the first of them, by SKEW_NS
 * nanoseconds and SKEW_PPM parts per million. With TRACE_LATE=DIR the trace
 * begins and ends while the ranks call each other.
 *
 * Marks have the true time, so that a mark lies between the times of its text
 * and of the next mark: "true NS". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "amalgam_trace.h"
#include "tests/mpi/ranks.h"

enum { ROUNDS = 5, MARKS = 20 };

static int64_t number(const char *name)
{
    const char *text = getenv(name);

    return text == NULL ? 0 : strtoll(text, NULL, 10);
}

static int64_t true_ns(void)
{
    struct timespec now;

    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_skewed(void)
{
    return getenv("SKEW_FROM") != NULL &&
           number("SKEW_FROM") <= number("PMI_RANK");
}

/* Stands in for that of the C library, also for the library's calls. */
int clock_gettime(clockid_t id, struct timespec *ret_now)
{
    static int64_t start_ns, skew_ns, skew_ppm;
    int64_t now_ns = 0;

    if (id != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, id, ret_now);
    now_ns = true_ns();
    if (start_ns == 0) { /* the first call is by a single thread */
        skew_ns = is_skewed() ? number("SKEW_NS") : 0;
        skew_ppm = is_skewed() ? number("SKEW_PPM") : 0;
        start_ns = now_ns;
    }
    now_ns += skew_ns + (now_ns - start_ns) * skew_ppm / 1000000;
    ret_now->tv_sec = now_ns / 1000000000;
    ret_now->tv_nsec = now_ns % 1000000000;
    return 0;
}

static void marks_put(void)
{
    char text[64];

    for (int i = 0; i < MARKS; i++) {
        snprintf(text, sizeof(text), "true %" PRId64, true_ns());
        amalgam_trace_mark(text);
    }
}

int main(void)
{
    const char *late = getenv("TRACE_LATE");
    struct ranks ranks;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&ranks, MPI_COMM_WORLD);
    if (late != NULL) {
        ranks_exchange(&ranks);
        CHECK(amalgam_trace_start(late, AMALGAM_TRACE_THREADS) == HG_SUCCESS);
    }
    marks_put();
    for (int i = 0; i < ROUNDS; i++)
        ranks_exchange(&ranks);
    marks_put();
    if (late != NULL) {
        CHECK(amalgam_trace_stop() == HG_SUCCESS);
        ranks_exchange(&ranks);
    }
    ranks_close(&ranks);
    return ranks_stop();
}
