/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair of which each rank has an instance of Margo.
 *
 * The loop of an instance runs while its rank waits in a call of Margo, and not
 * while it waits in MPI for the next batch: so an instance takes nothing from
 * the batches of another one, or of the control. */
#include "jobs/bench/margo/mend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_margo.h"
#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/guard.h"
#include "jobs/bench/calls/rate_control.h"

enum { TEXT_LEN = 256, TAG = 11, NUMBER_CAP = 16 };

static struct mend *mend_of(hg_handle_t handle)
{
    return margo_registered_data(
        margo_hg_handle_get_instance(handle), margo_get_info(handle)->id);
}

static void bench_margo_null(hg_handle_t handle)
{
    struct mend *mend = mend_of(handle);

    atomic_fetch_add_explicit(&mend->served, 1, memory_order_relaxed);
    margo_respond(handle, NULL);
    margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_null)

static void bench_margo_stop(hg_handle_t handle)
{
    struct mend *mend = mend_of(handle);

    margo_respond(handle, NULL);
    margo_destroy(handle);
    ABT_eventual_set(mend->over, NULL, 0);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_stop)

static void rpcs_register(struct mend *mend)
{
    mend->null_id = MARGO_REGISTER(
        mend->mid, "bench_margo_null", void, void, bench_margo_null);
    mend->stop_id = MARGO_REGISTER(
        mend->mid, "bench_margo_stop", void, void, bench_margo_stop);
    pair_check(mend->like,
        margo_register_data(mend->mid, mend->null_id, mend, NULL),
        "margo_register_data");
    pair_check(mend->like,
        margo_register_data(mend->mid, mend->stop_id, mend, NULL),
        "margo_register_data");
}

/* The address of the other rank, as a string. */
static void peer_by_text(struct mend *mend)
{
    const struct pair *pair = mend->like;
    hg_addr_t self = HG_ADDR_NULL;
    char mine[TEXT_LEN] = "";
    char theirs[TEXT_LEN] = "";
    hg_size_t len = sizeof(mine);
    int other = 1 - pair->rank;

    pair_check(pair, margo_addr_self(mend->mid, &self), "margo_addr_self");
    pair_check(pair, margo_addr_to_string(mend->mid, mine, &len, self),
        "margo_addr_to_string");
    margo_addr_free(mend->mid, self);
    MPI_Sendrecv(mine, sizeof(mine), MPI_CHAR, other, TAG, theirs,
        sizeof(theirs), MPI_CHAR, other, TAG, pair->comm, MPI_STATUS_IGNORE);
    pair_check(pair, margo_addr_lookup(mend->mid, theirs, &mend->peer), theirs);
}

static margo_instance_id instance_open(
    const struct pair *like, const struct mend_how *how)
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

void mend_open(
    struct mend *mend, const struct pair *like, const struct mend_how *how)
{
    char credits[NUMBER_CAP];

    *mend = (struct mend){.like = like};
    if (how->credits > 0) {
        snprintf(credits, sizeof(credits), "%u", how->credits);
        setenv("AMALGAM_CREDITS", credits, 1);
    }
    guard_step("opening an instance of Margo");
    mend->mid = instance_open(like, how);
    if (how->credits > 0)
        unsetenv("AMALGAM_CREDITS");
    if (mend->mid == MARGO_INSTANCE_NULL)
        pair_fail(like, "no instance of Margo; the lines above say why");
    atomic_init(&mend->served, 0);
    margo_get_handler_pool(mend->mid, &mend->pool);
    if (ABT_eventual_create(0, &mend->over) != ABT_SUCCESS)
        pair_check(like, HG_NOMEM, "ABT_eventual_create");
    rpcs_register(mend);
    MPI_Barrier(like->comm);
    if (like->is_collective)
        pair_check(like,
            amalgam_addr_rank(
                margo_get_class(mend->mid), 1 - like->rank, &mend->peer),
            "amalgam_addr_rank");
    else
        peer_by_text(mend);
    guard_rest();
}

void mend_close(struct mend *mend)
{
    guard_step("closing an instance of Margo");
    margo_addr_free(mend->mid, mend->peer);
    ABT_eventual_free(&mend->over);
    MPI_Barrier(mend->like->comm);
    margo_finalize_and_wait(mend->mid);
    guard_rest();
}

void mend_meet(const struct mend *mend)
{
    MPI_Request request;
    int is_over = 0;

    MPI_Ibarrier(mend->like->comm, &request);
    for (;;) {
        MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
        if (is_over)
            return;
        ABT_thread_yield();
    }
}

hg_handle_t mend_handle(struct mend *mend, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    pair_check(mend->like, margo_create(mend->mid, mend->peer, id, &handle),
        "margo_create");
    return handle;
}

void mend_call(struct mend *mend, hg_handle_t handle, void *input)
{
    pair_check(mend->like, margo_forward(handle, input), "margo_forward");
}

void mend_stop(struct mend *mend)
{
    hg_handle_t handle = mend_handle(mend, mend->stop_id);

    mend_call(mend, handle, NULL);
    margo_destroy(handle);
}

void mend_serve(struct mend *mend)
{
    ABT_eventual_wait(mend->over, NULL);
    ABT_eventual_reset(mend->over);
}

void mend_verify_served(struct mend *mend, unsigned long long count)
{
    unsigned long long served = atomic_exchange(&mend->served, 0);

    if (served != count)
        pair_fail(mend->like, "%llu calls were served instead of %llu", served,
            count);
}

double mend_latency(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct mend *mend = duel->more;
    hg_handle_t handle = HG_HANDLE_NULL;
    double start_us = 0.0;
    double before_us = 0.0;

    if (pair->rank != 0) {
        mend_serve(mend);
        mend_verify_served(mend, DUEL_WARM + duel->calls);
        return 0.0;
    }
    handle = mend_handle(mend, mend->null_id);
    for (unsigned i = 0; i < DUEL_WARM; i++)
        mend_call(mend, handle, NULL);
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        mend_call(mend, handle, NULL);
        ret_samples[i] = clock_lap_us(&before_us);
    }
    margo_destroy(handle);
    mend_stop(mend);
    return before_us - start_us;
}

/* One of the threads that call. */
struct caller {
    struct mend *mend;
    unsigned first; /* the number of its first call, among all */
    unsigned calls;
    double *samples;
    ABT_thread thread;
};

static void caller_run(void *arg)
{
    struct caller *caller = arg;
    hg_handle_t handle = mend_handle(caller->mend, caller->mend->null_id);
    double last_us = 0.0;

    for (unsigned i = 0; i < caller->calls; i++) {
        bool is_timed = i == 0 || rate_is_timed(caller->first + i);
        double before_us = is_timed ? clock_now_us() : 0.0;

        mend_call(caller->mend, handle, NULL);
        if (is_timed)
            last_us = clock_lap_us(&before_us);
        caller->samples[i] = last_us;
    }
    margo_destroy(handle);
}

/* `calls` of them, shared out among `window` threads; how long they took. */
static double callers_run(
    struct mend *mend, unsigned window, unsigned calls, double *samples)
{
    struct caller callers[OPTIONS_WINDOW_MAX];
    unsigned first = 0;
    double start_us = clock_now_us();

    for (unsigned i = 0; i < window; i++) {
        unsigned share = calls / window + (i < calls % window);

        callers[i] = (struct caller){
            mend, first, share, samples + first, ABT_THREAD_NULL};
        first += share;
        if (ABT_thread_create(mend->pool, caller_run, &callers[i],
                ABT_THREAD_ATTR_NULL, &callers[i].thread) != ABT_SUCCESS)
            pair_check(mend->like, HG_NOMEM, "ABT_thread_create");
    }
    for (unsigned i = 0; i < window; i++)
        ABT_thread_free(&callers[i].thread);
    return clock_now_us() - start_us;
}

double mend_rate(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct mend *mend = duel->more;
    unsigned warm = duel->calls < DUEL_WARM ? duel->calls : DUEL_WARM;
    double elapsed_us = 0.0;

    if (pair->rank != 0) {
        mend_serve(mend);
        mend_verify_served(mend, warm + duel->calls);
        return 0.0;
    }
    callers_run(mend, duel->window, warm, ret_samples);
    elapsed_us = callers_run(mend, duel->window, duel->calls, ret_samples);
    mend_stop(mend);
    return elapsed_us;
}
