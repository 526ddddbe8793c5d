/* SPDX-License-Identifier: BSD-3-Clause */
/* More fragments in windows of a silent rank than one call checks: transfers
 * with another rank go on. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mpi_backend/mpi_rma.h"
#include "pair.h"

enum {
    LEN = 1 << 20, /* in fragments of 1 KiB, so that there is a middle */
    CROWD = AMG_MPI_FRAGMENTS_TEST / AMG_MPI_FRAGMENTS + 4,
};

static struct amg_segment mine; /* exposed by ranks 0 and 2 */
static uint8_t *near;           /* of rank 1 */
static struct amg_segment near_list;
static const struct amg_seg_iter near_at = {&near_list, 1, 0, 0};
static struct amg_segment lists[3];
static struct amg_remote remotes[3];

static void get(struct pair_call *call, int rank)
{
    pair_call_init(call);
    call->op.is_uncancellable = true;
    CHECK(pair_t->bulk.get(pair_ep, (struct amg_target){pair_peer(rank), 0},
              &near_at, &remotes[rank], LEN, &call->op) == HG_SUCCESS);
}

static void gets_check(void)
{
    static struct pair_call crowd[CROWD];
    struct pair_call call;

    for (int i = 0; i < CROWD; i++)
        get(&crowd[i], 0);
    UNTIL(pair_rma_peer()->in_flight > AMG_MPI_FRAGMENTS_TEST);
    atomic_store(pair_turns, 1);
    get(&call, 2);
    UNTIL(call.done == 1);
    CHECK(call.op.ret == HG_SUCCESS && call.op.len == LEN);
    atomic_store(pair_turns, 2);
    for (int i = 0; i < CROWD; i++) {
        UNTIL(crowd[i].done == 1);
        CHECK(crowd[i].op.ret == HG_SUCCESS && crowd[i].op.len == LEN);
    }
}

/* Rank 0: does not call MPI from turn 1 to 2. */
static void silence_keep(void)
{
    uint64_t end_ns = pair_deadline_ns();

    while (atomic_load(pair_turns) < 1)
        pair_poll();
    while (atomic_load(pair_turns) < 2) {
        CHECK(amg_clock_ns() < end_ns);
        sched_yield();
    }
}

/* Why this MPI cannot pass; NULL: it can. */
static const char *why_not(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int len = 0;

    MPI_Get_library_version(version, &len);
    if (strstr(version, "Open MPI") != NULL)
        return "the post of an access waits for its target in Open MPI";
    if (strstr(version, "ch4:ofi") != NULL)
        return "what MPICH over libfabric sends on a node waits for a silent "
               "rank";
    return NULL;
}

int main(void)
{
    struct amg_mem *mem = NULL;
    int level = 0;

    if (why_not() != NULL) {
        printf("skipped: %s\n", why_not());
        return 77;
    }

    setenv("AMALGAM_FRAGMENT_BYTES", "1024", 1);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    pair_protocol = "rma";
    pair_open(0);
    CHECK(amg_mpi_domain_of(pair_domain)->rma != NULL);
    pair_turns_make();
    near = amg_mem_zalloc(LEN);
    mine = (struct amg_segment){amg_mem_zalloc(LEN), LEN};
    CHECK(near != NULL && mine.base != NULL);
    near_list = (struct amg_segment){near, LEN};
    CHECK(pair_t->bulk.reg(pair_domain, &mine, 1, AMG_MEM_READ, &mem) ==
          HG_SUCCESS);
    for (int rank = 0; rank < 3; rank++) {
        lists[rank] = mine;
        MPI_Bcast(&lists[rank], sizeof(mine), MPI_BYTE, rank, MPI_COMM_WORLD);
        pair_t->bulk.key(mem, &remotes[rank].key);
        pair_key(&remotes[rank].key, rank);
        remotes[rank].at = (struct amg_seg_iter){&lists[rank], 1, 0, 0};
    }
    if (pair_rank == 1)
        gets_check();
    else if (pair_rank == 0)
        silence_keep();
    pair_sync(false);
    CHECK(pair_t->bulk.unreg(pair_domain, mem, 9000) == HG_SUCCESS);
    pair_close();
    amg_mem_free(near);
    amg_mem_free(mine.base);
    pair_turns_free();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
