/* SPDX-License-Identifier: BSD-3-Clause */
/* The form of all results: rows, as a table and as JSON. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* One result beside its control. The JSON has these as its keys, without
 * p999_us, and `spread` as an array [q1, q3]. Strings are the caller's. */
struct row {
    const char *bench;
    const char *transport;
    const char *op;
    size_t size;        /* bytes of payload; 0: the null call */
    unsigned window;    /* operations in flight at once */
    const char *memory; /* where the payload lies: "host" */
    const char *unit;   /* of value and control_value: "us" or "GB/s" */
    double value;       /* median of all calls, or of all batches */
    double p50_us;      /* of one operation, like the next two */
    double p99_us;
    double p999_us;
    const char *control; /* what the figure is compared with, in words */
    double control_value;
    double ratio;       /* ours / control: the median of the batches' */
    const char *better; /* "lower" or "higher": what is good for `value` */
    unsigned batches;
    double spread[2]; /* the quartiles of the batches' ratios */
};

/* Prints to stdout, and writes to the file `json` unless it is NULL. False,
 * with a word why: it cannot be written. */
bool rows_open(const char *json);
void rows_add(const struct row *row);
/* False when the file could not be written to its end. */
bool rows_close(void);

#endif
