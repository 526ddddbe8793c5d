/* SPDX-License-Identifier: BSD-3-Clause */
/* The ratios that a user expects, and whether they hold.
 *
 * An expectation holds for each row that it describes; whether its ratio is the
 * least or the most follows from what is better in that row. One that describes
 * none is missing, if its benchmark and transport were run. */
#include "jobs/bench/frame/expect.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/frame/expectation.h"
#include "jobs/bench/frame/results.h"

enum { BENCHES_MAX = 64 };

static struct {
    struct expectation *expectations;
    unsigned count;
    double slack;
    const char *benches[BENCHES_MAX]; /* that were run */
    unsigned bench_count;
    FILE *words; /* what does not hold, a line each */
    char *text;
    size_t len;
    unsigned unmet;
} expect;

bool expect_open(const char *path)
{
    expect.words = open_memstream(&expect.text, &expect.len);
    if (expect.words == NULL) {
        fputs("amalgam_bench: no memory for what is expected\n", stderr);
        return false;
    }
    return expectations_read(
        path, &expect.expectations, &expect.count, &expect.slack);
}

void expect_bench(const char *bench)
{
    if (expect.bench_count < BENCHES_MAX)
        expect.benches[expect.bench_count++] = bench;
}

static void unmet_say(
    const struct expectation *expectation, const struct row *row)
{
    bool is_higher = strcmp(row->better, "higher") == 0;

    expect.unmet++;
    fprintf(expect.words,
        "expected: %s %s over %s, %zu B, window %u, %s, against %s: ratio at "
        "%s %.3f (slack %.0f %%), got %.3f%s\n",
        row->bench, row->op, row->transport, row->size, row->window,
        row->memory, row->against, is_higher ? "least" : "most",
        expectation->ratio, expect.slack * 100.0, row->ratio,
        row->is_noisy ? ", noisy" : "");
}

void expect_row(const struct row *row)
{
    for (unsigned i = 0; i < expect.count; i++) {
        struct expectation *expectation = &expect.expectations[i];

        if (!expectation_meets(expectation, row))
            continue;
        expectation->was_met = true;
        if (!expectation_holds(expectation, row, expect.slack))
            unmet_say(expectation, row);
    }
}

/* Should rows as described have come? */
static bool is_due(const struct expectation *expectation)
{
    const char *bench = expectation_text(expectation, "bench");
    const char *transport = expectation_text(expectation, "transport");
    const char *asked = results_get()->options->transport;
    bool was_run = bench == NULL;

    for (unsigned i = 0; i < expect.bench_count && !was_run; i++)
        was_run = strcmp(bench, expect.benches[i]) == 0;
    return was_run &&
           (transport == NULL ||
               strcmp(transport, asked == NULL ? "auto" : asked) == 0);
}

static void missing_say(const struct expectation *expectation)
{
    expect.unmet++;
    fputs("expected: a row of ", expect.words);
    expectation_print(expectation, expect.words);
    fprintf(
        expect.words, ": ratio %.3f, got no such row\n", expectation->ratio);
}

unsigned expect_close(bool is_whole)
{
    if (expect.words == NULL)
        return 0;
    for (unsigned i = 0; is_whole && i < expect.count; i++)
        if (!expect.expectations[i].was_met && is_due(&expect.expectations[i]))
            missing_say(&expect.expectations[i]);
    fclose(expect.words);
    fputs(expect.text, stderr);
    if (expect.unmet == 0)
        fprintf(stderr, "All %u expectations hold%s.\n", expect.count,
            is_whole ? "" : ", as far as it went");
    free(expect.text);
    free(expect.expectations);
    expect.words = NULL;
    expect.count = 0;
    return expect.unmet;
}
