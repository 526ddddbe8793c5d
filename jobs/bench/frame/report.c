/* SPDX-License-Identifier: BSD-3-Clause */
/* The first and the last words of a run. */
#include "jobs/bench/frame/report.h"

#include <signal.h>
#include <stdlib.h>

#include "jobs/bench/base/guard.h"
#include "jobs/bench/base/interrupt.h"
#include "jobs/bench/base/meter.h"
#include "jobs/bench/frame/expect.h"
#include "jobs/bench/frame/limit.h"

enum { WORDS_CAP = 4300 };

int report_open(
    const struct pair *pair, const char *command, struct results_rank *ranks)
{
    const struct options *options = pair->options;
    const char *path = NULL;
    char words[WORDS_CAP];

    if (ranks == NULL) {
        fputs("amalgam_bench: no memory for what the ranks are\n", stderr);
        return EXIT_FAILURE;
    }
    if (options->expect != NULL && !expect_open(options->expect))
        return REPORT_EXIT_USAGE;
    if (!results_open(
            options, command, ranks, pair->world->size, pair->world->nodes))
        return REPORT_EXIT_USAGE;
    meter_init();
    path = results_path();
    snprintf(words, sizeof(words), "incomplete: what was measured is in %s",
        path == NULL ? "the rows above" : path);
    interrupt_init(words);
    guard_set_tail(words);
    return EXIT_SUCCESS;
}

/* A run that ended early, as far as it is known. */
static const char *why_ended(const char *failure)
{
    return failure == NULL && limit_was_reached() ? "time limit" : failure;
}

int report_close(const char *failure)
{
    const struct results *results = results_get();
    const char *why = why_ended(failure);
    const char *path = results_path();
    unsigned unmet = 0;

    if (results->noisy_count > 0)
        results_warn("%u of %u rows are noisy (!): their control varied by "
                     "more than %.0f %%, or the host of this machine took "
                     "more than %.0f %% of its cores; is it idle?",
            results->noisy_count, results->row_count, ROWS_NOISY * 100.0,
            ROWS_STOLEN * 100.0);
    rows_end();
    unmet = expect_close(why == NULL);
    if (why != NULL)
        fprintf(stderr, "amalgam_bench: incomplete (%s)%s%s\n", why,
            path == NULL ? "" : ": what was measured is in ",
            path == NULL ? "" : path);
    if (!results_close(why) || failure != NULL)
        return EXIT_FAILURE;
    if (unmet > 0)
        return REPORT_EXIT_EXPECT;
    return why != NULL ? INTERRUPT_EXIT + SIGALRM : EXIT_SUCCESS;
}
