/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of ranks from groups of MPI, and reductions by operations of MPI. */
#include "amalgam.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_api/layout.h"
#include "mpi_backend/mpi_public.h"
#include "rpc/group.h"

/* Until calls_end() this thread may call MPI, and an error runs no handler of
 * the program. */
static hg_return_t calls_begin(const hg_class_t *cls)
{
    hg_return_t rc = HG_OPNOTSUPPORTED;

    if (cls->domains[AMG_ROUTE_MPI] == NULL)
        AMG_LOG_ERROR("mpi", "this class is not over MPI: its groups and "
                             "reductions cannot be those of MPI");
    else
        rc = amg_mpi_calls_lock(cls->domains[AMG_ROUTE_MPI]);
    if (rc == HG_SUCCESS)
        amg_mpi_handlers_put_aside();
    return rc;
}

static void calls_end(const hg_class_t *cls)
{
    amg_mpi_handlers_put_back();
    amg_mpi_calls_unlock(cls->domains[AMG_ROUTE_MPI]);
}

/* Reads a group as ranks of the class, or MPI_UNDEFINED. The caller frees the
 * ranks. */
static hg_return_t group_read(
    const hg_class_t *cls, MPI_Group theirs, int **ret_ranks, int *ret_count)
{
    MPI_Group ours = MPI_GROUP_NULL;
    size_t count = 0;
    int *ranks = NULL;
    int err = MPI_Group_size(theirs, ret_count);

    if (err == MPI_SUCCESS)
        err = MPI_Comm_group(amg_mpi_comm(cls->domains[AMG_ROUTE_MPI]), &ours);
    if (err != MPI_SUCCESS)
        return amg_mpi_comm_error(err, "reading the group");
    count = (size_t)*ret_count;
    ranks = amg_mem_alloc((2 * count + 1) * sizeof(*ranks));
    if (ranks != NULL) {
        for (size_t i = 0; i < count; i++)
            ranks[count + i] = (int)i;
        err = MPI_Group_translate_ranks(
            theirs, *ret_count, ranks + count, ours, ranks);
    }
    MPI_Group_free(&ours);
    *ret_ranks = ranks;
    return ranks == NULL        ? HG_NOMEM
           : err == MPI_SUCCESS ? HG_SUCCESS
                                : amg_mpi_comm_error(err, "reading the group");
}

hg_return_t amalgam_group_create(
    hg_class_t *hg_class, MPI_Group mpi_group, amalgam_group_t *group)
{
    int *ranks = NULL;
    int count = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(group) ||
        !AMG_CONTRACT(
            mpi_group != MPI_GROUP_NULL, "mpi_group is MPI_GROUP_NULL"))
        return amg_refusal();
    rc = calls_begin(hg_class);
    if (rc != HG_SUCCESS)
        return rc;
    rc = group_read(hg_class, mpi_group, &ranks, &count);
    calls_end(hg_class);
    for (int i = 0; rc == HG_SUCCESS && i < count; i++)
        if (ranks[i] == MPI_UNDEFINED) {
            AMG_LOG_ERROR("mpi",
                "process %d of the group is not in the class's communicator",
                i);
            rc = HG_ADDRNOTAVAIL;
        }
    if (rc == HG_SUCCESS)
        rc = amalgam_group_create_ranks(hg_class, ranks, (size_t)count, group);
    amg_mem_free(ranks);
    return rc;
}

/* A reduction by MPI; a copy is with the RPC. */
struct operation {
    const struct amg_domain *domain;
    MPI_Op op;
    MPI_Datatype type;
    int count;
};

static hg_return_t operation_fold(
    const void *from_out, void *inout_out, void *arg)
{
    const struct operation *operation = arg;
    int err = MPI_SUCCESS;
    hg_return_t rc = amg_mpi_calls_lock(operation->domain);

    if (rc != HG_SUCCESS)
        return rc;
    err = MPI_Reduce_local(
        from_out, inout_out, operation->count, operation->type, operation->op);
    amg_mpi_calls_unlock(operation->domain);
    return err == MPI_SUCCESS ? HG_SUCCESS
                              : amg_mpi_comm_error(err, "MPI_Reduce_local");
}

/* Has MPI check operation and type, by a reduction of no elements, and sets
 * length and flags of the reduction. */
static hg_return_t operation_check(
    const struct operation *operation, struct amg_group_reduce *reduce)
{
    MPI_Aint extent = 0;
    MPI_Aint low = 0;
    MPI_Aint len = 0;
    int is_commutative = 0;
    char none[2] = "";
    int err =
        MPI_Reduce_local(&none[0], &none[1], 0, operation->type, operation->op);

    if (err != MPI_SUCCESS) {
        (void)amg_mpi_comm_error(
            err, "a reduction by this operation and type (is it committed?)");
        return HG_INVALID_ARG;
    }
    MPI_Op_commutative(operation->op, &is_commutative);
    MPI_Type_get_true_extent(operation->type, &low, &len);
    extent = amg_mpi_api_type_extent(operation->type);
    if (low < 0 || len <= 0 || len > extent - low ||
        extent > PTRDIFF_MAX / operation->count) {
        AMG_LOG_ERROR("mpi",
            "outputs cannot be folded by a type whose elements of %lld bytes "
            "begin at byte %lld and are %lld bytes apart",
            (long long)len, (long long)low, (long long)extent);
        return HG_INVALID_ARG;
    }
    reduce->out_len = (size_t)extent * (size_t)operation->count;
    reduce->flags = is_commutative ? 0 : AMALGAM_REDUCE_ORDERED;
    return HG_SUCCESS;
}

hg_return_t amalgam_register_reduce_op(
    hg_class_t *hg_class, hg_id_t id, MPI_Op op, MPI_Datatype type, int count)
{
    struct operation operation = {.op = op, .type = type, .count = count};
    struct amg_group_reduce reduce = {
        .fold = operation_fold, .arg = &operation};
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) ||
        !AMG_CONTRACT(count > 0, "%d elements are no output", count))
        return amg_refusal();
    rc = calls_begin(hg_class);
    if (rc != HG_SUCCESS)
        return rc;
    operation.domain = hg_class->domains[AMG_ROUTE_MPI];
    rc = operation_check(&operation, &reduce);
    calls_end(hg_class);
    return rc == HG_SUCCESS
               ? amg_group_reduce_set(hg_class, id, &reduce, sizeof(operation))
               : rc;
}
