/* SPDX-License-Identifier: BSD-3-Clause */
/* The form of all results: rows, as a table and as JSON. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* One result beside its control. The JSON has these as its keys, without
 * p999_us, and `spread` as an array [q1, q3]. Strings are the caller's.
 *
 * The ratio is always ours / control in the row's own unit: of two times it is
 * good below 1, of two rates above it (and then is the control's time over
 * ours). `better` tells which. */
struct row {
    const char *bench;
    const char *transport; /* as it was asked for */
    const char *via;       /* what carried a call from rank 0 to rank 1 */
    const char *cores;     /* "0 1": pinned there; else "shared" */
    const char *op;
    size_t size;        /* bytes of payload; 0: the null call */
    unsigned window;    /* operations in flight at once */
    unsigned peers;     /* that have called the target, besides rank 0 */
    const char *memory; /* of the payload: "host" is the program's own, and
                         * "library" is from HG_Bulk_create() */
    const char *unit;   /* of value and control_value: see rows_close() */
    double value;       /* median of all calls, or of all batches */
    double p50_us;      /* of one operation, like the next two */
    double p99_us;
    double p999_us;
    const char *against; /* what the figure is compared with, in a word */
    const char *control; /* and in many */
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
