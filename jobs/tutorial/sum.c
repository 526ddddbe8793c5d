/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends two numbers to another rank, and gets their sum back.
 *
 * Arguments travel as bytes, so they have to be encoded and decoded.
 * MERCURY_GEN_PROC makes a struct of a list of fields, and its proc, the
 * function that does both; MERCURY_REGISTER then sets the input and output
 * struct of an RPC.
 *
 * Rank 0 serves, all other ranks are clients. */
#include <stdio.h>

#include "common.h"
#include "mercury_macros.h"

/* struct { int32_t x; int32_t y; } sum_in_t, and hg_proc_sum_in_t() */
MERCURY_GEN_PROC(sum_in_t, ((int32_t)(x))((int32_t)(y)))
/* struct { int32_t sum; } sum_out_t, and hg_proc_sum_out_t() */
MERCURY_GEN_PROC(sum_out_t, ((int32_t)(sum)))

/* Runs at rank 0. */
static hg_return_t sum(hg_handle_t handle)
{
    sum_in_t in;
    sum_out_t out;

    /* Decoding may allocate memory, such as strings, which HG_Free_input()
     * frees. Here it allocates none, but the two calls belong together. */
    job_check(HG_Get_input(handle, &in), "HG_Get_input");
    out.sum = in.x + in.y;
    job_check(HG_Free_input(handle, &in), "HG_Free_input");

    /* HG_Respond() encodes the output before it returns, and the handle may be
     * destroyed at once: the library keeps it until the reply has left. */
    job_check(HG_Respond(handle, NULL, NULL, &out), "HG_Respond");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

/* State for the client's callback. */
struct wait {
    int32_t sum;
    bool is_done;
};

/* Runs at the client, within HG_Trigger(), when the reply has arrived. */
static hg_return_t answer_came(const struct hg_cb_info *info)
{
    struct wait *wait = info->arg;
    hg_handle_t handle = info->info.forward.handle;
    sum_out_t out;

    job_check(info->ret, "sum");
    job_check(HG_Get_output(handle, &out), "HG_Get_output");
    wait->sum = out.sum;
    job_check(HG_Free_output(handle, &out), "HG_Free_output");
    wait->is_done = true;
    return HG_SUCCESS;
}

static void call_server(const struct job *job, hg_id_t sum_id)
{
    /* As in the program hello: an address, then a handle. */
    hg_handle_t handle = job_create_call(job, sum_id);
    sum_in_t in = {.x = job->rank, .y = 100};
    struct wait wait = {0, false};

    /* HG_Forward() encodes `in` before it returns; `wait` must live until the
     * callback ran. */
    job_check(HG_Forward(handle, answer_came, &wait, &in), "HG_Forward");
    job_wait(job->context, &wait.is_done);
    job_check(HG_Destroy(handle), "HG_Destroy");

    printf("rank %d: %d + %d = %d\n", job->rank, in.x, in.y, wait.sum);
    if (wait.sum != in.x + in.y)
        job_fail("wrong sum");
}

int main(int argc, char **argv)
{
    struct job job;
    hg_id_t sum_id = 0;

    job_open(&argc, &argv, 0, &job);
    sum_id = MERCURY_REGISTER(job.hg_class, "sum", sum_in_t, sum_out_t, sum);
    if (sum_id == 0)
        job_fail("MERCURY_REGISTER: the lines above say why");
    job_begin(&job);
    if (job.rank != SERVER)
        call_server(&job, sum_id);
    job_close(&job);
    return 0;
}
