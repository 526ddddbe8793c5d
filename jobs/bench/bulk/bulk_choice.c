/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the library chooses how bytes move: its choice beside each way that
 * can be asked for. The best of them is the one with the smallest ratio.
 *
 * Each way is a class of its own between the same ranks, open during all rows;
 * only the one that moves has a context. */
#include "jobs/bench/bulk/bulk.h"

#include <stdio.h>
#include <string.h>

#include "jobs/bench/bulk/bulk_move.h"

enum { WINDOW = 4, KIB = 1024, MIB = 1024 * KIB };

/* Of a quick run the first alone. */
static const size_t sizes[] = {64 * KIB, 4 * KIB, MIB, 16 * MIB};

/* What can be asked for. */
static const char *const ways[] = {"shm", "mpi+p2p", "mpi+rma"};

enum { WAY_COUNT = sizeof(ways) / sizeof(ways[0]) };

/* duel->more of these rows. */
struct match {
    struct bulk chosen;
    struct bulk asked;
    struct pair *asked_pair;
};

static bool is_named(const struct pair *pair, const char *name)
{
    const char *asked = pair->options->transport;

    return strcmp(asked == NULL ? "auto" : asked, name) == 0;
}

bool bulk_choice_is_made(const struct pair *pair)
{
    return is_named(pair, "auto") || is_named(pair, "mpi");
}

/* A batch of one of the classes, which has a context for it. */
static double class_batch(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, double *ret_samples)
{
    double elapsed_us = 0.0;

    pair_enter(pair);
    elapsed_us = bulk_move_run(pair, duel, bulk, ret_samples);
    pair_leave(pair);
    return elapsed_us;
}

static double chosen_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct match *match = duel->more;

    return class_batch(pair, duel, &match->chosen, ret_samples);
}

static double asked_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct match *match = duel->more;

    match->asked_pair->seed = pair->seed;
    return class_batch(match->asked_pair, duel, &match->asked, ret_samples);
}

static void size_run(struct pair *pair, struct match *match, size_t size)
{
    struct duel duel = {
        .ours = chosen_batch,
        .control = asked_batch,
        .size = size,
        .window = WINDOW,
        .calls = bulk_calls(pair, size, WINDOW),
        .batches = pair->options->batches,
        .figure = DUEL_GBPS,
        .context = DUEL_CONTEXT_OWN,
        .more = match,
    };
    struct row row = {
        .bench = "bulk",
        .op = match->chosen.is_push ? "choice_push" : "choice_pull",
        .memory = bulk_memory(&match->chosen),
        .against = match->asked_pair->transport,
        .control = "the same transfers in a class over the transport that is "
                   "named; the best of them counts",
    };

    if (WINDOW * size <= pair->room_len)
        duel_run(pair, &duel, &row);
}

static void sizes_run(struct pair *pair, struct match *match)
{
    const unsigned *only = pair->options->size;
    unsigned count = sizeof(sizes) / sizeof(sizes[0]);

    if (only != NULL && *only > 0)
        size_run(pair, match, *only);
    for (unsigned i = 0; (only == NULL || *only == 0) && i < count; i++)
        if (options_takes(pair->options, i))
            size_run(pair, match, sizes[i]);
}

static void memory_run(struct pair *pair, struct pair *asked_pair,
    bool is_library, const struct like *like)
{
    size_t len = pair->room_len;
    struct bulk_shape shape = {is_library, 1, len, len, len};
    struct match match = {.asked_pair = asked_pair};

    bulk_open(pair, &shape, like, &match.chosen);
    bulk_open(asked_pair, &shape, like, &match.asked);
    for (unsigned direction = 0; direction < 2; direction++) {
        match.chosen.is_push = match.asked.is_push = direction == 1;
        sizes_run(pair, &match);
    }
    bulk_close(asked_pair, &match.asked);
    bulk_close(pair, &match.chosen);
}

/* The same rows over a class of the way; the two share their memory. */
static void way_run(struct pair *pair, const char *way, const struct like *like)
{
    struct pair asked;

    pair_copy(pair, &asked);
    if (!pair_open(&asked, pair->comm, way)) {
        if (pair->rank == 0)
            fprintf(stderr,
                "amalgam_bench: the rows against %s are left out: there is no "
                "such way here\n",
                way);
        return;
    }
    asked.room = pair->room;
    asked.landing = pair->landing;
    asked.room_len = pair->room_len;
    for (unsigned is_library = 0; is_library < 2; is_library++)
        memory_run(pair, &asked, is_library == 1, like);
    asked.room = NULL;
    asked.landing = NULL;
    pair_close(&asked);
}

void bulk_choice_run(struct pair *pair, const struct like *like)
{
    for (unsigned i = 0; i < WAY_COUNT; i++) {
        bool is_near = strcmp(ways[i], "shm") == 0;

        if (!is_near ||
            (is_named(pair, "auto") && strcmp(pair->via, "shm") == 0))
            way_run(pair, ways[i], like);
    }
}
