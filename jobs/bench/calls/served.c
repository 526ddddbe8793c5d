/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair of which each rank may be served by threads of the library.
 *
 * Its handlers may run in such a thread while the program does something else,
 * so they touch nothing but what is here. */
#include "jobs/bench/calls/served.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pause.h"

enum { CORES_TEXT_CAP = 32 };

static hg_return_t null_serve(hg_handle_t handle)
{
    HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static hg_return_t stop_serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct served *served = HG_Registered_data(info->hg_class, info->id);

    HG_Respond(handle, NULL, NULL, NULL);
    HG_Destroy(handle);
    atomic_store_explicit(&served->is_over, true, memory_order_release);
    sem_post(&served->over);
    return HG_SUCCESS;
}

void served_open(struct served *served, const struct pair *like)
{
    struct pair *pair = &served->pair;

    pair_copy(like, pair);
    pair->wait_ms = SERVED_WAIT_MS;
    /* The same transport, if that is known. */
    memcpy(pair->via, like->via, sizeof(pair->via));
    if (!pair_open(pair, pair->comm, pair->options->transport))
        pair_fail(pair, "no class for two ranks that may sleep");
    served->has_thread = false;
    atomic_init(&served->is_over, false);
    sem_init(&served->over, 0, 0);
    served->null_id = HG_Register_name(
        pair->cls, "bench served null", NULL, NULL, null_serve);
    served->stop_id = HG_Register_name(
        pair->cls, "bench served stop", NULL, NULL, stop_serve);
    pair_check(pair, HG_Register_data(pair->cls, served->stop_id, served, NULL),
        "HG_Register_data");
}

void served_close(struct served *served)
{
    pair_close(&served->pair);
    sem_destroy(&served->over);
}

void served_set(
    struct served *served, const struct amalgam_progress_options *options)
{
    struct pair *pair = &served->pair;

    pair_check(
        pair, amalgam_set_progress(pair->cls, options), "amalgam_set_progress");
    served->has_thread = options->progress == AMALGAM_PROGRESS_THREAD;
}

void served_by_caller(struct served *served, enum amalgam_wait wait)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;

    options.progress = AMALGAM_PROGRESS_CALLER;
    options.wait = wait;
    served_set(served, &options);
}

void served_by_thread(struct served *served, enum amalgam_wait wait, int core)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    char cpus[CORES_TEXT_CAP];

    /* Whether it is the first rank of its node or the second. */
    snprintf(cpus, sizeof(cpus), "%d,%d", core, core);
    options.progress = AMALGAM_PROGRESS_THREAD;
    options.wait = wait;
    options.progress_cpus = core >= 0 ? cpus : NULL;
    served_set(served, &options);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    hg_return_t *ret = info->arg;

    *ret = info->ret;
    return HG_SUCCESS;
}

void served_call(struct served *served, hg_handle_t handle)
{
    struct pair *pair = &served->pair;
    hg_return_t ret = HG_RETURN_MAX; /* no call ends with this */

    pair_check(pair, HG_Forward(handle, call_ended, &ret, NULL), "HG_Forward");
    while (ret == HG_RETURN_MAX)
        pair_turn(pair);
    pair_check(pair, ret, "the call");
}

double served_calls(struct served *served, const struct duel *duel,
    unsigned idle_us, double *ret_samples)
{
    struct pair *pair = &served->pair;
    hg_handle_t handle = pair_handle(pair, served->null_id);
    double total_us = 0.0;

    for (unsigned i = 0; i < SERVED_WARM; i++)
        served_call(served, handle);
    for (unsigned i = 0; i < duel->calls; i++) {
        double start_us = 0.0;

        if (idle_us > 0)
            pause_us(idle_us);
        start_us = clock_now_us();
        served_call(served, handle);
        ret_samples[i] = clock_now_us() - start_us;
        total_us += ret_samples[i];
    }
    pair_check(pair, HG_Destroy(handle), "HG_Destroy");
    served_stop(served);
    return total_us;
}

void served_stop(struct served *served)
{
    hg_handle_t handle = pair_handle(&served->pair, served->stop_id);

    served_call(served, handle);
    pair_check(&served->pair, HG_Destroy(handle), "HG_Destroy");
}

bool served_is_over(const struct served *served)
{
    return atomic_load_explicit(&served->is_over, memory_order_acquire);
}

void served_wait(struct served *served)
{
    if (served->has_thread)
        while (sem_wait(&served->over) != 0 && errno == EINTR)
            ;
    while (!served_is_over(served))
        pair_turn(&served->pair);
    /* As at the start, for the next batch. */
    atomic_store_explicit(&served->is_over, false, memory_order_relaxed);
    while (sem_trywait(&served->over) == 0)
        ;
}

void served_meet(struct served *served)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    if (served->pair.rank == 0) {
        handle = pair_handle(&served->pair, served->null_id);
        served_call(served, handle);
        pair_check(&served->pair, HG_Destroy(handle), "HG_Destroy");
        served_stop(served);
    } else {
        served_wait(served);
    }
    MPI_Barrier(served->pair.comm);
}
