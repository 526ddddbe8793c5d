/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that MPI refuses, or accepts and then cannot send: their operation
 * ends with an error, and costs no credit. A long message that was announced is
 * sent again, before later ones. The test replaces MPI_Isend and MPI_Testsome.
 */
#include <string.h>

#include "pair.h"

enum { ROUNDS = 5, CALL_LEN = 4, LONG_LEN = 40000, LONGS = 4, REFUSALS = 7 };

enum how { SENT, FAILS_LATER, REFUSED };

static enum how next_send; /* of a call; refused each time, also in a pack */
static MPI_Request failing = MPI_REQUEST_NULL;
static unsigned late_count; /* checks before it fails */
static unsigned refusals;   /* of long messages */
static uint32_t longs;      /* that came, at rank 1 */

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    bool is_call = count == (int)sizeof(struct amg_mpi_header) + CALL_LEN;
    enum how how = is_call ? next_send : SENT;
    static char nothing;
    int rc = MPI_SUCCESS;

    if (how == FAILS_LATER)
        next_send = SENT;
    if (count > LONG_LEN && refusals > 0)
        refusals--, how = REFUSED;
    if (how == REFUSED)
        return MPI_ERR_OTHER;
    if (how == SENT)
        return PMPI_Isend(buf, count, type, rank, tag, comm, request);
    /* Another request that is pending, and no others. */
    rc = PMPI_Irecv(&nothing, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, request);
    failing = *request;
    return rc;
}

int MPI_Testsome(int count, MPI_Request *requests, int *ret_done, int *indices,
    MPI_Status *statuses)
{
    int at = 0;

    while (
        at < count && (failing == MPI_REQUEST_NULL || requests[at] != failing))
        at++;
    if (at == count)
        return PMPI_Testsome(count, requests, ret_done, indices, statuses);
    *ret_done = 0;
    if (late_count > 0) {
        late_count--;
        return MPI_SUCCESS;
    }
    PMPI_Cancel(&requests[at]);
    PMPI_Wait(&requests[at], &statuses[0]);
    failing = MPI_REQUEST_NULL;
    *ret_done = 1;
    indices[0] = at;
    statuses[0].MPI_ERROR = MPI_ERR_OTHER;
    return MPI_ERR_IN_STATUS;
}

static hg_return_t send_failing(
    struct pair_call *call, enum how how, unsigned late)
{
    struct amg_buf *buf = NULL;

    pair_call_init(call);
    CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(1), &buf) == HG_SUCCESS);
    late_count = late;
    next_send = how;
    return pair_t->msg.send_request(pair_ep,
        (struct amg_target){pair_peer(1), 0}, buf, CALL_LEN, true, &call->op);
}

static void long_note(struct amg_arrival *arrival)
{
    CHECK(arrival->is_one_way);
    if (arrival->len > 0) {
        CHECK(memcmp(arrival->data, &longs, sizeof(longs)) == 0);
        longs++;
    }
    pair_t->msg.release(pair_ep, arrival);
}

/* The data of the second of some long messages is refused some times. */
static void longs_leave_in_order(void)
{
    struct pair_call calls[LONGS];
    struct amg_buf *buf = NULL;

    for (uint32_t i = 0; pair_rank == 0 && i < LONGS; i++) {
        refusals = i == 1 ? REFUSALS : refusals;
        pair_call_init(&calls[i]);
        CHECK(pair_t->msg.get_long_buf(pair_ep, pair_peer(1), LONG_LEN, &buf) ==
              HG_SUCCESS);
        memset(buf->data, 0, LONG_LEN);
        memcpy(buf->data, &i, sizeof(i));
        CHECK(pair_t->msg.send_request(pair_ep,
                  (struct amg_target){pair_peer(1), 0}, buf, LONG_LEN, false,
                  &calls[i].op) == HG_SUCCESS);
    }
    for (uint32_t i = 0; pair_rank == 0 && i < LONGS; i++) {
        UNTIL(calls[i].done == 1);
        CHECK(calls[i].op.ret == HG_SUCCESS);
    }
    CHECK(refusals == 0);
    while (pair_rank == 1 && longs < LONGS)
        pair_poll_with(1, long_note);
    pair_sync(false);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    pair_open(LONGS);
    pair_sync(false);
    longs_leave_in_order();
    pair_close();
    pair_open(1);
    pair_sync(false);
    for (unsigned i = 0; i < ROUNDS && pair_rank == 0; i++) {
        struct pair_call call;

        CHECK(send_failing(&call, FAILS_LATER, 1) == HG_SUCCESS);
        UNTIL(call.done == 1);
        CHECK(call.op.ret == HG_NA_ERROR && call.op.data == NULL);
        CHECK(failing == MPI_REQUEST_NULL && late_count == 0);
        pair_ask(1, i);
        CHECK(send_failing(&call, REFUSED, 0) == HG_SUCCESS);
        UNTIL(call.done == 1);
        next_send = SENT;
        CHECK(call.op.ret == HG_NA_ERROR && call.op.data == NULL);
        pair_ask(1, i);
    }
    pair_sync(false);
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
