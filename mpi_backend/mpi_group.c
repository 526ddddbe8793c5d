/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a window of the program, as the domain calls them.
 *
 * They are translated many at a time: a call may walk over a whole group
 * (MPICH does where the order of ranks is not the world's). */
#include "mpi_backend/mpi_group.h"

#include "base/log.h"

void amg_mpi_group_init(struct amg_mpi_group *groups,
    const struct amg_mpi_domain *domain, MPI_Win win)
{
    MPI_Win_get_group(win, &groups->theirs);
    MPI_Comm_group(domain->comm.data, &groups->ours);
    MPI_Group_size(groups->theirs, &groups->size);
}

void amg_mpi_group_fini(struct amg_mpi_group *groups)
{
    MPI_Group_free(&groups->ours);
    MPI_Group_free(&groups->theirs);
}

int amg_mpi_group_here(const struct amg_mpi_group *groups, int first,
    int ret_here[AMG_MPI_GROUP_BLOCK])
{
    int left = groups->size - first;
    int count = left < AMG_MPI_GROUP_BLOCK ? left : AMG_MPI_GROUP_BLOCK;
    int ranks[AMG_MPI_GROUP_BLOCK];

    for (int i = 0; i < count; i++)
        ranks[i] = first + i;
    MPI_Group_translate_ranks(
        groups->theirs, count, ranks, groups->ours, ret_here);
    return count;
}

hg_return_t amg_mpi_group_check(const struct amg_mpi_group *groups)
{
    int here[AMG_MPI_GROUP_BLOCK];
    int found = 0;
    int count = 0;

    for (int first = 0; first < groups->size; first += count) {
        count = amg_mpi_group_here(groups, first, here);
        for (int i = 0; i < count; i++)
            found += here[i] != MPI_UNDEFINED;
    }
    if (found == groups->size)
        return HG_SUCCESS;
    AMG_LOG_ERROR("bulk",
        "%d of the %d ranks of the window are not in this class",
        groups->size - found, groups->size);
    return HG_ADDRNOTAVAIL;
}
