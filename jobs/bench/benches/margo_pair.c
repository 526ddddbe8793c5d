/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair of which each rank has an instance of Margo.
 *
 * The loop of an instance runs while its rank waits in a call of Margo, and not
 * while it waits in MPI for the next batch: so an instance takes nothing from
 * the batches of another one, or of the control. */
#include "jobs/bench/benches/margo_pair.h"

#include <stdio.h>
#include <stdlib.h>

#include "amalgam.h"
#include "amalgam_margo.h"
#include "jobs/bench/frame/duel.h"
#include "jobs/bench/frame/watch.h"

enum { TEXT_LEN = 256, TAG = 11, NUMBER_CAP = 16, US_PER_MS = 1000 };

static struct margo_pair *margo_pair_of(hg_handle_t handle)
{
    return margo_registered_data(
        margo_hg_handle_get_instance(handle), margo_get_info(handle)->id);
}

static void bench_margo_null(hg_handle_t handle)
{
    struct margo_pair *own = margo_pair_of(handle);

    atomic_fetch_add_explicit(&own->served, 1, memory_order_relaxed);
    margo_respond(handle, NULL);
    margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_null)

static void bench_margo_stop(hg_handle_t handle)
{
    struct margo_pair *own = margo_pair_of(handle);

    margo_respond(handle, NULL);
    margo_destroy(handle);
    ABT_eventual_set(own->over, NULL, 0);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_stop)

static void rpcs_register(struct margo_pair *own)
{
    own->null_id = MARGO_REGISTER(
        own->mid, "bench_margo_null", void, void, bench_margo_null);
    own->stop_id = MARGO_REGISTER(
        own->mid, "bench_margo_stop", void, void, bench_margo_stop);
    CHECK(own->like, margo_register_data(own->mid, own->null_id, own, NULL));
    CHECK(own->like, margo_register_data(own->mid, own->stop_id, own, NULL));
}

/* The address of the other rank, as a string. */
static void peer_by_text(struct margo_pair *own)
{
    const struct pair *pair = own->like;
    hg_addr_t self = HG_ADDR_NULL;
    char mine[TEXT_LEN] = "";
    char theirs[TEXT_LEN] = "";
    hg_size_t len = sizeof(mine);
    int other = 1 - pair->rank;

    CHECK(pair, margo_addr_self(own->mid, &self));
    CHECK(pair, margo_addr_to_string(own->mid, mine, &len, self));
    margo_addr_free(own->mid, self);
    MPI_Sendrecv(mine, sizeof(mine), MPI_CHAR, other, TAG, theirs,
        sizeof(theirs), MPI_CHAR, other, TAG, pair->comm, MPI_STATUS_IGNORE);
    pair_check(pair, margo_addr_lookup(own->mid, theirs, &own->peer), theirs);
}

static margo_instance_id instance_open(
    const struct pair *like, const struct margo_pair_how *how)
{
    struct hg_init_info hg_init = HG_INIT_INFO_INITIALIZER;
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;

    hg_init.na_init_info.progress_mode =
        AMALGAM_NA_PROGRESS(AMALGAM_PROGRESS_CALLER, how->wait);
    info.json_config = how->json;
    info.hg_init_info = &hg_init;
    if (like->is_collective)
        return amalgam_margo_init(like->comm, like->options->transport, &info);
    return margo_init_ext(like->options->transport, MARGO_SERVER_MODE, &info);
}

void margo_pair_open(struct margo_pair *own, const struct pair *like,
    const struct margo_pair_how *how)
{
    char credits[NUMBER_CAP];

    *own = (struct margo_pair){.like = like};
    if (how->credits > 0) {
        snprintf(credits, sizeof(credits), "%u", how->credits);
        setenv("AMALGAM_CREDITS", credits, 1);
    }
    guard_step("opening an instance of Margo");
    own->mid = instance_open(like, how);
    if (how->credits > 0)
        unsetenv("AMALGAM_CREDITS");
    if (own->mid == MARGO_INSTANCE_NULL)
        pair_fail(like, "no instance of Margo; the lines above say why");
    atomic_init(&own->served, 0);
    margo_get_handler_pool(own->mid, &own->pool);
    if (ABT_eventual_create(0, &own->over) != ABT_SUCCESS)
        pair_check(like, HG_NOMEM, "ABT_eventual_create");
    rpcs_register(own);
    MPI_Barrier(like->comm);
    if (like->is_collective)
        CHECK(like, amalgam_addr_rank(
                        margo_get_class(own->mid), 1 - like->rank, &own->peer));
    else
        peer_by_text(own);
    guard_rest();
}

void margo_pair_close(struct margo_pair *own)
{
    guard_step("closing an instance of Margo");
    margo_addr_free(own->mid, own->peer);
    ABT_eventual_free(&own->over);
    MPI_Barrier(own->like->comm);
    margo_finalize_and_wait(own->mid);
    guard_rest();
}

void margo_pair_meet(const struct margo_pair *own)
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

hg_handle_t margo_pair_handle(struct margo_pair *own, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    CHECK(own->like, margo_create(own->mid, own->peer, id, &handle));
    return handle;
}

void margo_pair_call(struct margo_pair *own, hg_handle_t handle, void *input)
{
    CHECK(own->like, margo_forward(handle, input));
}

void margo_pair_stop(struct margo_pair *own)
{
    hg_handle_t handle = margo_pair_handle(own, own->stop_id);

    margo_pair_call(own, handle, NULL);
    margo_destroy(handle);
}

void margo_pair_serve(struct margo_pair *own)
{
    ABT_eventual_wait(own->over, NULL);
    ABT_eventual_reset(own->over);
}

static void margo_pair_verify_served(
    struct margo_pair *own, unsigned long long count)
{
    unsigned long long served = atomic_exchange(&own->served, 0);

    if (served != count)
        pair_fail(
            own->like, "%llu calls were served instead of %llu", served, count);
}

struct trip {
    struct margo_pair *own;
    hg_handle_t handle;
};

static void null_once(struct pair *pair, void *arg)
{
    const struct trip *trip = arg;

    (void)pair;
    margo_pair_call(trip->own, trip->handle, NULL);
}

double margo_pair_latency(struct pair *pair, struct duel *duel)
{
    struct trip trip = {duel->arg, HG_HANDLE_NULL};
    double elapsed_us = 0.0;

    if (pair->rank != 0) {
        margo_pair_serve(trip.own);
        margo_pair_verify_served(trip.own, duel_warm(duel) + duel->calls);
        return 0.0;
    }
    trip.handle = margo_pair_handle(trip.own, trip.own->null_id);
    elapsed_us = duel_each(pair, duel, null_once, &trip);
    margo_destroy(trip.handle);
    margo_pair_stop(trip.own);
    return elapsed_us;
}

/* One of the threads that call. */
struct caller {
    struct margo_load *load;
    unsigned first; /* the number of its first call, among all */
    unsigned calls; /* its share; 0: until `end_us` */
    unsigned done;
    double end_us;
    ABT_thread thread;
};

/* One of 16 calls is timed; without a number of calls all of the first thread,
 * which alone looks at the clock then. */
static void caller_run(void *arg)
{
    struct caller *caller = arg;
    const struct margo_load *load = caller->load;
    hg_handle_t handle = margo_pair_handle(load->own, load->own->null_id);
    double last_us = 0.0;

    while (caller->end_us > 0.0 ? !atomic_load_explicit(
                                      &load->own->is_late, memory_order_relaxed)
                                : caller->done < caller->calls) {
        unsigned number = caller->first + caller->done;
        bool is_timed =
            caller->end_us > 0.0
                ? caller->first == 0
                : caller->done == 0 || number % FLIGHT_TIMED_EVERY == 0;
        double before_us = is_timed ? clock_now_us() : 0.0;

        margo_pair_call(load->own, handle, NULL);
        if (is_timed)
            last_us = clock_lap_us(&before_us);
        if (load->samples != NULL)
            load->samples[number] = last_us;
        else if (is_timed && load->slice != NULL)
            ways_sample(load->slice, last_us);
        caller->done++;
    }
    margo_destroy(handle);
}

double margo_pair_run(struct margo_load *load)
{
    struct margo_pair *own = load->own;
    struct caller callers[OPTIONS_WINDOW_MAX];
    unsigned calls = load->calls;
    unsigned first = 0;
    double start_us = clock_now_us();

    atomic_store(&own->is_late, false);
    for (unsigned i = 0; i < load->threads; i++) {
        unsigned share =
            calls / load->threads + (i < calls % load->threads ? 1 : 0);

        callers[i] = (struct caller){.load = load,
            .first = calls > 0 ? first : i,
            .calls = share,
            .end_us = calls > 0 ? 0.0 : start_us + load->us};
        first += share;
        if (ABT_thread_create(own->pool, caller_run, &callers[i],
                ABT_THREAD_ATTR_NULL, &callers[i].thread) != ABT_SUCCESS)
            pair_check(own->like, HG_NOMEM, "ABT_thread_create");
    }
    if (calls == 0) {
        margo_thread_sleep(own->mid, load->us / US_PER_MS);
        atomic_store(&own->is_late, true);
    }
    load->calls = 0;
    for (unsigned i = 0; i < load->threads; i++) {
        ABT_thread_free(&callers[i].thread);
        load->calls += callers[i].done;
    }
    return clock_now_us() - start_us;
}

double margo_pair_rate(struct pair *pair, struct duel *duel)
{
    struct margo_pair *own = duel->arg;
    struct margo_load load;
    double elapsed_us = 0.0;

    if (pair->rank != 0) {
        margo_pair_serve(own);
        margo_pair_verify_served(own, duel_warm(duel) + duel->calls);
        return 0.0;
    }
    load = (struct margo_load){
        .own = own, .threads = duel->window, .calls = duel_warm(duel)};
    margo_pair_run(&load);
    load.calls = duel->calls;
    load.samples = duel->samples;
    elapsed_us = margo_pair_run(&load);
    margo_pair_stop(own);
    return elapsed_us;
}
