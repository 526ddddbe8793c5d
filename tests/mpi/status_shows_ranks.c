/* SPDX-License-Identifier: BSD-3-Clause */
/* The status page of a rank shows its number, the handler that runs, barriers
 * and quiescences, the counters and the end of the class, to the ranks of its
 * node, which know its process. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "base/process.h"
#include "core/class.h"
#include "ranks.h"

enum { CALLS = 20, LIMIT_MS = 30000 };

static struct ranks all;
static hg_id_t look; /* returns whether the page shows this handler */
static struct amg_status **pages; /* of the ranks of this node */

/* The facts of a rank of this node. */
static struct amg_status_facts facts_of(uint32_t mate)
{
    struct amg_status_facts facts;

    CHECK(amg_status_read(pages[mate], 0, &facts));
    return facts;
}

static hg_return_t look_serve(hg_handle_t handle)
{
    struct amg_status *page = NULL;
    struct amg_status_facts facts;
    int32_t is_shown = 0;

    OK(amg_status_find((uint32_t)getpid(), 0, &page));
    CHECK(amg_status_read(page, 0, &facts));
    is_shown = facts.doing.handler == look && facts.doing.running == 1;
    amg_status_drop(page);
    OK(HG_Respond(handle, NULL, NULL, &is_shown));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void handler_test(void)
{
    struct ranks_call call;
    int32_t is_shown = 0;
    int to = (all.rank + 1) % all.size;

    OK(ranks_begin(&all, &call, to, look, NULL));
    OK(ranks_wait(&call));
    OK(HG_Get_output(call.handle, &is_shown));
    CHECK(is_shown == 1);
    OK(HG_Free_output(call.handle, &is_shown));
    ranks_end(&call);
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t i = 0; i < all.cls->job.mate_count; i++)
        CHECK(facts_of(i).doing.running == 0);
}

/* Finds the pages of the ranks of this node, this rank among them. */
static void pages_find(void)
{
    const struct amg_class_job *job = &all.cls->job;
    uint32_t own = 0;

    CHECK(job->mate_count >= 1);
    pages = calloc(job->mate_count, sizeof(struct amg_status *));
    for (uint32_t i = 0; i < job->mate_count; i++) {
        const struct amg_class_mate *mate = &job->mates[i];

        CHECK(i == 0 || mate->rank > job->mates[i - 1].rank);
        OK(amg_status_find(mate->pid, mate->start_time, &pages[i]));
        CHECK(facts_of(i).doing.rank == mate->rank);
        CHECK((int)pages[i]->classes[0].size == all.size);
        CHECK(pages[i]->classes[0].job == job->status->job);
        CHECK(strcmp(pages[i]->classes[0].reach, "") != 0);
        own += mate->rank == job->rank && mate->pid == (uint32_t)getpid();
    }
    CHECK(own == 1 && job->status->job != 0);
}

/* The first rank of the node comes when all others of the node wait. */
static void wait_test(enum amg_await kind, hg_return_t (*wait)(void))
{
    const struct amg_class_job *job = &all.cls->job;

    if (job->mates[0].rank == job->rank)
        for (uint32_t i = 1; i < job->mate_count; i++)
            UNTIL(facts_of(i).doing.wait == kind);
    OK(wait());
    CHECK(job->status->wait == 0);
    ranks_meet(MPI_COMM_WORLD);
}

static hg_return_t barrier_wait(void)
{
    return amalgam_barrier(all.cls);
}

static hg_return_t quiesce_wait(void)
{
    return amalgam_quiesce(all.cls, LIMIT_MS);
}

static hg_return_t request_wait(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    return amalgam_wait(all.cls, &request, LIMIT_MS, MPI_STATUS_IGNORE);
}

/* The page has what the class counts, once this rank waits. */
static void counters_test(void)
{
    uint64_t came = 0;

    for (uint64_t i = 0; i < CALLS; i++)
        ranks_echo(&all, (all.rank + 1) % all.size, i);
    while (came < CALLS) {
        (void)HG_Progress(all.context, 10);
        ranks_turn();
        for (uint32_t i = 0; i < all.cls->job.mate_count; i++)
            if (all.cls->job.mates[i].rank == all.cls->job.rank)
                came = facts_of(i).counters[AMG_COUNT_REQUESTS_CAME];
    }
    ranks_meet(MPI_COMM_WORLD);
}

int main(void)
{
    uint32_t count = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    look =
        HG_Register_name(all.cls, "look", NULL, hg_proc_hg_int32_t, look_serve);
    ranks_meet(MPI_COMM_WORLD);
    count = all.cls->job.mate_count;
    pages_find();
    handler_test();
    wait_test(AMG_AWAIT_BARRIER, barrier_wait);
    wait_test(AMG_AWAIT_QUIESCE, quiesce_wait);
    wait_test(AMG_AWAIT_MPI_REQUEST, request_wait);
    counters_test();
    for (uint32_t i = 0; i < count; i++)
        CHECK(!pages[i]->classes[0].has_left);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    for (uint32_t i = 0; i < count; i++) {
        while (!pages[i]->classes[0].has_left)
            continue; /* that rank is in amalgam_finalize() */
        amg_status_drop(pages[i]);
    }
    free(pages);
    return ranks_stop();
}
