/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents of a run: --json and --csv.
 *
 * Each is written to its file after each row, so that there is something to
 * read however the run ends. Only rank 0 has any of it. */
#ifndef BENCH_DOCUMENT_H
#define BENCH_DOCUMENT_H

#include "jobs/bench/frame/figures.h"
#include "jobs/bench/frame/machine.h"
#include "jobs/bench/frame/options.h"

enum {
    DOCUMENT_COMMAND_CAP = 1024,
    DOCUMENT_WARNING_CAP = 256,
    DOCUMENT_WARNINGS_MAX = 16,
};

/* The head of a document. */
struct results {
    const struct options *options;
    char command[DOCUMENT_COMMAND_CAP];
    char date[MACHINE_NAME_CAP]; /* when it began: ISO 8601, UTC */
    double seconds;              /* since then */
    int nodes;
    struct machine_rank *ranks;
    int rank_count;
    char via[MACHINE_NAME_CAP]; /* what carried calls first; "": none yet */
    struct machine machine;
    const char *why; /* it is incomplete; "": it is complete */
    bool is_over;    /* no more rows come */
    char warnings[DOCUMENT_WARNINGS_MAX][DOCUMENT_WARNING_CAP];
    unsigned warning_count;
};

/* Opens the files that `results` asks for; it lives until documents_close(),
 * and what it says is written with each row. False, with a line why: a file
 * cannot be written. */
bool documents_open(const struct results *results);
void documents_add(const struct row *row);
/* The file to look into when a run ended before its end; NULL: there is none,
 * or what was named is no plain file. */
const char *documents_path(void);
/* False, with a line why, when a file is not whole. */
bool documents_close(void);

#endif
