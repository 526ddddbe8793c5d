/* SPDX-License-Identifier: BSD-3-Clause */
/* A class over an NA class may be closed by amalgam_finalize(), which serves
 * until all ranks call it; the NA class then only waits for its own end. */
#include "na.h"
#include "ranks.h"

static hg_class_t *hg_open(na_class_t *na)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    info.na_class = na;
    return HG_Init_opt2(NULL, HG_TRUE, HG_VERSION(2, 4), &info);
}

int main(void)
{
    struct ranks ranks;
    na_class_t *na = NULL;
    na_addr_t *self = NULL;
    hg_class_t *cls = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    na = NA_Initialize("mpi+p2p", true);
    CHECK(na != NULL);
    ranks_adopt(&ranks, hg_open(na));
    ranks_exchange(&ranks);
    if (ranks.rank == 0) /* the others are first, and serve it */
        ranks_exchange(&ranks);
    ranks_close(&ranks);
    CHECK(NA_Addr_self(na, &self) == NA_SUCCESS);
    NA_Addr_free(na, self);
    HG_Set_log_level("none");
    cls = hg_open(na);
    HG_Set_log_level("warning");
    CHECK(cls == NULL);
    CHECK(NA_Finalize(na) == NA_SUCCESS);
    return ranks_stop();
}
