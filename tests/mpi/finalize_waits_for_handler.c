/* SPDX-License-Identifier: BSD-3-Clause */
/* A class may be closed while a handler in a library thread still works after
 * its reply: its objects do not count as the program's, and the call waits for
 * it. Such a handler cannot close the class. */
#include <pthread.h>
#include <time.h>

#include "ranks.h"

enum { LEN = 4096, WORK_NS = 30 * 1000 * 1000 };

static struct ranks all;
static hg_id_t work;
static char bytes[LEN];
static atomic_int ended;
static pthread_t main_thread;

static hg_return_t work_serve(hg_handle_t handle)
{
    struct timespec length = {.tv_nsec = WORK_NS};
    hg_bulk_t bulk = ranks_bulk(&all, bytes, LEN, HG_BULK_READ_ONLY);

    if (!pthread_equal(pthread_self(), main_thread)) {
        HG_Set_log_level("none");
        EXPECT(HG_BUSY, amalgam_finalize(all.cls));
        HG_Set_log_level("warning");
    }
    OK(HG_Respond(handle, NULL, NULL, NULL));
    nanosleep(&length, NULL);
    OK(HG_Bulk_free(bulk));
    OK(HG_Destroy(handle));
    atomic_fetch_add(&ended, 1);
    return HG_SUCCESS;
}

int main(void)
{
    struct ranks_call call;

    ranks_start(MPI_THREAD_MULTIPLE);
    main_thread = pthread_self();
    ranks_open(&all, MPI_COMM_WORLD);
    work = MERCURY_REGISTER(all.cls, "work", void, void, work_serve);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(ranks_begin(&all, &call, (all.rank + 1) % all.size, work, NULL));
    OK(ranks_wait(&call));
    ranks_end(&call);
    ranks_close(&all);
    CHECK(atomic_load(&ended) == 1);
    return ranks_stop();
}
