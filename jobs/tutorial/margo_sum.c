/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums numbers that another rank pulls, with handlers that wait like functions.
 *
 * The same RPC as in margo_server.c and margo_client.c, between the ranks of a
 * job, where no address is written down. Rank 0 serves, all others call it,
 * with several lengths. */
#include <stdio.h>

#include "amalgam_margo.h"
#include "common.h"
#include "margo_sum.h"

static void server_ask(margo_instance_id mid, hg_id_t id, int rank)
{
    const uint64_t counts[] = {1, 10, 100000};
    hg_addr_t server = HG_ADDR_NULL;

    /* In constant time, and without a message. */
    job_check(amalgam_addr_rank(margo_get_class(mid), SERVER, &server),
        "amalgam_addr_rank");
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        int64_t count = (int64_t)counts[i];
        int64_t sum = sum_call(mid, id, server, counts[i]);

        printf("rank %d: the sum of 1 to %lld is %lld\n", rank,
            (long long)count, (long long)sum);
        if (sum != count * (count + 1) / 2)
            job_fail("wrong sum");
    }
    job_check(margo_addr_free(mid, server), "margo_addr_free");
}

int main(int argc, char **argv)
{
    struct sum_server server = {ABT_MUTEX_NULL, 0};
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    int level = 0;
    int rank = 0;

    /* Margo's threads may run anywhere. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    job_words(argc, argv, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mid = amalgam_margo_init(MPI_COMM_WORLD, NULL, NULL);
    if (mid == MARGO_INSTANCE_NULL)
        job_fail("amalgam_margo_init: the lines above say why");
    ABT_mutex_create(&server.lock);
    if (rank == SERVER)
        sum_serve(mid, &server);
    else
        server_ask(mid, sum_register(mid), rank);
    /* Each rank serves here until all ranks are here. */
    margo_finalize_and_wait(mid);
    ABT_mutex_free(&server.lock);
    MPI_Finalize();
    return 0;
}
