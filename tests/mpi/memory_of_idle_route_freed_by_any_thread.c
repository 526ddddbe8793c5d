/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a class in which no rank reaches another one over MPI is freed at
 * once by a thread that may not call MPI, while the thread that may waits. */
#include <pthread.h>

#include "ranks.h"

enum { BYTES = 1 << 20, PACKED = 4096 };

static hg_bulk_t bulk;
static hg_return_t free_ret = HG_OTHER_ERROR;

static void *bulk_free(void *arg)
{
    free_ret = HG_Bulk_free(bulk);
    return arg;
}

int main(void)
{
    static char packed[PACKED];
    hg_size_t len = BYTES;
    struct ranks all;
    pthread_t thread;

    ranks_start(MPI_THREAD_FUNNELED);
    ranks_open(&all, MPI_COMM_WORLD);
    EXPECT(HG_SUCCESS,
        HG_Bulk_create(all.cls, 1, NULL, &len, HG_BULK_READWRITE, &bulk));
    /* Exposes the memory, which is the library's. */
    EXPECT(HG_SUCCESS, HG_Bulk_serialize(packed, sizeof(packed), 0, bulk));
    CHECK(pthread_create(&thread, NULL, bulk_free, NULL) == 0);
    pthread_join(thread, NULL);
    EXPECT(HG_SUCCESS, free_ret);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
