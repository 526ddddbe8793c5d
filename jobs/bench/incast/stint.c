/* SPDX-License-Identifier: BSD-3-Clause */
/* The time in which an origin calls as fast as it can, and what it got done. */
#include "jobs/bench/incast/stint.h"

#include <math.h>
#include <stdlib.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/frame/world.h"

enum {
    MORE_US = 100, /* at a time, while nothing has ended yet */
    US_PER_MS = 1000,
    EDGE_DIVISOR = 4, /* so much of what counts goes before, and comes after */
    SLOW_LEN = 16384, /* calls of so much take far longer than a look */
};

/* What one origin sends to rank 0. */
struct stint_report {
    double kps;
    double samples[STINT_SAMPLES];
};

void stint_start(struct stint *ret_stint, unsigned counts_ms, size_t size)
{
    double counts_us = (double)counts_ms * US_PER_MS;
    double now_us = clock_now_us();

    *ret_stint = (struct stint){.now_us = now_us, .step = 1};
    ret_stint->is_slow = size >= SLOW_LEN;
    ret_stint->from_us = now_us + counts_us / EDGE_DIVISOR;
    ret_stint->until_us = ret_stint->from_us + counts_us;
    ret_stint->end_us = ret_stint->until_us + counts_us / EDGE_DIVISOR;
}

bool stint_goes_on(struct stint *stint)
{
    stint->now_us = clock_now_us();
    if (stint->now_us >= stint->until_us && stint->counted == 0)
        stint->until_us = stint->end_us = stint->now_us + MORE_US;
    return stint->now_us < stint->end_us;
}

double stint_post(struct stint *stint)
{
    bool is_timed = stint->is_slow || stint->posted % STINT_TIMED_EVERY == 0;

    stint->posted++;
    return is_timed ? clock_now_us() : 0.0;
}

/* Keeps one of `step`; when there is no more room, every second one goes, and
 * of those to come twice as few are kept. */
static void sample_keep(struct stint *stint, double sample_us)
{
    if (++stint->timed < stint->step)
        return;
    stint->timed = 0;
    stint->samples[stint->kept++] = sample_us;
    if (stint->kept < 2 * STINT_SAMPLES)
        return;
    for (unsigned i = 0; i < STINT_SAMPLES; i++)
        stint->samples[i] = stint->samples[2 * i];
    stint->kept = STINT_SAMPLES;
    stint->step *= 2;
}

void stint_call_ended(struct stint *stint, double posted_us)
{
    stint->ended++;
    if (stint->now_us < stint->from_us || stint->now_us >= stint->until_us)
        return;
    stint->counted++;
    if (posted_us > 0.0)
        sample_keep(stint, clock_now_us() - posted_us);
}

/* Where too few ended for one of them to be timed, their mean stands for all.
 */
static void report_fill(
    const struct stint *stint, struct stint_report *ret_report)
{
    double counts_us = stint->until_us - stint->from_us;
    double counted = (double)stint->counted;

    ret_report->kps = counted / counts_us * 1e3;
    for (unsigned i = 0; i < STINT_SAMPLES; i++)
        ret_report->samples[i] =
            stint->kept == 0
                ? counts_us / counted
                : stint->samples[(size_t)i * stint->kept / STINT_SAMPLES];
}

static void reports_sum(const struct stint_report *reports, int size,
    int target, struct stint_sum *sum)
{
    double squares = 0.0;
    double least = INFINITY;
    double most = 0.0;

    *sum = (struct stint_sum){0};
    for (int i = 0; i < size; i++) {
        double kps = reports[i].kps;

        if (i == target)
            continue;
        sum->kps += kps;
        squares += kps * kps;
        least = kps < least ? kps : least;
        most = kps > most ? kps : most;
    }
    sum->fairness = sum->kps * sum->kps / ((size - 1) * squares);
    sum->slowest = least / most;
}

/* From each origin in turn. */
static void samples_pick(const struct stint_report *reports, int size,
    int target, double *ret_samples, unsigned count)
{
    unsigned origins = (unsigned)size - 1;
    unsigned each = (count + origins - 1) / origins;

    for (unsigned i = 0; i < count; i++) {
        unsigned origin = i % origins;
        size_t at = (size_t)(i / origins) * STINT_SAMPLES / each;

        if (origin >= (unsigned)target)
            origin++;
        ret_samples[i] = reports[origin].samples[at];
    }
}

void stint_gather(const struct pair *pair, int target,
    const struct stint *stint, double *ret_samples, unsigned count,
    struct stint_sum *ret_sum)
{
    int size = pair->world->size;
    struct stint_report own = {0};
    struct stint_report *reports = NULL;

    if (stint != NULL)
        report_fill(stint, &own);
    if (pair->rank == 0)
        reports = calloc((size_t)size, sizeof(*reports));
    if (pair->rank == 0 && reports == NULL)
        pair_check(pair, HG_NOMEM, "memory for what the origins got done");
    MPI_Gather(&own, sizeof(own), MPI_BYTE, reports, sizeof(own), MPI_BYTE, 0,
        pair->comm);
    if (pair->rank == 0) {
        reports_sum(reports, size, target, ret_sum);
        samples_pick(reports, size, target, ret_samples, count);
    }
    free(reports);
}
