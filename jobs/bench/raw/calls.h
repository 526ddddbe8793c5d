/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls as batches: ours, one after the other and several in flight; and those
 * by plain MPI, the control of most benchmarks of calls. */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H

#include "jobs/bench/frame/duel.h"

/* Null calls in a batch, unless the user wants others. */
enum { CALLS_LATENCY = 500, CALLS_RATE = 20000, CALLS_PER_WINDOW = 2000 };

/* Within a context: one call after the other, with duel->size bytes of input;
 * null calls, duel->window of them in flight; and calls with input and output,
 * where duel->arg is a struct calls_echo. */
double calls_latency(struct pair *pair, struct duel *duel);
double calls_rate(struct pair *pair, struct duel *duel);

struct calls_echo {
    uint32_t in; /* bytes of payload */
    uint32_t out;
};

double calls_echo(struct pair *pair, struct duel *duel);
/* A batch of calls of `id`, duel->window of them in flight. */
double calls_flight(struct pair *pair, struct duel *duel, hg_id_t id,
    void (*post)(struct flight_slot *slot));

enum {
    MPI_SERVE_WAITS = OPTIONS_WINDOW_MAX,
    MPI_SERVE_PLACES = 64,
    MPI_SERVE_TAG = 200, /* of all requests; tags of answers are others */
};

/* The program's part; `arg` is its own. */
struct mpi_serve_ops {
    /* Posts the receive of a place. */
    void (*receive)(void *arg, unsigned place, MPI_Request *ret_request);
    /* Handles what has come there, and begins to send the answer, if any. */
    void (*handle)(void *arg, unsigned place, MPI_Request *ret_answer);
    /* Request `wait` has ended: it was an answer, or one without. */
    void (*ended)(void *arg, unsigned wait);
};

/* Requests and answers as a program makes them that has no library for it:
 * receives from any source stay posted, and all are looked at together. Its
 * opener owns it; it sends from `sends` and receives answers by the first
 * `waits` requests. */
struct mpi_serve {
    const struct pair *pair;
    MPI_Comm comm;
    const struct mpi_serve_ops *ops;
    void *arg;
    unsigned waits;
    unsigned places;
    MPI_Request sends[MPI_SERVE_WAITS]; /* an answer tells that it has left */
    MPI_Request answers[MPI_SERVE_PLACES];
    MPI_Request requests[MPI_SERVE_WAITS + MPI_SERVE_PLACES];
};

/* The number of places that serve `window` requests of each other rank. */
unsigned mpi_serve_places(const struct pair *pair, unsigned window);
/* Posts the receives; `serve` has its pair and communicator. */
void mpi_serve_open(struct mpi_serve *serve, const struct mpi_serve_ops *ops,
    void *arg, unsigned waits, unsigned places);
/* Looks once; gives the core away when there was nothing and ranks share it.
 * Was there something? */
bool mpi_serve_turn(struct mpi_serve *serve);
/* By all ranks, whose own requests have ended: serves until all have come. */
void mpi_serve_meet(struct mpi_serve *serve);
/* Takes the receives back; nobody sends requests any more. */
void mpi_serve_close(struct mpi_serve *serve);

/* The first bytes of a request, also of the calls that are measured, and all of
 * an answer: as long as our own request and reply. */
struct head {
    uint32_t origin;
    uint32_t place;  /* in the window of the origin */
    uint64_t number; /* of its call */
    uint64_t sum;    /* of all these */
};

enum { HEAD_LEN = sizeof(struct head) };

void head_write(
    const struct pair *pair, uint64_t number, unsigned place, void *ret_buf);
/* Ends the job when those bytes are not what an origin sends in this batch; the
 * pattern behind the head is looked at in one of 16. */
struct head head_check(const struct pair *pair, const void *buf, size_t len);
/* Fills `len` bytes, of which the head is written later. */
void head_fill(const struct pair *pair, void *ret_buf, size_t len);

/* Calls that carry `len` bytes, each of which is answered by its head. */
struct mpi_calls {
    struct mpi_serve serve;
    struct flight flight; /* of the origin */
    size_t len;
    bool is_ring; /* slot i calls the rank i + 1 after this one; else rank 1 */
    unsigned char *room;    /* a request for each slot */
    unsigned char *landing; /* and for each place */
    struct head short_room[MPI_SERVE_WAITS];
    struct head short_landing[MPI_SERVE_PLACES];
    struct head heard[MPI_SERVE_WAITS];
    struct head said[MPI_SERVE_PLACES];
    uint64_t asked[2];  /* calls, and the sum of their numbers */
    uint64_t served[2]; /* the same */
};

/* By a rank that keeps `window` calls in flight, and has so many places to
 * serve others. If `len` is more than HEAD_LEN, the room of the pair is used.
 */
void mpi_calls_open(struct mpi_calls *calls, struct pair *pair, MPI_Comm comm,
    size_t len, unsigned window, unsigned places);
/* By all ranks of `comm`: ends the job when others were served, in all, than
 * were asked for: how many, and the sum of their numbers. */
void served_verify(const struct pair *pair, MPI_Comm comm,
    const uint64_t asked[2], const uint64_t served[2]);
/* By all ranks: serves until all have come, and checks how many have. */
void mpi_calls_close(struct mpi_calls *calls);

/* Batches. Blocking sends and receives: duel->size bytes there (8 for size 0),
 * 8 back. */
#define MPI_TRIP_TEXT                                                          \
    "round trip of MPI_Send and MPI_Recv: the same bytes there (8 for the "    \
    "null call), 8 bytes back"
double mpi_trip(struct pair *pair, struct duel *duel);
/* The struct calls_echo of duel->arg gives the bytes there and back. */
double mpi_echo(struct pair *pair, struct duel *duel);
/* `calls` round trips of 8 bytes, without a clock. */
void mpi_trips(struct pair *pair, unsigned calls);
/* duel->window calls of rank 0 to rank 1 in flight. */
#define MPI_RATE_TEXT                                                          \
    "24 B requests and 24 B replies, as many in flight: MPI_Isend and "        \
    "MPI_Irecv for each, the target's from MPI_ANY_SOURCE, MPI_Testsome on "   \
    "both sides"
double mpi_rate(struct pair *pair, struct duel *duel);

#endif
