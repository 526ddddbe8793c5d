/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective calls. Those that block are made of those that do not, so that a
 * wait lets other ranks go on. */
#include "mpi/strict/strict_objects.h"
#include "mpi/strict/strict_request.h"
#include "mpi/strict/strict_send.h"

/* The calls' own arguments, then the real request. */
#define BLOCKING(name, real, parameters, arguments)                            \
    int name parameters                                                        \
    {                                                                          \
        MPI_Request wait = MPI_REQUEST_NULL;                                   \
        int rc = MPI_SUCCESS;                                                  \
        STRICT_ENTER();                                                        \
        strict_comm_check(comm);                                               \
        strict_flush();                                                        \
        strict_stall();                                                        \
        rc = real arguments;                                                   \
        if (rc == MPI_SUCCESS)                                                 \
            rc = strict_request_await(&wait, MPI_STATUS_IGNORE);               \
        strict_stall();                                                        \
        strict_leave();                                                        \
        return rc;                                                             \
    }

BLOCKING(MPI_Barrier, PMPI_Ibarrier, (MPI_Comm comm), (comm, &wait))
BLOCKING(MPI_Bcast, PMPI_Ibcast,
    (void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm),
    (bytes, count, type, root, comm, &wait))
BLOCKING(MPI_Allreduce, PMPI_Iallreduce,
    (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
        MPI_Comm comm),
    (in, out, count, type, op, comm, &wait))
BLOCKING(MPI_Reduce, PMPI_Ireduce,
    (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
        int root, MPI_Comm comm),
    (in, out, count, type, op, root, comm, &wait))
BLOCKING(MPI_Exscan, PMPI_Iexscan,
    (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
        MPI_Comm comm),
    (in, out, count, type, op, comm, &wait))
BLOCKING(MPI_Scan, PMPI_Iscan,
    (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
        MPI_Comm comm),
    (in, out, count, type, op, comm, &wait))
BLOCKING(MPI_Gather, PMPI_Igather,
    (const void *in, int in_count, MPI_Datatype in_type, void *out,
        int out_count, MPI_Datatype out_type, int root, MPI_Comm comm),
    (in, in_count, in_type, out, out_count, out_type, root, comm, &wait))
BLOCKING(MPI_Gatherv, PMPI_Igatherv,
    (const void *in, int in_count, MPI_Datatype in_type, void *out,
        const int *out_counts, const int *places, MPI_Datatype out_type,
        int root, MPI_Comm comm),
    (in, in_count, in_type, out, out_counts, places, out_type, root, comm,
        &wait))
BLOCKING(MPI_Scatter, PMPI_Iscatter,
    (const void *in, int in_count, MPI_Datatype in_type, void *out,
        int out_count, MPI_Datatype out_type, int root, MPI_Comm comm),
    (in, in_count, in_type, out, out_count, out_type, root, comm, &wait))
BLOCKING(MPI_Allgather, PMPI_Iallgather,
    (const void *in, int in_count, MPI_Datatype in_type, void *out,
        int out_count, MPI_Datatype out_type, MPI_Comm comm),
    (in, in_count, in_type, out, out_count, out_type, comm, &wait))
BLOCKING(MPI_Allgatherv, PMPI_Iallgatherv,
    (const void *in, int in_count, MPI_Datatype in_type, void *out,
        const int *out_counts, const int *places, MPI_Datatype out_type,
        MPI_Comm comm),
    (in, in_count, in_type, out, out_counts, places, out_type, comm, &wait))
BLOCKING(MPI_Alltoall, PMPI_Ialltoall,
    (const void *in, int in_count, MPI_Datatype in_type, void *out,
        int out_count, MPI_Datatype out_type, MPI_Comm comm),
    (in, in_count, in_type, out, out_count, out_type, comm, &wait))

/* A request of a collective call: `start` has the real one. */
#define STARTING(name, parameters, arguments)                                  \
    int name parameters                                                        \
    {                                                                          \
        struct strict_request *made = NULL;                                    \
        int rc = MPI_SUCCESS;                                                  \
        STRICT_ENTER();                                                        \
        strict_comm_check(comm);                                               \
        rc = strict_comm_fails(comm);                                          \
        if (rc == MPI_SUCCESS) {                                               \
            strict_stall();                                                    \
            made = strict_request_new(STRICT_COLL);                            \
            rc = P##name arguments;                                            \
            if (rc == MPI_SUCCESS)                                             \
                *request = strict_request_handle(made);                        \
            else                                                               \
                strict_request_drop(made);                                     \
        }                                                                      \
        strict_leave();                                                        \
        return rc;                                                             \
    }

STARTING(
    MPI_Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, &made->real))
STARTING(MPI_Ibcast,
    (void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm,
        MPI_Request *request),
    (bytes, count, type, root, comm, &made->real))
STARTING(MPI_Iallreduce,
    (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
        MPI_Comm comm, MPI_Request *request),
    (in, out, count, type, op, comm, &made->real))
STARTING(MPI_Ireduce,
    (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
        int root, MPI_Comm comm, MPI_Request *request),
    (in, out, count, type, op, root, comm, &made->real))
STARTING(MPI_Iexscan,
    (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
        MPI_Comm comm, MPI_Request *request),
    (in, out, count, type, op, comm, &made->real))
STARTING(MPI_Iallgather,
    (const void *in, int in_count, MPI_Datatype in_type, void *out,
        int out_count, MPI_Datatype out_type, MPI_Comm comm,
        MPI_Request *request),
    (in, in_count, in_type, out, out_count, out_type, comm, &made->real))
STARTING(MPI_Igather,
    (const void *in, int in_count, MPI_Datatype in_type, void *out,
        int out_count, MPI_Datatype out_type, int root, MPI_Comm comm,
        MPI_Request *request),
    (in, in_count, in_type, out, out_count, out_type, root, comm, &made->real))

/* The new communicator must not be used before completion, so the user gets it
 * only then. */
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *ret_comm, MPI_Request *request)
{
    struct strict_request *made = NULL;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    strict_comm_check(comm);
    rc = strict_comm_fails(comm);
    if (rc == MPI_SUCCESS) {
        strict_stall();
        made = strict_request_new(STRICT_COLL);
        made->comm = comm;
        made->user_comm = ret_comm;
        rc = PMPI_Comm_idup(comm, &made->new_comm, &made->real);
        if (rc == MPI_SUCCESS) {
            *ret_comm = MPI_COMM_NULL;
            *request = strict_request_handle(made);
        } else {
            made->user_comm = NULL;
            strict_request_drop(made);
        }
    }
    strict_leave();
    return rc;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *ret_comm)
{
    MPI_Request wait = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    strict_flush();
    strict_stall();
    rc = PMPI_Comm_idup(comm, ret_comm, &wait);
    if (rc == MPI_SUCCESS)
        rc = strict_request_await(&wait, MPI_STATUS_IGNORE);
    strict_stall();
    if (rc == MPI_SUCCESS)
        strict_comm_made(*ret_comm, comm, strict_call(), strict_is_library());
    strict_leave();
    return rc;
}
