/* SPDX-License-Identifier: BSD-3-Clause */
/* Peer without progress: cancelled transfers with it end, memory that it uses
 * stays until it answers, and no resource is lost later. */
#include <string.h>

#include "base/mem.h"
#include "pair.h"

enum { LEN = 8 << 20, ROUNDS = 3 };

static uint8_t *far;  /* exposed by rank 0 */
static uint8_t *near; /* of rank 1 */
static struct amg_segment near_list;
static const struct amg_seg_iter near_at = {&near_list, 1, 0, 0};
static struct amg_segment far_list;
static struct amg_remote remote;

/* Rank 1 gets (or puts), rank 0 is silent; rank 1 gives up. */
static void initiator_gives_up(bool is_put)
{
    struct pair_call call;

    pair_sync(true);
    if (pair_rank == 1) {
        pair_call_init(&call);
        if (is_put)
            CHECK(
                pair_t->bulk.put(pair_ep, (struct amg_target){pair_peer(0), 0},
                    &near_at, &remote, LEN, &call.op) == HG_SUCCESS);
        else
            CHECK(
                pair_t->bulk.get(pair_ep, (struct amg_target){pair_peer(0), 0},
                    &near_at, &remote, LEN, &call.op) == HG_SUCCESS);
        for (int i = 0; i < 100; i++)
            pair_poll();
        CHECK(pair_t->ep.cancel(pair_ep, &call.op) == HG_SUCCESS);
        UNTIL(call.done == 1);
        CHECK(call.op.ret == HG_CANCELED && call.op.len == 0);
        memset(near, 0xee, LEN);
    }
    pair_sync(true);
    pair_sync(false); /* now the peer receives its messages */
    if (pair_rank == 1)
        for (int i = 0; i < LEN; i++)
            CHECK(near[i] == 0xee);
}

/* The same memory works afterwards, with the same numbers and tags. */
static void transfer_works(void)
{
    struct pair_call call;

    if (pair_rank == 0)
        memset(far, 0x55, LEN);
    pair_sync(false);
    if (pair_rank == 1) {
        pair_call_init(&call);
        CHECK(pair_t->bulk.get(pair_ep, (struct amg_target){pair_peer(0), 0},
                  &near_at, &remote, LEN, &call.op) == HG_SUCCESS);
        UNTIL(call.done == 1);
        CHECK(call.op.ret == HG_SUCCESS && call.op.len == LEN);
        for (int i = 0; i < LEN; i++)
            CHECK(near[i] == 0x55);
    }
    pair_sync(false);
}

/* Rank 0 frees while rank 1, which has begun, is silent. */
static void exposer_has_to_wait(struct amg_mem *mem, bool is_put)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    struct pair_call call;
    hg_return_t ret = HG_SUCCESS;

    pair_call_init(&call);
    if (pair_rank == 1 && is_put)
        CHECK(pair_t->bulk.put(pair_ep, (struct amg_target){pair_peer(0), 0},
                  &near_at, &remote, LEN, &call.op) == HG_SUCCESS);
    else if (pair_rank == 1)
        CHECK(pair_t->bulk.get(pair_ep, (struct amg_target){pair_peer(0), 0},
                  &near_at, &remote, LEN, &call.op) == HG_SUCCESS);
    if (pair_rank == 0) {
        UNTIL(!amg_list_is_empty(&domain->accesses.all));
        ret = pair_t->bulk.unreg(pair_domain, mem, 10);
        /* Fragments of a get may arrive while their receiver is in MPI. Only
         * the sender of a put knows how many it has sent. */
        CHECK(ret == HG_BUSY || (ret == HG_SUCCESS && !is_put));
    }
    pair_sync(true);
    if (pair_rank == 1)
        UNTIL(call.done == 1);
    else if (ret == HG_BUSY)
        CHECK(pair_t->bulk.unreg(pair_domain, mem, 9000) == HG_SUCCESS);
    CHECK(pair_rank == 0 || call.op.ret == HG_CANCELED);
    pair_sync(false);
}

static struct amg_mem *expose(void)
{
    const struct amg_segment segment = {far, LEN};
    struct amg_mem *mem = NULL;

    memset(&remote, 0, sizeof(remote));
    near_list = (struct amg_segment){near, LEN};
    far_list = (struct amg_segment){NULL, LEN};
    remote.at = (struct amg_seg_iter){&far_list, 1, 0, 0};
    if (pair_rank == 0) {
        CHECK(pair_t->bulk.reg(pair_domain, &segment, 1,
                  AMG_MEM_READ | AMG_MEM_WRITE, &mem) == HG_SUCCESS);
        pair_t->bulk.key(mem, &remote.key);
    }
    pair_key(&remote.key, 0);
    return mem;
}

int main(void)
{
    struct amg_mem *mem = NULL;
    int level = 0;

    /* Small fragments: a transfer has many, so it is always in the middle. */
    setenv("AMALGAM_FRAGMENT_BYTES", "65536", 1);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    pair_open(0);
    far = amg_mem_zalloc(LEN);
    near = amg_mem_zalloc(LEN);
    CHECK(far != NULL && near != NULL);
    mem = expose();
    for (int i = 0; i < ROUNDS; i++) {
        initiator_gives_up(i % 2 == 0);
        transfer_works();
    }
    exposer_has_to_wait(mem, false);
    mem = expose();
    exposer_has_to_wait(mem, true);
    amg_mem_free(far);
    amg_mem_free(near);
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
