/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of ranks from groups of MPI. */
#include "amalgam.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/class.h"
#include "mpi_backend/mpi_public.h"

enum { TRANSLATE_MAX = 1024 }; /* ranks that MPI translates at a time */

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

static hg_return_t mpi_error(const char *what, int err, hg_return_t rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;

    MPI_Error_string(err, text, &len);
    AMG_LOG_ERROR("mpi", "%s; MPI: %s", what, text);
    return rc;
}

/* Writes the ranks that `count` processes of `theirs` have in `ours`. */
static hg_return_t ranks_translate(
    MPI_Group theirs, MPI_Group ours, int count, int *ret_ranks)
{
    int places[TRANSLATE_MAX];

    for (int at = 0; at < count; at += TRANSLATE_MAX) {
        int some = count - at < TRANSLATE_MAX ? count - at : TRANSLATE_MAX;
        int err = MPI_SUCCESS;

        for (int i = 0; i < some; i++)
            places[i] = at + i;
        err = MPI_Group_translate_ranks(
            theirs, some, places, ours, ret_ranks + at);
        if (err != MPI_SUCCESS)
            return mpi_error("the group cannot be read", err, HG_NA_ERROR);
        for (int i = at; i < at + some; i++)
            if (ret_ranks[i] == MPI_UNDEFINED) {
                AMG_LOG_ERROR("mpi",
                    "process %d of the group is not in the class's "
                    "communicator",
                    i);
                return HG_ADDRNOTAVAIL;
            }
    }
    return HG_SUCCESS;
}

/* Reads a group as ranks of the class. The caller frees the ranks. */
static hg_return_t group_read(
    const hg_class_t *cls, MPI_Group theirs, int **ret_ranks, int *ret_count)
{
    MPI_Group ours = MPI_GROUP_NULL;
    hg_return_t rc = HG_NOMEM;
    int err = MPI_Group_size(theirs, ret_count);

    if (err == MPI_SUCCESS)
        err = MPI_Comm_group(amg_mpi_comm(cls->domains[AMG_ROUTE_MPI]), &ours);
    if (err != MPI_SUCCESS)
        return mpi_error("the group cannot be read", err, HG_NA_ERROR);
    *ret_ranks = amg_mem_alloc(((size_t)*ret_count + 1) * sizeof(**ret_ranks));
    if (*ret_ranks != NULL)
        rc = ranks_translate(theirs, ours, *ret_count, *ret_ranks);
    MPI_Group_free(&ours);
    return rc;
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
    if (rc == HG_SUCCESS)
        rc = amalgam_group_create_ranks(hg_class, ranks, (size_t)count, group);
    amg_mem_free(ranks);
    return rc;
}
