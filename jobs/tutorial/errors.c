/* SPDX-License-Identifier: BSD-3-Clause */
/* Meets three errors, and goes on after each: an argument that the handler
 * refuses, an RPC that the target does not know, and a rank that does not
 * answer in time.
 *
 * An error can come from three places. A function of the library returns a
 * code, and did nothing. A call that was sent ends with a code, which its
 * callback gets in info->ret. And the handler of the RPC may refuse a call for
 * reasons of its own: such an error is a field of the output, because the call
 * itself succeeded.
 *
 * The Mercury API has no time limit for a call. The caller looks at the clock
 * while it makes progress, and cancels the call. The callback then runs as
 * always, once, and the handle may be used again.
 *
 * Rank 0 serves, all other ranks are clients. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "mercury_macros.h"

enum { LIMIT_MS = 50 };

MERCURY_GEN_PROC(share_in_t, ((int32_t)(cakes))((int32_t)(guests)))
/* `error` is an errno. */
MERCURY_GEN_PROC(share_out_t, ((int32_t)(error))((int32_t)(share)))

/* Data of the server: calls that it has not answered, one of each rank. Only
 * handlers use them, and no two handlers of a context run at a time. */
struct unanswered {
    hg_handle_t *calls;
    int late;
};

/* Runs at rank 0. The arguments come from another process: the handler trusts
 * none of them, and answers each call. */
static hg_return_t share(hg_handle_t handle)
{
    share_in_t in;
    share_out_t out = {.error = 0, .share = 0};

    job_check(HG_Get_input(handle, &in), "HG_Get_input");
    if (in.guests <= 0 || in.cakes < 0)
        out.error = EDOM;
    else
        out.share = in.cakes / in.guests;
    job_check(HG_Free_input(handle, &in), "HG_Free_input");
    job_check(HG_Respond(handle, NULL, NULL, &out), "HG_Respond");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

static struct unanswered *unanswered_of(hg_handle_t handle)
{
    return HG_Class_get_data(HG_Get_info(handle)->hg_class);
}

/* Keeps the handle, and so the caller gets no answer. */
static hg_return_t later(hg_handle_t handle)
{
    unanswered_of(handle)->calls[job_caller(handle)] = handle;
    return HG_SUCCESS;
}

/* Answers the call that later() has kept. This is no error, although the caller
 * has cancelled that call: the library drops the answer at the caller. */
static hg_return_t now(hg_handle_t handle)
{
    struct unanswered *unanswered = unanswered_of(handle);
    hg_handle_t kept = unanswered->calls[job_caller(handle)];

    job_check(HG_Respond(kept, NULL, NULL, NULL), "HG_Respond");
    job_check(HG_Destroy(kept), "HG_Destroy");
    unanswered->late++;
    job_check(HG_Respond(handle, NULL, NULL, NULL), "HG_Respond");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

/* State for the client's callback. */
struct call {
    bool is_done;
    hg_return_t ret;
};

/* Keeps the code, instead of ending the job. */
static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->ret = info->ret;
    call->is_done = true;
    return HG_SUCCESS;
}

/* Sends the call, and waits for its end, but no longer than `limit_ms`. */
static hg_return_t call_within(
    const struct job *job, hg_handle_t handle, void *in, unsigned limit_ms)
{
    const double deadline_s = MPI_Wtime() + limit_ms / 1000.0;
    struct call call = {false, HG_SUCCESS};

    job_check(HG_Forward(handle, call_ended, &call, in), "HG_Forward");
    while (!call.is_done && MPI_Wtime() < deadline_s) {
        if (HG_Trigger(job->context, 0, 1, NULL) != HG_SUCCESS)
            HG_Progress(job->context, 1);
    }
    if (!call.is_done)
        job_check(HG_Cancel(handle), "HG_Cancel");
    /* `call` must live until the callback ran, also after HG_Cancel(). */
    job_wait(job->context, &call.is_done);
    return call.ret;
}

static void ask_share(
    const struct job *job, hg_handle_t handle, int32_t cakes, int32_t guests)
{
    share_in_t in = {cakes, guests};
    share_out_t out;

    job_forward(job, handle, &in);
    job_check(HG_Get_output(handle, &out), "HG_Get_output");
    if (out.error != 0)
        printf("rank %d: %d cakes for %d guests: %s\n", job->rank, cakes,
            guests, strerror(out.error));
    else
        printf("rank %d: %d cakes for %d guests: %d each\n", job->rank, cakes,
            guests, out.share);
    job_check(HG_Free_output(handle, &out), "HG_Free_output");
}

/* Calls an RPC without arguments, and prints how the call ended. */
static void ask(
    const struct job *job, hg_id_t id, const char *name, unsigned limit_ms)
{
    hg_handle_t handle = job_create_call(job, id);
    hg_return_t ret = call_within(job, handle, NULL, limit_ms);

    printf("rank %d: \"%s\": %s\n", job->rank, name, HG_Error_to_string(ret));
    job_check(HG_Destroy(handle), "HG_Destroy");
}

static hg_id_t rpc_register(
    const struct job *job, const char *name, hg_rpc_cb_t handler)
{
    hg_id_t id = HG_Register_name(job->hg_class, name, NULL, NULL, handler);

    if (id == 0)
        job_fail("HG_Register_name %s: the lines above say why", name);
    return id;
}

static void client_run(const struct job *job, hg_id_t share_id)
{
    enum { PATIENCE_MS = 30000 };
    hg_handle_t handle = job_create_call(job, share_id);

    ask_share(job, handle, 7, 3);
    ask_share(job, handle, 7, 0);
    job_check(HG_Destroy(handle), "HG_Destroy");
    /* Only the clients register this one. */
    ask(job, rpc_register(job, "unknown", NULL), "unknown", PATIENCE_MS);
    ask(job, rpc_register(job, "later", NULL), "later", LIMIT_MS);
    ask(job, rpc_register(job, "now", NULL), "now", PATIENCE_MS);
}

int main(int argc, char **argv)
{
    struct job job;
    struct unanswered unanswered = {NULL, 0};
    hg_id_t share_id = 0;

    job_open(&argc, &argv, 0, &job);
    share_id =
        MERCURY_REGISTER(job.hg_class, "share", share_in_t, share_out_t, share);
    if (share_id == 0)
        job_fail("MERCURY_REGISTER: the lines above say why");
    if (job.rank == SERVER) {
        rpc_register(&job, "later", later);
        rpc_register(&job, "now", now);
        unanswered.calls = calloc((size_t)job.ranks, sizeof(*unanswered.calls));
        if (unanswered.calls == NULL)
            job_fail("no memory for %d calls", job.ranks);
        job_check(HG_Class_set_data(job.hg_class, &unanswered, NULL),
            "HG_Class_set_data");
    }
    job_begin(&job);
    if (job.rank != SERVER)
        client_run(&job, share_id);
    job_close(&job);
    if (job.rank == SERVER)
        printf("rank %d: %d answers came too late\n", SERVER, unanswered.late);
    free(unanswered.calls);
    return 0;
}
