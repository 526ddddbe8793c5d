/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Finalize with an open class neither hangs nor crashes, and the class then
 * fails its calls and can still be closed. */
#include <stdlib.h>

#include "ranks.h"

int main(void)
{
    struct ranks all;
    struct ranks_call call;
    ranks_echo_t in = {1, 0};
    unsigned count = 0;
    hg_return_t rc = HG_SUCCESS;
    FILE *log = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    log = ranks_log_catch("warning");
    HG_Set_log_stream("error", log);
    MPI_Finalize();
    CHECK(ranks_log_has(log, "while a class is open"));
    rc = ranks_begin(&all, &call, (all.rank + 1) % all.size, all.echo, &in);
    CHECK(all.size == 1 || rc == HG_NA_ERROR);
    ranks_end(&call);
    (void)HG_Progress(all.context, 1);
    (void)HG_Trigger(all.context, 0, 1, &count);
    ranks_leave(&all);
    OK(amalgam_finalize(all.cls));
    return EXIT_SUCCESS;
}
