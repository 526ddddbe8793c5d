/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of one row: as many as --runs asks for. */
#include "jobs/bench/frame/repeat.h"

#include "jobs/bench/base/steal.h"
#include "jobs/bench/frame/limit.h"
#include "jobs/bench/frame/tries.h"

void repeat_run(struct pair *pair, repeat_measure_fn measure,
    repeat_fill_fn fill, void *arg, struct row *row)
{
    struct tries tries;
    int is_over = 0;

    if (!tries_init(&tries, pair->options->runs))
        pair_check(pair, HG_NOMEM, "memory for the runs");
    while (!is_over) {
        struct steal before = steal_now();

        measure(pair, arg);
        if (pair->rank == 0) {
            fill(row, arg);
            row->stolen = steal_since(&before);
            row->is_noisy = row_is_noisy(row);
            tries_add(&tries, row);
            is_over = tries_are_enough(&tries);
        }
        if (pair->options->runs == 0)
            break;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, pair->comm);
        if (!is_over && limit_is_over(pair->comm))
            break;
    }
    if (pair->rank == 0)
        tries_choose(&tries, row);
    tries_fini(&tries);
}
