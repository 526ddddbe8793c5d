/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a class, in a build with MPI. */
#include <stdio.h>
#include <string.h>

#include "amalgam.h"
#include "base/mem.h"
#include "ranks.h"

const char *ranks_transport(void)
{
    return "auto";
}

bool ranks_has_job(void)
{
    return true;
}

hg_class_t *ranks_open(const char *transport)
{
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    return amalgam_init(MPI_COMM_WORLD, transport, NULL);
}

bool ranks_close(hg_class_t *cls)
{
    bool is_done = cls != NULL && amalgam_finalize(cls) == HG_SUCCESS;

    MPI_Finalize();
    return is_done;
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

/* "MPICH Version:\t4.0.2\n..." */
static void library_learn(struct report *report)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len = 0;

    MPI_Get_library_version(version, &len);
    version[strcspn(version, "\n")] = '\0';
    for (char *tab = version; (tab = strchr(tab, '\t')) != NULL;)
        *tab = ' ';
    snprintf(report->library, sizeof(report->library), "%.*s",
        (int)sizeof(report->library) - 1, version);
}

static void node_own(MPI_Comm node, struct report_node *ret_own)
{
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int len = 0;
    int rank = 0;
    int size = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(node, &size);
    MPI_Get_processor_name(host, &len);
    *ret_own =
        (struct report_node){.first = (uint32_t)rank, .ranks = (uint32_t)size};
    snprintf(ret_own->host, sizeof(ret_own->host), "%.*s",
        (int)sizeof(ret_own->host) - 1, host);
}

/* Gathers the nodes at rank 0 from the first rank of each node. Does nothing if
 * rank 0 has no memory for the nodes. */
static void nodes_learn(struct report *report)
{
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm firsts = MPI_COMM_NULL;
    struct report_node own;
    int place = 0;
    int count = 0;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, report->rank,
        MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place);
    MPI_Comm_split(
        MPI_COMM_WORLD, place == 0 ? 0 : MPI_UNDEFINED, report->rank, &firsts);
    node_own(node, &own);
    MPI_Comm_free(&node);
    if (firsts == MPI_COMM_NULL)
        return;
    MPI_Comm_size(firsts, &count);
    if (report->rank == 0)
        report->nodes = amg_mem_zalloc((size_t)count * sizeof(own));
    report->node_count = report->nodes == NULL ? 0 : (uint32_t)count;
    count = report->rank != 0 || report->nodes != NULL;
    MPI_Bcast(&count, 1, MPI_INT, 0, firsts);
    if (count != 0)
        MPI_Gather(&own, sizeof(own), MPI_BYTE, report->nodes, sizeof(own),
            MPI_BYTE, 0, firsts);
    MPI_Comm_free(&firsts);
}

/* Rank 0 gets the lowest limits, and the most that any rank uses. */
static void limits_learn(struct report *report)
{
    struct limits *limits = &report->limits;
    const uint64_t own[] = {limits->locked, limits->files};
    const uint64_t own_used[] = {limits->locked_now, limits->files_open};
    uint64_t lowest[2];
    uint64_t used[2];

    MPI_Reduce(own, lowest, 2, MPI_UINT64_T, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(own_used, used, 2, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (report->rank != 0)
        return;
    limits->locked = lowest[0];
    limits->files = lowest[1];
    limits->locked_now = used[0];
    limits->files_open = used[1];
    limits->is_locking = used[0] > 0;
}

bool ranks_learn(struct report *report)
{
    int level = 0;

    report->size = 1;
    report->is_over_mpi = report->cls->domains[AMG_ROUTE_MPI] != NULL;
    if (!report->is_over_mpi)
        return true;
    amalgam_class_ranks(report->cls, &report->rank, &report->size);
    MPI_Query_thread(&level);
    report->thread_level = level_name(level);
    library_learn(report);
    limits_learn(report);
    nodes_learn(report);
    return report->rank != 0 || report->nodes != NULL;
}
