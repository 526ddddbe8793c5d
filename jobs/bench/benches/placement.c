/* SPDX-License-Identifier: BSD-3-Clause */
/* Is the division of work that the library chooses as good as the best that a
 * user can ask for?
 *
 * Two ranks that are not pinned call each other, in both directions at once, in
 * each of the ways to divide the work among threads: progress by the program or
 * by a thread, spinning or sleeping. */
#include <stdio.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/duel.h"

static const struct {
    enum amalgam_progress progress;
    enum amalgam_wait wait;
} hows[] = {
    {AMALGAM_PROGRESS_AUTO, AMALGAM_WAIT_AUTO},
    {AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_SPIN},
    {AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_SLEEP},
    {AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_SPIN},
    {AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_SLEEP},
};

static void slice_run(struct pair *pair, unsigned way, unsigned window,
    double us, struct ways_slice *ret_slice)
{
    double start_us = 0.0;
    struct flight flight = {pair, .timed_arg = ret_slice, .post = flight_null,
        .look = flight_turn, .timed = ways_timed, .window = window,
        .timed_every = FLIGHT_TIMED_EVERY, .calls = UINT64_MAX};

    pair_set_progress(pair, hows[way].progress, hows[way].wait, -1);
    pair_enter(pair);
    flight_handles(&flight, pair->null_id);
    start_us = clock_now_us();
    flight_start(&flight);
    while (clock_now_us() < start_us + us)
        flight.look(&flight);
    flight_stop(&flight);
    ret_slice->kps = (double)flight.ended / (clock_now_us() - start_us) * 1e3;
    flight_handles_free(&flight);
    /* Waits until each rank has got the last call of the other. */
    pair_stop(pair);
    pair_await_stop(pair);
    pair_leave(pair);
}

void bench_placement(struct pair *pair)
{
    static const struct ways ways = {{"chosen", "caller_spin", "caller_sleep",
                                         "thread_spin", "thread_sleep"},
        "the best of the four ways to divide the work, of the same run: the "
        "one with the highest rate",
        "the way that the library chooses by itself", slice_run};
    struct pair both;
    struct pin pinned;

    pin_lift(pair->pin, &pinned);
    pair_open_like(&both, pair, 0, PAIR_WAIT_MS);
    snprintf(both.cores, sizeof(both.cores), "shared");
    if (pair_is_of_two(&both, NULL))
        ways_run(&both, &ways);
    pair_close(&both);
    pin_restore(&pinned);
}
