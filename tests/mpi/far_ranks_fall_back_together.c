/* SPDX-License-Identifier: BSD-3-Clause */
/* If one rank cannot open libfabric, or wants another provider, all ranks fail,
 * or all fall back. The failing rank logs it, once. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"

/* An address for documents (RFC 5737), of no host. */
#define NOWHERE "198.51.100.77"

static struct ranks all;
static int world_rank;
static int world_size;

static bool is_last(void)
{
    return world_rank == world_size - 1;
}

/* Libfabric as option: no rank gets a class, and the log names rank and
 * host. */
static void refusal_check(void)
{
    char host[64] = "";
    char line[160];
    FILE *log = ranks_log_catch("error");

    (void)gethostname(host, sizeof(host) - 1);
    CHECK(amalgam_init(MPI_COMM_WORLD,
              is_last() ? "ofi+tcp://" NOWHERE : "ofi+tcp", NULL) == NULL);
    snprintf(line, sizeof(line), "rank %d on %s cannot open ofi+tcp",
        world_size - 1, host);
    CHECK(ranks_log_has(log, line) == is_last());
    CHECK(ranks_log_has(log, NOWHERE) == is_last());
    snprintf(line, sizeof(line), "rank %d cannot open ofi+tcp", world_size - 1);
    CHECK(ranks_log_has(log, line) == (world_rank == 0));
    HG_Set_log_stream("error", NULL);
    fclose(log);
}

/* Libfabric by default: all go by MPI, with one warning of one rank. */
static void fallback_check(void)
{
    FILE *log = NULL;

    setenv("AMALGAM_INTERNODE", is_last() ? "tcp://" NOWHERE : "tcp", 1);
    log = ranks_log_catch("warning");
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(ranks_log_has(log, "reach other nodes by MPI") == is_last());
    HG_Set_log_stream("warning", NULL);
    fclose(log);
    ranks_meet(MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    unsetenv("AMALGAM_INTERNODE");
}

/* Each rank wants another: that is noticed before anything is opened. */
static void difference_check(const char *mine)
{
    FILE *log = ranks_log_catch("error");

    CHECK(amalgam_init(MPI_COMM_WORLD, mine, NULL) == NULL);
    CHECK(ranks_log_has(log, "ask for different transports"));
    HG_Set_log_stream("error", NULL);
    fclose(log);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    unsetenv("AMALGAM_TRANSPORT");
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    refusal_check();
    fallback_check();
    difference_check(is_last() ? "ofi+net" : "ofi+tcp");
    difference_check(is_last() ? "mpi+p2p" : "ofi+tcp");
    if (is_last())
        setenv("AMALGAM_INTERNODE", "ofi+tcp", 1);
    difference_check("auto");
    if (is_last()) /* only this rank knows that it does not exist */
        setenv("AMALGAM_INTERNODE", "nowhere", 1);
    difference_check("auto");
    unsetenv("AMALGAM_INTERNODE");
    ranks_adopt(&all, amalgam_init(MPI_COMM_WORLD, "ofi+tcp", NULL));
    ranks_meet(MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
