/* SPDX-License-Identifier: BSD-3-Clause */
/* All that a run says of itself: its head, its rows and its end.
 *
 * With --json and --csv it is written to files after each row, so that there is
 * something to read however the run ends. Only rank 0 has any of it. */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <stdbool.h>
#include <stdio.h>

#include "jobs/bench/frame/machine.h"
#include "jobs/bench/frame/options.h"
#include "jobs/bench/frame/rows.h"

enum {
    RESULTS_COMMAND_CAP = 1024,
    RESULTS_NAME_CAP = 64,
    RESULTS_WARNING_CAP = 256,
    RESULTS_WARNINGS_MAX = 16,
};

/* What is told of one rank. */
struct results_rank {
    char host[RESULTS_NAME_CAP];
    char cores[RESULTS_NAME_CAP];    /* that it may use: "3", "0-3,8" */
    char progress[RESULTS_NAME_CAP]; /* who moves its messages; "": unknown */
};

struct results {
    const struct options *options;
    char command[RESULTS_COMMAND_CAP];
    char date[RESULTS_NAME_CAP]; /* when it began: ISO 8601, UTC */
    double seconds;              /* since then */
    int nodes;
    struct results_rank *ranks; /* those of the caller */
    int rank_count;
    char via[RESULTS_NAME_CAP]; /* what carried calls first; "": none yet */
    struct machine machine;
    bool is_complete;
    const char *why; /* it is not complete */
    char warnings[RESULTS_WARNINGS_MAX][RESULTS_WARNING_CAP];
    unsigned warning_count;
    unsigned row_count;
    unsigned noisy_count; /* of these */
};

/* One form of the document; each function writes a part of it. */
struct results_form {
    void (*head)(FILE *stream, const struct results *results);
    void (*row)(FILE *stream, const struct row *row, bool is_first);
    void (*end)(FILE *stream, const struct results *results);
};

extern const struct results_form results_json;
extern const struct results_form results_csv;

/* Begins a run; `ranks` live until its end. False, with a word why: a file
 * cannot be written. */
bool results_open(const struct options *options, const char *command,
    struct results_rank *ranks, int rank_count, int nodes);
/* What carries calls, and who makes progress at a rank: the first time counts.
 */
void results_say_via(const char *via);
void results_say_progress(int rank, const char *progress);
/* The one core that a rank is bound to. */
void results_say_core(int rank, int core);
/* In one line, which is also printed at the end. */
void results_warn(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void results_add(const struct row *row);
/* What there is so far. */
const struct results *results_get(void);
/* The file to look into when a run ended before its end; NULL: there is none,
 * or what was named is no plain file. */
const char *results_path(void);
/* The end; `why` is NULL where all that was asked for was measured. False, with
 * a word why, when a file is not whole. */
bool results_close(const char *why);

#endif
