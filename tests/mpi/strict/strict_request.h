/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of the stand-in. */
#ifndef TESTS_MPI_STRICT_STRICT_REQUEST_H
#define TESTS_MPI_STRICT_STRICT_REQUEST_H

#include "mpi/strict/strict_core.h"

enum strict_kind {
    STRICT_FREE,
    STRICT_SEND,
    STRICT_RECV,
    STRICT_COLL, /* a collective call */
    STRICT_PUT,  /* also an accumulate without result */
    STRICT_GET,  /* also an accumulate with one */
};

/* A request that was handed out. Found by index; free ones are a queue, so that
 * a number comes back late. Guarded by the lock. */
struct strict_request {
    enum strict_kind kind;
    uint32_t index;
    uint32_t generation;
    struct strict_request *next; /* free, or active by posting; */
    struct strict_request *prev; /* then with the one before */
    const char *call;            /* that posted it */
    bool is_library;             /* Amalgam did */
    MPI_Request real;            /* not of a send */
    bool is_done;                /* the real one is complete; */
    MPI_Status status;           /* with that, */
    int error;                   /* and that */
    bool was_cancelled;          /* asked for */
    unsigned denials;            /* tests that may still say "not yet" */
    /* Memory of the user until completion; NULL: not watched. */
    unsigned char *user;
    size_t len;
    uint64_t sum;          /* of outgoing bytes */
    bool is_shared;        /* another request has the memory, too */
    unsigned char *shadow; /* where incoming bytes arrive */
    MPI_Comm comm;
    int peer; /* rank, or MPI_ANY_SOURCE */
    int tag;  /* or MPI_ANY_TAG */
    struct strict_send *send;
    struct strict_access *access; /* to a window */
    MPI_Comm *user_comm;          /* MPI_Comm_idup() writes there when done, */
    MPI_Comm new_comm;            /* that */
};

struct strict_request *strict_request_new(enum strict_kind kind);
MPI_Request strict_request_handle(const struct strict_request *request);
/* NULL: a null handle, or one of the real MPI. */
struct strict_request *strict_request_of(MPI_Request handle);
/* Marks it as complete. */
void strict_request_done(
    struct strict_request *request, const MPI_Status *status, int error);
/* Whether it is complete. */
bool strict_request_peek(struct strict_request *request);
/* The user learns that it is complete: checks and fills its memory, and frees
 * it. Returns its error. */
int strict_request_finish(struct strict_request *request, MPI_Status *status);
void strict_request_drop(struct strict_request *request);
/* Waits for a real request of this call; others may enter. */
int strict_request_await(MPI_Request *real, MPI_Status *status);
/* At MPI_Finalize: all must be complete. */
void strict_request_check_all(void);
/* Active ones in posting order; NULL: the end. */
struct strict_request *strict_request_each(const struct strict_request *after);

/* Watches memory until completion: outgoing bytes must not change; incoming
 * ones arrive elsewhere (the return value, or `user` if not watched), and the
 * user's are filled with garbage meanwhile. */
void strict_watch_out(
    struct strict_request *request, const void *user, size_t len);
void *strict_watch_in(struct strict_request *request, void *user, size_t len);
/* When MPI has completed it, and when the user learns that. */
void strict_watch_out_end(struct strict_request *request);
void strict_watch_end(struct strict_request *request);
/* Bytes of `count` elements if they are contiguous; else -1. */
MPI_Aint strict_type_len(MPI_Datatype type, MPI_Aint count);
uint64_t strict_sum(const void *bytes, size_t len);

/* The status of no operation. */
void strict_status_empty(MPI_Status *status);

#endif
