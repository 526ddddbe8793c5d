/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of a call: with arguments as programs pass them; with 0 bytes to
 * 64 KiB of input; with twice as much as fits into one message; and calls
 * without a clock, for counting what they cost.
 *
 * The replies to 0 bytes to 64 KiB are empty. Sizes beyond one message are
 * measured as a user gets them, however the library sends them: in a longer
 * message, or by a pull of the target before it serves the call. */
#include <string.h>
#include <unistd.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/args.h"
#include "jobs/bench/raw/calls.h"
#include "jobs/bench/raw/fabric.h"

enum {
    SIZE_MIN = 8,
    SIZE_END = 65536,
    ECHO_SHORT = 256,
    ECHO_LONG = 1024,
    TWICE_CALLS = 300,
    TWICE_SLACK = 32,
    COUNT_CALLS = 10000,
    COUNT_WARM = 1000,
    COUNT_ROOM = 4096,
};

static void size_run(struct pair *pair, size_t size)
{
    bool is_fabric = fabric_is_way(pair);
    struct duel duel = {"rpc", is_fabric ? "libfabric" : "mpi",
        is_fabric ? FABRIC_TRIP_TEXT : MPI_TRIP_TEXT, .size = size,
        .calls = CALLS_LATENCY, .warm = DUEL_WARM, .figure = DUEL_US,
        .ours = {calls_latency, .enters = true},
        .control = {is_fabric ? fabric_trip : mpi_trip}};

    duel_run(pair, &duel);
}

static void args_run(struct pair *pair)
{
    bool is_fabric = fabric_is_way(pair);
    struct args args;
    struct args_load loads[] = {{&args, ARGS_INTS, false},
        {&args, ARGS_INTS, true}, {&args, ARGS_TEXT, false},
        {&args, ARGS_BULK, false}};
    static const char *const ops[] = {
        "rpc_ints", "rpc_ints_request", "rpc_text", "rpc_bulk_handle"};

    args_open(pair, &args);
    for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        struct duel duel = {ops[i], is_fabric ? "libfabric" : "mpi",
            is_fabric ? FABRIC_TRIP_TEXT : MPI_TRIP_TEXT,
            .size = loads[i].kind == ARGS_TEXT ? ARGS_TEXT_LEN : ARGS_INTS_LEN,
            .calls = CALLS_LATENCY, .warm = DUEL_WARM, .figure = DUEL_US,
            .ours = {args_latency, &loads[i], .enters = true},
            .control = {is_fabric ? fabric_trip : mpi_trip}};

        duel_run(pair, &duel);
    }
    args_close(pair, &args);
}

/* Calls whose input and output have `size` bytes each. */
static void echo_run(struct pair *pair, uint32_t size)
{
    struct calls_echo lens = {size, size};
    struct duel duel = {"rpc_echo", "mpi",
        "round trip of MPI_Send and MPI_Recv: the same bytes there and back",
        .size = size, .calls = CALLS_LATENCY, .warm = DUEL_WARM,
        .figure = DUEL_US, .ours = {calls_echo, &lens, .enters = true},
        .control = {mpi_echo, &lens}};

    duel_run(pair, &duel);
}

/* Twice as much as fits, compared with arguments that just fit. */
static void twice_run(struct pair *pair)
{
    uint32_t in = (uint32_t)HG_Class_get_input_eager_size(pair->cls);
    uint32_t out = (uint32_t)HG_Class_get_output_eager_size(pair->cls);
    const struct {
        const char *op;
        struct calls_echo twice;
        struct calls_echo fitting;
    } loads[] = {
        {"rpc_2x_in", {2 * in, 0}, {in - TWICE_SLACK, 0}},
        {"rpc_2x_out", {0, 2 * out}, {0, out - TWICE_SLACK}},
        {"rpc_2x_both", {2 * in, 2 * out},
            {in - TWICE_SLACK, out - TWICE_SLACK}},
    };

    if (in <= TWICE_SLACK || out <= TWICE_SLACK)
        pair_fail(pair, "messages of %u and %u bytes are too short", in, out);
    pair_need_room(pair, 2 * (size_t)(in > out ? in : out));
    for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        struct duel duel = {loads[i].op, "fitting",
            "the same call with arguments that just fit into one "
            "message",
            .size = loads[i].twice.in + loads[i].twice.out,
            .calls = TWICE_CALLS, .warm = DUEL_WARM, .figure = DUEL_US,
            .is_open = true, .ours = {calls_echo, (void *)&loads[i].twice},
            .control = {calls_echo, (void *)&loads[i].fitting}};

        duel_run(pair, &duel);
    }
}

void bench_latency(struct pair *pair)
{
    const unsigned *only = pair->options->size;
    unsigned i = 0;

    pair_need_room(
        pair, only != NULL && *only > SIZE_END ? *only : (size_t)SIZE_END);
    if (only != NULL) {
        size_run(pair, *only);
        return;
    }
    args_run(pair);
    if (!fabric_is_way(pair)) {
        echo_run(pair, ECHO_SHORT);
        echo_run(pair, ECHO_LONG);
    }
    size_run(pair, 0);
    for (size_t size = SIZE_MIN; size <= SIZE_END; size *= 2)
        if (options_takes(pair->options, i++))
            size_run(pair, size);
    twice_run(pair);
}

static void counted_calls(struct pair *pair, unsigned calls)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    if (!pair->is_caller) {
        pair_serve(pair);
        return;
    }
    handle = pair_handle(pair, pair->null_id);
    for (unsigned i = 0; i < calls; i++)
        pair_call(pair, handle, NULL);
    pair_handle_free(pair, handle);
    pair_stop(pair);
}

/* The part to be counted lies between two system calls that do nothing, so that
 * a trace shows where it begins and ends. */
static void mark(const char *name)
{
    if (access(name, F_OK) == 0)
        return;
}

void bench_count(struct pair *pair)
{
    const struct options *options = pair->options;
    unsigned calls = options->calls == 0 ? COUNT_CALLS : options->calls;
    bool is_raw = options->what != NULL && strcmp(options->what, "rpc") != 0;

    guard_step("%u counted calls", calls);
    pair_need_room(pair, COUNT_ROOM);
    pair_enter(pair);
    counted_calls(pair, COUNT_WARM);
    mpi_trips(pair, COUNT_WARM);
    mark("/amalgam_bench/begin");
    if (is_raw)
        mpi_trips(pair, calls);
    else
        counted_calls(pair, calls);
    mark("/amalgam_bench/end");
    pair_leave(pair);
}
