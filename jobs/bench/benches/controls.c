/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of this machine, as programs without the library reach them.
 *
 * The operations measured here are controls of other benchmarks. Each is
 * compared, by the same two ranks in turn, with an operation that every machine
 * has: a time with the MPI round trip of that size, a bandwidth with memcpy. No
 * class is open. */
#include <stdio.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/raw/bulk.h"
#include "jobs/bench/raw/calls.h"
#include "jobs/bench/raw/wakeup.h"

enum {
    KIB = 1024,
    MIB = 1024 * KIB,
    ROOM_LEN = 64 * MIB,
    TRIP_SIZE_MAX = 4 * MIB,
    WINDOW_LEN_MAX = 16 * MIB, /* more at once tells nothing new */
    RATE_CALLS = 200,          /* for each place of the window */
    RATE_CALLS_MIN = 1000,
};

struct controls {
    struct pair pair;  /* the two ranks, without a class */
    struct pair alone; /* rank 0, which copies from its memory to its memory */
    struct bulk copy;  /* what `alone` copies */
    struct like own;   /* where `alone` copies to */
    struct like like;  /* memory of rank 1 that both have mapped */
    struct bulk bulk;  /* what a row moves */
    struct wakeup events;
};

/* The control of a row, and so its unit. */
enum beside {
    TRIP,  /* a time: the MPI round trip of that size */
    TRIPS, /* a rate: MPI round trips of that size */
    COPY,  /* a bandwidth: memcpy of that size by rank 0 */
};

static const struct {
    const char *against;
    const char *text;
    duel_batch_fn batch;
    enum duel_figure figure;
} besides[] = {
    [TRIP] = {"mpi", MPI_TRIP_TEXT, mpi_trip, DUEL_US},
    [TRIPS] = {"mpi", MPI_TRIP_TEXT, mpi_trip, DUEL_KPS},
    [COPY] = {"memcpy",
        "memcpy of that size by rank 0, between two buffers of its own",
        bulk_copy, DUEL_GBPS},
};

/* Sizes and windows of rows, ended by a 0 that is not the first element. A
 * smoke test takes the first, a quick run every second one. */
static const size_t none[] = {0, 0}, small[] = {8, 4 * KIB, 0},
                    head[] = {HEAD_LEN, 0},
                    large[] = {64 * KIB, MIB, 16 * MIB, 0},
                    trips[] = {8, 64, 512, 4 * KIB, 16 * KIB, 64 * KIB,
                        256 * KIB, MIB, 4 * MIB, 0},
                    streams[] = {4 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB, 0};
static const size_t one[] = {1, 0}, many[] = {16, 4, 1, 0},
                    flights[] = {64, 8, 1, 0};

/* Rows of one operation, for each size and each window, or for those of --size
 * and -w, if the operation has sizes and windows. */
struct rows {
    const char *op;
    duel_batch_fn batch;
    enum beside beside;
    bool is_push;
    const size_t *sizes;
    const size_t *windows;
};

static const struct rows messages[] = {
    {"mpi_pingpong", bulk_round, TRIP, true, trips, one},
    {"mpi_request", mpi_rate, TRIPS, true, head, flights},
    {"mpi_stream", bulk_stream, COPY, true, streams, many},
};

static const struct rows own_memory[] = {
    {"memcpy", bulk_copy, COPY, false, streams, one},
};

static const struct rows mapped_memory[] = {
    {"copy_mapped", bulk_copy, COPY, false, streams, one},
    {"copy_to_mapped", bulk_copy, COPY, true, streams, one},
};

static const struct rows kernel[] = {
    {"vm_readv", bulk_cross, TRIP, false, small, one},
    {"vm_readv", bulk_cross, COPY, false, large, one},
    {"vm_writev", bulk_cross, TRIP, true, small, one},
    {"vm_writev", bulk_cross, COPY, true, large, one},
};

static const struct rows wakeups[] = {
    {"eventfd", wakeup_batch, TRIP, false, none, one},
};

/* Leaves out bandwidths of 0 bytes, round trips that take too long, and rows
 * that do not fit into the room. */
static void row_run(struct controls *controls, const struct rows *rows,
    size_t size, unsigned window)
{
    struct pair *pair = &controls->pair;
    bool is_rate = rows->beside == TRIPS;
    unsigned calls = window * RATE_CALLS;
    struct duel duel = {rows->op, besides[rows->beside].against,
        besides[rows->beside].text, .size = size, .window = window,
        .calls = calls < RATE_CALLS_MIN ? RATE_CALLS_MIN : calls,
        .warm = is_rate ? DUEL_WARM : bulk_warm(size),
        .figure = besides[rows->beside].figure,
        .ours = {rows->batch, &controls->bulk},
        .control = {besides[rows->beside].batch}};

    if (!is_rate)
        duel.calls = bulk_calls(size, window);
    if (rows->beside == COPY) {
        duel.control.arg = &controls->copy;
        duel.control.pair = &controls->alone;
    }
    if (rows == own_memory)
        duel.ours = duel.control; /* the noise of the machine */
    if (rows == wakeups)
        duel.ours.arg = &controls->events;
    if ((rows->beside == COPY && size == 0) ||
        (rows->beside == TRIP && size > TRIP_SIZE_MAX) ||
        (window > 1 && window * size > WINDOW_LEN_MAX) ||
        window * size > pair->room_len)
        return;
    controls->bulk.is_push = rows->is_push;
    duel_run(pair, &duel);
}

static bool is_taken(const struct options *options, unsigned index)
{
    return options->is_smoke ? index == 0
                             : !options->is_quick || index % 2 == 0;
}

static void rows_run(
    struct controls *controls, const struct rows *rows, unsigned count)
{
    const struct options *options = controls->pair.options;

    for (unsigned i = 0; i < count; i++, rows++) {
        size_t asked[] = {options->size == NULL ? 0 : *options->size, 0};
        size_t window[] = {options->window, 0};
        bool is_sized = rows->sizes != none && rows->sizes != head;
        const size_t *sizes =
            options->size != NULL && is_sized ? asked : rows->sizes;
        const size_t *windows = options->window != 0 && rows->windows != one
                                    ? window
                                    : rows->windows;

        for (unsigned j = 0; j == 0 || sizes[j] != 0; j++)
            for (unsigned k = 0; windows[k] != 0; k++)
                if (is_taken(options, j) && is_taken(options, k))
                    row_run(controls, rows, sizes[j], (unsigned)windows[k]);
    }
}

static void via_set(struct controls *controls, const char *via)
{
    snprintf(controls->pair.via, sizeof(controls->pair.via), "%s", via);
}

/* Rows of memory of one process, of memory that two processes map, and of the
 * kernel between two processes: copies and wake-ups. */
static void node_run(struct controls *controls)
{
    struct pair *pair = &controls->pair;

    via_set(controls, "memory");
    rows_run(controls, own_memory, 1);
    if (controls->like.is_shared)
        rows_run(controls, mapped_memory, 2);
    via_set(controls, "kernel");
    bulk_cross_init(pair, &controls->bulk);
    if (controls->bulk.far_pid != 0)
        rows_run(controls, kernel, 4);
    if (!pair->is_one_machine) {
        pair_say(pair,
            "the rows of eventfd are left out: the ranks are of two nodes");
        return;
    }
    wakeup_open(pair, &controls->events);
    rows_run(controls, wakeups, 1);
    wakeup_close(&controls->events);
}

static void controls_init(struct controls *controls, const struct pair *like)
{
    struct pair *pair = &controls->pair;
    const struct options *options = like->options;
    size_t len = options->is_smoke ? MIB : ROOM_LEN;

    pair_copy(like, pair);
    pair->transport = options->transport == NULL ? "auto" : options->transport;
    pair->is_caller = pair->rank == 0;
    pair->is_target = pair->rank == 1;
    if (options->size != NULL && *options->size > len)
        len = *options->size;
    pair_need_room(pair, len);
    like_open(pair, pair->room_len, &controls->like);
    controls->bulk = (struct bulk){
        .shape = {false, 1, pair->room_len, pair->room_len, pair->room_len},
        .like = &controls->like,
        .far = pair->is_target ? pair->landing : NULL,
        .end = pair->landing,
    };
    controls->alone = *pair;
    controls->alone.is_target = pair->is_caller;
    controls->own = (struct like){pair->landing, pair->room_len, false};
    controls->copy = controls->bulk;
    controls->copy.like = &controls->own;
}

void bench_controls(struct pair *pair)
{
    struct controls controls;

    controls_init(&controls, pair);
    via_set(&controls, "mpi");
    rows_run(&controls, messages, 3);
    node_run(&controls);
    like_close(&controls.like);
    pair_free_room(&controls.pair);
}
