/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the library on all ranks, shows their addresses, and closes it.
 *
 * A class is one use of the library: here over all ranks of the job, each of
 * which can be called by the others. Calls are made and arrive in a context;
 * most programs have one. An address is the destination of a call. An MPI job
 * seldom needs its text, as amalgam_addr_rank() makes an address from a rank;
 * but each address has a text, and parsing the text gives the address again.
 *
 * Rank 0 serves and the others are its clients, as in all programs that follow;
 * but here is no call yet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { TEXT_LEN = 256 };

/* Writes the address of this rank to `ret_text`. */
static void own_address(hg_class_t *hg_class, char ret_text[TEXT_LEN])
{
    hg_addr_t self = HG_ADDR_NULL;
    hg_size_t len = TEXT_LEN;

    memset(ret_text, 0, TEXT_LEN);
    job_check(HG_Addr_self(hg_class, &self), "HG_Addr_self");
    job_check(
        HG_Addr_to_string(hg_class, ret_text, &len, self), "HG_Addr_to_string");
    job_check(HG_Addr_free(hg_class, self), "HG_Addr_free");
}

/* The rank that the address `text` leads to. */
static int rank_of(hg_class_t *hg_class, const char *text)
{
    hg_addr_t addr = HG_ADDR_NULL;
    int rank = -1;

    job_check(HG_Addr_lookup2(hg_class, text, &addr), "HG_Addr_lookup2");
    job_check(
        amalgam_addr_get_rank(hg_class, addr, &rank), "amalgam_addr_get_rank");
    job_check(HG_Addr_free(hg_class, addr), "HG_Addr_free");
    return rank;
}

/* Gathers all addresses at rank 0, which prints them in the order of ranks. The
 * library leaves MPI_COMM_WORLD to the program, so this is plain MPI. */
static void print_addresses(hg_class_t *hg_class, int rank, int ranks)
{
    char text[TEXT_LEN];
    char *all = NULL;

    own_address(hg_class, text);
    if (rank == SERVER) {
        all = calloc((size_t)ranks, TEXT_LEN);
        if (all == NULL)
            job_fail("no memory for %d addresses", ranks);
    }
    MPI_Gather(text, TEXT_LEN, MPI_CHAR, all, TEXT_LEN, MPI_CHAR, SERVER,
        MPI_COMM_WORLD);
    for (int i = 0; all != NULL && i < ranks; i++) {
        const char *one = all + (size_t)i * TEXT_LEN;

        if (rank_of(hg_class, one) != i)
            job_fail("the address of rank %d leads elsewhere: %s", i, one);
        printf("rank %d: %s\n", i, one);
    }
    free(all);
}

int main(int argc, char **argv)
{
    hg_class_t *hg_class = NULL;
    int rank = 0;
    int ranks = 0;

    MPI_Init(&argc, &argv);
    job_words(argc, argv, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    /* Collective. The first NULL leaves the choice of transport to the library,
     * or to AMALGAM_TRANSPORT in the environment; the second one means default
     * options. */
    hg_class = amalgam_init(MPI_COMM_WORLD, NULL, NULL);
    if (hg_class == NULL)
        job_fail("amalgam_init: the lines above say why");
    /* From here on this rank can be called; RPCs must be registered before. */
    if (HG_Context_create(hg_class) == NULL)
        job_fail("HG_Context_create: the lines above say why");

    print_addresses(hg_class, rank, ranks);

    /* Collective again: each rank serves the others until the last rank has
     * made this call. So a server needs no message that tells it to stop. The
     * contexts are closed, too. */
    job_check(amalgam_finalize(hg_class), "amalgam_finalize");
    MPI_Finalize();
    return 0;
}
