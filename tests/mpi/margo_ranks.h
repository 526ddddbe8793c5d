/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of Margo between ranks: an instance with some
 * RPCs on every rank. CHECK, OK, and the start and end of MPI are those of
 * ranks.h. */
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
/* The same with an open instance. */
void mranks_adopt(struct mranks *mranks, margo_instance_id mid);
/* Ends the instance. Its handlers serve the others until all end, and need the
 * addresses, which a finalize callback frees. */
void mranks_close(struct mranks *mranks);

/* A call whose reply is its number plus one. */
void mranks_echo(struct mranks *mranks, int rank, uint64_t value);
/* A call that each rank forwards to the next, `hops` times, before the replies
 * come back all the way. */
void mranks_relay(struct mranks *mranks, int rank, uint64_t hops);
/* A call whose handler pulls `len` bytes, reverses them, and pushes them
 * back. */
void mranks_swap(struct mranks *mranks, int rank, size_t len);
/* All of them, with every rank including self. */
void mranks_exchange(struct mranks *mranks);

#endif
