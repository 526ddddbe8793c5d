/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of samples, and the rows that they make. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

/* One result beside its control. Strings belong to the caller; those of
 * `control` and `against` are literals. 0 or NULL means unknown, unless
 * something else is said. */
struct row {
    const char *op;
    const char *bench;
    const char *transport; /* as it was asked for */
    const char *via;       /* what carried a call from rank 0 to rank 1 */
    const char *cores;  /* "0 1": cores of the ranks; "pinned": each thread has
                         * a core; else "shared" */
    size_t size;        /* bytes of payload; 0: the null call */
    unsigned window;    /* operations in flight at once */
    unsigned threads;   /* calling threads of each rank; 0: one */
    unsigned ranks;     /* ranks that take part; 0: two */
    unsigned peers;     /* that have called the target, besides rank 0 */
    const char *memory; /* of the payload: "host" (also NULL) is the program's
                         * own, and "library" is from HG_Bulk_create() */
    const char *unit;   /* of value and control_value */
    double value;       /* median of all calls, or of all batches */
    double p50_us;      /* of one operation, like the next two */
    double p99_us;
    double p999_us;
    const char *against; /* what the figure is compared with, in a word */
    const char *control; /* description of the control */
    double control_value;
    double control_p50_us; /* of one operation of the control */
    double control_p99_us;
    double ratio;       /* ours / control: the median over the batches */
    const char *better; /* "lower" or "higher": what is good for `value` */
    unsigned batches;
    unsigned runs;         /* runs whose median this row is; 0: one */
    double spread[2];      /* the quartiles of the batches' ratios */
    double control_spread; /* of the control's figures: distance of the
                            * quartiles, relative to the median */
    double stolen;         /* CPU time that the host took, of all cores' time */
    bool is_noisy;         /* control_spread or stolen is too much */
};

/* A member of a struct, with its key in documents. */
struct column {
    const char *key;
    enum {
        COLUMN_TEXT,   /* const char *; NULL is "" */
        COLUMN_CHARS,  /* char[] */
        COLUMN_SIZE,   /* size_t */
        COLUMN_COUNT,  /* unsigned */
        COLUMN_NUMBER, /* double */
        COLUMN_PAIR,   /* double[2] */
        COLUMN_FLAG,   /* bool */
    } kind;
    size_t offset;
};

#define COLUMN(kind, key, type, member)                                        \
    {                                                                          \
        key, kind, offsetof(type, member)                                      \
    }

/* The columns of a row, in order; the last entry has no key. Columns of the
 * kinds up to COLUMN_COUNT identify a row. */
extern const struct column row_columns[];

const char *column_text(const void *of, const struct column *column);
/* For kinds without text; `index`: 1 for the second of a pair, else 0. */
double column_number(
    const void *of, const struct column *column, unsigned index);

/* A row is noisy with more control_spread, or more stolen time, than this. */
#define ROWS_NOISY  0.25
#define ROWS_STOLEN 0.05

static inline bool row_is_noisy(const struct row *row)
{
    return row->control_spread > ROWS_NOISY || row->stolen > ROWS_STOLEN;
}

/* stats_sort() sorts in rising order; stats_quantile() gives the value below
 * which the part `q` (0 to 1) of sorted samples lies; 0: no samples. */
void stats_sort(double *samples, size_t count);
double stats_quantile(const double *sorted, size_t count, double q);
/* Sort, and return the median, or the distance of the quartiles relative to the
 * median (0 if the median is 0). */
double stats_median(double *samples, size_t count);
double stats_spread(double *samples, size_t count);

/* Sets the members of a row that follow from the figures of the batches. */
void figures_compare(
    const double *ours, const double *control, unsigned count, struct row *row);
/* Sorts, and sets how long an operation took. `control` may be NULL. */
void figures_samples(
    double *ours, double *control, size_t count, struct row *row);

/* The runs of one row, of which the median counts. */
struct tries {
    struct row *rows; /* as they were filled */
    unsigned wanted;
    unsigned max;
    unsigned count;
    unsigned good; /* rows among `count` that are not noisy */
};

/* `runs` as the user asked for them; with 0 there is one, noisy or not. */
void tries_init(struct tries *tries, unsigned runs);
void tries_add(struct tries *tries, const struct row *row);
/* Are no more runs needed, or allowed? */
bool tries_are_enough(const struct tries *tries);
/* The run with the median ratio of the quiet runs, or of all if none is quiet;
 * noisy if fewer runs are quiet than wanted. Frees the memory. */
void tries_choose(struct tries *tries, struct row *ret_row);

#endif
