/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that opens a class on its communicator and closes it. */
#include <amalgam.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    hg_class_t *hg_class;
    int rc = 1;

    MPI_Init(&argc, &argv);
    hg_class = amalgam_init(MPI_COMM_WORLD, "mpi+p2p", NULL);
    if (hg_class != NULL)
        rc = amalgam_finalize(hg_class) == HG_SUCCESS ? 0 : 1;
    MPI_Finalize();
    return rc;
}
