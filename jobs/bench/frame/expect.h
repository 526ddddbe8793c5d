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
/* A benchmark is run: its rows are expected to come. */
void expect_bench(const char *bench);
/* A row has come. */
void expect_row(const struct row *row);
/* Says of each expectation that does not hold what was wanted and what came,
 * and returns their number. Rows over `asked` (NULL: auto) that did not come
 * count when the run `is_whole`. */
unsigned expect_close(const char *asked, bool is_whole);

enum { EXPECT_COLUMNS = 32 };

/* One ratio that is expected of all rows that are alike in some columns. */
struct expectation {
    bool has[EXPECT_COLUMNS]; /* a value for the column of this index */
    const char *texts[EXPECT_COLUMNS];
    double numbers[EXPECT_COLUMNS];
    double ratio;
    bool was_met; /* a row was as described */
};

/* Is the row one of those? */
bool expectation_meets(
    const struct expectation *expectation, const struct row *row);
/* Does the ratio of that row hold, with `slack` as a part of what is wanted? */
bool expectation_holds(
    const struct expectation *expectation, const struct row *row, double slack);
/* The text that it has for a column; NULL: none. */
const char *expectation_text(
    const struct expectation *expectation, const char *key);
/* Reads expectations, and what slack they have, from JSON. False, with a line
 * why, when it is not as it has to be. The caller frees the result, whose
 * texts live until the next file is read. */
bool expectations_read(const char *path, struct expectation **ret_expectations,
    unsigned *ret_count, double *ret_slack);

#endif
