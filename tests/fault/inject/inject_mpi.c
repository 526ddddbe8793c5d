/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on demand: stand-ins for calls of MPI, by its profiling interface. A
 * call that fails has done nothing, and its request is not valid. */
#include <mpi.h>

#include "fault/inject/inject.h"

#define NEXT(call, function)                                                   \
    ((__typeof__(&(function)))inject_next((call), #function))

int MPI_Accumulate(const void *bytes, int count, MPI_Datatype type, int rank,
    MPI_Aint at, int there_count, MPI_Datatype there_type, MPI_Op op,
    MPI_Win window)
{
    int code = INJECT_CODE(INJECT_MPI_ACCUMULATE);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_ACCUMULATE, MPI_Accumulate)(
        bytes, count, type, rank, at, there_count, there_type, op, window);
}

int MPI_Comm_create_group(
    MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *ret_comm)
{
    int code = INJECT_CODE(INJECT_MPI_COMM_CREATE_GROUP);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_COMM_CREATE_GROUP, MPI_Comm_create_group)(
        comm, group, tag, ret_comm);
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *ret_comm, MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_COMM_IDUP);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_COMM_IDUP, MPI_Comm_idup)(comm, ret_comm, request);
}

int MPI_Fetch_and_op(const void *bytes, void *ret_bytes, MPI_Datatype type,
    int rank, MPI_Aint at, MPI_Op op, MPI_Win window)
{
    int code = INJECT_CODE(INJECT_MPI_FETCH_AND_OP);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_FETCH_AND_OP, MPI_Fetch_and_op)(
        bytes, ret_bytes, type, rank, at, op, window);
}

int MPI_Iallreduce(const void *bytes, void *ret_bytes, int count,
    MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_IALLREDUCE);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_IALLREDUCE, MPI_Iallreduce)(
        bytes, ret_bytes, count, type, op, comm, request);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_IBARRIER);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_IBARRIER, MPI_Ibarrier)(comm, request);
}

int MPI_Iexscan(const void *bytes, void *ret_bytes, int count,
    MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_IEXSCAN);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_IEXSCAN, MPI_Iexscan)(
        bytes, ret_bytes, count, type, op, comm, request);
}

int MPI_Improbe(int rank, int tag, MPI_Comm comm, int *flag,
    MPI_Message *ret_message, MPI_Status *status)
{
    int code = INJECT_CODE(INJECT_MPI_IMPROBE);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_IMPROBE, MPI_Improbe)(
        rank, tag, comm, flag, ret_message, status);
}

int MPI_Imrecv(void *bytes, int count, MPI_Datatype type, MPI_Message *message,
    MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_IMRECV);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_IMRECV, MPI_Imrecv)(
        bytes, count, type, message, request);
}

int MPI_Iprobe(int rank, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    int code = INJECT_CODE(INJECT_MPI_IPROBE);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_IPROBE, MPI_Iprobe)(rank, tag, comm, flag, status);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_IRECV);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_IRECV, MPI_Irecv)(
        bytes, count, type, rank, tag, comm, request);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int rank,
    int tag, MPI_Comm comm, MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_ISEND);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_ISEND, MPI_Isend)(
        bytes, count, type, rank, tag, comm, request);
}

int MPI_Raccumulate(const void *bytes, int count, MPI_Datatype type, int rank,
    MPI_Aint at, int there_count, MPI_Datatype there_type, MPI_Op op,
    MPI_Win window, MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_RACCUMULATE);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_RACCUMULATE, MPI_Raccumulate)(bytes, count, type,
        rank, at, there_count, there_type, op, window, request);
}

int MPI_Rget(void *bytes, int count, MPI_Datatype type, int rank, MPI_Aint at,
    int there_count, MPI_Datatype there_type, MPI_Win window,
    MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_RGET);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_RGET, MPI_Rget)(
        bytes, count, type, rank, at, there_count, there_type, window, request);
}

int MPI_Rget_accumulate(const void *bytes, int count, MPI_Datatype type,
    void *ret_bytes, int ret_count, MPI_Datatype ret_type, int rank,
    MPI_Aint at, int there_count, MPI_Datatype there_type, MPI_Op op,
    MPI_Win window, MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_RGET_ACCUMULATE);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_RGET_ACCUMULATE, MPI_Rget_accumulate)(bytes, count,
        type, ret_bytes, ret_count, ret_type, rank, at, there_count, there_type,
        op, window, request);
}

int MPI_Rput(const void *bytes, int count, MPI_Datatype type, int rank,
    MPI_Aint at, int there_count, MPI_Datatype there_type, MPI_Win window,
    MPI_Request *request)
{
    int code = INJECT_CODE(INJECT_MPI_RPUT);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_RPUT, MPI_Rput)(
        bytes, count, type, rank, at, there_count, there_type, window, request);
}

int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype *ret_type)
{
    int code = INJECT_CODE(INJECT_MPI_TYPE_CONTIGUOUS);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_TYPE_CONTIGUOUS, MPI_Type_contiguous)(
        count, type, ret_type);
}

int MPI_Win_attach(MPI_Win window, void *base, MPI_Aint len)
{
    int code = INJECT_CODE(INJECT_MPI_WIN_ATTACH);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_WIN_ATTACH, MPI_Win_attach)(window, base, len);
}

int MPI_Win_create(void *base, MPI_Aint len, int unit, MPI_Info info,
    MPI_Comm comm, MPI_Win *ret_window)
{
    int code = INJECT_CODE(INJECT_MPI_WIN_CREATE);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_WIN_CREATE, MPI_Win_create)(
        base, len, unit, info, comm, ret_window);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *ret_window)
{
    int code = INJECT_CODE(INJECT_MPI_WIN_CREATE_DYNAMIC);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_WIN_CREATE_DYNAMIC, MPI_Win_create_dynamic)(
        info, comm, ret_window);
}

int MPI_Win_flush(int rank, MPI_Win window)
{
    int code = INJECT_CODE(INJECT_MPI_WIN_FLUSH);

    if (code != 0)
        return code;
    return NEXT(INJECT_MPI_WIN_FLUSH, MPI_Win_flush)(rank, window);
}
