/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of other processes of this host, which prints its address and
 * serves until a handler calls margo_finalize(). The function sum_serve() is in
 * the page of margo_get_input(), stop_serve() in that of margo_finalize().
 *
 * Pages: margo_init margo_addr_self margo_wait_for_finalize */
#include <margo.h>
#include <stdio.h>

void sum_serve(margo_instance_id mid);
void stop_serve(margo_instance_id mid);

int server_run(void)
{
    /* Progress and handlers run in the stream of this thread. */
    margo_instance_id mid = margo_init("na+sm", MARGO_SERVER_MODE, 0, 0);
    hg_addr_t self = HG_ADDR_NULL;
    char address[256];
    hg_size_t len = sizeof(address);

    if (mid == MARGO_INSTANCE_NULL)
        return 1; /* the log says why */
    sum_serve(mid);
    stop_serve(mid);
    if (margo_addr_self(mid, &self) == HG_SUCCESS &&
        margo_addr_to_string(mid, address, &len, self) == HG_SUCCESS) {
        puts(address);
        fflush(stdout);
    }
    margo_addr_free(mid, self);
    margo_wait_for_finalize(mid);
    return 0;
}
