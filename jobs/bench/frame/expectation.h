/* SPDX-License-Identifier: BSD-3-Clause */
/* One ratio that is expected of all rows that are alike in some columns. */
#ifndef BENCH_EXPECTATION_H
#define BENCH_EXPECTATION_H

#include <stdbool.h>
#include <stdio.h>

#include "jobs/bench/frame/rows.h"

enum { EXPECTATION_COLUMNS = 32 };

/* Texts belong to whoever filled it. */
struct expectation {
    bool has[EXPECTATION_COLUMNS]; /* a value for the column of this index */
    const char *texts[EXPECTATION_COLUMNS];
    double numbers[EXPECTATION_COLUMNS];
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
/* All that is described, as "bench latency, size 8". */
void expectation_print(const struct expectation *expectation, FILE *stream);

/* Reads expectations, and what slack they have, from JSON. False, with a line
 * why, when it is not as it has to be. What is returned lives until the end of
 * the process. */
bool expectations_read(const char *path, struct expectation **ret_expectations,
    unsigned *ret_count, double *ret_slack);

#endif
