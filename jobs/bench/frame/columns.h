/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys that a row has in documents, in their order. */
#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include <stddef.h>

#include "jobs/bench/frame/rows.h"

/* What stands in `struct row` at the offset of a column. */
enum column_kind {
    COLUMN_TEXT,   /* const char *; NULL is "" */
    COLUMN_SIZE,   /* size_t */
    COLUMN_COUNT,  /* unsigned */
    COLUMN_NUMBER, /* double */
    COLUMN_PAIR,   /* double[2] */
    COLUMN_FLAG,   /* bool */
};

struct column {
    const char *key;
    enum column_kind kind;
    size_t offset;
};

extern const struct column columns[];
extern const unsigned column_count;

const char *column_text(const struct row *row, const struct column *column);
/* Of all other kinds; `index` is 0 but for the second of a pair. */
double column_number(
    const struct row *row, const struct column *column, unsigned index);

#endif
