/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls a function of another rank, without arguments and without a reply.
 *
 * An RPC has a name, and a function at its target. Both sides register the
 * name, and get the same id for it. This RPC is one-way: no reply is sent, so
 * the caller's callback means that the request has left, and not that it was
 * served.
 *
 * Rank 0 serves, all other ranks are clients. */
#include <stdatomic.h>
#include <stdio.h>

#include "common.h"
#include "mercury_macros.h"

/* Calls that rank 0 has served. The program context_data shows how to avoid a
 * global variable. */
static atomic_int greetings;

/* Runs at rank 0, once for each request: in a thread of the library if it has
 * one, and also within calls that wait, such as job_close(). So two calls may
 * be served at the same time: shared variables are atomic, or have a lock. */
static hg_return_t hello(hg_handle_t handle)
{
    atomic_fetch_add(&greetings, 1);
    printf("rank %d: hello from rank %d\n", SERVER, job_caller(handle));
    /* The call ends here; an RPC with a reply would call HG_Respond()
     * before. */
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

/* Runs at the client, within HG_Trigger(), when the request has left: callbacks
 * run in the thread that calls HG_Trigger(). */
static hg_return_t request_left(const struct hg_cb_info *info)
{
    bool *done = info->arg;

    job_check(info->ret, "hello");
    *done = true;
    return HG_SUCCESS;
}

static void call_server(const struct job *job, hg_id_t hello_id)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t server = HG_ADDR_NULL;
    bool done = false;

    /* The target is a rank. Finding it takes no message. */
    job_check(
        amalgam_addr_rank(job->hg_class, SERVER, &server), "amalgam_addr_rank");
    /* A handle is one call, to be sent now or later. */
    job_check(HG_Create(job->context, server, hello_id, &handle), "HG_Create");
    /* Returns at once. The callback runs within job_wait(). */
    job_check(HG_Forward(handle, request_left, &done, NULL), "HG_Forward");
    job_wait(job->context, &done);

    job_check(HG_Destroy(handle), "HG_Destroy");
    job_check(HG_Addr_free(job->hg_class, server), "HG_Addr_free");
    printf("rank %d: said hello\n", job->rank);
}

int main(int argc, char **argv)
{
    struct job job;
    hg_id_t hello_id = 0;

    job_open(&argc, &argv, 0, &job);
    /* `void` twice: neither input nor output. */
    hello_id = MERCURY_REGISTER(job.hg_class, "hello", void, void, hello);
    if (hello_id == 0)
        job_fail("MERCURY_REGISTER: the lines above say why");
    /* Declares the RPC one-way, which both sides must do. */
    job_check(HG_Registered_disable_response(job.hg_class, hello_id, HG_TRUE),
        "HG_Registered_disable_response");
    job_begin(&job);

    /* Rank 0 calls job_close() at once, which serves. */
    if (job.rank != SERVER)
        call_server(&job, hello_id);
    job_close(&job);

    if (job.rank == SERVER)
        printf("rank %d: %d greetings\n", SERVER, atomic_load(&greetings));
    return 0;
}
