/* SPDX-License-Identifier: BSD-3-Clause */
/* A message that MPI takes and then cannot send ends its operation with an
 * error, and costs no credit. MPI_Test stands here, and says so. */
#include "pair.h"

enum { ROUNDS = 5 };

static unsigned late_count; /* sends that are not done at once, */
static bool is_failing;     /* and then fail */

/* The driver asks for the status of what it receives, not of what it sends. */
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (!is_failing || status != MPI_STATUS_IGNORE)
        return PMPI_Test(request, flag, status);
    if (late_count > 0) {
        late_count--;
        *flag = 0;
        return MPI_SUCCESS;
    }
    is_failing = false;
    PMPI_Wait(request, status);
    return MPI_ERR_OTHER;
}

static hg_return_t send_failing(
    struct pair_call *call, bool wants_reply, unsigned late)
{
    struct amg_buf *buf = NULL;
    hg_return_t rc;

    pair_call_init(call);
    CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(1), &buf) == HG_SUCCESS);
    late_count = late;
    is_failing = true;
    rc = pair_t->msg.send_request(
        pair_ep, pair_peer(1), 0, buf, 4, wants_reply, &call->op);
    if (rc != HG_SUCCESS)
        pair_t->msg.put_buf(pair_ep, buf);
    return rc;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    pair_open(1);
    pair_sync(false);
    for (unsigned i = 0; i < ROUNDS && pair_rank == 0; i++) {
        struct pair_call call;

        CHECK(send_failing(&call, true, 1) == HG_SUCCESS);
        UNTIL(call.done == 1);
        CHECK(call.op.ret == HG_NA_ERROR && call.op.data == NULL);
        pair_ask(1, i);
        CHECK(send_failing(&call, true, 0) == HG_NA_ERROR);
        pair_ask(1, i);
    }
    pair_sync(false);
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
