/* SPDX-License-Identifier: BSD-3-Clause */
/* Searches a graph that is spread over all ranks, and finds out when the search
 * is over.
 *
 * Each rank has a part of the vertices. A visit to a vertex is a one-way call
 * to the rank that has the vertex. Its handler notes the distance from the
 * start, and visits the neighbours in turn: it makes further calls, to any
 * ranks, and waits for none.
 *
 * So no rank can tell from its own calls when the search is over: a rank with
 * nothing to do may be visited again at any time. All ranks call
 * amalgam_quiesce(). It runs handlers, and returns when no call is under way in
 * the whole class, and no handler runs that could make one.
 *
 * Visits come in any order, so the first one to a vertex need not be on the
 * shortest way. A handler therefore visits the neighbours whenever its visit
 * was on a shorter way than all before. At the end of all visits the distances
 * are right, which each rank checks by a search of its own. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "mercury_macros.h"

enum { VERTICES_PER_RANK = 500, NEIGHBOURS = 2, TIMEOUT_MS = 40000 };

MERCURY_GEN_PROC(visit_t, ((int32_t)(vertex))((int32_t)(distance)))

/* The search at one rank, which has the vertices rank, rank + ranks, ... */
struct search {
    struct job job;
    hg_id_t visit_id;
    int vertices; /* of all ranks */
    /* Of each vertex of this rank; INT_MAX: not visited. Only handlers write
     * here: no two of a context run at a time, so no lock is needed. */
    int distances[VERTICES_PER_RANK];
};

/* A rank computes the neighbours of any vertex, instead of storing them. */
static int neighbour(const struct search *search, int vertex, int which)
{
    return (which == 0 ? vertex + 1 : 2 * vertex) % search->vertices;
}

/* Runs when a call has left: it may still be on its way. */
static hg_return_t visit_left(const struct hg_cb_info *info)
{
    job_check(info->ret, "a visit");
    return HG_SUCCESS;
}

/* Calls the rank that has the vertex, which may be this rank. If the other rank
 * has no room for further calls, the library keeps this call until there is
 * room. A handler must not wait for that: the handlers of the other rank may
 * wait for room at this rank. */
static void visit_send(const struct search *search, hg_context_t *context,
    int vertex, int distance)
{
    const struct job *job = &search->job;
    visit_t in = {vertex, distance};
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t owner = HG_ADDR_NULL;

    job_check(amalgam_addr_rank(job->hg_class, vertex % job->ranks, &owner),
        "amalgam_addr_rank");
    job_check(
        HG_Create(context, owner, search->visit_id, &handle), "HG_Create");
    job_check(HG_Forward(handle, visit_left, NULL, &in), "HG_Forward");
    job_check(HG_Destroy(handle), "HG_Destroy");
    job_check(HG_Addr_free(job->hg_class, owner), "HG_Addr_free");
}

/* Runs at the rank that has the vertex. A thread of the library may run this
 * handler before job_begin() has set job.context here, so the context is that
 * of the call. */
static hg_return_t visit(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct search *search = HG_Registered_data(info->hg_class, info->id);
    int *distance = NULL;
    visit_t in;

    job_check(HG_Get_input(handle, &in), "HG_Get_input");
    distance = &search->distances[in.vertex / search->job.ranks];
    if (in.distance < *distance) {
        *distance = in.distance;
        for (int i = 0; i < NEIGHBOURS; i++)
            visit_send(search, info->context, neighbour(search, in.vertex, i),
                in.distance + 1);
    }
    job_check(HG_Free_input(handle, &in), "HG_Free_input");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

/* Searches the whole graph here, and compares this rank's part. */
static void distances_compare(const struct search *search)
{
    int *distances = malloc((size_t)search->vertices * sizeof(*distances));
    int *queue = malloc((size_t)search->vertices * sizeof(*queue));
    int count = 1;

    if (distances == NULL || queue == NULL)
        job_fail("no memory for %d vertices", search->vertices);
    for (int i = 0; i < search->vertices; i++)
        distances[i] = INT_MAX;
    distances[0] = 0;
    queue[0] = 0;
    for (int first = 0; first < count; first++)
        for (int i = 0; i < NEIGHBOURS; i++) {
            int next = neighbour(search, queue[first], i);

            if (distances[next] != INT_MAX)
                continue;
            distances[next] = distances[queue[first]] + 1;
            queue[count++] = next;
        }
    for (int i = 0; i < VERTICES_PER_RANK; i++) {
        int vertex = i * search->job.ranks + search->job.rank;

        if (search->distances[i] != distances[vertex])
            job_fail("vertex %d: distance %d where %d is right", vertex,
                search->distances[i], distances[vertex]);
    }
    free(distances);
    free(queue);
}

int main(int argc, char **argv)
{
    static struct search search;
    struct job *job = &search.job;

    job_open(&argc, &argv, 0, job);
    search.vertices = job->ranks * VERTICES_PER_RANK;
    for (int i = 0; i < VERTICES_PER_RANK; i++)
        search.distances[i] = INT_MAX;
    search.visit_id =
        MERCURY_REGISTER(job->hg_class, "visit", visit_t, void, visit);
    if (search.visit_id == 0)
        job_fail("MERCURY_REGISTER: the lines above say why");
    job_check(
        HG_Registered_disable_response(job->hg_class, search.visit_id, HG_TRUE),
        "HG_Registered_disable_response");
    job_check(HG_Register_data(job->hg_class, search.visit_id, &search, NULL),
        "HG_Register_data");
    job_begin(job);

    if (job->rank == 0)
        visit_send(&search, job->context, 0, 0);
    job_check(amalgam_quiesce(job->hg_class, TIMEOUT_MS), "amalgam_quiesce");
    distances_compare(&search);
    printf("rank %d: %d vertices, the same distances as alone\n", job->rank,
        VERTICES_PER_RANK);
    job_close(job);
    return 0;
}
