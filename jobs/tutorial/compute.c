/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers calls while the program computes.
 *
 * Rank 0 adds up a series for pi, and calls no function of the library
 * meanwhile. The other ranks ask it for the value so far, and tell it when the
 * value is good enough for them. Rank 0 computes until all of them have done
 * so: if nobody ran the handlers during the computation, the job would not end.
 *
 * A thread of the library runs the handlers, beside the computation. This takes
 * two things: MPI with MPI_THREAD_MULTIPLE, because that thread calls MPI, too,
 * and the option AMALGAM_PROGRESS_THREAD. What handlers share with the
 * computation is atomic here; other data would need a lock. */
#include <stdatomic.h>
#include <stdio.h>

#include "common.h"
#include "mercury_macros.h"

/* pi to this distance is good enough. */
static const double tolerance = 1e-5;

/* Encodes and decodes a double as its bytes: there are procs for integers and
 * strings only. Ranks of a job have the same double. */
static hg_return_t hg_proc_double(hg_proc_t proc, void *data)
{
    return hg_proc_raw(proc, data, sizeof(double));
}

MERCURY_GEN_PROC(state_t, ((int64_t)(terms))((double)(value)))

/* The computation of rank 0, data of both RPCs. */
struct series {
    atomic_llong terms;
    _Atomic double value;
    atomic_int satisfied; /* ranks that have called `enough` */
};

static struct series *series_of(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);

    return HG_Registered_data(info->hg_class, info->id);
}

/* Runs at rank 0, in the thread of the library, while main() computes. */
static hg_return_t look(hg_handle_t handle)
{
    struct series *series = series_of(handle);
    state_t out;

    /* compute() stores the value first, so the value has these terms or more.
     */
    out.terms = atomic_load(&series->terms);
    out.value = atomic_load(&series->value);

    job_check(HG_Respond(handle, NULL, NULL, &out), "HG_Respond");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

/* Steers the computation: the last of these calls ends it. */
static hg_return_t enough(hg_handle_t handle)
{
    atomic_fetch_add(&series_of(handle)->satisfied, 1);
    job_check(HG_Respond(handle, NULL, NULL, NULL), "HG_Respond");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

/* pi is 4 - 4/3 + 4/5 - ...; the sum of n terms differs from pi by about 1/n.
 */
static void compute(struct series *series, int clients)
{
    double sum = 0;

    for (long long i = 0; atomic_load(&series->satisfied) < clients; i++) {
        sum += (i % 2 == 0 ? 4.0 : -4.0) / (double)(2 * i + 1);
        atomic_store(&series->value, sum);
        atomic_store(&series->terms, i + 1);
    }
}

static state_t ask(const struct job *job, hg_id_t look_id)
{
    hg_handle_t handle = job_create_call(job, look_id);
    state_t state;

    job_forward(job, handle, NULL);
    job_check(HG_Get_output(handle, &state), "HG_Get_output");
    job_check(HG_Free_output(handle, &state), "HG_Free_output");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return state;
}

static void watch(const struct job *job, hg_id_t look_id, hg_id_t enough_id)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    state_t state;

    do
        state = ask(job, look_id);
    while ((double)state.terms * tolerance < 1);
    printf("rank %d: pi is about %.4f\n", job->rank, state.value);
    handle = job_create_call(job, enough_id);
    job_forward(job, handle, NULL);
    job_check(HG_Destroy(handle), "HG_Destroy");
}

/* Opens the class with a thread that makes progress and runs handlers. */
static void class_open(int *argc, char ***argv, struct job *job)
{
    struct amalgam_progress_options progress =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    int level = MPI_THREAD_SINGLE;

    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    job_words(*argc, *argv, 0);
    if (level < MPI_THREAD_MULTIPLE)
        job_fail("this MPI lets no second thread call it");
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->ranks);
    progress.progress = AMALGAM_PROGRESS_THREAD;
    options.progress = &progress;
    job->hg_class = amalgam_init(MPI_COMM_WORLD, NULL, &options);
    if (job->hg_class == NULL)
        job_fail("amalgam_init: the lines above say why");
}

/* Registers an RPC with its data before calls can arrive. */
static hg_id_t rpc_register(const struct job *job, const char *name,
    hg_proc_cb_t out_proc, hg_rpc_cb_t handler, struct series *series)
{
    hg_id_t id = HG_Register_name(job->hg_class, name, NULL, out_proc, handler);

    if (id == 0)
        job_fail("HG_Register_name %s: the lines above say why", name);
    job_check(
        HG_Register_data(job->hg_class, id, series, NULL), "HG_Register_data");
    return id;
}

int main(int argc, char **argv)
{
    static struct series series;
    struct job job;
    hg_id_t look_id = 0;
    hg_id_t enough_id = 0;

    class_open(&argc, &argv, &job);
    look_id = rpc_register(&job, "look", hg_proc_state_t, look, &series);
    enough_id = rpc_register(&job, "enough", NULL, enough, &series);
    job_begin(&job);
    if (job.rank == SERVER) {
        compute(&series, job.ranks - 1);
        printf("rank %d: computed until %d ranks had enough\n", SERVER,
            atomic_load(&series.satisfied));
    } else {
        watch(&job, look_id, enough_id);
    }
    job_close(&job);
    return 0;
}
