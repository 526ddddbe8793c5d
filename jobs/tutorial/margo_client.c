/* SPDX-License-Identifier: BSD-3-Clause */
/* Has numbers summed by a margo_server, on any host; no MPI.
 *
 *   margo_client ADDRESS [CALLS]
 *
 * ADDRESS is the line that the server has written, CALLS the number of calls
 * (4). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "margo_sum.h"

enum { CALLS = 4, COUNT = 1000, SCHEME_CAP = 32 };

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : CALLS;
    char scheme[SCHEME_CAP] = "";
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    hg_addr_t server = HG_ADDR_NULL;
    hg_id_t id = 0;

    if (argc < 2 || argc > 3 || calls < 1) {
        fputs("margo_client ADDRESS [CALLS]\n", stderr);
        return 2;
    }
    /* An address begins with its transport. */
    snprintf(
        scheme, sizeof(scheme), "%.*s", (int)strcspn(argv[1], ":;"), argv[1]);
    mid = margo_init(scheme, MARGO_CLIENT_MODE, 0, 0);
    if (mid == MARGO_INSTANCE_NULL)
        return EXIT_FAILURE; /* the lines above give the reason */
    id = sum_register(mid);
    sum_check(margo_addr_lookup(mid, argv[1], &server), argv[1]);
    for (int i = 1; i <= calls; i++)
        printf("the sum of 1 to %d is %lld\n", i * COUNT,
            (long long)sum_call(mid, id, server, (uint64_t)i * COUNT));
    sum_check(margo_addr_free(mid, server), "margo_addr_free");
    margo_finalize(mid);
    return EXIT_SUCCESS;
}
