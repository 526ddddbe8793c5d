/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that keeps the handle of a call that came in, after its answer,
 * gets HG_BUSY from amalgam_finalize(); the other ranks end nevertheless, and
 * once the handle is destroyed, so does this rank. */
#include "ranks.h"

static struct ranks all;
static hg_handle_t kept = HG_HANDLE_NULL;

static hg_return_t keep_serve(hg_handle_t handle)
{
    OK(HG_Respond(handle, NULL, NULL, NULL));
    if (all.rank == 0 && kept == HG_HANDLE_NULL)
        kept = handle;
    else
        OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

int main(void)
{
    struct ranks_call call;
    FILE *log = NULL;
    hg_id_t keep = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("warning");
    ranks_open(&all, MPI_COMM_WORLD);
    keep = MERCURY_REGISTER(all.cls, "keep", void, void, keep_serve);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(ranks_begin(&all, &call, 0, keep, NULL));
    OK(ranks_wait(&call));
    ranks_end(&call);
    if (all.rank != 0) {
        ranks_close(&all);
        return ranks_stop();
    }
    EXPECT(HG_BUSY, amalgam_finalize(all.cls));
    CHECK(kept != HG_HANDLE_NULL);
    CHECK(ranks_log_has(log, "1 open handles"));
    OK(HG_Destroy(kept));
    OK(amalgam_finalize(all.cls));
    return ranks_stop();
}
