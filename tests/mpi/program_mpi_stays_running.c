/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI stays the program's if the program initialized it: HG_Init() and
 * HG_Finalize() leave it running, and after MPI_Finalize no class opens. */
#include <stdlib.h>

#include "ranks.h"

static void class_use(void)
{
    struct ranks all;
    hg_class_t *cls = HG_Init("mpi", HG_TRUE);

    CHECK(cls != NULL);
    ranks_adopt(&all, cls);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_leave(&all);
    EXPECT(HG_BUSY, HG_Finalize(cls)); /* the context */
    OK(HG_Context_destroy(all.context));
    OK(HG_Finalize(cls));
}

int main(void)
{
    FILE *log = NULL;
    int flag = 0;
    int level = -1;

    ranks_limit(55);
    MPI_Init(NULL, NULL);
    MPI_Query_thread(&level);
    HG_Set_log_level("none"); /* HG_BUSY below is expected */
    for (int i = 0; i < 3; i++) {
        int now = -1;

        class_use();
        MPI_Finalized(&flag);
        CHECK(!flag);
        MPI_Query_thread(&now);
        CHECK(now == level);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    log = ranks_log_catch("error");
    CHECK(HG_Init("mpi", HG_TRUE) == NULL);
    CHECK(ranks_log_has(log, "finalised"));
    return EXIT_SUCCESS;
}
