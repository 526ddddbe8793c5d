/* SPDX-License-Identifier: BSD-3-Clause */
/* With AMALGAM_AGGREGATE=node and few credits, rank 0 calls the last rank, on
 * another node, through the leader of that node. The calls end as follows:
 *
 *   kept     the target keeps the handles: rank 0 is refused before LIMIT
 *            calls, and all accepted calls are handled later
 *   waiting  the target makes no progress until the leader, where calls wait,
 *            has tried to destroy its context, which drops these calls
 *   gone     the leader has destroyed its context before the calls
 *
 * In no case does the end of the class wait for calls that are lost. */
#include <stdlib.h>
#include <string.h>

#include "amalgam_oneway.h"
#include "mercury.h"
#include "ranks.h"

enum { LIMIT = 300, REFUSALS = 2000 };

static struct ranks all;
static hg_handle_t kept[LIMIT];
static unsigned came;
static bool keeps;

static hg_return_t serve(hg_handle_t handle)
{
    CHECK(came < LIMIT);
    if (!keeps) {
        came++;
        return HG_Destroy(handle);
    }
    kept[came++] = handle;
    return HG_SUCCESS;
}

/* Calls until a call is refused again and again; returns the accepted calls. */
static unsigned calls_make(hg_id_t id)
{
    hg_addr_t addr = HG_ADDR_NULL;
    unsigned refusals = 0;
    unsigned sent = 0;

    OK(amalgam_addr_rank(all.cls, all.size - 1, &addr));
    while (sent < LIMIT && refusals < REFUSALS) {
        hg_return_t ret =
            amalgam_forward_oneway(all.context, addr, id, &sent, sizeof(sent));

        if (ret == HG_SUCCESS) {
            sent++;
            refusals = 0;
        } else {
            refusals++;
            ranks_turn();
        }
    }
    OK(HG_Addr_free(all.cls, addr));
    return sent;
}

/* HG_BUSY is right if a message may be with the driver, without a credit: then
 * the context is destroyed with the class. */
static void context_destroy(bool may_be_busy)
{
    hg_return_t ret = HG_SUCCESS;

    ranks_leave(&all);
    ret = HG_Context_destroy(all.context);
    if (!may_be_busy || ret != HG_BUSY)
        OK(ret);
}

int main(int argc, char **argv)
{
    bool is_kept = argc > 1 && strcmp(argv[1], "kept") == 0;
    bool is_gone = argc > 1 && strcmp(argv[1], "gone") == 0;
    bool is_waiting = !is_kept && !is_gone;
    bool is_target = false;
    bool is_leader = false;
    unsigned sent = 0;
    MPI_Comm callers = MPI_COMM_NULL; /* with the target unless it waits */
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    is_target = all.rank == all.size - 1;
    is_leader = all.rank == all.size - 2;
    keeps = is_kept && is_target;
    id = HG_Register_name(all.cls, "call", NULL, NULL, serve);
    OK(HG_Registered_disable_response(all.cls, id, HG_TRUE));
    MPI_Comm_split(MPI_COMM_WORLD, is_waiting && is_target, 0, &callers);
    ranks_meet(MPI_COMM_WORLD);
    if (is_leader && is_gone)
        context_destroy(false);
    MPI_Barrier(MPI_COMM_WORLD);
    if (all.rank == 0)
        sent = calls_make(id);
    CHECK(is_gone || sent < LIMIT);
    if (!is_target || !is_waiting)
        ranks_meet(callers);
    if (is_leader && is_waiting)
        context_destroy(true);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&sent, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    for (unsigned i = 0; keeps && i < came; i++)
        OK(HG_Destroy(kept[i]));
    keeps = false;
    ranks_close(&all);
    CHECK(!is_target || (is_kept ? came == sent : came <= sent));
    MPI_Comm_free(&callers);
    printf("rank %d: %u calls of %u\n", all.rank, came, sent);
    return ranks_stop();
}
