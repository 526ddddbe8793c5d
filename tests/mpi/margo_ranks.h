/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of Margo between ranks share: an instance with some RPCs on
 * every rank. CHECK, OK, and the start and end of MPI are those of ranks.h. */
#ifndef TESTS_MPI_MARGO_RANKS_H
#define TESTS_MPI_MARGO_RANKS_H

#include "amalgam_margo.h"
#include "ranks.h"

struct mranks {
    margo_instance_id mid;
    int rank;
    int size;
    hg_addr_t *addrs;
    hg_id_t echo_id;
    hg_id_t relay_id;
    hg_id_t swap_id;
    atomic_ulong served; /* handlers that ended here */
};

/* Opens an instance over the world; NULL takes the defaults. */
void mranks_open(struct mranks *mranks, const struct margo_init_info *info);
/* The same of one that is open. */
void mranks_adopt(struct mranks *mranks, margo_instance_id mid);
/* Ends the instance. Its handlers serve the others until all end, and need the
 * addresses: these are given back by a finalize callback. */
void mranks_close(struct mranks *mranks);

/* A call whose answer is its number plus one. */
void mranks_echo(struct mranks *mranks, int rank, uint64_t value);
/* A call that is handed on `hops` times, from each rank to the next, before
 * answers come back all the way. */
void mranks_relay(struct mranks *mranks, int rank, uint64_t hops);
/* A call whose handler pulls `len` bytes, turns them around, and pushes. */
void mranks_swap(struct mranks *mranks, int rank, size_t len);
/* All of them, with every rank, oneself too. */
void mranks_exchange(struct mranks *mranks);

#endif
