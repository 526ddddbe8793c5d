/* SPDX-License-Identifier: BSD-3-Clause */
/* A class with libfabric between nodes opens although the last message of a
 * collective call of MPI leaves only with the next call of its sender, as with
 * MPICH over libfabric. MPI is made so here: the others end a reduction when
 * rank 0, which has ended it, calls MPI again. From its opening on rank 0 only
 * waits in HG_Progress() for calls of the others. */
#include "ranks.h"

static MPI_Comm tokens;
static int rank;
static int size;
static MPI_Request reduction = MPI_REQUEST_NULL;
static MPI_Request token = MPI_REQUEST_NULL;
static bool is_due; /* the others wait for their tokens */
static int reductions;
static int served;
static bool answered;

static void tokens_leave(void)
{
    for (int i = 1; i < size && is_due; i++)
        PMPI_Send(NULL, 0, MPI_BYTE, i, 0, tokens);
    is_due = false;
}

int MPI_Iallreduce(const void *mine, void *all, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    int rc = PMPI_Iallreduce(mine, all, count, type, op, comm, request);

    CHECK(reduction == MPI_REQUEST_NULL); /* one at a time */
    tokens_leave();
    if (rank > 0)
        PMPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, tokens, &token);
    reduction = *request;
    reductions++;
    return rc;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    bool is_held = reduction != MPI_REQUEST_NULL && *request == reduction;
    int rc = MPI_SUCCESS;

    tokens_leave();
    if (is_held)
        PMPI_Test(&token, flag, MPI_STATUS_IGNORE);
    if (is_held && !*flag)
        return MPI_SUCCESS;
    rc = PMPI_Test(request, flag, status);
    if (is_held && *flag) {
        reduction = MPI_REQUEST_NULL;
        is_due = rank == 0;
    }
    return rc;
}

int MPI_Iprobe(
    int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    tokens_leave();
    return PMPI_Iprobe(source, tag, comm, flag, status);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    tokens_leave();
    return PMPI_Ibarrier(comm, request);
}

static hg_return_t serve(hg_handle_t handle)
{
    served++;
    OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    OK(info->ret);
    answered = true;
    return HG_SUCCESS;
}

static void turn(hg_context_t *context)
{
    unsigned count = 0;

    (void)HG_Progress(context, 100);
    while (HG_Trigger(context, 0, 1, &count) == HG_SUCCESS && count > 0)
        continue;
}

static void rank_0_call(hg_class_t *cls, hg_context_t *context, hg_id_t id)
{
    hg_addr_t to = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(amalgam_addr_rank(cls, 0, &to));
    OK(HG_Create(context, to, id, &handle));
    OK(HG_Forward(handle, call_ended, NULL, NULL));
    while (!answered)
        turn(context);
    OK(HG_Destroy(handle));
    OK(HG_Addr_free(cls, to));
}

int main(void)
{
    hg_class_t *cls = NULL;
    hg_context_t *context = NULL;
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &tokens);
    cls = amalgam_init(MPI_COMM_WORLD, NULL, NULL);
    CHECK(cls != NULL && reductions > 0);
    context = HG_Context_create(cls);
    CHECK(context != NULL);
    id = HG_Register_name(cls, "call", NULL, NULL, serve);
    while (rank == 0 && served < size - 1)
        turn(context);
    if (rank > 0)
        rank_0_call(cls, context, id);
    OK(amalgam_finalize(cls));
    MPI_Comm_free(&tokens);
    return ranks_stop();
}
