/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends that wait in the stand-in. */
#ifndef TESTS_MPI_STRICT_STRICT_SEND_H
#define TESTS_MPI_STRICT_STRICT_SEND_H

#include "mpi/strict/strict_core.h"

struct strict_request;

/* A send, until the real MPI has completed it. Guarded by the lock. */
struct strict_send {
    struct strict_send *next;       /* in the order of their calls */
    struct strict_request *request; /* NULL: the user knows it is complete */
    MPI_Comm comm;
    MPI_Datatype type;
    const void *bytes;
    unsigned char *copy; /* NULL: `bytes` are the user's */
    int count;
    int dest;
    int tag;
    bool is_sync;
    bool is_passed;
    bool may_die; /* its target */
    uint64_t due; /* passed on at this call of the process */
    MPI_Request real;
};

/* Passes on what is due, and frees what is complete. */
void strict_send_move(void);
/* Passes on all: MPI waits. */
void strict_send_flush(void);
bool strict_send_is_done(struct strict_send *send);
/* The real request, after passing on all that precede it. */
MPI_Request *strict_send_pass(struct strict_send *send);
/* At MPI_Finalize. */
void strict_send_end(void);
/* Tag and communicator of a call that takes messages. */
void strict_recv_check(int tag, MPI_Comm comm);

#endif
