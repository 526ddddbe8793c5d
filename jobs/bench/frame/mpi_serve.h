/* SPDX-License-Identifier: BSD-3-Clause */
/* By plain MPI: serves requests of other ranks while one's own are under way.
 *
 * As a program does that has no library for it: receives from any source stay
 * posted, all requests are looked at together, and what was found is handled.
 * The caller's own requests are among them; the rest are places that receive a
 * request, then send its answer, and then receive again. */
#ifndef BENCH_MPI_SERVE_H
#define BENCH_MPI_SERVE_H

#include "jobs/bench/frame/pair.h"

enum {
    MPI_SERVE_WAITS = OPTIONS_WINDOW_MAX,
    MPI_SERVE_PLACES = 64,
    MPI_SERVE_REQUESTS = MPI_SERVE_WAITS + MPI_SERVE_PLACES,
    MPI_SERVE_TAG = 200, /* of all requests; tags of answers are others */
};

/* What a program does of it; `arg` is its own. */
struct mpi_serve_ops {
    /* Posts the receive of a place. */
    void (*receive)(void *arg, unsigned place, MPI_Request *ret_request);
    /* Handles what has come there, and begins to send the answer; leaves
     * `ret_answer` alone where there is none. */
    void (*handle)(void *arg, unsigned place, const MPI_Status *status,
        MPI_Request *ret_answer);
    /* Request `wait` of the caller's has ended; it may post another one. */
    void (*ended)(void *arg, unsigned wait);
};

/* Owned by whoever opened it. The first `waits` requests are the caller's. */
struct mpi_serve {
    const struct pair *team;
    const struct mpi_serve_ops *ops;
    void *arg;
    unsigned waits;
    unsigned places;
    bool is_answering[MPI_SERVE_PLACES];
    MPI_Request requests[MPI_SERVE_REQUESTS];
    MPI_Status statuses[MPI_SERVE_REQUESTS];
    int indices[MPI_SERVE_REQUESTS];
};

/* How many places serve `window` requests of each other rank. */
unsigned mpi_serve_places(const struct pair *team, unsigned window);

/* Posts the receives. `serve` has team, ops, arg, waits and places set. */
void mpi_serve_open(struct mpi_serve *serve);
/* Looks once; gives the core away as team_idle() does when there was nothing.
 * Returns whether there was something. */
bool mpi_serve_turn(struct mpi_serve *serve);
/* By all ranks, whose own requests have ended: serves until all have come. */
void mpi_serve_meet(struct mpi_serve *serve);
/* Takes the receives back; nobody sends requests any more. */
void mpi_serve_close(struct mpi_serve *serve);

#endif
