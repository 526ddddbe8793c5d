/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of one row, of which the one in the middle counts. */
#include "jobs/bench/frame/tries.h"

#include <stdlib.h>

enum { EXTRA = 2 }; /* noisy runs for each that is wanted */

bool tries_init(struct tries *tries, unsigned runs)
{
    *tries = (struct tries){.wanted = runs == 0 ? 1 : runs};
    tries->max = runs == 0 ? 1 : runs * (1 + EXTRA);
    tries->rows = calloc(tries->max, sizeof(*tries->rows));
    return tries->rows != NULL;
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

/* Those that are not noisy first, and each kind by its ratios. */
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

    if (counted == 0)
        return;
    qsort(tries->rows, tries->count, sizeof(*tries->rows), row_compare);
    *ret_row = tries->rows[(counted - 1) / 2];
    ret_row->runs = counted;
    ret_row->is_noisy = tries->good < tries->wanted;
}

void tries_fini(struct tries *tries)
{
    free(tries->rows);
    tries->rows = NULL;
}
