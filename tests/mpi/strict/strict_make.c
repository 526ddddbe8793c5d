/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that make or free an object. */
#include <mpi.h>

#include "mpi/strict/strict_objects.h"
#include "mpi/strict/strict_request.h"
#include "mpi/strict/strict_send.h"
#include "mpi/strict/strict_token.h"

/* MAKING(MPI_Type_commit_like, STRICT_TYPE, (parameters), (arguments)): the new
 * handle is where `made` points. */
#define MAKING(name, thing, parameters, arguments)                             \
    int name parameters                                                        \
    {                                                                          \
        int rc = MPI_SUCCESS;                                                  \
        STRICT_ENTER();                                                        \
        rc = P##name arguments;                                                \
        if (rc == MPI_SUCCESS)                                                 \
            strict_object_add(thing, STRICT_HANDLE(*made));                    \
        strict_leave();                                                        \
        return rc;                                                             \
    }

/* What still uses it must have reached the real MPI before. */
#define FREEING(name, thing, type)                                             \
    int name(type *handle)                                                     \
    {                                                                          \
        int rc = MPI_SUCCESS;                                                  \
        STRICT_ENTER();                                                        \
        strict_flush();                                                        \
        strict_object_remove(thing, STRICT_HANDLE(*handle));                   \
        rc = P##name(handle);                                                  \
        strict_leave();                                                        \
        return rc;                                                             \
    }

/* Waits for other ranks. */
#define MEETING(name, parent, parameters, arguments)                           \
    int name parameters                                                        \
    {                                                                          \
        unsigned depth = 0;                                                    \
        int rc = MPI_SUCCESS;                                                  \
        STRICT_ENTER();                                                        \
        strict_flush();                                                        \
        strict_stall();                                                        \
        depth = strict_meet_open(parent);                                      \
        rc = P##name arguments;                                                \
        strict_meet_close(depth);                                              \
        strict_stall();                                                        \
        if (rc == MPI_SUCCESS)                                                 \
            strict_comm_made(                                                  \
                *made, parent, strict_call(), strict_is_library());            \
        strict_leave();                                                        \
        return rc;                                                             \
    }

MEETING(MPI_Comm_split, comm,
    (MPI_Comm comm, int color, int key, MPI_Comm *made),
    (comm, color, key, made))
MEETING(MPI_Comm_split_type, comm,
    (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
    (comm, type, key, info, made))
MEETING(MPI_Comm_create, comm, (MPI_Comm comm, MPI_Group group, MPI_Comm *made),
    (comm, group, made))
MEETING(MPI_Intercomm_merge, comm, (MPI_Comm comm, int high, MPI_Comm *made),
    (comm, high, made))

FREEING(MPI_Comm_free, STRICT_COMM, MPI_Comm)
FREEING(MPI_Comm_disconnect, STRICT_COMM, MPI_Comm)
FREEING(MPI_Group_free, STRICT_GROUP, MPI_Group)
FREEING(MPI_Type_free, STRICT_TYPE, MPI_Datatype)
FREEING(MPI_Op_free, STRICT_OP, MPI_Op)
FREEING(MPI_Info_free, STRICT_INFO, MPI_Info)
FREEING(MPI_Errhandler_free, STRICT_ERRHANDLER, MPI_Errhandler)
FREEING(MPI_Comm_free_keyval, STRICT_KEYVAL, int)

MAKING(MPI_Comm_group, STRICT_GROUP, (MPI_Comm comm, MPI_Group *made),
    (comm, made))
MAKING(MPI_Comm_remote_group, STRICT_GROUP, (MPI_Comm comm, MPI_Group *made),
    (comm, made))
MAKING(MPI_Win_get_group, STRICT_GROUP, (MPI_Win win, MPI_Group *made),
    (win, made))
MAKING(MPI_Op_create, STRICT_OP,
    (MPI_User_function * fn, int commute, MPI_Op *made), (fn, commute, made))
MAKING(MPI_Info_create, STRICT_INFO, (MPI_Info * made), (made))
MAKING(MPI_Info_dup, STRICT_INFO, (MPI_Info info, MPI_Info *made), (info, made))
MAKING(MPI_Comm_create_errhandler, STRICT_ERRHANDLER,
    (MPI_Comm_errhandler_function * fn, MPI_Errhandler *made), (fn, made))
MAKING(MPI_Comm_get_errhandler, STRICT_ERRHANDLER,
    (MPI_Comm comm, MPI_Errhandler *made), (comm, made))
MAKING(MPI_Win_get_errhandler, STRICT_ERRHANDLER,
    (MPI_Win win, MPI_Errhandler *made), (win, made))
MAKING(MPI_Comm_create_keyval, STRICT_KEYVAL,
    (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function *gone,
        int *made, void *extra),
    (copy, gone, made, extra))

MAKING(MPI_Type_dup, STRICT_TYPE, (MPI_Datatype old, MPI_Datatype *made),
    (old, made))
MAKING(MPI_Type_contiguous, STRICT_TYPE,
    (int count, MPI_Datatype old, MPI_Datatype *made), (count, old, made))
MAKING(MPI_Type_vector, STRICT_TYPE,
    (int count, int len, int stride, MPI_Datatype old, MPI_Datatype *made),
    (count, len, stride, old, made))
MAKING(MPI_Type_create_hvector, STRICT_TYPE,
    (int count, int len, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made),
    (count, len, stride, old, made))
MAKING(MPI_Type_indexed, STRICT_TYPE,
    (int count, const int *lens, const int *at, MPI_Datatype old,
        MPI_Datatype *made),
    (count, lens, at, old, made))
MAKING(MPI_Type_create_hindexed, STRICT_TYPE,
    (int count, const int *lens, const MPI_Aint *at, MPI_Datatype old,
        MPI_Datatype *made),
    (count, lens, at, old, made))
MAKING(MPI_Type_create_indexed_block, STRICT_TYPE,
    (int count, int len, const int *at, MPI_Datatype old, MPI_Datatype *made),
    (count, len, at, old, made))
MAKING(MPI_Type_create_hindexed_block, STRICT_TYPE,
    (int count, int len, const MPI_Aint *at, MPI_Datatype old,
        MPI_Datatype *made),
    (count, len, at, old, made))
MAKING(MPI_Type_create_struct, STRICT_TYPE,
    (int count, const int *lens, const MPI_Aint *at, const MPI_Datatype *types,
        MPI_Datatype *made),
    (count, lens, at, types, made))
MAKING(MPI_Type_create_resized, STRICT_TYPE,
    (MPI_Datatype old, MPI_Aint low, MPI_Aint extent, MPI_Datatype *made),
    (old, low, extent, made))
MAKING(MPI_Type_create_subarray, STRICT_TYPE,
    (int dims, const int *sizes, const int *parts, const int *starts, int order,
        MPI_Datatype old, MPI_Datatype *made),
    (dims, sizes, parts, starts, order, old, made))
MAKING(MPI_Type_create_darray, STRICT_TYPE,
    (int size, int rank, int dims, const int *sizes, const int *ways,
        const int *args, const int *procs, int order, MPI_Datatype old,
        MPI_Datatype *made),
    (size, rank, dims, sizes, ways, args, procs, order, old, made))

/* A group may be the empty one, which is nobody's. */
int MPI_Group_incl(
    MPI_Group group, int count, const int *ranks, MPI_Group *made)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = PMPI_Group_incl(group, count, ranks, made);
    if (rc == MPI_SUCCESS && *made != MPI_GROUP_EMPTY)
        strict_object_add(STRICT_GROUP, STRICT_HANDLE(*made));
    strict_leave();
    return rc;
}

/* The types of the contents are new handles, but for those that MPI has. */
int MPI_Type_get_contents(MPI_Datatype type, int ints, int addresses, int types,
    int *ret_ints, MPI_Aint *ret_addresses, MPI_Datatype *ret_types)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = PMPI_Type_get_contents(
        type, ints, addresses, types, ret_ints, ret_addresses, ret_types);
    for (int i = 0; rc == MPI_SUCCESS && i < types; i++) {
        int counts[3];
        int combiner = MPI_COMBINER_NAMED;

        (void)PMPI_Type_get_envelope(
            ret_types[i], &counts[0], &counts[1], &counts[2], &combiner);
        if (combiner != MPI_COMBINER_NAMED)
            strict_object_add(STRICT_TYPE, STRICT_HANDLE(ret_types[i]));
    }
    strict_leave();
    return rc;
}

int MPI_Comm_create_group(
    MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
    unsigned depth = 0;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    strict_flush();
    strict_stall();
    depth = strict_meet_open_group(group);
    rc = PMPI_Comm_create_group(comm, group, tag, made);
    strict_meet_close(depth);
    strict_stall();
    if (rc == MPI_SUCCESS)
        strict_comm_made(*made, comm, strict_call(), strict_is_library());
    strict_leave();
    return rc;
}

int MPI_Intercomm_create(MPI_Comm comm, int leader, MPI_Comm peers,
    int far_leader, int tag, MPI_Comm *made)
{
    unsigned depth = 0;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    strict_flush();
    depth = strict_meet_open(peers);
    rc = PMPI_Intercomm_create(comm, leader, peers, far_leader, tag, made);
    strict_meet_close(depth);
    if (rc == MPI_SUCCESS)
        strict_comm_made(*made, comm, strict_call(), strict_is_library());
    strict_leave();
    return rc;
}
