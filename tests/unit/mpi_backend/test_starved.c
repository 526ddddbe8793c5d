/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts that end early while one side has no memory: the exposer keeps nothing
 * of them, and freed lists are not read. */
#include <string.h>

#include "base/mem.h"
#include "mpi_backend/mpi_transfer.h"
#include "pair.h"

enum { LEN = 4 << 20, BUFS_MAX = 4096, TURNS = 200 };

static struct amg_segment far_list = {NULL, LEN};
static struct amg_remote remote;
static struct amg_mem *mem; /* of rank 0 */
static uint8_t *far;        /* exposed by rank 0 */
static uint8_t *near;       /* of rank 1 */

static void expose(void)
{
    const struct amg_segment segment = {far, LEN};

    memset(&remote, 0, sizeof(remote));
    remote.at = (struct amg_seg_iter){&far_list, 1, 0, 0};
    if (pair_rank == 0) {
        CHECK(pair_t->bulk.reg(pair_domain, &segment, 1, AMG_MEM_WRITE, &mem) ==
              HG_SUCCESS);
        pair_t->bulk.key(mem, &remote.key);
    }
    pair_key(&remote.key, 0);
}

/* Rank 1; `list` is freed once the operation has ended. */
static void put_begin(
    struct pair_call *call, struct amg_segment **list, bool is_uncancellable)
{
    *list = amg_mem_alloc(sizeof(**list));
    CHECK(*list != NULL);
    **list = (struct amg_segment){near, LEN};
    pair_call_init(call);
    call->op.is_uncancellable = is_uncancellable;
    CHECK(pair_t->bulk.put(pair_ep, (struct amg_target){pair_peer(0), 0},
              &(struct amg_seg_iter){*list, 1, 0, 0}, &remote, LEN,
              &call->op) == HG_SUCCESS);
}

static unsigned transfers_count(void)
{
    const struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    unsigned count = 0;

    for (uint32_t i = 0; i < domain->transfers.all.cap; i++)
        count += domain->transfers.all.slots[i].object != NULL;
    return count;
}

/* Both are idle again, and the memory is free. */
static void end_check(void)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);

    UNTIL(transfers_count() == 0);
    pair_sync(false);
    CHECK(amg_list_is_empty(&domain->accesses.all));
    CHECK(amg_list_is_empty(&domain->accesses.stalled));
    if (pair_rank == 0)
        CHECK(pair_t->bulk.unreg(pair_domain, mem, 0) == HG_SUCCESS);
}

/* A put that goes ahead is stopped before there is memory for its access:
 * closing an endpoint cancels uncancellable operations, too. */
static void exposer_has_no_memory(void)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    struct amg_segment *list = NULL;
    struct pair_call call;

    expose();
    pair_sync(true);
    if (pair_rank == 1) {
        put_begin(&call, &list, true);
        CHECK(pair_t->ep.cancel(pair_ep, &call.op) == HG_SUCCESS);
    }
    pair_sync(true); /* so STOP has left */
    if (pair_rank == 0) {
        for (int i = 0;
             i < TURNS || amg_list_is_empty(&domain->accesses.stalled); i++) {
            amg_mem_fail_nth(1);
            pair_poll();
        }
        amg_mem_fail_nth(0);
    } else {
        UNTIL(call.done == 1);
        amg_mem_free(list);
        CHECK(call.op.ret == HG_CANCELED);
    }
    end_check();
}

/* Takes all memory for messages, so that none can be sent. */
static unsigned bufs_take(struct amg_buf *bufs[BUFS_MAX])
{
    unsigned count = 0;

    for (;; count++) {
        CHECK(count < BUFS_MAX);
        amg_mem_fail_nth(1);
        if (pair_t->msg.get_buf(pair_ep, pair_peer(0), &bufs[count]) !=
            HG_SUCCESS)
            return count;
    }
}

/* A put whose endpoint has closed by force is told to begin, before there was
 * memory to stop it. */
static void initiator_has_no_memory(void)
{
    static struct amg_buf *bufs[BUFS_MAX];
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    struct amg_segment *list = NULL;
    struct pair_call call;
    unsigned count = 0;

    expose();
    pair_sync(true);
    if (pair_rank == 1) {
        struct amg_mpi_transfer *transfer = NULL;

        put_begin(&call, &list, false);
        transfer = amg_call_ptr(&call.op);
        count = bufs_take(bufs);
        amg_mem_fail_nth(1);
        CHECK(pair_t->ep.cancel(pair_ep, &call.op) == HG_SUCCESS);
        amg_bias_lock(domain->lock);
        amg_mpi_transfers_abandon_locked(domain, NULL);
        amg_bias_unlock(domain->lock);
        amg_mem_free(list);
        while (call.done == 0 || transfer->state != AMG_MPI_TRANSFER_MOVING) {
            amg_mem_fail_nth(1);
            pair_poll();
        }
        amg_mem_fail_nth(0);
        CHECK(call.op.ret == HG_CANCELED);
        CHECK(transfer->pipeline.posted == 0);
        while (count > 0)
            pair_t->msg.put_buf(pair_ep, bufs[--count]);
    }
    pair_sync(false);
    end_check();
}

int main(void)
{
    int level = 0;

    setenv("AMALGAM_FRAGMENT_BYTES", "65536", 1);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    pair_open(0);
    far = amg_mem_zalloc(LEN);
    near = amg_mem_zalloc(LEN);
    CHECK(far != NULL && near != NULL);
    if (pair_rank == 1)
        pair_ask(0, 1); /* the first contact takes memory, too */
    pair_sync(false);
    exposer_has_no_memory();
    initiator_has_no_memory();
    amg_mem_free(far);
    amg_mem_free(near);
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
