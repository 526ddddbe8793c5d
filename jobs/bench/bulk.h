/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the target exposes, and what the controls use in its place. */
#ifndef BENCH_BULK_H
#define BENCH_BULK_H

#include <sys/types.h>

#include "duel.h"
#include "mercury_bulk.h"

/* What one row moves, and how; duel->more of all batches of bulk data. Owned
 * by bench_bulk(). */
struct bulk {
    bool is_push;
    hg_bulk_t exposed;    /* the target's */
    hg_bulk_t theirs;     /* the same, as the caller knows it */
    hg_bulk_t ours;       /* the caller's room */
    unsigned char *far;   /* the exposed memory, where it is exposed */
    uint64_t far_address; /* of the same, as the caller knows it */
    pid_t far_pid;
    unsigned char *shared; /* memory of its own that both ranks have mapped */
    size_t len;            /* of each */
};

/* The end of the target in a batch of duel->size bytes at a time: the exposed
 * memory, or what the control has in its place. The caller's is its room. */
void bulk_fill(struct pair *pair, struct duel *duel, unsigned char *far);
void bulk_verify(struct pair *pair, struct duel *duel, unsigned char *far);

/* A stream of messages of duel->size bytes, duel->window at a time; blocking
 * calls when that is 1. */
#define BULK_STREAM_TEXT                                                       \
    "stream of messages of the same size, as many in flight: MPI_Send to "     \
    "MPI_Recv, and MPI_Isend to MPI_Irecv for windows beyond 1"
double bulk_stream(struct pair *pair, struct duel *duel, double *ret_samples);

/* One system call for each. */
#define BULK_CROSS_TEXT                                                        \
    "bare process_vm_readv (pull) or process_vm_writev (push) of that size "   \
    "between the same buffers of the same processes"
double bulk_cross(struct pair *pair, struct duel *duel, double *ret_samples);

#define BULK_COPY_TEXT                                                         \
    "memcpy of that size between the same private buffer and memory that "     \
    "both ranks have mapped"
double bulk_copy(struct pair *pair, struct duel *duel, double *ret_samples);

/* Both ranks: what bulk_cross() needs. False, with a word why, when one
 * process may not reach into the other. */
bool bulk_cross_init(struct pair *pair, struct bulk *bulk);
/* Both ranks: maps bulk->shared. False, with a word why, when that fails. */
bool bulk_copy_init(struct pair *pair, struct bulk *bulk);
void bulk_copy_fini(struct bulk *bulk);

#endif
