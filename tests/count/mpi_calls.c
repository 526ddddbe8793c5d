/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls over MPI between two ranks, whose instructions callgrind counts. The
 * ranks take turns: the origin hands over after it has sent the request, the
 * target after it has sent the reply. So no rank polls for what is not there,
 * and the counts are those of a call alone. */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>

#include "amalgam.h"
#include "handlers.h"

enum { ORIGIN, TARGET, RANKS };

static struct {
    int rank;
    atomic_int *turn; /* rank whose turn it is; shared by the ranks */
    hg_class_t *cls;
    hg_context_t *context;
    hg_addr_t target;
} job;

/* Only instructions of a rank that has the turn count. */
static void turn_await(void)
{
    while (atomic_load(job.turn) != job.rank)
        (void)sched_yield();
    CALLGRIND_TOGGLE_COLLECT;
}

static void turn_give(void)
{
    CALLGRIND_TOGGLE_COLLECT;
    atomic_store(job.turn, RANKS - 1 - job.rank);
}

static void poll_once(void)
{
    unsigned count = 0;

    (void)HG_Progress(job.context, 0);
    (void)HG_Trigger(job.context, 0, 1, &count);
}

/* The target's part of one call. */
static void serve(void)
{
    unsigned before = served;

    turn_await();
    while (served == before)
        poll_once();
    turn_give();
}

/* One call, or the target's part of one. */
static void call(hg_handle_t handle, hg_cb_t ended, void *in)
{
    if (job.rank == TARGET) {
        serve();
        return;
    }
    done = false;
    CALLGRIND_TOGGLE_COLLECT;
    OK(HG_Forward(handle, ended, NULL, in));
    turn_give();
    turn_await();
    while (!done)
        poll_once();
    CALLGRIND_TOGGLE_COLLECT;
}

/* The first progress of a request lets the target serve. */
static int request_progress(unsigned timeout_ms, void *arg)
{
    bool *is_sent = arg;

    (void)timeout_ms;
    if (!*is_sent) {
        *is_sent = true;
        turn_give();
        turn_await();
    }
    (void)HG_Progress(job.context, 0);
    return HG_UTIL_SUCCESS;
}

static int request_trigger(unsigned timeout_ms, unsigned *flag, void *arg)
{
    (void)arg;
    *flag = 0;
    (void)HG_Trigger(job.context, timeout_ms, 1, flag);
    return HG_UTIL_SUCCESS;
}

/* One call that hg_request_wait() awaits, or the target's part of one. */
static void request_call(
    hg_handle_t handle, hg_request_t *request, bool *is_sent, void *in)
{
    unsigned flag = 0;

    if (job.rank == TARGET) {
        serve();
        return;
    }
    *is_sent = false;
    CALLGRIND_TOGGLE_COLLECT;
    OK(hg_request_reset(request));
    OK(HG_Forward(handle, ints_ended, request, in));
    OK(hg_request_wait(request, REQUEST_MS, &flag));
    CALLGRIND_TOGGLE_COLLECT;
    if (flag == 0)
        exit(EXIT_FAILURE);
}

static hg_handle_t handle_of(hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(HG_Create(job.context, job.target, id, &handle));
    return handle;
}

static void requests_count(hg_handle_t handle, void *in)
{
    bool is_sent = false;
    hg_request_class_t *requests =
        hg_request_init(request_progress, request_trigger, &is_sent);
    hg_request_t *request = hg_request_create(requests);

    COUNT(
        "ints_request", "mpi+p2p", request_call(handle, request, &is_sent, in));
    hg_request_destroy(request);
    hg_request_finalize(requests, NULL);
}

static void calls_count(void)
{
    hg_handle_t null =
        handle_of(HG_Register_name(job.cls, "null", NULL, NULL, null_serve));
    hg_handle_t ints = handle_of(HG_Register_name(
        job.cls, "ints", hg_proc_ints_t, hg_proc_ints_t, ints_serve));
    hg_handle_t text = handle_of(
        HG_Register_name(job.cls, "text", hg_proc_text_t, NULL, text_serve));
    hg_handle_t kib = handle_of(
        HG_Register_name(job.cls, "kib", kib_proc, kib_proc, blob_serve));
    ints_t two = {1, 2};
    text_t twenty = {"a text of 20 bytes."};

    MPI_Barrier(MPI_COMM_WORLD);
    COUNT("null", "mpi+p2p", call(null, call_ended, NULL));
    COUNT("ints", "mpi+p2p", call(ints, ints_ended, &two));
    requests_count(ints, &two);
    COUNT("text", "mpi+p2p", call(text, call_ended, &twenty));
    COUNT("kib", "mpi+p2p", call(kib, blob_ended, &out));
    OK(HG_Destroy(null));
    OK(HG_Destroy(ints));
    OK(HG_Destroy(text));
    OK(HG_Destroy(kib));
}

int main(int argc, char **argv)
{
    MPI_Win window = MPI_WIN_NULL;
    MPI_Aint len = 0;
    int unit = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Win_allocate_shared(job.rank == ORIGIN ? sizeof(*job.turn) : 0, 1,
        MPI_INFO_NULL, MPI_COMM_WORLD, &job.turn, &window);
    MPI_Win_shared_query(window, ORIGIN, &len, &unit, &job.turn);
    job.cls = amalgam_init(MPI_COMM_WORLD, "mpi+p2p", NULL);
    job.context = job.cls == NULL ? NULL : HG_Context_create(job.cls);
    if (job.context == NULL)
        return EXIT_FAILURE;
    OK(amalgam_addr_rank(job.cls, TARGET, &job.target));
    calls_count();
    OK(HG_Addr_free(job.cls, job.target));
    OK(HG_Context_destroy(job.context));
    OK(HG_Finalize(job.cls));
    MPI_Win_free(&window);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
