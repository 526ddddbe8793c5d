/* SPDX-License-Identifier: BSD-3-Clause */
/* A class with no_loopback reaches its own process over MPI also over an NA
 * class without it, which may use MPI only for the common end. */
#include "na.h"
#include "ranks.h"

int main(void)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    struct ranks ranks;

    ranks_start(MPI_THREAD_MULTIPLE);
    info.na_class = NA_Initialize("auto", true);
    CHECK(info.na_class != NULL);
    info.no_loopback = HG_TRUE;
    ranks_adopt(&ranks, HG_Init_opt2(NULL, HG_TRUE, HG_VERSION(2, 4), &info));
    ranks_exchange(&ranks);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&ranks);
    CHECK(NA_Finalize(info.na_class) == NA_SUCCESS);
    return ranks_stop();
}
