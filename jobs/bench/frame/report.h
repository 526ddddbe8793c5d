/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a run: its rows as a table, its warnings, what was expected,
 * its exit code.
 *
 * Only rank 0 reports. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "jobs/bench/frame/figures.h"
#include "jobs/bench/frame/options.h"
#include "jobs/bench/frame/world.h"

enum {
    REPORT_EXIT_USAGE = 2,  /* nothing was measured */
    REPORT_EXIT_EXPECT = 3, /* a ratio does not hold */
};

/* Opens what is written, and reads what is expected. An exit code, with a line
 * why, or 0. `command` and `world` live until the end. */
int report_open(const struct options *options, const char *command,
    const struct world *world);
/* At the end: the exit code. `failure` is what kept the run from measuring all,
 * or NULL. */
int report_close(const char *failure);

/* Prints the row to stdout, and adds it to the documents. */
void report_row(const struct row *row);
/* Sets who makes progress at a rank: the first time counts. */
void report_progress(int rank, const char *progress);
/* One line, which is also printed at the end. */
void report_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Expectations of the user: reads the file before anything is measured. False,
 * with a line why, naming the line or the field. */
bool expect_open(const char *path);
/* A row has come; so many expectations of it do not hold. */
unsigned expect_row(const struct row *row);
/* Tells of each that does not hold, and returns their number; among them, if
 * the run `is_whole`, those of that benchmark ("all") and transport that no row
 * has met. */
unsigned expect_close(const char *bench, const char *transport, bool is_whole);

#endif
