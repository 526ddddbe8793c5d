/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node reaches without MPI: memory and the kernel. */
#include <stdio.h>

#include "jobs/bench/bulk/bulk_near.h"
#include "jobs/bench/calls/event.h"
#include "jobs/bench/controls/controls.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static const struct controls_step copy_sizes[] = {{4 * KIB, CONTROLS_FULL},
    {64 * KIB, CONTROLS_SMOKE}, {MIB, CONTROLS_QUICK},
    {16 * MIB, CONTROLS_FULL}, {64 * MIB, CONTROLS_FULL}, {0, CONTROLS_FULL}};

/* In both directions; `ops` are the names of a pull and of a push. */
static void directions_run(struct controls *controls, struct controls_row *row,
    const char *const ops[2], const struct controls_step *sizes)
{
    for (unsigned i = 0; i < 2; i++) {
        controls->bulk.is_push = i == 1;
        row->op = ops[i];
        controls_rows_run(controls, row, sizes, NULL);
    }
}

/* Memory of one process, and memory that two have mapped. */
static void copies_run(struct controls *controls)
{
    static const char *const ops[] = {"copy_mapped", "copy_to_mapped"};
    const struct controls_row own = {
        "memcpy", controls_copy, controls, CONTROLS_COPY, 0, 1};
    struct controls_row mapped = {
        NULL, bulk_copy, &controls->bulk, CONTROLS_COPY, 0, 1};

    snprintf(controls->pair.via, sizeof(controls->pair.via), "memory");
    controls_rows_run(controls, &own, copy_sizes, NULL);
    if (controls->like.is_shared)
        directions_run(controls, &mapped, ops, copy_sizes);
}

/* One process reads memory of the other, and writes to it. */
static void crossings_run(struct controls *controls)
{
    static const char *const ops[] = {"vm_readv", "vm_writev"};
    struct controls_row row = {
        NULL, bulk_cross, &controls->bulk, CONTROLS_TRIP, 0, 1};

    snprintf(controls->pair.via, sizeof(controls->pair.via), "kernel");
    bulk_cross_init(&controls->pair, &controls->bulk);
    if (controls->bulk.far_pid == 0)
        return;
    directions_run(controls, &row, ops, controls_short);
    row.beside = CONTROLS_COPY;
    directions_run(controls, &row, ops, controls_long);
}

static double event_row_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    return event_batch(pair, duel, duel->more, 0, ret_samples);
}

static void events_run(struct controls *controls)
{
    struct event_pair events;
    struct controls_row row = {
        "eventfd", event_row_batch, &events, CONTROLS_TRIP, 0, 1};

    event_open(&controls->pair, &events);
    controls_row_run(controls, &row);
    event_close(&events);
}

void controls_near_run(struct controls *controls)
{
    copies_run(controls);
    crossings_run(controls);
    if (controls->pair.is_one_machine)
        events_run(controls);
    else if (controls->pair.rank == 0)
        fputs("amalgam_bench: the rows of eventfd are left out: the ranks are "
              "of two nodes\n",
            stderr);
}
