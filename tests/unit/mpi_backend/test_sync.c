/* SPDX-License-Identifier: BSD-3-Clause */
/* Put by a window: it waits for its own contexts alone, at both ends, and not
 * for one that another put uses and that is not polled. */
#include <string.h>

#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_rma.h"
#include "pair.h"

enum { LEN = 64 << 10 };

static uint8_t far[2 * LEN]; /* exposed by rank 0 */
static uint8_t near[LEN];    /* of rank 1 */
static struct amg_segment near_list = {near, LEN};
static const struct amg_seg_iter near_at = {&near_list, 1, 0, 0};
static struct amg_segment far_list = {far, sizeof(far)};
static struct amg_remote remote;
static struct amg_ep *other; /* context 1, which pair_poll() does not poll */

static void other_poll(void)
{
    struct amg_ep *first = pair_ep;

    pair_ep = other;
    pair_poll();
    pair_ep = first;
}

static struct amg_watched *watched(void)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    struct amg_mpi_peer *peer = NULL;

    amg_bias_lock(domain->lock);
    peer = amg_mpi_peer_get_locked(domain, 0);
    amg_bias_unlock(domain->lock);
    return &peer->watched;
}

static void put(struct pair_call *call, struct amg_ep *ep, uint8_t context)
{
    pair_call_init(call);
    CHECK(pair_t->bulk.put(ep, (struct amg_target){pair_peer(0), context},
              &near_at, &remote, LEN, &call->op) == HG_SUCCESS);
}

static void call_check(const struct pair_call *call)
{
    CHECK(call->op.ret == HG_SUCCESS && call->op.len == LEN);
}

/* Waits for all ranks; both contexts are polled meanwhile. */
static void both_sync(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    UNTIL(flag)
    {
        other_poll();
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
}

/* Rank 1 puts to a context that rank 0 does not poll, or from one that itself
 * does not, and then to and from those that are polled. */
static void stuck_keeps_nobody(bool is_at_target)
{
    struct pair_call stuck;
    struct pair_call call;
    uint32_t asked = 0;

    memset(near, is_at_target ? 1 : 2, LEN);
    pair_sync(false);
    if (pair_rank == 1) {
        watched()->is_heard = false;
        asked = pair_rma_peer()->asked;
        put(&stuck, is_at_target ? pair_ep : other, is_at_target ? 1 : 0);
        UNTIL(pair_rma_peer()->asked != asked);
        /* A rank whose memory is written to is not silent. */
        CHECK(watched()->is_heard);
        put(&call, pair_ep, 0);
        UNTIL(call.done == 1);
        call_check(&call);
    }
    pair_sync(false);
    CHECK(pair_rank == 1 || (far[0] == near[0] && far[LEN - 1] == near[0]));
    MPI_Barrier(MPI_COMM_WORLD);
    if (pair_rank == 1) {
        UNTIL(stuck.done == 1)
        other_poll();
        call_check(&stuck);
    }
    both_sync();
}

int main(void)
{
    struct amg_mem *mem = NULL;
    struct amg_events events;
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    pair_protocol = "rma";
    pair_contexts = 2;
    pair_open(0);
    CHECK(amg_mpi_domain_of(pair_domain)->rma != NULL);
    CHECK(pair_t->ep.open(pair_domain, 1, &other) == HG_SUCCESS);
    mem = pair_expose(&far_list, AMG_MEM_WRITE, &remote);
    stuck_keeps_nobody(true);
    stuck_keeps_nobody(false);
    if (pair_rank == 0)
        CHECK(pair_t->bulk.unreg(pair_domain, mem, 9000) == HG_SUCCESS);
    pair_sync(false);
    amg_events_init(&events);
    pair_t->ep.close(other, &events);
    CHECK(amg_list_is_empty(&events.done));
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
