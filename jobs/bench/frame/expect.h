/* SPDX-License-Identifier: BSD-3-Clause */
/* The ratios that a user expects, and whether they hold.
 *
 * An expectation holds for each row that it describes; whether its ratio is the
 * least or the most follows from what is better in that row. One that describes
 * none is missing, if its benchmark and transport were run. */
#ifndef BENCH_EXPECT_H
#define BENCH_EXPECT_H

#include <stdbool.h>

#include "jobs/bench/frame/figures.h"

/* Reads the file before anything is measured. False, with a line why, naming
 * the line or the field. */
bool expect_open(const char *path);
/* A row has come. Returns how many expectations it met that do not hold. */
unsigned expect_row(const struct row *row);
/* Says of each expectation that does not hold what was wanted and what came,
 * and returns their number. Rows of that benchmark ("all"), over that
 * transport, which did not come count when the run `is_whole`. */
unsigned expect_close(const char *bench, const char *transport, bool is_whole);

#endif
