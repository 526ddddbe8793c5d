/* SPDX-License-Identifier: BSD-3-Clause */
/* By plain MPI: serves requests of other ranks while one's own are under way.
 */
#include "jobs/bench/frame/mpi_serve.h"

#include "jobs/bench/frame/team.h"

unsigned mpi_serve_places(const struct pair *team, unsigned window)
{
    unsigned most = window * (unsigned)(team->world->size - 1);

    return most < MPI_SERVE_PLACES ? most : MPI_SERVE_PLACES;
}

static void place_receive(struct mpi_serve *serve, unsigned place)
{
    serve->is_answering[place] = false;
    serve->ops->receive(
        serve->arg, place, &serve->requests[serve->waits + place]);
}

/* A short answer has left at once, mostly: then no look is lost on it. */
static void place_handle(
    struct mpi_serve *serve, unsigned place, const MPI_Status *status)
{
    MPI_Request *answer = &serve->requests[serve->waits + place];
    int has_left = 1;

    if (serve->is_answering[place]) {
        place_receive(serve, place);
        return;
    }
    serve->ops->handle(serve->arg, place, status, answer);
    if (*answer != MPI_REQUEST_NULL)
        MPI_Test(answer, &has_left, MPI_STATUS_IGNORE);
    if (has_left)
        place_receive(serve, place);
    else
        serve->is_answering[place] = true;
}

void mpi_serve_open(struct mpi_serve *serve)
{
    for (unsigned i = 0; i < serve->waits; i++)
        serve->requests[i] = MPI_REQUEST_NULL;
    for (unsigned i = 0; i < serve->places; i++)
        place_receive(serve, i);
}

bool mpi_serve_turn(struct mpi_serve *serve)
{
    int count = 0;

    MPI_Testsome((int)(serve->waits + serve->places), serve->requests, &count,
        serve->indices, serve->statuses);
    if (count == MPI_UNDEFINED)
        count = 0;
    for (int i = 0; i < count; i++) {
        unsigned index = (unsigned)serve->indices[i];

        if (index < serve->waits)
            serve->ops->ended(serve->arg, index);
        else
            place_handle(serve, index - serve->waits, &serve->statuses[i]);
    }
    if (count == 0)
        team_idle(serve->team);
    return count > 0;
}

void mpi_serve_meet(struct mpi_serve *serve)
{
    MPI_Request request;
    int is_over = 0;

    MPI_Ibarrier(serve->team->comm, &request);
    while (!is_over)
        if (!mpi_serve_turn(serve))
            MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
}

void mpi_serve_close(struct mpi_serve *serve)
{
    for (unsigned i = 0; i < serve->places; i++) {
        MPI_Request *request = &serve->requests[serve->waits + i];

        if (!serve->is_answering[i])
            MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}
