/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks but one call that one, as fast as they can.
 *
 * Rank 1 is the target, as of a pair, and rank 0 is one of the origins and
 * keeps the results. A batch lasts so long, and each origin's calls are
 * counted; so who gets less done than the others is seen. */
#include "jobs/bench/incast/incast.h"

#include <stdio.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/team.h"

enum {
    COUNTS_MS = 30,
    COUNTS_QUICK_MS = 20,
    COUNTS_SMOKE_MS = 2,
    WINDOW_SMOKE = 8,
    RANKS_MIN = 3,
    GBPS_LEN = 65536,            /* from here on bytes are what counts */
    ROOM_LEN = 64 * 1024 * 1024, /* no more than this, but where asked for */
};

static const size_t sizes[] = {0, 1024, 65536};
static const unsigned windows[] = {1, 8, 64};

enum {
    SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]),
    WINDOW_COUNT = sizeof(windows) / sizeof(windows[0]),
};

static const struct row figure_rows[INCAST_FIGURES] = {
    [INCAST_FAIR] = {.op = "incast_fair", .unit = "of 1", .better = "higher"},
    [INCAST_SLOWEST] = {.op = "incast_slow",
        .unit = "of 1",
        .better = "higher"},
    [INCAST_P99] = {.op = "incast_p99", .unit = "us", .better = "lower"},
};

/* The target's control receives from all origins, but into no more places than
 * a window has at most. */
static size_t room_needed(const struct pair *team, size_t size, unsigned window)
{
    size_t places = (size_t)window * incast_origins(team);

    if (places > OPTIONS_WINDOW_MAX)
        places = OPTIONS_WINDOW_MAX;
    return places * (size < INCAST_HEAD_LEN ? INCAST_HEAD_LEN : size);
}

/* Of sizes that were asked for, the larger windows may need too much memory. */
static bool window_fits(const struct pair *team, size_t size, unsigned window)
{
    if (window == 1 || room_needed(team, size, window) <= ROOM_LEN)
        return true;
    if (team->rank == 0)
        fprintf(stderr,
            "incast of %zu B, %u at once, is left out: it takes %zu MiB for "
            "what is received; -w %u takes it nevertheless\n",
            size, window, room_needed(team, size, window) >> 20, window);
    return false;
}

static void window_run(struct incast *incast, size_t size, unsigned window)
{
    struct pair *team = incast->team;
    struct duel duel = {
        .ours = incast_calls,
        .control = incast_control,
        .size = size,
        .window = window,
        .calls = (incast_origins(team) + 1) * STINT_SAMPLES,
        .ranks = incast_origins(team) + 1,
        .batches = team->options->batches,
        .figure = size < GBPS_LEN ? DUEL_KPS : DUEL_GBPS,
        .context = DUEL_CONTEXT_OURS,
        .more = incast,
    };
    struct row row = {
        .bench = "incast",
        .op = "incast",
        .memory = "host",
        .ranks = incast_origins(team) + 1,
        .peers = incast_origins(team) - 1,
        .against = "mpi",
        .control = INCAST_CONTROL_TEXT,
    };

    pair_need_room(team, room_needed(team, size, window));
    if (!duel_run(team, &duel, &row))
        return;
    for (unsigned i = 0; i < INCAST_FIGURES && team->rank == 0; i++)
        tally_row(team, &incast->ours.figures[i], &incast->control.figures[i],
            &row, &figure_rows[i]);
    incast_tally_fini(&incast->ours);
    incast_tally_fini(&incast->control);
}

static void size_run(struct incast *incast, size_t size)
{
    const struct options *options = incast->team->options;
    unsigned only = options->window;

    if (size > 0 && size < INCAST_HEAD_LEN)
        size = INCAST_HEAD_LEN;
    if (only == 0 && options->is_smoke)
        only = window_fits(incast->team, size, WINDOW_SMOKE) ? WINDOW_SMOKE : 1;
    if (only != 0)
        window_run(incast, size, only);
    for (unsigned i = 0; i < WINDOW_COUNT && only == 0; i++)
        if (window_fits(incast->team, size, windows[i]))
            window_run(incast, size, windows[i]);
}

static void sizes_run(struct incast *incast)
{
    const struct options *options = incast->team->options;

    if (options->size != NULL)
        size_run(incast, *options->size);
    for (unsigned i = 0; i < SIZE_COUNT && options->size == NULL; i++)
        size_run(incast, sizes[i]);
}

void bench_incast(struct pair *pair)
{
    const struct options *options = pair->options;
    struct pair team;
    struct incast incast = {.team = &team, .counts_ms = COUNTS_MS};

    if (pair->world->size < RANKS_MIN) {
        if (pair->rank == 0)
            fputs("incast is left out: of two ranks only one can call: start "
                  "it with -n 4 or more\n",
                stderr);
        return;
    }
    if (!team_open(&team, pair, "incast"))
        return;
    if (options->is_quick)
        incast.counts_ms = COUNTS_QUICK_MS;
    if (options->is_smoke)
        incast.counts_ms = COUNTS_SMOKE_MS;
    incast_open(&incast);
    sizes_run(&incast);
    incast_memory_run(&incast);
    team_close(&team);
}
