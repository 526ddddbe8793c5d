/* SPDX-License-Identifier: BSD-3-Clause */
/* The ratios that a user expects, and whether they hold. */
#ifndef BENCH_EXPECT_H
#define BENCH_EXPECT_H

#include <stdbool.h>

#include "jobs/bench/frame/rows.h"

/* Reads the file before anything is measured. False, with a line why, naming
 * the line or the field. */
bool expect_open(const char *path);
/* A benchmark is run: its rows are expected to come. */
void expect_bench(const char *bench);
/* A row has come. */
void expect_row(const struct row *row);
/* Says of each expectation that does not hold what was wanted and what came,
 * and returns their number. Rows that did not come count when the run
 * `is_whole`. */
unsigned expect_close(bool is_whole);

#endif
