/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of samples, and the rows that they make. */
#include "jobs/bench/frame/figures.h"

#include <stdlib.h>
#include <string.h>

enum { EXTRA = 2 }; /* noisy runs allowed for each wanted run */

#define ROW(kind, key) COLUMN(COLUMN_##kind, #key, struct row, key)

const struct column row_columns[] = {ROW(TEXT, bench), ROW(TEXT, transport),
    ROW(TEXT, via), ROW(TEXT, cores), ROW(TEXT, op), ROW(SIZE, size),
    ROW(COUNT, window), ROW(COUNT, threads), ROW(COUNT, ranks),
    ROW(COUNT, peers), ROW(TEXT, memory), ROW(TEXT, unit), ROW(NUMBER, value),
    ROW(NUMBER, p50_us), ROW(NUMBER, p99_us), ROW(TEXT, against),
    ROW(TEXT, control), ROW(NUMBER, control_value), ROW(NUMBER, control_p50_us),
    ROW(NUMBER, control_p99_us), ROW(NUMBER, ratio), ROW(TEXT, better),
    ROW(COUNT, batches), ROW(COUNT, runs), ROW(PAIR, spread),
    ROW(NUMBER, control_spread), ROW(NUMBER, stolen),
    COLUMN(COLUMN_FLAG, "noisy", struct row, is_noisy), {.key = NULL}};

const char *column_text(const void *of, const struct column *column)
{
    const char *member = (const char *)of + column->offset;

    if (column->kind == COLUMN_TEXT)
        member = *(const char *const *)(const void *)member;
    return member == NULL ? "" : member;
}

double column_number(
    const void *of, const struct column *column, unsigned index)
{
    const void *member = (const char *)of + column->offset;

    switch (column->kind) {
    case COLUMN_SIZE:
        return (double)*(const size_t *)member;
    case COLUMN_COUNT:
        return (double)*(const unsigned *)member;
    case COLUMN_FLAG:
        return *(const bool *)member ? 1.0 : 0.0;
    default:
        return ((const double *)member)[index];
    }
}

static int sample_compare(const void *one, const void *other)
{
    const double *a = one;
    const double *b = other;

    return (*a > *b) - (*a < *b);
}

void stats_sort(double *samples, size_t count)
{
    qsort(samples, count, sizeof(*samples), sample_compare);
}

double stats_quantile(const double *sorted, size_t count, double q)
{
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;

    if (count == 0)
        return 0.0;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] +
           (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

double stats_median(double *samples, size_t count)
{
    stats_sort(samples, count);
    return stats_quantile(samples, count, 0.5);
}

double stats_spread(double *samples, size_t count)
{
    double median = stats_median(samples, count);

    if (median == 0.0)
        return 0.0;
    return (stats_quantile(samples, count, 0.75) -
               stats_quantile(samples, count, 0.25)) /
           median;
}

/* Zeroed memory; ends the job if there is none. */
static void *need(size_t count, size_t len)
{
    void *memory = calloc(count, len);

    if (memory == NULL)
        abort();
    return memory;
}

void figures_compare(
    const double *ours, const double *control, unsigned count, struct row *row)
{
    double *numbers = need(count, sizeof(*numbers));

    for (unsigned i = 0; i < count; i++)
        numbers[i] = control[i] > 0.0 ? ours[i] / control[i] : 0.0;
    row->batches = count;
    row->ratio = stats_median(numbers, count);
    row->spread[0] = stats_quantile(numbers, count, 0.25);
    row->spread[1] = stats_quantile(numbers, count, 0.75);
    memcpy(numbers, ours, count * sizeof(*numbers));
    row->value = stats_median(numbers, count);
    memcpy(numbers, control, count * sizeof(*numbers));
    row->control_spread = stats_spread(numbers, count);
    row->control_value = stats_quantile(numbers, count, 0.5);
    free(numbers);
}

void figures_samples(
    double *ours, double *control, size_t count, struct row *row)
{
    stats_sort(ours, count);
    row->p50_us = stats_quantile(ours, count, 0.5);
    row->p99_us = stats_quantile(ours, count, 0.99);
    row->p999_us = stats_quantile(ours, count, 0.999);
    if (control == NULL)
        return;
    stats_sort(control, count);
    row->control_p50_us = stats_quantile(control, count, 0.5);
    row->control_p99_us = stats_quantile(control, count, 0.99);
}

void tries_init(struct tries *tries, unsigned runs)
{
    *tries = (struct tries){.wanted = runs == 0 ? 1 : runs,
        .max = runs == 0 ? 1 : runs * (1 + EXTRA)};
    tries->rows = need(tries->max, sizeof(*tries->rows));
}

void tries_add(struct tries *tries, const struct row *row)
{
    if (tries->count == tries->max)
        return;
    tries->rows[tries->count++] = *row;
    tries->good += row->is_noisy ? 0 : 1;
}

bool tries_are_enough(const struct tries *tries)
{
    return tries->good >= tries->wanted || tries->count == tries->max;
}

/* Quiet rows before noisy rows, each kind by its ratios. */
static int row_compare(const void *one, const void *other)
{
    const struct row *a = one;
    const struct row *b = other;

    if (a->is_noisy != b->is_noisy)
        return a->is_noisy ? 1 : -1;
    return (a->ratio > b->ratio) - (a->ratio < b->ratio);
}

void tries_choose(struct tries *tries, struct row *ret_row)
{
    unsigned counted = tries->good > 0 ? tries->good : tries->count;

    if (counted > 0) {
        qsort(tries->rows, tries->count, sizeof(*tries->rows), row_compare);
        *ret_row = tries->rows[(counted - 1) / 2];
        ret_row->runs = counted;
        ret_row->is_noisy = tries->good < tries->wanted;
    }
    free(tries->rows);
}
