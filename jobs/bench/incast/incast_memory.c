/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library of the target takes while large arguments come.
 *
 * All that the program itself needs is there before: the buffers into which
 * handlers pull, and decode. So what the process has at its peak beyond what it
 * had idle, before the first of these calls, is the library's, and MPI's. */
#include <stdio.h>
#include <stdlib.h>

#include "jobs/bench/base/guard.h"
#include "jobs/bench/base/smaps.h"
#include "jobs/bench/frame/limit.h"
#include "jobs/bench/frame/team.h"
#include "jobs/bench/incast/incast_pull.h"

enum {
    LARGE_LEN = 1 << 20,
    WINDOW = 8,
    COUNTS_MS = 150,
    COUNTS_SMOKE_MS = 2,
    ROUNDS = 3,
    KIB_PER_MIB = 1024,
};

#define LIMIT_MIB    16.0
#define CONTROL_TEXT "16 MiB, which it may take"

/* Rank 0 adds a row of what rank INCAST_TARGET has measured. */
static void row_add(const struct pair *team, const char *op, double mib)
{
    struct row row = {
        .bench = "incast",
        .op = op,
        .size = LARGE_LEN,
        .window = WINDOW,
        .ranks = incast_origins(team) + 1,
        .peers = incast_origins(team) - 1,
        .memory = "host",
        .unit = "MiB",
        .value = mib,
        .against = "limit",
        .control = CONTROL_TEXT,
        .control_value = LIMIT_MIB,
        .ratio = mib / LIMIT_MIB,
        .better = "lower",
        .batches = ROUNDS,
        .spread = {mib / LIMIT_MIB, mib / LIMIT_MIB},
    };

    if (team->rank != 0)
        return;
    pair_row(team, &row);
    rows_add(&row);
}

/* Returns the rise of the target's peak in MiB, the same at all ranks; below 0:
 * the kernel does not tell. */
static double peak_measure(struct incast *incast, struct duel *duel)
{
    struct pair *team = incast->team;
    double *samples = calloc(duel->calls, sizeof(*samples));
    double idle = 0.0;
    double rise = -1.0;

    if (samples == NULL)
        pair_check(team, HG_NOMEM, "memory for the samples");
    pair_enter(team);
    if (team->rank == INCAST_TARGET && smaps_peak_reset())
        idle = smaps_peak();
    for (unsigned i = 0; i < ROUNDS; i++) {
        team->seed++;
        guard_step("round %u of large arguments from all", i);
        incast_calls(team, duel, samples);
    }
    if (idle > 0.0)
        rise = (smaps_peak() - idle) / KIB_PER_MIB;
    pair_leave(team);
    guard_rest();
    free(samples);
    incast_tally_fini(&incast->ours);
    MPI_Bcast(&rise, 1, MPI_DOUBLE, INCAST_TARGET, team->comm);
    return rise;
}

static void kind_run(struct incast *incast, enum incast_kind kind)
{
    struct pair *team = incast->team;
    struct duel duel = {
        .size = LARGE_LEN,
        .window = WINDOW,
        .calls = incast_origins(team) * STINT_SAMPLES,
        .more = incast,
    };
    double mib = 0.0;

    if (limit_is_over(team->comm))
        return;
    incast->kind = kind;
    mib = peak_measure(incast, &duel);
    incast->kind = INCAST_INPUT;
    if (mib >= 0.0)
        row_add(
            team, kind == INCAST_BULK ? "incast_memory" : "incast_mem_in", mib);
    else if (team->rank == 0)
        fputs("The peak of memory is left out: the kernel does not tell it "
              "(/proc/self/clear_refs, VmHWM).\n",
            stderr);
}

void incast_memory_run(struct incast *incast)
{
    incast->counts_ms =
        incast->team->options->is_smoke ? COUNTS_SMOKE_MS : COUNTS_MS;
    pair_need_room(incast->team, (size_t)LARGE_LEN * WINDOW);
    kind_run(incast, INCAST_BULK);
    kind_run(incast, INCAST_INPUT);
}
