/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer of many segments can be cancelled by one thread while another
 * posts its next part, and always ends. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "exposed.h"

enum { SEGMENTS = 28, SEGMENT_LEN = 64, TIMES = 2000 };

static struct ranks all;
static unsigned char bytes[SEGMENTS * SEGMENT_LEN];
static atomic_bool is_over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool has_ended; /* guarded by the mutex, like the id */

/* As many parts as there are segments. */
static hg_bulk_t cut_bulk(void)
{
    hg_bulk_t bulk = HG_BULK_NULL;
    void *bases[SEGMENTS];
    hg_size_t lens[SEGMENTS];

    for (unsigned i = 0; i < SEGMENTS; i++) {
        bases[i] = bytes + (size_t)i * SEGMENT_LEN;
        lens[i] = SEGMENT_LEN;
    }
    OK(HG_Bulk_create(
        all.cls, SEGMENTS, bases, lens, HG_BULK_READWRITE, &bulk));
    return bulk;
}

static void *driver(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        unsigned count = 0;

        (void)HG_Progress(all.context, 0);
        (void)HG_Trigger(all.context, 0, 1, &count);
        /* Three threads poll here, on maybe fewer cores: without the yield, a
         * polling thread would keep the one with the reply from its core, for a
         * time slice at each part. */
        if (count == 0)
            sched_yield();
    }
    return NULL;
}

static hg_return_t ended(const struct hg_cb_info *info)
{
    CHECK(info->ret == HG_SUCCESS || info->ret == HG_CANCELED);
    pthread_mutex_lock(&mutex);
    has_ended = true;
    pthread_mutex_unlock(&mutex);
    atomic_store((atomic_bool *)info->arg, true);
    return HG_SUCCESS;
}

static void cancel_one(
    hg_addr_t addr, hg_bulk_t origin, hg_bulk_t local, unsigned pause)
{
    uint64_t end_ns = ranks_now_ns() + 20000000000ull;
    hg_op_id_t id = HG_OP_ID_NULL;
    atomic_bool is_done = false;

    has_ended = false;
    OK(HG_Bulk_transfer(all.context, ended, &is_done, HG_BULK_PULL, addr,
        origin, 0, local, 0, sizeof(bytes), &id));
    for (unsigned i = 0; i < pause; i++)
        atomic_signal_fence(memory_order_seq_cst);
    pthread_mutex_lock(&mutex);
    if (!has_ended)
        OK(HG_Bulk_cancel(id));
    pthread_mutex_unlock(&mutex);
    while (!atomic_load(&is_done)) {
        CHECK(ranks_now_ns() < end_ns);
        sched_yield();
    }
}

static void canceller_run(hg_bulk_t local)
{
    hg_bulk_t origin = exposed_take(&all, 0);
    hg_addr_t addr = HG_ADDR_NULL;
    pthread_t thread;

    OK(amalgam_addr_rank(all.cls, 0, &addr));
    CHECK(pthread_create(&thread, NULL, driver, NULL) == 0);
    for (unsigned i = 0; i < TIMES; i++)
        cancel_one(addr, origin, local, i * 37 % 20000);
    atomic_store(&is_over, true);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Bulk_free(origin));
}

int main(void)
{
    hg_bulk_t local = HG_BULK_NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    local = cut_bulk();
    if (all.rank == 0)
        exposed_send(local, 1);
    else if (all.rank == 1)
        canceller_run(local);
    ranks_meet(MPI_COMM_WORLD);
    OK(HG_Bulk_free(local));
    ranks_close(&all);
    return ranks_stop();
}
