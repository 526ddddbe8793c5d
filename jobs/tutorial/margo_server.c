/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums numbers of other processes, on any host; no MPI.
 *
 *   margo_server [TRANSPORT [CALLS]]
 *
 * Writes its address to stdout, for margo_client, and ends after CALLS calls
 * (4). TRANSPORT is an init string of HG_Init(); default: "tcp". */
#include <stdio.h>
#include <stdlib.h>

#include "margo_sum.h"

enum { CALLS = 4, ADDRESS_CAP = 256 };

static void address_tell(margo_instance_id mid)
{
    char text[ADDRESS_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    sum_check(margo_addr_self(mid, &self), "margo_addr_self");
    sum_check(
        margo_addr_to_string(mid, text, &len, self), "margo_addr_to_string");
    sum_check(margo_addr_free(mid, self), "margo_addr_free");
    printf("%s\n", text);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct sum_server server = {
        ABT_MUTEX_NULL, argc > 2 ? (unsigned)atoi(argv[2]) : CALLS};
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    if (argc > 3 || (argc > 2 && atoi(argv[2]) < 1)) {
        fputs("margo_server [TRANSPORT [CALLS]]\n", stderr);
        return 2;
    }
    mid = margo_init(argc > 1 ? argv[1] : "tcp", MARGO_SERVER_MODE, 0, 0);
    if (mid == MARGO_INSTANCE_NULL)
        return EXIT_FAILURE; /* the lines above give the reason */
    ABT_init(0, NULL); /* the lock is used until the end of this function */
    ABT_mutex_create(&server.lock);
    sum_serve(mid, &server);
    address_tell(mid);
    /* The handler of the last call ends the instance. Until then this thread
     * blocks, and its stream serves. */
    margo_wait_for_finalize(mid);
    ABT_mutex_free(&server.lock);
    ABT_finalize();
    return EXIT_SUCCESS;
}
