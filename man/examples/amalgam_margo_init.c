/* SPDX-License-Identifier: BSD-3-Clause */
/* A job in which rank 1 calls rank 0, and all ranks serve until all are done.
 *
 * Pages: amalgam_margo_init margo_finalize_and_wait */
#include <amalgam_margo.h>

static void hello(hg_handle_t handle)
{
    margo_respond(handle, NULL);
    margo_destroy(handle);
}
static DEFINE_MARGO_RPC_HANDLER(hello)

    int main(int argc, char **argv)
{
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    hg_id_t id = 0;
    int level = 0;
    int rank = 0;
    hg_return_t ret = HG_SUCCESS;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mid = amalgam_margo_init(MPI_COMM_WORLD, NULL, NULL);
    if (mid == MARGO_INSTANCE_NULL) /* the log says why */
        MPI_Abort(MPI_COMM_WORLD, 1);
    id = MARGO_REGISTER(mid, "hello", void, void, hello);
    if (rank == 1) {
        hg_addr_t server = HG_ADDR_NULL;
        hg_handle_t handle = HG_HANDLE_NULL;

        amalgam_addr_rank(margo_get_class(mid), 0, &server);
        ret = margo_create(mid, server, id, &handle);
        if (ret == HG_SUCCESS)
            ret = margo_forward(handle, NULL);
        margo_destroy(handle);
        margo_addr_free(mid, server);
    }
    margo_finalize_and_wait(mid); /* serves until all ranks are here */
    MPI_Finalize();
    return ret == HG_SUCCESS ? 0 : 1;
}
