/* SPDX-License-Identifier: BSD-3-Clause */
/* How all ranks come to the same figures. */
#include "mpi_backend/mpi_vote.h"

#include <sched.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_comm.h"

enum {
    YIELDS = 200,   /* looks before a rank sleeps between them */
    NAP_NS = 50000, /* the others measure meanwhile, maybe on this core */
};

/* Outlives a vote that is never over. */
struct vote {
    struct amg_mpi_ballot mine;
    struct amg_mpi_ballot all;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request;
    bool is_heap;
};

void amg_mpi_ballot_add(
    const struct amg_mpi_ballot *one, struct amg_mpi_ballot *sum)
{
    const struct amg_mpi_figures *from = &one->figures;
    struct amg_mpi_figures *to = &sum->figures;
    bool is_worse = from->trouble > to->trouble ||
                    (from->trouble == to->trouble && from->rank < to->rank);

    if (is_worse) {
        to->trouble = from->trouble;
        to->rank = from->rank;
    }
    if (from->windows_ns > to->windows_ns)
        to->windows_ns = from->windows_ns;
    if (from->probe_ns > to->probe_ns)
        to->probe_ns = from->probe_ns;
    if (one->voices == 0)
        return;
    to->is_passive = from->is_passive && (to->is_passive || sum->voices == 0);
    for (unsigned memory = 0; memory < AMG_MPI_MEMORIES; memory++)
        for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
            if (sum->voices == 0 ||
                amg_mpi_choice_is_worse(
                    &from->of[memory][size], &to->of[memory][size]))
                to->of[memory][size] = from->of[memory][size];
    sum->voices += one->voices;
}

/* An MPI_User_function. */
static void ballots_add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const struct amg_mpi_ballot *from = in;
    struct amg_mpi_ballot *to = inout;

    (void)type;
    for (int i = 0; i < *len; i++)
        amg_mpi_ballot_add(&from[i], &to[i]);
}

static int requests_test(MPI_Request *requests, int count, bool *ret_ended)
{
    int rc = MPI_SUCCESS;

    *ret_ended = true;
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++) {
        int flag = 0;

        rc = MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        if (!flag)
            *ret_ended = false;
    }
    return rc;
}

/* False: the time is over first, or MPI failed. */
static bool requests_end(
    MPI_Request *requests, int count, uint64_t end_ns, int *ret_code)
{
    unsigned looks = 0;
    bool is_over = false;

    for (;;) {
        *ret_code = requests_test(requests, count, &is_over);
        if (*ret_code != MPI_SUCCESS || is_over)
            return *ret_code == MPI_SUCCESS;
        if (amg_clock_ns() >= end_ns)
            return false;
        if (++looks < YIELDS)
            sched_yield();
        else
            amg_clock_sleep_ns(NAP_NS);
    }
}

static int vote_begin(MPI_Comm comm, struct vote *vote)
{
    int rc =
        MPI_Type_contiguous((int)sizeof(vote->mine), MPI_BYTE, &vote->type);

    if (rc == MPI_SUCCESS)
        rc = MPI_Type_commit(&vote->type);
    if (rc == MPI_SUCCESS)
        rc = MPI_Op_create(ballots_add, 1, &vote->op);
    if (rc == MPI_SUCCESS)
        rc = MPI_Iallreduce(&vote->mine, &vote->all, 1, vote->type, vote->op,
            comm, &vote->request);
    return rc;
}

static void vote_free(struct vote *vote)
{
    if (vote->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&vote->type);
    if (vote->op != MPI_OP_NULL)
        MPI_Op_free(&vote->op);
    if (vote->is_heap)
        amg_mem_free(vote);
}

static hg_return_t vote_fail(int code)
{
    if (code != MPI_SUCCESS)
        return amg_mpi_comm_error(code, "choosing the way of bulk data");
    AMG_LOG_ERROR("mpi",
        "the ranks do not come together to choose the way of bulk data: one "
        "of them is stuck or gone; mpi+p2p needs no choice");
    return HG_TIMEOUT;
}

hg_return_t amg_mpi_vote(MPI_Comm comm, MPI_Request *pending, int count,
    uint64_t end_ns, struct amg_mpi_ballot *ballot)
{
    struct vote spare = {.is_heap = false};
    struct vote *vote = amg_mem_zalloc(sizeof(*vote));
    int code = MPI_SUCCESS;

    if (vote != NULL) {
        vote->is_heap = true;
    } else { /* the others want its voice all the same, and it has to wait */
        vote = &spare;
        end_ns = AMG_NO_DEADLINE;
    }
    vote->type = MPI_DATATYPE_NULL;
    vote->op = MPI_OP_NULL;
    vote->request = MPI_REQUEST_NULL;
    if (!requests_end(pending, count, end_ns, &code) && code == MPI_SUCCESS) {
        vote_free(vote);
        return vote_fail(code);
    }
    if (code != MPI_SUCCESS)
        ballot->figures.trouble = AMG_MPI_TROUBLE_FAILED;
    vote->mine = *ballot;
    code = vote_begin(comm, vote);
    if (code == MPI_SUCCESS && !requests_end(&vote->request, 1, end_ns, &code))
        return vote_fail(code); /* MPI may still write to `vote` */
    if (code == MPI_SUCCESS)
        *ballot = vote->all;
    vote_free(vote);
    return code == MPI_SUCCESS ? HG_SUCCESS : vote_fail(code);
}
