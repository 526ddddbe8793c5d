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

/* Opens the documents, and reads the expectations. Returns 0 or, with a line
 * why, an exit code. `command` and `world` live until the end. */
int report_open(const struct options *options, const char *command,
    const struct world *world);
/* Ends the report, and returns the exit code. `failure`: what kept the run from
 * measuring all, or NULL. */
int report_close(const char *failure);

/* Prints the row to stdout, and adds it to the documents. */
void report_row(const struct row *row);
/* Sets what makes progress at a rank; only the first call for a rank counts. */
void report_progress(int rank, const char *progress);
/* Adds a warning to the documents; the end of the run prints it. */
void report_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Expectations of the user: reads the file before anything is measured. False,
 * with a line that names the wrong line or field. */
bool expect_open(const char *path);
/* Checks a row. Returns how many expectations of the row do not hold. */
unsigned expect_row(const struct row *row);
/* Prints all expectations that do not hold, and returns their number. After a
 * complete run (`is_whole`) expectations of `bench` (or "all") and `transport`
 * that no row matched are among them. */
unsigned expect_close(const char *bench, const char *transport, bool is_whole);

#endif
