/* SPDX-License-Identifier: BSD-3-Clause */
/* What the one-sided operations of MPI reach, in each kind of window. */
#include <stdio.h>

#include "jobs/bench/bulk/bulk_window.h"
#include "jobs/bench/controls/controls.h"

static const struct kind {
    enum bulk_window_kind kind;
    const char *ops[2]; /* pull, push */
} kinds[] = {
    {BULK_WINDOW_ALLOCATED, {"rget_allocate", "put_allocate"}},
    {BULK_WINDOW_CREATED, {"rget_create", "put_create"}},
    {BULK_WINDOW_DYNAMIC, {"rget_dynamic", "put_dynamic"}},
    {BULK_WINDOW_SHARED, {"rget_shared", "put_shared"}},
};

enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

static const struct controls_step several[] = {
    {1, CONTROLS_FULL}, {4, CONTROLS_SMOKE}, {0, CONTROLS_FULL}};

static void kind_run(struct controls *controls, const struct kind *kind)
{
    struct pair *pair = &controls->pair;
    struct bulk bulk = controls->bulk;
    struct bulk_window window;
    struct controls_row row = {
        .batch = bulk_window, .more = &bulk, .window = 1};

    bulk_window_open(pair, kind->kind, pair->landing, pair->room_len, &window);
    bulk.window = &window;
    bulk.end = window.memory;
    for (unsigned i = 0; i < 2; i++) {
        bulk.is_push = i == 1;
        row.op = kind->ops[i];
        row.beside = CONTROLS_TRIP;
        controls_rows_run(controls, &row, controls_short, NULL);
        row.beside = CONTROLS_COPY;
        controls_rows_run(controls, &row, controls_long, several);
    }
    bulk_window_close(pair, &window);
}

void controls_window_run(struct controls *controls)
{
    bool can_share = bulk_window_can_share(&controls->pair);

    snprintf(controls->pair.via, sizeof(controls->pair.via), "mpi");
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (kinds[i].kind != BULK_WINDOW_SHARED || can_share)
            kind_run(controls, &kinds[i]);
    if (!can_share && controls->pair.rank == 0)
        fputs("amalgam_bench: the rows of shared windows are left out: the "
              "ranks are of two nodes\n",
            stderr);
}
