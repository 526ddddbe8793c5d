/* SPDX-License-Identifier: BSD-3-Clause */
/* What messages of MPI reach. */
#include <stdio.h>

#include "jobs/bench/bulk/bulk_stream.h"
#include "jobs/bench/calls/rate_control.h"
#include "jobs/bench/controls/controls.h"

enum { KIB = 1024, MIB = 1024 * KIB, REQUEST_LEN = 24 };

static const struct controls_step trip_sizes[] = {{8, CONTROLS_SMOKE},
    {64, CONTROLS_FULL}, {512, CONTROLS_FULL}, {4 * KIB, CONTROLS_QUICK},
    {16 * KIB, CONTROLS_FULL}, {64 * KIB, CONTROLS_QUICK},
    {256 * KIB, CONTROLS_FULL}, {MIB, CONTROLS_QUICK}, {4 * MIB, CONTROLS_FULL},
    {0, CONTROLS_FULL}};
static const struct controls_step request_windows[] = {{1, CONTROLS_SMOKE},
    {8, CONTROLS_QUICK}, {64, CONTROLS_QUICK}, {0, CONTROLS_FULL}};
static const struct controls_step stream_sizes[] = {{4 * KIB, CONTROLS_SMOKE},
    {64 * KIB, CONTROLS_QUICK}, {MIB, CONTROLS_QUICK},
    {16 * MIB, CONTROLS_FULL}, {64 * MIB, CONTROLS_FULL}, {0, CONTROLS_FULL}};
static const struct controls_step stream_windows[] = {{1, CONTROLS_SMOKE},
    {4, CONTROLS_SMOKE}, {16, CONTROLS_QUICK}, {0, CONTROLS_FULL}};

void controls_message_run(struct controls *controls)
{
    struct controls_row trip = {
        "mpi_pingpong", bulk_round, &controls->bulk, CONTROLS_TRIP, 0, 1};
    const struct controls_row request = {
        "mpi_request", rate_control, NULL, CONTROLS_TRIPS, REQUEST_LEN, 1};
    const struct controls_row stream = {
        "mpi_stream", bulk_stream, &controls->bulk, CONTROLS_COPY, 0, 1};

    snprintf(controls->pair.via, sizeof(controls->pair.via), "mpi");
    controls->bulk.is_push = true;
    if (controls->pair.options->size == NULL)
        controls_row_run(controls, &trip);
    controls_rows_run(controls, &trip, trip_sizes, NULL);
    controls_rows_run(controls, &request, NULL, request_windows);
    controls_rows_run(controls, &stream, stream_sizes, stream_windows);
}
