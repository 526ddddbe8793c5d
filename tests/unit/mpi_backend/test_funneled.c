/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory with windows at MPI_THREAD_FUNNELED: another thread may expose and
 * free memory. It can free memory that the main thread exposed only while that
 * one makes progress; otherwise the log says so, and blames no rank. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/log.h"
#include "log_kept.h"
#include "mpi_backend/mpi_rma.h"
#include "pair.h"

enum { LEN = 1 << 20 };

static uint8_t bytes[LEN];
static const struct amg_segment segment = {bytes, LEN};
static struct amg_mem *mem; /* of the main thread */
static atomic_int stage;    /* 1: the main thread may make progress; 2: over */

static void *other_lives(void *arg)
{
    struct amg_mem *own = NULL;

    (void)arg;
    CHECK(pair_t->bulk.reg(pair_domain, &segment, 1, AMG_MEM_READ, &own) ==
          HG_SUCCESS);
    CHECK(pair_t->bulk.unreg(pair_domain, own, 0) == HG_SUCCESS);
    CHECK(pair_t->bulk.unreg(pair_domain, mem, 10) == HG_BUSY);
    CHECK(log_has("no thread that may call MPI"));
    CHECK(!log_has("still access"));
    atomic_store(&stage, 1);
    CHECK(pair_t->bulk.unreg(pair_domain, mem, 9000) == HG_SUCCESS);
    atomic_store(&stage, 2);
    return NULL;
}

static struct amg_mpi_exports *exports(void)
{
    return &amg_mpi_domain_of(pair_domain)->rma->exports;
}

int main(void)
{
    pthread_t other;
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (level != MPI_THREAD_FUNNELED)
        return 77;
    pair_protocol = "rma";
    pair_open(0);
    CHECK(amg_mpi_domain_of(pair_domain)->rma != NULL);
    hg_log_set_func(log_keep);
    CHECK(pair_t->bulk.reg(pair_domain, &segment, 1, AMG_MEM_READ, &mem) ==
          HG_SUCCESS);
    CHECK(exports()->windows->regions.count == 1);
    CHECK(pthread_create(&other, NULL, other_lives, NULL) == 0);
    while (atomic_load(&stage) < 1)
        sched_yield();
    UNTIL(atomic_load(&stage) == 2);
    pthread_join(other, NULL);
    CHECK(exports()->windows->regions.count == 0);
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
