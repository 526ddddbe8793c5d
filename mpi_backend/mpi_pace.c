/* SPDX-License-Identifier: BSD-3-Clause */
/* What the probe measures next, and when it has to end.
 *
 * The shortest size comes first and the longest last, because a long pull
 * leaves the caches cold for the short ones after it. Within a size the ways
 * take turns, so that they meet the same weather. Each size has its share of
 * the time, that which another left over included. A step is not begun when
 * twice the time that it took last, or that its shorter neighbour makes one
 * expect, would not fit. */
#include "mpi_backend/mpi_pace.h"

#include <string.h>

enum {
    RESERVE = 2,        /* times what is expected */
    UNKNOWN_NS = 20000, /* of the shortest, before it was ever tried */
};

/* When a size is over, in hundredths of the time. */
static const unsigned shares[AMG_MPI_SIZES] = {20, 50, 100};

void amg_mpi_pace_init(
    struct amg_mpi_pace *pace, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t len_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;

    memset(pace, 0, sizeof(*pace));
    for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
        pace->end_ns[size] = begin_ns + len_ns * shares[size] / 100;
}

void amg_mpi_pace_close(struct amg_mpi_pace *pace, enum amg_mpi_pull pull)
{
    for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
        pace->steps[size][pull].is_closed = true;
}

/* By its last repetition; by that of the shorter size, as if only bytes cost;
 * or not at all. */
static uint64_t step_expect_ns(
    const struct amg_mpi_pace *pace, unsigned size, unsigned pull)
{
    if (pace->steps[size][pull].done > 0)
        return pace->steps[size][pull].last_ns;
    if (size == 0)
        return UNKNOWN_NS;
    return step_expect_ns(pace, size - 1, pull) *
           (amg_mpi_choice_probe_len(size) /
               amg_mpi_choice_probe_len(size - 1));
}

static bool step_fits(const struct amg_mpi_pace *pace, uint64_t now_ns,
    unsigned size, unsigned pull)
{
    const struct amg_mpi_step *step = &pace->steps[size][pull];

    /* One more than counts, for the first. */
    return !step->is_closed && step->done <= AMG_MPI_PACE_MAX &&
           now_ns < pace->end_ns[size] &&
           step_expect_ns(pace, size, pull) <=
               (pace->end_ns[size] - now_ns) / RESERVE;
}

bool amg_mpi_pace_next(const struct amg_mpi_pace *pace, uint64_t now_ns,
    enum amg_mpi_size *ret_size, enum amg_mpi_pull *ret_pull)
{
    const struct amg_mpi_step *best = NULL;

    for (unsigned size = 0; size < AMG_MPI_SIZES && best == NULL; size++)
        for (unsigned pull = 0; pull < AMG_MPI_PULLS; pull++) {
            const struct amg_mpi_step *step = &pace->steps[size][pull];

            if (!step_fits(pace, now_ns, size, pull) ||
                (best != NULL && best->done <= step->done))
                continue;
            best = step;
            *ret_size = (enum amg_mpi_size)size;
            *ret_pull = (enum amg_mpi_pull)pull;
        }
    return best != NULL;
}

void amg_mpi_pace_took(struct amg_mpi_pace *pace, enum amg_mpi_size size,
    enum amg_mpi_pull pull, uint64_t ns)
{
    struct amg_mpi_step *step = &pace->steps[size][pull];

    if (ns == 0)
        ns = 1; /* 0 means that there is none */
    if (step->done > 0 && step->done <= AMG_MPI_PACE_MAX)
        step->ns[step->done - 1] = ns;
    step->last_ns = ns;
    step->done++;
}

/* Writes those that count in order; returns how many. */
static unsigned step_sort(
    const struct amg_mpi_step *step, uint64_t ret_sorted[AMG_MPI_PACE_MAX])
{
    unsigned count = step->done == 0 ? 0 : step->done - 1;

    if (count > AMG_MPI_PACE_MAX)
        count = AMG_MPI_PACE_MAX;
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i;

        for (; at > 0 && ret_sorted[at - 1] > step->ns[i]; at--)
            ret_sorted[at] = ret_sorted[at - 1];
        ret_sorted[at] = step->ns[i];
    }
    return count;
}

uint64_t amg_mpi_pace_median_ns(const struct amg_mpi_pace *pace,
    enum amg_mpi_size size, enum amg_mpi_pull pull)
{
    uint64_t sorted[AMG_MPI_PACE_MAX];
    unsigned count = step_sort(&pace->steps[size][pull], sorted);

    return count < AMG_MPI_PACE_MIN ? 0 : sorted[count / 2];
}

uint64_t amg_mpi_pace_best_ns(const struct amg_mpi_pace *pace,
    enum amg_mpi_size size, enum amg_mpi_pull pull)
{
    uint64_t sorted[AMG_MPI_PACE_MAX];
    unsigned count = step_sort(&pace->steps[size][pull], sorted);

    return count < AMG_MPI_PACE_MIN ? 0 : sorted[0];
}

static struct amg_mpi_figure step_figure(const struct amg_mpi_pace *pace,
    enum amg_mpi_size size, enum amg_mpi_pull pull)
{
    const struct amg_mpi_figure median = {
        .window_ns = amg_mpi_pace_median_ns(pace, size, pull),
        .message_ns = amg_mpi_pace_median_ns(pace, size, AMG_MPI_PULL_MESSAGE),
    };
    const struct amg_mpi_figure best = {
        .window_ns = amg_mpi_pace_best_ns(pace, size, pull),
        .message_ns = amg_mpi_pace_best_ns(pace, size, AMG_MPI_PULL_MESSAGE),
    };

    return amg_mpi_choice_is_worse(&best, &median) ? best : median;
}

void amg_mpi_pace_figures(
    const struct amg_mpi_pace *pace, struct amg_mpi_figures *figures)
{
    for (unsigned size = 0; size < AMG_MPI_SIZES; size++) {
        figures->of[AMG_MPI_MEMORY_LIBRARY][size] =
            step_figure(pace, size, AMG_MPI_PULL_LIBRARY);
        figures->of[AMG_MPI_MEMORY_USER][size] =
            step_figure(pace, size, AMG_MPI_PULL_USER);
    }
}

unsigned amg_mpi_pace_rounds(unsigned count)
{
    return 2 + count % 2;
}

unsigned amg_mpi_pace_round_of(unsigned node, unsigned count)
{
    /* The last of an odd number is a neighbour of two even ones. */
    return count % 2 == 1 && node == count - 1 ? 2 : node % 2;
}
