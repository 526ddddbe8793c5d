/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the threads of a rank run. */
#include "place/policy.h"

void amg_policy_place(
    const struct amg_place_ask *ask, struct amg_placement *ret_placement)
{
    *ret_placement = (struct amg_placement){
        .progress = ask->progress == AMALGAM_PROGRESS_AUTO
                        ? AMALGAM_PROGRESS_CALLER
                        : ask->progress,
        .handlers = ask->handlers == AMALGAM_HANDLERS_AUTO ? 0 : ask->handlers,
        .seat = {.cpu = -1, .rule = AMG_SEAT_UNPINNED},
    };
    for (unsigned i = 0; i < AMALGAM_HANDLERS_MAX; i++)
        ret_placement->handler_seats[i] = ret_placement->seat;
}
