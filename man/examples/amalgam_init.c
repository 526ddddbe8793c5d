/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 is the address of the other ranks' calls.
 *
 * Pages: amalgam_init amalgam_barrier */
#include <amalgam.h>

int main(int argc, char **argv)
{
    hg_class_t *hg_class = NULL;
    hg_context_t *context = NULL;
    hg_addr_t server = HG_ADDR_NULL;

    MPI_Init(&argc, &argv);
    hg_class = amalgam_init(MPI_COMM_WORLD, NULL, NULL);
    if (hg_class == NULL) /* the log says why */
        MPI_Abort(MPI_COMM_WORLD, 1);
    context = HG_Context_create(hg_class);
    if (amalgam_addr_rank(hg_class, 0, &server) == HG_SUCCESS) {
        /* ... register, HG_Create(context, server, ...), HG_Forward() ... */
        HG_Addr_free(hg_class, server);
    }
    amalgam_barrier(hg_class); /* serves until all ranks are here */
    HG_Context_destroy(context);
    amalgam_finalize(hg_class);
    return MPI_Finalize();
}
