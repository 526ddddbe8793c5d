/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes a parameter on all ranks, after a vote of all ranks.
 *
 * Rank 0 wants a time step for a simulation. Each rank has a limit, which its
 * part of the grid sets, and votes on what rank 0 proposes. One call to all
 * ranks carries the proposal, and the votes are added up on their way back: a
 * rank sends a few messages only, whatever the number of ranks.
 *
 *   1. Rank 0 proposes a step to all ranks, and gets the sum of the votes.
 *   2. Some vote no. Rank 0 asks again, and now gets each vote by itself, with
 *      the rank that it is from.
 *   3. These ranks form a group. Rank 0 proposes to this group the smallest of
 *      the limits.
 *   4. All ranks set the step. If a rank did not answer, it would be named.
 *
 * Only rank 0 calls; the other ranks serve in job_close(). */
#include <stdio.h>
#include <stdlib.h>

#include "amalgam_group.h"
#include "common.h"
#include "mercury_macros.h"

enum { FIRST_STEP_US = 800 };

MERCURY_GEN_PROC(step_t, ((int32_t)(us)))
/* One vote, or the sum of several: limit_us is their smallest limit. */
MERCURY_GEN_PROC(votes_t, ((int32_t)(yes))((int32_t)(no))((int32_t)(limit_us)))

static int own_rank(hg_handle_t handle)
{
    int rank = -1;

    job_check(amalgam_class_ranks(HG_Get_info(handle)->hg_class, &rank, NULL),
        "amalgam_class_ranks");
    return rank;
}

/* Runs once on each rank of the group, on rank 0, too, if that belongs to the
 * group. It is the handler of an ordinary RPC: a call to one rank runs it, too.
 * The grid has finer cells on odd ranks. */
static hg_return_t vote(hg_handle_t handle)
{
    int rank = own_rank(handle);
    votes_t out = {.limit_us = rank % 2 == 0 ? 1000 : 600 / rank};
    step_t in;

    job_check(HG_Get_input(handle, &in), "HG_Get_input");
    if (in.us <= out.limit_us)
        out.yes = 1;
    else
        out.no = 1;
    job_check(HG_Free_input(handle, &in), "HG_Free_input");
    job_check(HG_Respond(handle, NULL, NULL, &out), "HG_Respond");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

/* Adds votes to others. Runs on the ranks that pass the votes on, so all ranks
 * register this function. It must give the same result in any order, because
 * votes are added up as they come. */
static void votes_add(const void *from_out, void *inout_out, void *arg)
{
    const votes_t *from = from_out;
    votes_t *sum = inout_out;

    (void)arg;
    sum->yes += from->yes;
    sum->no += from->no;
    if (from->limit_us < sum->limit_us)
        sum->limit_us = from->limit_us;
}

/* Runs once on each rank, when all have agreed. */
static hg_return_t adopt(hg_handle_t handle)
{
    step_t in;

    job_check(HG_Get_input(handle, &in), "HG_Get_input");
    printf("rank %d: a step takes %d us\n", own_rank(handle), in.us);
    job_check(HG_Free_input(handle, &in), "HG_Free_input");
    /* Without output: the answers only tell rank 0 that all ranks know. */
    job_check(HG_Respond(handle, NULL, NULL, NULL), "HG_Respond");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

/* A call to a group while rank 0 waits for its end. */
struct wait {
    bool is_done;
    int *against; /* ranks that vote no, if each vote is asked for */
    size_t against_count;
};

/* Runs when all ranks have answered or failed. */
static hg_return_t all_answered(const struct hg_cb_info *info)
{
    struct wait *wait = info->arg;
    const hg_return_t *codes = NULL;
    const int *ranks = NULL;
    size_t count = 0;

    wait->is_done = true;
    if (info->ret == HG_SUCCESS)
        return HG_SUCCESS;
    /* The code says only why the first rank failed; here are all of them. */
    job_check(
        amalgam_group_failed(info->info.forward.handle, &count, &ranks, &codes),
        "amalgam_group_failed");
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "rank %d did not answer: %s\n", ranks[i],
            HG_Error_to_string(codes[i]));
    job_fail("%zu ranks did not answer", count);
}

/* Runs once for each rank of the group, before all_answered(). */
static void vote_came(hg_handle_t handle, int rank, hg_return_t ret, void *arg)
{
    struct wait *wait = arg;
    votes_t out;

    if (ret != HG_SUCCESS)
        return; /* all_answered() names the rank */
    job_check(HG_Get_output(handle, &out), "HG_Get_output");
    if (out.no > 0) {
        printf("rank 0: rank %d votes no, its limit is %d us\n", rank,
            out.limit_us);
        wait->against[wait->against_count++] = rank;
    }
    job_check(HG_Free_output(handle, &out), "HG_Free_output");
}

/* The ranks to call are named with each call, and not by the handle. */
static hg_handle_t call_create(const struct job *job, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    job_check(HG_Create(job->context, HG_ADDR_NULL, id, &handle), "HG_Create");
    return handle;
}

/* Lets the group vote, and returns the sum of its votes. */
static votes_t propose(
    const struct job *job, hg_id_t vote_id, amalgam_group_t group, int32_t us)
{
    hg_handle_t handle = call_create(job, vote_id);
    struct wait wait = {.is_done = false};
    step_t in = {us};
    votes_t sum;

    job_check(amalgam_forward_group(handle, group, all_answered, &wait, &in),
        "amalgam_forward_group");
    job_wait(job->context, &wait.is_done);
    job_check(HG_Get_output(handle, &sum), "HG_Get_output");
    printf("rank 0: %d us: %d yes, %d no\n", us, sum.yes, sum.no);
    job_check(HG_Free_output(handle, &sum), "HG_Free_output");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return sum;
}

/* Asks all ranks for their votes, and makes a group of those that vote no. */
static amalgam_group_t opponents_find(
    const struct job *job, hg_id_t vote_id, int32_t us)
{
    hg_handle_t handle = call_create(job, vote_id);
    struct wait wait = {
        .against = calloc((size_t)job->ranks, sizeof(*wait.against))};
    amalgam_group_t group = NULL;
    step_t in = {us};

    if (wait.against == NULL)
        job_fail("no memory for %d ranks", job->ranks);
    job_check(amalgam_forward_gather(handle, AMALGAM_GROUP_ALL, 0, vote_came,
                  all_answered, &wait, &in),
        "amalgam_forward_gather");
    job_wait(job->context, &wait.is_done);
    job_check(HG_Destroy(handle), "HG_Destroy");
    job_check(amalgam_group_create_ranks(
                  job->hg_class, wait.against, wait.against_count, &group),
        "amalgam_group_create_ranks");
    free(wait.against);
    return group;
}

static void step_change(
    const struct job *job, hg_id_t vote_id, hg_id_t adopt_id)
{
    votes_t sum = propose(job, vote_id, AMALGAM_GROUP_ALL, FIRST_STEP_US);
    amalgam_group_t group = opponents_find(job, vote_id, FIRST_STEP_US);
    hg_handle_t handle = call_create(job, adopt_id);
    struct wait wait = {.is_done = false};
    step_t in = {sum.limit_us};

    if (sum.yes + sum.no != job->ranks)
        job_fail("%d votes of %d ranks", sum.yes + sum.no, job->ranks);
    sum = propose(job, vote_id, group, in.us);
    if (sum.no > 0)
        job_fail("%d ranks are against their own limit", sum.no);
    job_check(amalgam_group_free(group), "amalgam_group_free");
    job_check(amalgam_forward_group(
                  handle, AMALGAM_GROUP_ALL, all_answered, &wait, &in),
        "amalgam_forward_group");
    job_wait(job->context, &wait.is_done);
    job_check(HG_Destroy(handle), "HG_Destroy");
}

int main(int argc, char **argv)
{
    struct job job;
    hg_id_t vote_id = 0;
    hg_id_t adopt_id = 0;

    job_open(&argc, &argv, 0, &job);
    vote_id = MERCURY_REGISTER(job.hg_class, "vote", step_t, votes_t, vote);
    adopt_id = MERCURY_REGISTER(job.hg_class, "adopt", step_t, void, adopt);
    if (vote_id == 0 || adopt_id == 0)
        job_fail("MERCURY_REGISTER: the lines above say why");
    job_check(amalgam_register_reduce(
                  job.hg_class, vote_id, votes_add, NULL, sizeof(votes_t), 0),
        "amalgam_register_reduce");
    job_begin(&job);
    if (job.rank == 0)
        step_change(&job, vote_id, adopt_id);
    job_close(&job);
    return 0;
}
