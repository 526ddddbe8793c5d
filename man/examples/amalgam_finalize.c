/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a rank. All objects of the program are freed first; the call then
 * serves the other ranks until all of them have made it. The contexts are
 * destroyed, too. */
#include <amalgam.h>
#include <stdio.h>

int job_end(hg_class_t *hg_class, hg_handle_t handle, hg_addr_t server)
{
    hg_return_t ret = HG_SUCCESS;

    HG_Destroy(handle);
    HG_Addr_free(hg_class, server);
    ret = amalgam_finalize(hg_class);
    if (ret != HG_SUCCESS) /* the log names what is left, or who is missing */
        fprintf(stderr, "amalgam_finalize: %s\n", HG_Error_to_string(ret));
    MPI_Finalize();
    return ret == HG_SUCCESS ? 0 : 1;
}
