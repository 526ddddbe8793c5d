/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tutorial programs. */
#include "common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Limit of a wait: after this long without an end, the job is aborted. Far more
 * than any of these programs needs, also under a sanitizer. */
static const double patience_s = 40.0;

void job_words(int argc, char **argv, int most)
{
    int rank = 0;

    if (argc - 1 <= most)
        return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == SERVER)
        fprintf(stderr, "%s takes %d words at most; what is \"%s\"?\n", argv[0],
            most, argv[most + 1]);
    MPI_Finalize();
    exit(2);
}

void job_open(int *argc, char ***argv, int most, struct job *job)
{
    MPI_Init(argc, argv);
    job_words(*argc, *argv, most);
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->ranks);
    job->hg_class = amalgam_init(MPI_COMM_WORLD, NULL, NULL);
    if (job->hg_class == NULL)
        job_fail("amalgam_init: the lines above say why");
    if (job->ranks < 2)
        job_fail("one rank serves, the others call it: run it with at least "
                 "2 ranks");
    job->context = NULL;
}

void job_begin(struct job *job)
{
    job->context = HG_Context_create(job->hg_class);
    if (job->context == NULL)
        job_fail("HG_Context_create: the lines above say why");
}

void job_close(struct job *job)
{
    job_check(amalgam_finalize(job->hg_class), "amalgam_finalize");
    MPI_Finalize();
}

void job_fail(const char *format, ...)
{
    va_list args;
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fflush(stdout);
    fprintf(stderr, "rank %d: ", rank);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void job_check(hg_return_t ret, const char *what)
{
    if (ret != HG_SUCCESS)
        job_fail("%s: %s", what, HG_Error_to_string(ret));
}

void job_wait(hg_context_t *context, const bool *done)
{
    const double deadline_s = MPI_Wtime() + patience_s;
    hg_return_t ret = HG_SUCCESS;

    while (!*done) {
        /* First run the callbacks of finished operations ... */
        ret = HG_Trigger(context, 0, 1, NULL);
        if (ret == HG_SUCCESS)
            continue;
        if (ret != HG_TIMEOUT)
            job_check(ret, "HG_Trigger");
        /* ... and without any, wait up to 100 ms for one. */
        ret = HG_Progress(context, 100);
        if (ret != HG_TIMEOUT)
            job_check(ret, "HG_Progress");
        if (MPI_Wtime() > deadline_s)
            job_fail("no end within %.0f s", patience_s);
    }
}

hg_handle_t job_create_call(const struct job *job, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t server = HG_ADDR_NULL;

    job_check(
        amalgam_addr_rank(job->hg_class, SERVER, &server), "amalgam_addr_rank");
    job_check(HG_Create(job->context, server, id, &handle), "HG_Create");
    /* The handle keeps its own reference to the address. */
    job_check(HG_Addr_free(job->hg_class, server), "HG_Addr_free");
    return handle;
}

static hg_return_t answer_came(const struct hg_cb_info *info)
{
    bool *done = info->arg;

    job_check(info->ret, "the call");
    *done = true;
    return HG_SUCCESS;
}

void job_forward(const struct job *job, hg_handle_t handle, void *in)
{
    bool done = false;

    job_check(HG_Forward(handle, answer_came, &done, in), "HG_Forward");
    job_wait(job->context, &done);
}

int job_caller(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    int rank = -1;

    job_check(amalgam_addr_get_rank(info->hg_class, info->addr, &rank),
        "amalgam_addr_get_rank");
    return rank;
}
