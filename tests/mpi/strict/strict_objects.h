/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of MPI that the user must free, and what is known of communicators.
 */
#ifndef TESTS_MPI_STRICT_STRICT_OBJECTS_H
#define TESTS_MPI_STRICT_STRICT_OBJECTS_H

#include "mpi/strict/strict_core.h"

enum strict_thing {
    STRICT_COMM,
    STRICT_GROUP,
    STRICT_TYPE,
    STRICT_OP,
    STRICT_INFO,
    STRICT_WINDOW,
    STRICT_ERRHANDLER,
    STRICT_KEYVAL,
    STRICT_MESSAGE, /* of a matching probe */
};

/* The bits of a handle. */
uint64_t strict_handle(const void *handle, size_t len);
#define STRICT_HANDLE(handle) strict_handle(&(handle), sizeof(handle))

/* This thread's call has made one, or is about to free one. */
void strict_object_add(enum strict_thing thing, uint64_t handle);
void strict_object_remove(enum strict_thing thing, uint64_t handle);
/* At MPI_Finalize: all must be freed. */
void strict_object_check_all(void);

/* A communicator was made of `parent`, by `call`. */
void strict_comm_made(
    MPI_Comm comm, MPI_Comm parent, const char *call, bool is_library);
/* Somebody receives or probes any tag. */
void strict_comm_set_wild(MPI_Comm comm);
bool strict_comm_is_wild(MPI_Comm comm);
/* Where errors of a call of Amalgam go must not be the end of the process. */
void strict_comm_check(MPI_Comm comm);
void strict_window_check(MPI_Win window);
/* The code by which this call of Amalgam is to fail, or MPI_SUCCESS. */
int strict_comm_fails(MPI_Comm comm);
int strict_window_fails(MPI_Win window);
/* How many did, since the last seed. */
int strict_failed(void);
void strict_failed_reseed(void);

#endif
