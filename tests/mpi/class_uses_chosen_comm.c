/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes without a communicator are opened over the one chosen before, or else
 * over the world. */
#include "na_mpi.h"
#include "ranks.h"

static void opened_check(int size)
{
    struct ranks ranks;
    hg_class_t *cls = HG_Init("mpi+p2p", HG_TRUE);

    CHECK(cls != NULL);
    ranks_adopt(&ranks, cls);
    CHECK(ranks.size == size);
    ranks_exchange(&ranks);
    ranks_close(&ranks);
}

/* An intercommunicator cannot be chosen. */
static void inter_check(MPI_Comm half, int rank, int size)
{
    MPI_Comm inter = MPI_COMM_NULL;

    if (size < 2)
        return;
    MPI_Intercomm_create(
        half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 1, &inter);
    HG_Set_log_level("none");
    CHECK(NA_MPI_Set_init_intra_comm(inter) == NA_INVALID_ARG);
    HG_Set_log_level("warning");
    MPI_Comm_free(&inter);
}

int main(void)
{
    MPI_Comm half = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;
    int half_size = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_size(half, &half_size);
    CHECK(NA_MPI_Set_init_intra_comm(half) == NA_SUCCESS);
    inter_check(half, rank, size);
    opened_check(half_size);
    CHECK(NA_MPI_Set_init_intra_comm(MPI_COMM_NULL) == NA_SUCCESS);
    MPI_Comm_free(&half);
    opened_check(size);
    return ranks_stop();
}
