/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a run, as a table on the terminal. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* One result beside its control. Documents have these as their keys, see
 * columns.c. Strings are the caller's, those of `control` and `against`
 * literals. What is left 0 or NULL is not known, unless something else is said.
 *
 * The ratio is always ours / control in the row's own unit: of two times it is
 * good below 1, of two rates above it (and then is the control's time over
 * ours). `better` tells which. */
struct row {
    const char *bench;
    const char *transport; /* as it was asked for */
    const char *via;       /* what carried a call from rank 0 to rank 1 */
    const char *cores; /* "0 1": pinned there; "pinned": each thread is; else
                        * "shared" */
    const char *op;
    size_t size;        /* bytes of payload; 0: the null call */
    unsigned window;    /* operations in flight at once */
    unsigned threads;   /* of each rank, that call; 0: one */
    unsigned ranks;     /* that take part; 0: two */
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
    double control_p50_us; /* of one operation of the control */
    double control_p99_us;
    double ratio;       /* ours / control: the median of the batches' */
    const char *better; /* "lower" or "higher": what is good for `value` */
    unsigned batches;
    unsigned runs;    /* that this is the median of; 0: one */
    double spread[2]; /* the quartiles of the batches' ratios */
    /* Of the control's figures of all batches: between their quartiles, as a
     * part of their median. */
    double control_spread;
    double stolen; /* by the host meanwhile, as a part of all cores' time */
    bool is_noisy; /* either is too much; set by rows_add(), too */
};

/* A row is noisy whose control_spread is more, */
#define ROWS_NOISY 0.25
/* or what was stolen. */
#define ROWS_STOLEN 0.05

static inline bool row_is_noisy(const struct row *row)
{
    return row->control_spread > ROWS_NOISY || row->stolen > ROWS_STOLEN;
}

/* Prints the row to stdout, and adds it to the results. */
void rows_add(const struct row *row);
/* What there is to say below the table. */
void rows_end(void);

#endif
