/* SPDX-License-Identifier: BSD-3-Clause */
/* What libfabric reaches, over the stacks of providers that most machines have.
 */
#include <stdio.h>

#include "jobs/bench/controls/controls.h"
#include "jobs/bench/fabric/fabric.h"

enum { KIB = 1024, REQUEST_LEN = 24 };

static const struct stack {
    const char *name; /* as libfabric has it */
    bool is_near;     /* within one machine */
} stacks[] = {{"tcp;ofi_rxm", false}, {"shm", true}};

enum { STACK_COUNT = sizeof(stacks) / sizeof(stacks[0]) };

static const struct controls_step trip_sizes[] = {{8, CONTROLS_SMOKE},
    {4 * KIB, CONTROLS_QUICK}, {64 * KIB, CONTROLS_FULL}, {0, CONTROLS_FULL}};
static const struct controls_step request_windows[] = {{1, CONTROLS_SMOKE},
    {8, CONTROLS_FULL}, {64, CONTROLS_QUICK}, {0, CONTROLS_FULL}};
static const struct controls_step windows[] = {
    {1, CONTROLS_FULL}, {4, CONTROLS_SMOKE}, {0, CONTROLS_FULL}};

static void rows_run(struct controls *controls)
{
    static const char *const ops[] = {"fi_read", "fi_write"};
    const struct controls_row trip = {
        "fi_pingpong", fabric_pingpong, NULL, CONTROLS_TRIP, 0, 1};
    const struct controls_row request = {
        "fi_request", fabric_rate, NULL, CONTROLS_REQUEST, REQUEST_LEN, 1};
    struct controls_row move = {
        NULL, fabric_bulk, &controls->bulk, CONTROLS_COPY, 0, 1};

    controls_rows_run(controls, &trip, trip_sizes, NULL);
    controls_rows_run(controls, &request, NULL, request_windows);
    for (unsigned i = 0; i < 2; i++) {
        controls->bulk.is_push = i == 1;
        move.op = ops[i];
        controls_rows_run(controls, &move, controls_long, windows);
    }
}

void controls_fabric_run(struct controls *controls)
{
    struct pair *pair = &controls->pair;

    for (unsigned i = 0; i < STACK_COUNT; i++) {
        if (stacks[i].is_near && !pair->is_one_machine)
            continue;
        snprintf(pair->via, sizeof(pair->via), "ofi+%s", stacks[i].name);
        if (fabric_open(pair, stacks[i].name)) {
            rows_run(controls);
            fabric_close(pair->fabric);
            pair->fabric = NULL;
        } else if (pair->rank == 0) {
            fprintf(stderr,
                "amalgam_bench: the rows of bare libfabric over %s are left "
                "out: there is none here\n",
                stacks[i].name);
        }
    }
}
