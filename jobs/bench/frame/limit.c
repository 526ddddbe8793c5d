/* SPDX-License-Identifier: BSD-3-Clause */
/* The time that a whole run may take.
 *
 * It ends between two rows, at all ranks: what is under way is brought to its
 * end, and nothing begins after it. */
#include "jobs/bench/frame/limit.h"

#include "jobs/bench/base/clock.h"

static struct {
    double end_us; /* 0: never */
    bool was_reached;
} limit;

void limit_init(unsigned time_s)
{
    if (time_s != 0)
        limit.end_us = clock_now_us() + time_s * 1e6;
}

bool limit_is_over(MPI_Comm comm)
{
    int is_over = limit.end_us > 0.0 && clock_now_us() >= limit.end_us;

    if (limit.end_us == 0.0)
        return false;
    MPI_Bcast(&is_over, 1, MPI_INT, 0, comm);
    if (is_over)
        limit.was_reached = true;
    return is_over != 0;
}

bool limit_was_reached(void)
{
    return limit.was_reached;
}
