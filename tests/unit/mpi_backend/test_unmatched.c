/* SPDX-License-Identifier: BSD-3-Clause */
/* Message to a context that is not open: polls go on while it arrives, and then
 * refuse it. The test replaces MPI_Recv, MPI_Irecv and MPI_Test, to make it
 * late. */
#include "pair.h"

enum { LOOKS = 5 };

static MPI_Request late = MPI_REQUEST_NULL;
static unsigned looks; /* at the late one */

int MPI_Recv(void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Status *status)
{
    CHECK(comm != amg_mpi_domain_of(pair_domain)->comm.messages);
    return PMPI_Recv(buf, count, type, rank, tag, comm, status);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    int rc = PMPI_Irecv(buf, count, type, rank, tag, comm, request);

    if (rank != MPI_ANY_SOURCE && pair_domain != NULL &&
        comm == amg_mpi_domain_of(pair_domain)->comm.messages)
        late = *request;
    return rc;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (late != MPI_REQUEST_NULL && *request == late) {
        *flag = 0;
        if (looks++ < LOOKS)
            return MPI_SUCCESS;
        late = MPI_REQUEST_NULL;
        return PMPI_Wait(request, status) == MPI_SUCCESS
                   ? (*flag = 1, MPI_SUCCESS)
                   : MPI_ERR_OTHER;
    }
    return PMPI_Test(request, flag, status);
}

int main(void)
{
    struct pair_call call;
    struct amg_buf *buf = NULL;
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    pair_contexts = 2;
    pair_open(0);
    if (pair_rank == 0) {
        pair_call_init(&call);
        CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(1), &buf) == HG_SUCCESS);
        CHECK(pair_t->msg.send_request(pair_ep,
                  (struct amg_target){pair_peer(1), 1}, buf, buf->cap, true,
                  &call.op) == HG_SUCCESS);
        pair_ask(1, 3); /* other messages are not delayed */
        UNTIL(call.done == 1);
        CHECK(call.op.ret == HG_NOENTRY);
    } else {
        UNTIL(looks > LOOKS);
    }
    pair_sync(false);
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
