/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo's calls beside those of HG, which they are made of; its bulk
 * transfers by handlers; the memory of a blocked handler; and whether Margo
 * with a progress thread, and else its defaults, is as good as the best that
 * one can ask for.
 *
 * Bulk: rank 1 calls, and rank 0 serves: its handler moves all of a batch, one
 * transfer after the other, and holds the clock. In the control it is rank 0
 * that moves, too, from a loop of HG_Progress() and HG_Trigger().
 *
 * Blocked handlers: rank 0 makes many calls, whose handlers at rank 1 all wait.
 * The growth of that process, as the kernel counts, beyond the resident pages
 * of the handlers' stacks is the price of a blocked handler: its handle, the
 * message it serves, its control block.
 *
 * Ways: two ranks that may run wherever they want call each other, both ways at
 * once, by many user-level threads: the loop on the program's stream or on one
 * of its own, which spins or sleeps, without and with a stream for handlers. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/benches/margo_pair.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/frame/duel.h"
#include "jobs/bench/raw/bulk.h"
#include "jobs/bench/raw/calls.h"

enum {
    KIB = 1024,
    MIB = 1024 * KIB,
    WINDOW = 64,
    SIZES = 4,
    SIZES_QUICK = 2,
    HANDLERS = 4000,
    HANDLERS_SMOKE = 64,
    STACK_PAGES_MAX = 512,
};

static void calls_run(struct pair *pair, struct margo_pair *polling)
{
    struct duel null = {"margo", "hg",
        "the same null calls by HG_Forward(), HG_Progress() and "
        "HG_Trigger(), polling; median time",
        .calls = CALLS_LATENCY, .warm = DUEL_WARM, .figure = DUEL_US,
        .ours = {margo_pair_latency, polling},
        .control = {calls_latency, .enters = true}};
    struct duel rate = {"margo_rate", "hg",
        "the same number of null calls in flight by HG_Forward(); "
        "median rate",
        .window = pair->options->window == 0 ? WINDOW : pair->options->window,
        .calls = CALLS_RATE, .warm = DUEL_WARM, .figure = DUEL_KPS,
        .ours = {margo_pair_rate, polling},
        .control = {calls_rate, .enters = true}};

    duel_run(pair, &null, NULL);
    duel_run(pair, &rate, NULL);
}

static void defaults_run(struct pair *pair, struct margo_pair *polling)
{
    struct margo_pair defaults;
    struct duel null = {"margo_default", "polling",
        "the same calls by instances of Margo that never sleep; median time",
        .calls = CALLS_LATENCY, .warm = DUEL_WARM, .figure = DUEL_US,
        .ours = {margo_pair_latency, &defaults},
        .control = {margo_pair_latency, polling}};

    margo_pair_open(&defaults, pair, &(struct margo_pair_how){.json = NULL});
    duel_run(pair, &null, NULL);
    margo_pair_close(&defaults);
}

MERCURY_GEN_PROC(bench_move_t, ((hg_bulk_t)(memory)))

/* Both sides of the rows of one direction. */
struct mover {
    struct margo_pair *own;
    struct bulk bulk; /* of the control */
    hg_id_t id;
    hg_bulk_t memory; /* of this rank */
    ABT_eventual is_over;
    /* Rank 0's, of this batch. */
    struct duel *duel;
    hg_addr_t from;
    hg_bulk_t theirs;
    double elapsed_us;
};

static void move_once(struct pair *pair, void *arg)
{
    const struct mover *mover = arg;

    CHECK(pair,
        margo_bulk_transfer(mover->own->mid,
            mover->bulk.is_push ? HG_BULK_PUSH : HG_BULK_PULL, mover->from,
            mover->theirs, 0, mover->memory, 0, mover->duel->size));
}

static void bench_margo_move(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    const struct hg_info *info = margo_get_info(handle);
    struct mover *mover = margo_registered_data(mid, info->id);
    struct pair *pair = (struct pair *)mover->own->like;
    bench_move_t in;

    CHECK(pair, margo_get_input(handle, &in));
    mover->from = info->addr;
    mover->theirs = in.memory;
    mover->elapsed_us = duel_each(pair, mover->duel, move_once, mover);
    margo_free_input(handle, &in);
    margo_respond(handle, NULL);
    margo_destroy(handle);
    ABT_eventual_set(mover->is_over, NULL, 0);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_move)

static double margo_move(struct pair *pair, struct duel *duel)
{
    struct mover *mover = duel->arg;
    bool is_from = mover->bulk.is_push == (pair->rank == 0);

    mover->duel = duel;
    mover->elapsed_us = 0.0;
    if (is_from)
        pattern_fill(pair->room, duel->size, pair->seed);
    MPI_Barrier(pair->comm);
    if (pair->rank == 0) {
        ABT_eventual_wait(mover->is_over, NULL);
        ABT_eventual_reset(mover->is_over);
    } else {
        bench_move_t in = {mover->memory};
        hg_handle_t handle = margo_pair_handle(mover->own, mover->id);

        margo_pair_call(mover->own, handle, &in);
        margo_destroy(handle);
    }
    MPI_Barrier(pair->comm);
    if (!is_from)
        pair_verify(pair, pair->landing, duel->size, "the bulk data");
    return mover->elapsed_us;
}

static void direction_run(struct pair *pair, struct margo_pair *own,
    const struct like *like, bool is_push)
{
    static const size_t sizes[SIZES] = {64 * KIB, 256 * KIB, MIB, 16 * MIB};
    hg_size_t len = pair->room_len;
    struct bulk_shape shape = {false, 1, len, len, len};
    bool is_from = is_push == (pair->rank == 0);
    void *memory = is_from ? pair->room : pair->landing;
    struct mover mover = {.own = own};
    unsigned count = options_pick(pair->options, SIZES, SIZES_QUICK, 1);

    bulk_open(pair, &shape, like, &mover.bulk);
    mover.bulk.is_push = is_push;
    CHECK(pair,
        margo_bulk_create(own->mid, 1, &memory, &len,
            is_from ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY, &mover.memory));
    if (ABT_eventual_create(0, &mover.is_over) != ABT_SUCCESS)
        pair_fail(pair, "no memory for an eventual");
    mover.id = MARGO_REGISTER(
        own->mid, "bench_margo_move", bench_move_t, void, bench_margo_move);
    CHECK(pair, margo_register_data(own->mid, mover.id, &mover, NULL));
    for (unsigned i = 0; i < count; i++) {
        struct duel duel = {is_push ? "margo_push" : "margo_pull", "hg",
            "the same transfers by HG_Bulk_transfer(), one at a time, "
            "from a loop of HG_Progress() and HG_Trigger(); median "
            "rate",
            .size = sizes[i], .calls = bulk_calls(sizes[i], 1),
            .warm = bulk_warm(sizes[i]), .figure = DUEL_GBPS,
            .ours = {margo_move, &mover},
            .control = {bulk_move, &mover.bulk, .enters = true}};

        duel_run(pair, &duel, NULL);
    }
    CHECK(pair, margo_deregister(own->mid, mover.id));
    ABT_eventual_free(&mover.is_over);
    margo_bulk_free(mover.memory);
    margo_pair_meet(own); /* over libfabric the other one gives access back */
    bulk_close(pair, &mover.bulk);
}

static void bulk_run(struct pair *pair, struct margo_pair *own)
{
    struct like like;

    pair_need_room(
        pair, options_pick(pair->options, 16 * MIB, 256 * KIB, 64 * KIB));
    like_open(pair, pair->room_len, &like);
    direction_run(pair, own, &like, false);
    direction_run(pair, own, &like, true);
    like_close(&like);
}

/* Rank 1's. */
struct blocked {
    struct margo_pair own;
    hg_id_t id;
    unsigned wanted;
    atomic_uint count;
    atomic_ullong stack_pages;
    ABT_eventual are_blocked;
    ABT_eventual gate;
};

static bool page_is_there(uintptr_t page, size_t page_len)
{
    unsigned char is_there = 0;

    return mincore((void *)page, page_len, &is_there) == 0 &&
           (is_there & 1u) != 0;
}

/* The number of resident pages of the calling thread's stack: those around the
 * current one, up to the guard pages, which never are. */
static unsigned stack_pages(void)
{
    size_t page_len = (size_t)sysconf(_SC_PAGESIZE);
    char local = 0;
    uintptr_t here = (uintptr_t)&local / page_len * page_len;
    uintptr_t end = here + page_len;
    uintptr_t begin = here;

    while ((end - here) / page_len < STACK_PAGES_MAX &&
           page_is_there(end, page_len))
        end += page_len;
    while ((here - begin) / page_len < STACK_PAGES_MAX &&
           page_is_there(begin - page_len, page_len))
        begin -= page_len;
    return (unsigned)((end - begin) / page_len);
}

static void bench_margo_block(hg_handle_t handle)
{
    struct blocked *blocked = margo_registered_data(
        margo_hg_handle_get_instance(handle), margo_get_info(handle)->id);

    atomic_fetch_add(&blocked->stack_pages, stack_pages());
    if (atomic_fetch_add(&blocked->count, 1) + 1 == blocked->wanted)
        ABT_eventual_set(blocked->are_blocked, NULL, 0);
    ABT_eventual_wait(blocked->gate, NULL);
    margo_respond(handle, NULL);
    margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_block)

/* Rank 0: all calls, and their answers. */
static void blocked_call(const struct pair *pair, struct blocked *blocked)
{
    margo_request *requests =
        pair_alloc(pair, blocked->wanted, sizeof(*requests));
    hg_handle_t *handles = pair_alloc(pair, blocked->wanted, sizeof(*handles));

    for (unsigned i = 0; i < blocked->wanted; i++) {
        handles[i] = margo_pair_handle(&blocked->own, blocked->id);
        CHECK(pair, margo_iforward(handles[i], NULL, &requests[i]));
    }
    for (unsigned i = 0; i < blocked->wanted; i++) {
        CHECK(pair, margo_wait(requests[i]));
        margo_destroy(handles[i]);
    }
    free(handles);
    free(requests);
    margo_pair_stop(&blocked->own);
}

/* Rank 1: how much it has grown, in KiB. */
static double blocked_serve(const struct pair *pair, struct blocked *blocked)
{
    struct smaps before;
    struct smaps after;
    bool is_read = smaps_read(&before) && smaps_read(&before);

    ABT_eventual_wait(blocked->are_blocked, NULL);
    if (!is_read || !smaps_read(&after))
        pair_fail(pair, "/proc/self/smaps_rollup cannot be read");
    ABT_eventual_set(blocked->gate, NULL, 0);
    margo_pair_serve(&blocked->own);
    return after.rss - before.rss;
}

static void blocked_run(struct pair *pair)
{
    struct blocked blocked = {
        .wanted = pair->options->is_smoke ? HANDLERS_SMOKE : HANDLERS};
    struct margo_pair_how how = {.credits = HANDLERS + 1};
    double kib[2] = {0.0, 0.0}; /* what rank 1 has grown by, and stacks */
    struct row row = {"margo_blocked", .window = blocked.wanted, .unit = "KiB",
        .against = "stack",
        .control = "the resident pages of the handler's stack, which the "
                   "figure leaves out"};

    margo_pair_open(&blocked.own, pair, &how);
    guard_step("%u handlers that block", blocked.wanted);
    if (ABT_eventual_create(0, &blocked.gate) != ABT_SUCCESS ||
        ABT_eventual_create(0, &blocked.are_blocked) != ABT_SUCCESS)
        pair_fail(pair, "no memory for an eventual");
    blocked.id = MARGO_REGISTER(
        blocked.own.mid, "bench_margo_block", void, void, bench_margo_block);
    CHECK(
        pair, margo_register_data(blocked.own.mid, blocked.id, &blocked, NULL));
    MPI_Barrier(pair->comm);
    if (pair->rank == 0) {
        blocked_call(pair, &blocked);
    } else {
        kib[0] = blocked_serve(pair, &blocked);
        kib[1] = (double)atomic_load(&blocked.stack_pages) *
                 (double)sysconf(_SC_PAGESIZE) / KIB;
    }
    MPI_Bcast(kib, 2, MPI_DOUBLE, 1, pair->comm);
    row.value = (kib[0] - kib[1]) / blocked.wanted;
    row.control_value = kib[1] / blocked.wanted;
    pair_value(pair, &row);
    ABT_eventual_free(&blocked.are_blocked);
    ABT_eventual_free(&blocked.gate);
    margo_pair_close(&blocked.own);
}

#define JSON_SPIN  "\"progress_timeout_ub_msec\": 0"
#define JSON_SLEEP "\"progress_spindown_msec\": 0"
#define JSON_WAY(thread, handlers, wait)                                       \
    "{\"use_progress_thread\": " thread ", \"rpc_thread_count\": " handlers    \
    ", " wait "}"

static const struct margo_pair_how hows[] = {
    {"{\"use_progress_thread\": true}", 0, 0},
    {JSON_WAY("false", "0", JSON_SPIN), AMALGAM_WAIT_SPIN, 0},
    {JSON_WAY("false", "1", JSON_SPIN), AMALGAM_WAIT_SPIN, 0},
    {JSON_WAY("false", "0", JSON_SLEEP), AMALGAM_WAIT_SLEEP, 0},
    {JSON_WAY("false", "1", JSON_SLEEP), AMALGAM_WAIT_SLEEP, 0},
    {JSON_WAY("true", "0", JSON_SPIN), AMALGAM_WAIT_SPIN, 0},
    {JSON_WAY("true", "1", JSON_SPIN), AMALGAM_WAIT_SPIN, 0},
    {JSON_WAY("true", "0", JSON_SLEEP), AMALGAM_WAIT_SLEEP, 0},
    {JSON_WAY("true", "1", JSON_SLEEP), AMALGAM_WAIT_SLEEP, 0},
};

static void slice_run(struct pair *pair, unsigned way, unsigned window,
    double us, struct ways_slice *ret_slice)
{
    struct margo_pair own;
    struct margo_load load = {
        .own = &own, .threads = window, .us = us, .slice = ret_slice};

    margo_pair_open(&own, pair, &hows[way]);
    guard_step("a slice of way %u", way);
    MPI_Barrier(pair->comm);
    us = margo_pair_run(&load);
    ret_slice->kps = (double)load.calls / us * 1e3;
    margo_pair_stop(&own);
    margo_pair_serve(&own);
    margo_pair_close(&own);
}

static void ways_of_margo_run(struct pair *pair)
{
    static const struct ways ways = {
        {"defaults", "m_caller_spin", "m_caller_sp1", "m_caller_slp",
            "m_caller_sl1", "m_thread_spin", "m_thread_sp1", "m_thread_slp",
            "m_thread_sl1"},
        "the best of the eight ways to share out Margo's work, of the same "
        "run: the one with the highest rate",
        "Margo with a progress thread, and else its defaults", slice_run};
    struct pin pinned;

    pin_lift(pair->pin, &pinned);
    snprintf(pair->cores, sizeof(pair->cores), "shared");
    ways_run(pair, &ways);
    pin_restore(&pinned);
}

void bench_margo(struct pair *pair)
{
    static const struct margo_pair_how polling_how = {
        .json = MARGO_POLLING_JSON};
    struct margo_pair polling;
    char cores[sizeof(pair->cores)];

    if (!pair_is_of_two(pair, NULL))
        return;
    snprintf(cores, sizeof(cores), "%s", pair->cores);
    margo_pair_open(&polling, pair, &polling_how);
    calls_run(pair, &polling);
    bulk_run(pair, &polling);
    defaults_run(pair, &polling);
    margo_pair_close(&polling);
    blocked_run(pair);
    ways_of_margo_run(pair);
    snprintf(pair->cores, sizeof(pair->cores), "%s", cores);
}
