/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of this machine, as programs without the library reach them.
 *
 * The operations measured here are controls of other benchmarks. Each stands
 * beside one that every machine has, by the same two ranks in turn: a time
 * beside the MPI round trip of that size, a bandwidth beside memcpy. No class
 * is open. */
#include <stdio.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/raw/bulk.h"
#include "jobs/bench/raw/fabric.h"
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
    struct bulk copy;  /* what it copies */
    struct like own;   /* to where */
    struct like like;  /* memory of rank 1 that both have mapped */
    struct bulk bulk;  /* what a row moves, if its batch moves a bulk */
};

/* The control of a row, and so its unit. */
enum beside {
    TRIP,    /* its time: the MPI round trip of that size */
    TRIPS,   /* its rate: how many of these a second */
    REQUEST, /* its rate: that of MPI, as many in flight */
    COPY,    /* its bandwidth: memcpy of that size by rank 0 */
};

/* A size or a window of rows, and how much must be asked for to get it. */
struct step {
    size_t number; /* 0 ends a list */
    enum { SMOKE, QUICK, FULL } level;
};

static const struct step
    small[] = {{8, SMOKE}, {4 * KIB, FULL}, {0, FULL}},
    large[] = {{64 * KIB, SMOKE}, {MIB, QUICK}, {16 * MIB, FULL}, {0, FULL}},
    trip_sizes[] = {{8, SMOKE}, {64, FULL}, {512, FULL}, {4 * KIB, QUICK},
        {16 * KIB, FULL}, {64 * KIB, QUICK}, {256 * KIB, FULL}, {MIB, QUICK},
        {4 * MIB, FULL}, {0, FULL}},
    stream_sizes[] = {{4 * KIB, SMOKE}, {64 * KIB, QUICK}, {MIB, QUICK},
        {16 * MIB, FULL}, {64 * MIB, FULL}, {0, FULL}},
    copy_sizes[] = {{4 * KIB, FULL}, {64 * KIB, SMOKE}, {MIB, QUICK},
        {16 * MIB, FULL}, {64 * MIB, FULL}, {0, FULL}},
    fabric_sizes[] = {{8, SMOKE}, {4 * KIB, QUICK}, {64 * KIB, FULL},
        {0, FULL}},
    request_windows[] = {{1, SMOKE}, {8, QUICK}, {64, QUICK}, {0, FULL}},
    stream_windows[] = {{1, SMOKE}, {4, SMOKE}, {16, QUICK}, {0, FULL}},
    several[] = {{1, FULL}, {4, SMOKE}, {0, FULL}},
    fabric_windows[] = {{1, SMOKE}, {8, FULL}, {64, QUICK}, {0, FULL}};

/* Rows of one operation, for each size and each window, or for those alone that
 * --size and -w name. NULL: as the operation has it. */
struct rows {
    const char *op;
    duel_batch_fn batch;
    void *arg; /* duel->arg of the batch */
    enum beside beside;
    size_t size;
    const struct step *sizes;
    const struct step *windows;
};

static const struct {
    const char *against;
    const char *text;
    duel_batch_fn batch;
    enum duel_figure figure;
} besides[] = {
    [TRIP] = {"mpi", MPI_TRIP_TEXT, mpi_trip, DUEL_US},
    [TRIPS] = {"mpi", MPI_TRIP_TEXT, mpi_trip, DUEL_KPS},
    [REQUEST] = {"mpi_request", MPI_RATE_TEXT, mpi_rate, DUEL_KPS},
    [COPY] = {"memcpy",
        "memcpy of that size by rank 0, between two buffers of its own",
        bulk_copy, DUEL_GBPS},
};

/* There is no bandwidth of nothing, and no patience for all round trips; and a
 * row has to fit into the room. */
static void row_run(struct controls *controls, const struct rows *rows,
    size_t size, unsigned window)
{
    struct pair *pair = &controls->pair;
    bool is_rate = rows->beside == TRIPS || rows->beside == REQUEST;
    unsigned calls = window * RATE_CALLS;
    struct duel duel = {rows->op, besides[rows->beside].against,
        besides[rows->beside].text, .size = size, .window = window,
        .calls = calls < RATE_CALLS_MIN ? RATE_CALLS_MIN : calls,
        .warm = is_rate ? DUEL_WARM : bulk_warm(size),
        .figure = besides[rows->beside].figure,
        .ours = {rows->batch, rows->arg},
        .control = {besides[rows->beside].batch}};

    if (!is_rate)
        duel.calls = bulk_calls(size, window);
    if (rows->beside == COPY) {
        duel.control.arg = &controls->copy;
        duel.control.pair = &controls->alone;
    }
    if (rows->batch == bulk_copy && rows->arg == NULL)
        duel.ours = duel.control; /* of itself: how even the machine is */
    if ((rows->beside == COPY && size == 0) ||
        (rows->beside == TRIP && size > TRIP_SIZE_MAX) ||
        window * size > pair->room_len)
        return;
    duel_run(pair, &duel, NULL);
}

static bool has_step(const struct options *options, const struct step *step)
{
    if (options->is_smoke)
        return step->level == SMOKE;
    return step->level != FULL || !options->is_quick;
}

static void windows_run(
    struct controls *controls, const struct rows *rows, size_t size)
{
    const struct options *options = controls->pair.options;

    if (rows->windows == NULL || options->window != 0)
        row_run(
            controls, rows, size, rows->windows == NULL ? 1 : options->window);
    else
        for (const struct step *step = rows->windows; step->number != 0; step++)
            if (has_step(options, step) &&
                (step->number == 1 || step->number * size <= WINDOW_LEN_MAX))
                row_run(controls, rows, size, (unsigned)step->number);
}

static void rows_run(struct controls *controls, const struct rows *rows)
{
    const struct options *options = controls->pair.options;

    if (rows->sizes == NULL || options->size != NULL)
        windows_run(
            controls, rows, rows->sizes == NULL ? rows->size : *options->size);
    else
        for (const struct step *step = rows->sizes; step->number != 0; step++)
            if (has_step(options, step))
                windows_run(controls, rows, step->number);
}

/* In both directions; `ops` are the names of a pull and of a push. */
static void directions_run(struct controls *controls, struct bulk *bulk,
    struct rows rows, const char *const ops[2])
{
    for (unsigned i = 0; i < 2; i++) {
        bulk->is_push = i == 1;
        rows.op = ops[i];
        rows.arg = bulk;
        rows_run(controls, &rows);
    }
}

static void via_set(struct controls *controls, const char *via)
{
    snprintf(controls->pair.via, sizeof(controls->pair.via), "%s", via);
}

static void messages_run(struct controls *controls)
{
    struct bulk *bulk = &controls->bulk;
    const struct rows none = {
        "mpi_pingpong", bulk_round, bulk, TRIP, 0, NULL, NULL};
    const struct rows all[] = {
        {"mpi_pingpong", bulk_round, bulk, TRIP, 0, trip_sizes, NULL},
        {"mpi_request", mpi_rate, NULL, TRIPS, HEAD_LEN, NULL, request_windows},
        {"mpi_stream", bulk_stream, bulk, COPY, 0, stream_sizes,
            stream_windows}};

    via_set(controls, "mpi");
    bulk->is_push = true;
    if (controls->pair.options->size == NULL)
        rows_run(controls, &none);
    for (unsigned i = 0; i < 3; i++)
        rows_run(controls, &all[i]);
}

static void windows_of_mpi_run(struct controls *controls)
{
    static const struct {
        enum bulk_window_kind kind;
        const char *ops[2]; /* pull, push */
    } kinds[] = {
        {BULK_WINDOW_ALLOCATED, {"rget_allocate", "put_allocate"}},
        {BULK_WINDOW_CREATED, {"rget_create", "put_create"}},
        {BULK_WINDOW_DYNAMIC, {"rget_dynamic", "put_dynamic"}},
        {BULK_WINDOW_SHARED, {"rget_shared", "put_shared"}},
    };
    const struct rows trips = {
        .batch = bulk_window, .beside = TRIP, .sizes = small};
    const struct rows streams = {.batch = bulk_window,
        .beside = COPY,
        .sizes = large,
        .windows = several};
    struct pair *pair = &controls->pair;
    unsigned count = bulk_window_can_share(pair) ? 4 : 3;

    via_set(controls, "mpi");
    for (unsigned i = 0; i < count; i++) {
        struct bulk bulk = controls->bulk;
        struct bulk_window window;

        bulk_window_open(
            pair, kinds[i].kind, pair->landing, pair->room_len, &window);
        bulk.window = &window;
        bulk.end = window.memory;
        directions_run(controls, &bulk, trips, kinds[i].ops);
        directions_run(controls, &bulk, streams, kinds[i].ops);
        bulk_window_close(pair, &window);
    }
    if (count == 3)
        pair_say(pair, "the rows of shared windows are left out: the ranks are "
                       "of two nodes");
}

/* Memory of one process, and memory that two have mapped; the kernel between
 * two processes; and its wake-ups. */
static void node_run(struct controls *controls)
{
    static const char *const mapped_ops[] = {"copy_mapped", "copy_to_mapped"};
    static const char *const cross_ops[] = {"vm_readv", "vm_writev"};
    struct pair *pair = &controls->pair;
    struct bulk *bulk = &controls->bulk;
    const struct rows own = {
        "memcpy", bulk_copy, NULL, COPY, 0, copy_sizes, NULL};
    struct rows rows = {
        .batch = bulk_copy, .beside = COPY, .sizes = copy_sizes};
    struct wakeup events;
    const struct rows wakeups = {
        "eventfd", wakeup_batch, &events, TRIP, 0, NULL, NULL};

    via_set(controls, "memory");
    rows_run(controls, &own);
    if (controls->like.is_shared)
        directions_run(controls, bulk, rows, mapped_ops);
    via_set(controls, "kernel");
    bulk_cross_init(pair, bulk);
    rows.batch = bulk_cross;
    if (bulk->far_pid != 0) {
        rows.beside = TRIP;
        rows.sizes = small;
        directions_run(controls, bulk, rows, cross_ops);
        rows.beside = COPY;
        rows.sizes = large;
        directions_run(controls, bulk, rows, cross_ops);
    }
    if (!pair->is_one_machine) {
        pair_say(pair,
            "the rows of eventfd are left out: the ranks are of two nodes");
        return;
    }
    wakeup_open(pair, false, &events);
    rows_run(controls, &wakeups);
    wakeup_close(&events);
}

/* Libfabric over the stacks of providers that most machines have. */
static void fabric_run(struct controls *controls)
{
    static const char *const stacks[] = {"tcp;ofi_rxm", "shm"};
    static const char *const ops[] = {"fi_read", "fi_write"};
    struct pair *pair = &controls->pair;
    const struct rows all[] = {
        {"fi_pingpong", fabric_trip, NULL, TRIP, 0, fabric_sizes, NULL},
        {"fi_request", fabric_rate, NULL, REQUEST, HEAD_LEN, NULL,
            fabric_windows}};
    const struct rows moves = {.batch = fabric_bulk,
        .beside = COPY,
        .sizes = large,
        .windows = several};

    /* Shared memory is for two ranks of one machine. */
    for (unsigned i = 0; i < (pair->is_one_machine ? 2 : 1); i++) {
        snprintf(pair->via, sizeof(pair->via), "ofi+%s", stacks[i]);
        if (!fabric_open(pair, stacks[i])) {
            pair_say(pair,
                "the rows of bare libfabric over %s are left out: there is "
                "none here",
                stacks[i]);
            continue;
        }
        rows_run(controls, &all[0]);
        rows_run(controls, &all[1]);
        directions_run(controls, &controls->bulk, moves, ops);
        fabric_close(pair->fabric);
        pair->fabric = NULL;
    }
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
    messages_run(&controls);
    windows_of_mpi_run(&controls);
    node_run(&controls);
    fabric_run(&controls);
    like_close(&controls.like);
    pair_free_room(&controls.pair);
}
