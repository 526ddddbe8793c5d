/* SPDX-License-Identifier: BSD-3-Clause */
/* What amalgam_info says of ranks in a build with MPI. */
#include <stdio.h>
#include <string.h>

#include "amalgam.h"
#include "ranks.h"

const char *ranks_transport(void)
{
    return "auto";
}

static int is_over_mpi(const hg_class_t *cls)
{
    return strcmp(HG_Class_get_name(cls), "mpi") == 0;
}

int ranks_own(hg_class_t *cls)
{
    int rank = 0;

    if (is_over_mpi(cls))
        amalgam_class_ranks(cls, &rank, NULL);
    return rank;
}

static const char *level_name(int level)
{
    switch (level) {
    case MPI_THREAD_SINGLE:
        return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
        return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
        return "MPI_THREAD_SERIALIZED";
    default:
        return "MPI_THREAD_MULTIPLE";
    }
}

/* How many there are: each has one rank that is the first of its node. */
static int count_nodes(void)
{
    MPI_Comm node = MPI_COMM_NULL;
    int place = 0;
    int is_first = 0;
    int count = 0;

    MPI_Comm_split_type(
        MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place);
    MPI_Comm_free(&node);
    is_first = place == 0;
    MPI_Allreduce(&is_first, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return count;
}

void ranks_print(hg_class_t *cls)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int version_len = 0;
    int nodes = 0;
    int level = 0;
    int rank = 0;
    int size = 0;

    if (!is_over_mpi(cls)) {
        puts("  ranks              1: not over MPI");
        return;
    }
    nodes = count_nodes();
    amalgam_class_ranks(cls, &rank, &size);
    MPI_Query_thread(&level);
    MPI_Get_library_version(version, &version_len);
    if (rank != 0)
        return;
    /* "MPICH Version:\t4.0.2\n..." */
    version[strcspn(version, "\n")] = '\0';
    for (char *tab = version; (tab = strchr(tab, '\t')) != NULL;)
        *tab = ' ';
    printf("  ranks              %d\n", size);
    printf("  nodes              %d, as MPI sees them\n", nodes);
    printf("  thread level       %s\n", level_name(level));
    printf("  library            %s\n", version);
}
