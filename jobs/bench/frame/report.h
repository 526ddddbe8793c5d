/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a run: its rows as a table, its warnings, its exit code.
 *
 * Only rank 0 reports. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "jobs/bench/frame/figures.h"
#include "jobs/bench/frame/machine.h"
#include "jobs/bench/frame/options.h"

enum {
    REPORT_COMMAND_CAP = 1024,
    REPORT_EXIT_USAGE = 2,  /* nothing was measured */
    REPORT_EXIT_EXPECT = 3, /* a ratio does not hold */
};

/* Opens what is written, reads what is expected, and prepares for the end by a
 * signal. An exit code, with a line why, or 0. `ranks` live until the end. */
int report_open(const struct options *options, const char *command,
    const struct world *world, struct machine_rank *ranks);
/* At the end: the exit code. `failure` is what kept the run from measuring all,
 * or NULL. */
int report_close(const char *failure);

/* Prints the row to stdout, and adds it to the documents. */
void report_row(const struct row *row);
/* Sets who makes progress at a rank: the first time counts. */
void report_progress(int rank, const char *progress);
/* The one core that a rank is bound to. */
void report_core(int rank, int core);
/* One line, which is also printed at the end. */
void report_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
