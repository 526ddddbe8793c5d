/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo's calls beside the HG calls that they consist of; its bulk transfers by
 * handlers; and whether Margo with a progress thread, all else at its defaults,
 * is as good as Margo with its best settings.
 *
 * Each rank has an instance, whose loop runs while the rank waits in Margo, and
 * not while it waits in MPI: so the loop takes no time from the controls.
 *
 * Bulk: rank 1 calls, and rank 0 serves: the handler makes all transfers of a
 * batch, one after another, and measures the time. In the control rank 0 uses a
 * loop of HG_Progress() and HG_Trigger(), or a handler over na+sm.
 *
 * Ways: two ranks that are not pinned call each other, in both directions at
 * once, from many user-level threads: with the loop on the program's stream or
 * on its own, spinning or sleeping, with or without a handler stream. */
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "amalgam_margo.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/benches/thallium.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/args.h"
#include "jobs/bench/raw/bulk.h"
#include "jobs/bench/raw/calls.h"
#include "margo.h"

enum {
    KIB = 1024,
    MIB = 1024 * KIB,
    WINDOW = 64,
    SIZES = 4,
    SIZES_QUICK = 2,
    US_PER_MS = 1000,
};

/* Options of an instance; zeros take Margo's defaults. */
struct how {
    const char *json;       /* NULL: none */
    enum amalgam_wait wait; /* of its class */
    bool is_beside;         /* over na+sm, whatever the run is over */
};

/* Owned by its opener; duel->arg of the batches that use it. */
struct instance {
    const struct pair *like;
    margo_instance_id mid;
    ABT_pool pool; /* of handlers, and of threads that call */
    hg_addr_t peer;
    hg_id_t null_id; /* a call without arguments */
    hg_id_t ints_id; /* a call with two ints there and back */
    hg_id_t stop_id; /* the last call of a batch */
    ABT_eventual over;
    atomic_uint served; /* served calls, except stop_id */
};

static struct instance *instance_of(hg_handle_t handle)
{
    return margo_registered_data(
        margo_hg_handle_get_instance(handle), margo_get_info(handle)->id);
}

static void bench_margo_null(hg_handle_t handle)
{
    struct instance *own = instance_of(handle);

    atomic_fetch_add_explicit(&own->served, 1, memory_order_relaxed);
    margo_respond(handle, NULL);
    margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_null)

static void bench_margo_ints(hg_handle_t handle)
{
    struct instance *own = instance_of(handle);
    bench_ints_t in;
    bench_ints_t out;

    CHECK(own->like, margo_get_input(handle, &in));
    out = args_swapped(in);
    margo_free_input(handle, &in);
    atomic_fetch_add_explicit(&own->served, 1, memory_order_relaxed);
    margo_respond(handle, &out);
    margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_ints)

static void bench_margo_stop(hg_handle_t handle)
{
    struct instance *own = instance_of(handle);

    margo_respond(handle, NULL);
    margo_destroy(handle);
    ABT_eventual_set(own->over, NULL, 0);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_stop)

static margo_instance_id mid_open(
    const struct pair *like, const struct how *how)
{
    struct hg_init_info hg_init = HG_INIT_INFO_INITIALIZER;
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;

    hg_init.na_init_info.progress_mode =
        AMALGAM_NA_PROGRESS(AMALGAM_PROGRESS_CALLER, how->wait);
    info.json_config = how->json;
    info.hg_init_info = &hg_init;
    if (like->is_collective && !how->is_beside)
        return amalgam_margo_init(like->comm, like->options->transport, &info);
    return margo_init_ext(how->is_beside ? "na+sm" : like->options->transport,
        MARGO_SERVER_MODE, &info);
}

static void instance_open(
    struct instance *own, const struct pair *like, const struct how *how)
{
    struct pair met = *like; /* a copy, over the class of the instance */

    *own = (struct instance){.like = like};
    guard_step("opening an instance of Margo");
    own->mid = mid_open(like, how);
    if (own->mid == MARGO_INSTANCE_NULL)
        pair_fail(like, "no instance of Margo; the lines above say why");
    margo_get_handler_pool(own->mid, &own->pool);
    if (ABT_eventual_create(0, &own->over) != ABT_SUCCESS)
        pair_check(like, HG_NOMEM, "ABT_eventual_create");
    own->null_id = MARGO_REGISTER(
        own->mid, "bench_margo_null", void, void, bench_margo_null);
    own->ints_id = MARGO_REGISTER(own->mid, "bench_margo_ints", bench_ints_t,
        bench_ints_t, bench_margo_ints);
    own->stop_id = MARGO_REGISTER(
        own->mid, "bench_margo_stop", void, void, bench_margo_stop);
    CHECK(like, margo_register_data(own->mid, own->null_id, own, NULL));
    CHECK(like, margo_register_data(own->mid, own->ints_id, own, NULL));
    CHECK(like, margo_register_data(own->mid, own->stop_id, own, NULL));
    MPI_Barrier(like->comm);
    met.cls = margo_get_class(own->mid);
    met.is_collective = like->is_collective && !how->is_beside;
    pair_meet(&met);
    own->peer = met.peer;
}

static void instance_close(struct instance *own)
{
    guard_step("closing an instance of Margo");
    margo_addr_free(own->mid, own->peer);
    ABT_eventual_free(&own->over);
    MPI_Barrier(own->like->comm);
    margo_finalize_and_wait(own->mid);
    guard_rest();
}

static void ranks_meet(const struct instance *own)
{
    MPI_Request request;
    int is_over = 0;

    MPI_Ibarrier(own->like->comm, &request);
    for (;;) {
        MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
        if (is_over)
            return;
        ABT_thread_yield();
    }
}

static hg_handle_t handle_create(struct instance *own, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    CHECK(own->like, margo_create(own->mid, own->peer, id, &handle));
    return handle;
}

static void peer_stop(struct instance *own)
{
    hg_handle_t handle = handle_create(own, own->stop_id);

    CHECK(own->like, margo_forward(handle, NULL));
    margo_destroy(handle);
}

static void peer_serve(struct instance *own)
{
    ABT_eventual_wait(own->over, NULL);
    ABT_eventual_reset(own->over);
}

/* Rank 1 serves until the last call of a batch, then checks the number of the
 * other calls. */
static double batch_serve(struct instance *own, const struct duel *duel)
{
    unsigned count = duel_warm(duel) + duel->calls;
    unsigned served = 0;

    peer_serve(own);
    served = atomic_exchange(&own->served, 0);
    if (served != count)
        pair_fail(
            own->like, "%u calls were served instead of %u", served, count);
    return 0.0;
}

static void null_once(struct pair *pair, void *arg)
{
    CHECK(pair, margo_forward(*(hg_handle_t *)arg, NULL));
}

static void ints_once(struct pair *pair, void *arg)
{
    hg_handle_t handle = *(hg_handle_t *)arg;
    bench_ints_t in = {1, -2};
    bench_ints_t out;

    CHECK(pair, margo_forward(handle, &in));
    CHECK(pair, margo_get_output(handle, &out));
    args_verify(pair, in, &out);
    margo_free_output(handle, &out);
}

/* duel->calls calls, one after the other; rank 1 serves. */
static double margo_batch(struct pair *pair, struct duel *duel, hg_id_t id,
    void (*once)(struct pair *pair, void *arg))
{
    struct instance *own = duel->arg;
    hg_handle_t handle = HG_HANDLE_NULL;
    double elapsed_us = 0.0;

    if (pair->rank != 0)
        return batch_serve(own, duel);
    handle = handle_create(own, id);
    elapsed_us = duel_each(pair, duel, once, &handle);
    margo_destroy(handle);
    peer_stop(own);
    return elapsed_us;
}

static double margo_latency(struct pair *pair, struct duel *duel)
{
    const struct instance *own = duel->arg;

    return margo_batch(pair, duel, own->null_id, null_once);
}

static double margo_ints(struct pair *pair, struct duel *duel)
{
    const struct instance *own = duel->arg;

    return margo_batch(pair, duel, own->ints_id, ints_once);
}

/* Null calls of several threads at once. */
struct load {
    struct instance *own;
    unsigned threads;
    double *samples;          /* of all calls; or NULL */
    struct ways_slice *slice; /* the times of some calls; or NULL */
    atomic_uint next;         /* the number of the next call */
    atomic_uint calls;        /* calls from this number on are not made */
};

/* Times the first call of each thread, and then one call of 16. */
static void caller_run(void *arg)
{
    struct load *load = arg;
    hg_handle_t handle = handle_create(load->own, load->own->null_id);
    unsigned number = 0;
    double last_us = 0.0;

    while (number =
               atomic_fetch_add_explicit(&load->next, 1, memory_order_relaxed),
        number < atomic_load_explicit(&load->calls, memory_order_relaxed)) {
        bool is_timed = last_us == 0.0 || number % FLIGHT_TIMED_EVERY == 0;
        double before_us = is_timed ? clock_now_us() : 0.0;

        CHECK(load->own->like, margo_forward(handle, NULL));
        if (is_timed)
            last_us = clock_lap_us(&before_us);
        if (load->samples != NULL)
            load->samples[number] = last_us;
        if (is_timed && load->slice != NULL)
            ways_sample(load->slice, last_us);
    }
    margo_destroy(handle);
}

/* Makes `calls` calls or, if `us` is not 0, calls for `us`. Returns how long
 * they took. */
static double load_run(struct load *load, unsigned calls, double us)
{
    struct instance *own = load->own;
    ABT_thread threads[OPTIONS_WINDOW_MAX];
    double start_us = clock_now_us();

    atomic_store(&load->next, 0);
    atomic_store(&load->calls, us > 0.0 ? UINT_MAX : calls);
    for (unsigned i = 0; i < load->threads; i++)
        if (ABT_thread_create(own->pool, caller_run, load, ABT_THREAD_ATTR_NULL,
                &threads[i]) != ABT_SUCCESS)
            pair_check(own->like, HG_NOMEM, "ABT_thread_create");
    if (us > 0.0) {
        margo_thread_sleep(own->mid, us / US_PER_MS);
        atomic_store(&load->calls, 0);
    }
    for (unsigned i = 0; i < load->threads; i++)
        ABT_thread_free(&threads[i]);
    return clock_now_us() - start_us;
}

/* duel->calls null calls by duel->window threads at once; rank 1 serves. */
static double margo_rate(struct pair *pair, struct duel *duel)
{
    struct instance *own = duel->arg;
    struct load load = {.own = own, .threads = duel->window};
    double elapsed_us = 0.0;

    if (pair->rank != 0)
        return batch_serve(own, duel);
    load_run(&load, duel_warm(duel), 0.0);
    load.samples = duel->samples;
    elapsed_us = load_run(&load, duel->calls, 0.0);
    peer_stop(own);
    return elapsed_us;
}

static void calls_run(struct pair *pair, struct instance *polling)
{
    struct duel null = {"margo", "hg",
        "the same null calls by HG_Forward(), polling; median time",
        .calls = CALLS_LATENCY, .warm = DUEL_WARM, .figure = DUEL_US,
        .ours = {margo_latency, polling},
        .control = {calls_latency, .enters = true}};
    struct duel rate = {"margo_rate", "hg",
        "as many null calls in flight by HG_Forward(); median rate",
        .window = pair->options->window == 0 ? WINDOW : pair->options->window,
        .calls = CALLS_RATE, .warm = DUEL_WARM, .figure = DUEL_KPS,
        .ours = {margo_rate, polling}, .control = {calls_rate, .enters = true}};
    struct args args;
    struct args_load load = {&args, ARGS_INTS, false};
    struct duel ints = {"margo_ints", "hg",
        "the same calls by HG_Forward(), polling; median time",
        .size = ARGS_INTS_LEN, .calls = CALLS_LATENCY, .warm = DUEL_WARM,
        .figure = DUEL_US, .ours = {margo_ints, polling},
        .control = {args_latency, &load, .enters = true}};

    duel_run(pair, &null);
    args_open(pair, &args);
    duel_run(pair, &ints);
    args_close(pair, &args);
    duel_run(pair, &rate);
}

static void defaults_run(struct pair *pair, struct instance *polling)
{
    struct instance defaults;
    struct duel null = {"margo_default", "polling",
        "the same calls by instances of Margo that never sleep; median time",
        .calls = CALLS_LATENCY, .warm = DUEL_WARM, .figure = DUEL_US,
        .ours = {margo_latency, &defaults},
        .control = {margo_latency, polling}};

    instance_open(&defaults, pair, &(struct how){.json = NULL});
    duel_run(pair, &null);
    instance_close(&defaults);
}

static void bench_margo_bytes(hg_handle_t handle)
{
    struct bytes in;

    CHECK(instance_of(handle)->like, margo_get_input(handle, &in));
    margo_free_input(handle, &in);
    bench_margo_null(handle);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_bytes)

/* Calls of one kind, by the C++ API and by Margo. */
struct faces {
    struct instance *own;
    struct thallium_side *side;
    enum thallium_kind kind;
    struct bytes bytes;
    hg_handle_t handle;
};

static void face_served(void *arg)
{
    atomic_fetch_add_explicit(
        &((struct instance *)arg)->served, 1, memory_order_relaxed);
}

static void face_once(struct pair *pair, void *arg)
{
    struct faces *faces = arg;

    (void)pair;
    thallium_call(faces->side, faces->kind);
}

static void bytes_once(struct pair *pair, void *arg)
{
    struct faces *faces = arg;

    if (faces->kind == THALLIUM_INTS)
        ints_once(pair, &faces->handle);
    else
        CHECK(pair, margo_forward(faces->handle,
                        faces->kind == THALLIUM_NULL ? NULL : &faces->bytes));
}

static double faces_batch(struct pair *pair, struct duel *duel,
    void (*once)(struct pair *pair, void *arg))
{
    struct faces *faces = duel->arg;
    double elapsed_us = 0.0;

    if (pair->rank != 0)
        return batch_serve(faces->own, duel);
    elapsed_us = duel_each(pair, duel, once, faces);
    peer_stop(faces->own);
    return elapsed_us;
}

static double face_latency(struct pair *pair, struct duel *duel)
{
    return faces_batch(pair, duel, face_once);
}

static double bytes_latency(struct pair *pair, struct duel *duel)
{
    return faces_batch(pair, duel, bytes_once);
}

static void thallium_run(struct pair *pair, struct instance *own)
{
    static const unsigned lens[THALLIUM_KINDS] = {
        0, ARGS_INTS_LEN, THALLIUM_STRING_LEN, THALLIUM_VECTOR_LEN};
    char data[THALLIUM_VECTOR_LEN] = {0};
    hg_id_t id = MARGO_REGISTER(
        own->mid, "bench_margo_bytes", bench_bytes_t, void, bench_margo_bytes);
    const hg_id_t ids[THALLIUM_KINDS] = {own->null_id, own->ints_id, id, id};
    struct faces faces = {.own = own,
        .side = thallium_open(own->mid, own->peer, face_served, own)};

    if (faces.side == NULL)
        return;
    CHECK(pair, margo_register_data(own->mid, id, own, NULL));
    for (unsigned i = 0; i < THALLIUM_KINDS; i++) {
        struct duel duel = {"thallium_call", "margo",
            "margo_forward() of the same bytes; median time", .size = lens[i],
            .calls = CALLS_LATENCY, .warm = DUEL_WARM, .figure = DUEL_US,
            .ours = {face_latency, &faces}, .control = {bytes_latency, &faces}};

        faces.kind = (enum thallium_kind)i;
        faces.bytes = (struct bytes){lens[i], data};
        faces.handle = handle_create(own, ids[i]);
        duel_run(pair, &duel);
        margo_destroy(faces.handle);
    }
    thallium_close(faces.side);
}

MERCURY_GEN_PROC(bench_move_t, ((hg_bulk_t)(memory)))

/* Both sides of the rows of one direction. */
struct mover {
    struct instance *own;
    struct bulk bulk; /* of the control */
    hg_id_t id;
    hg_bulk_t memory; /* of this rank */
    ABT_eventual is_over;
    /* Of this batch, at rank 0. */
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
        hg_handle_t handle = handle_create(mover->own, mover->id);

        CHECK(pair, margo_forward(handle, &in));
        margo_destroy(handle);
    }
    MPI_Barrier(pair->comm);
    if (!is_from)
        pair_verify(pair, pair->landing, duel->size, "the bulk data");
    return mover->elapsed_us;
}

static void mover_open(struct pair *pair, struct instance *own, bool is_push,
    struct mover *ret_mover)
{
    bool is_from = is_push == (pair->rank == 0);
    void *memory = is_from ? pair->room : pair->landing;

    *ret_mover = (struct mover){.own = own, .bulk.is_push = is_push};
    CHECK(pair, margo_bulk_create(own->mid, 1, &memory, &pair->room_len,
                    is_from ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY,
                    &ret_mover->memory));
    if (ABT_eventual_create(0, &ret_mover->is_over) != ABT_SUCCESS)
        pair_fail(pair, "no memory for an eventual");
    ret_mover->id = MARGO_REGISTER(
        own->mid, "bench_margo_move", bench_move_t, void, bench_margo_move);
    CHECK(pair, margo_register_data(own->mid, ret_mover->id, ret_mover, NULL));
}

static void mover_close(struct pair *pair, struct mover *mover)
{
    CHECK(pair, margo_deregister(mover->own->mid, mover->id));
    ABT_eventual_free(&mover->is_over);
    margo_bulk_free(mover->memory);
    ranks_meet(mover->own); /* over libfabric the peer returns its lease */
}

static void direction_run(struct pair *pair, struct instance *own, bool is_push)
{
    static const size_t sizes[SIZES] = {64 * KIB, 256 * KIB, MIB, 16 * MIB};
    hg_size_t len = pair->room_len;
    struct bulk_shape shape = {false, 1, len, len, len};
    struct mover mover;
    unsigned count = options_pick(pair->options, SIZES, SIZES_QUICK, 1);

    mover_open(pair, own, is_push, &mover);
    bulk_open(pair, &shape, NULL, &mover.bulk);
    mover.bulk.is_push = is_push;
    for (unsigned i = 0; i < count; i++) {
        struct duel duel = {is_push ? "margo_push" : "margo_pull", "hg",
            "the same by HG_Bulk_transfer(), polling; median rate",
            .size = sizes[i], .calls = bulk_calls(sizes[i], 1),
            .warm = bulk_warm(sizes[i]), .figure = DUEL_GBPS,
            .ours = {margo_move, &mover},
            .control = {bulk_move, &mover.bulk, .enters = true}};

        duel_run(pair, &duel);
    }
    mover_close(pair, &mover);
    bulk_close(pair, &mover.bulk);
}

/* Pulls of 1 MiB with these options, beside na+sm. */
static void beside_run(struct pair *pair, const char *op, const char *json)
{
    struct instance own[2];
    struct mover movers[2];
    struct duel duel = {op, "na+sm", "the same over na+sm; median rate",
        .size = pair->room_len < MIB ? pair->room_len : MIB,
        .calls = bulk_calls(MIB, 1), .figure = DUEL_GBPS,
        .ours = {margo_move, &movers[0]}, .control = {margo_move, &movers[1]}};

    for (unsigned i = 0; i < 2; i++) {
        instance_open(
            &own[i], pair, &(struct how){.json = json, .is_beside = i == 1});
        mover_open(pair, &own[i], false, &movers[i]);
    }
    duel_run(pair, &duel);
    for (unsigned i = 0; i < 2; i++) {
        mover_close(pair, &movers[i]);
        instance_close(&own[i]);
    }
}

#define JSON_SPIN  "\"progress_timeout_ub_msec\": 0"
#define JSON_SLEEP "\"progress_spindown_msec\": 0"
#define JSON_WAY(thread, handlers, wait)                                       \
    "{\"use_progress_thread\": " thread ", \"rpc_thread_count\": " handlers    \
    ", " wait "}"

static const struct how hows[] = {
    {.json = "{\"use_progress_thread\": true}", .wait = AMALGAM_WAIT_AUTO},
    {.json = JSON_WAY("false", "0", JSON_SPIN), .wait = AMALGAM_WAIT_SPIN},
    {.json = JSON_WAY("false", "1", JSON_SPIN), .wait = AMALGAM_WAIT_SPIN},
    {.json = JSON_WAY("false", "0", JSON_SLEEP), .wait = AMALGAM_WAIT_SLEEP},
    {.json = JSON_WAY("false", "1", JSON_SLEEP), .wait = AMALGAM_WAIT_SLEEP},
    {.json = JSON_WAY("true", "0", JSON_SPIN), .wait = AMALGAM_WAIT_SPIN},
    {.json = JSON_WAY("true", "1", JSON_SPIN), .wait = AMALGAM_WAIT_SPIN},
    {.json = JSON_WAY("true", "0", JSON_SLEEP), .wait = AMALGAM_WAIT_SLEEP},
    {.json = JSON_WAY("true", "1", JSON_SLEEP), .wait = AMALGAM_WAIT_SLEEP},
};

static void slice_run(struct pair *pair, unsigned way, unsigned window,
    double us, struct ways_slice *ret_slice)
{
    struct instance own;
    struct load load = {.own = &own, .threads = window, .slice = ret_slice};

    instance_open(&own, pair, &hows[way]);
    guard_step("a slice of way %u", way);
    MPI_Barrier(pair->comm);
    us = load_run(&load, 0, us);
    /* Each thread also took a number that it did not use. */
    ret_slice->kps = (double)(atomic_load(&load.next) - window) / us * 1e3;
    peer_stop(&own);
    peer_serve(&own);
    instance_close(&own);
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
    struct instance polling;
    char cores[sizeof(pair->cores)];

    if (!pair_is_of_two(pair, NULL))
        return;
    snprintf(cores, sizeof(cores), "%s", pair->cores);
    instance_open(&polling, pair,
        &(struct how){.json = "{" JSON_SPIN ", " JSON_SLEEP "}"});
    calls_run(pair, &polling);
    thallium_run(pair, &polling);
    pair_need_room(pair, options_pick(pair->options, 16 * MIB, MIB, 64 * KIB));
    direction_run(pair, &polling, false);
    direction_run(pair, &polling, true);
    defaults_run(pair, &polling);
    instance_close(&polling);
    if (pair->is_one_machine) {
        beside_run(pair, "default_pull", NULL);
        beside_run(pair, "streams_pull", "{\"rpc_thread_count\": 1}");
    }
    ways_of_margo_run(pair);
    snprintf(pair->cores, sizeof(pair->cores), "%s", cores);
}
