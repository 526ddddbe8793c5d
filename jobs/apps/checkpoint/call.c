/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to servers that may take only so long. */
#include "jobs/apps/checkpoint/call.h"

#include <stdlib.h>
#include <string.h>

#include "amalgam.h"
#include "jobs/apps/checkpoint/report.h"

bool callers_open(struct callers *callers, struct job *job, int wait_s)
{
    int i = 0;

    memset(callers, 0, sizeof(*callers));
    callers->job = job;
    callers->wait_s = wait_s;
    callers->addrs = calloc((size_t)job->servers, sizeof(*callers->addrs));
    callers->is_silent = calloc((size_t)job->servers, sizeof(bool));
    for (i = 0; callers->addrs != NULL && callers->is_silent != NULL &&
                i < job->servers;
         i++) {
        hg_return_t rc = amalgam_addr_rank(job->cls, i, &callers->addrs[i]);

        if (rc != HG_SUCCESS) {
            report_error(
                "no address of server rank %d: %s", i, HG_Error_to_string(rc));
            callers_close(callers);
            return false;
        }
    }
    if (i == job->servers)
        return true;
    report_error("no memory for the addresses of %d servers", job->servers);
    callers_close(callers);
    return false;
}

void callers_close(struct callers *callers)
{
    int i = 0;

    for (i = 0; callers->addrs != NULL && i < callers->job->servers; i++)
        HG_Addr_free(callers->job->cls, callers->addrs[i]);
    free(callers->addrs);
    free(callers->is_silent);
    callers->addrs = NULL;
    callers->is_silent = NULL;
}

void call_init(struct call *call, struct callers *callers,
    void (*done)(struct call *call, hg_return_t ret))
{
    memset(call, 0, sizeof(*call));
    call->callers = callers;
    call->done = done;
    call->handle = HG_HANDLE_NULL;
}

static hg_return_t on_reply(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->is_busy = false;
    if (info->ret == HG_SUCCESS)
        stats_add(&call->callers->stats, job_now_ns() - call->start_ns);
    call->done(call, info->ret);
    return HG_SUCCESS;
}

hg_return_t call_forward(struct call *call, int server, hg_id_t id, void *in)
{
    struct callers *callers = call->callers;
    hg_return_t rc = HG_SUCCESS;

    if (call->handle == HG_HANDLE_NULL)
        rc = HG_Create(
            callers->job->context, callers->addrs[server], id, &call->handle);
    else
        rc = HG_Reset(call->handle, callers->addrs[server], id);
    if (rc != HG_SUCCESS)
        return rc;
    call->server = server;
    call->is_late = false;
    call->start_ns = job_now_ns();
    rc = HG_Forward(call->handle, on_reply, call, in);
    call->is_busy = rc == HG_SUCCESS;
    return rc;
}

void call_poll(struct call *call, uint64_t now_ns)
{
    struct callers *callers = call->callers;

    if (!call->is_busy || call->is_late ||
        now_ns - call->start_ns < (uint64_t)callers->wait_s * JOB_NS_PER_S)
        return;
    call->is_late = true;
    callers->has_silent = true;
    if (!callers->is_silent[call->server])
        report_error("server rank %d did not answer within %d s; nothing "
                     "more is sent there (-w sets the time)",
            call->server, callers->wait_s);
    callers->is_silent[call->server] = true;
    /* A call to oneself cannot be canceled, and cannot be late for long. */
    (void)HG_Cancel(call->handle);
}

const char *call_error(const struct call *call, hg_return_t ret)
{
    return call->is_late ? "it did not answer in time"
                         : HG_Error_to_string(ret);
}

void call_fini(struct call *call)
{
    HG_Destroy(call->handle);
    call->handle = HG_HANDLE_NULL;
}
