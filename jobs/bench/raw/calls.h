/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches of calls: ours, one after another and several in flight; and calls by
 * plain MPI, the control of most benchmarks of calls. */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H

#include "jobs/bench/frame/duel.h"

/* Null calls in a batch, unless --calls says otherwise. */
enum { CALLS_LATENCY = 500, CALLS_RATE = 20000, CALLS_PER_WINDOW = 2000 };

/* Within a context: one call after another, with duel->size bytes of input;
 * null calls, duel->window in flight; and calls with input and output, where
 * duel->arg is a struct calls_echo. */
double calls_latency(struct pair *pair, struct duel *duel);
double calls_rate(struct pair *pair, struct duel *duel);

struct calls_echo {
    uint32_t in; /* bytes of payload */
    uint32_t out;
};

double calls_echo(struct pair *pair, struct duel *duel);
/* A batch of calls of `id`, duel->window in flight. */
double calls_flight(struct pair *pair, struct duel *duel, hg_id_t id,
    void (*post)(struct flight_slot *slot));

enum {
    MPI_SERVE_WAITS = OPTIONS_WINDOW_MAX,
    MPI_SERVE_PLACES = 64,
    MPI_SERVE_TAG = 200, /* tag of all requests; answers have other tags */
};

/* Steps that the program supplies; `arg` is the program's. */
struct mpi_serve_ops {
    /* Posts the receive of a place. */
    void (*receive)(void *arg, unsigned place, MPI_Request *ret_request);
    /* Handles what came to the place, and begins to send an answer, if any. */
    void (*handle)(void *arg, unsigned place, MPI_Request *ret_answer);
    /* Request `wait` has ended: an answer came, or a message has left. */
    void (*ended)(void *arg, unsigned wait);
};

/* Requests and answers as a program makes them without a library: receives from
 * any source stay posted, and one call tests all requests. Owned by its opener,
 * which sends by `sends`, and receives answers by the first `waits` of
 * `requests`. */
struct mpi_serve {
    const struct pair *pair;
    MPI_Comm comm;
    const struct mpi_serve_ops *ops;
    void *arg;
    unsigned waits;
    unsigned places;
    MPI_Request sends[MPI_SERVE_WAITS]; /* each ends before its answer */
    MPI_Request answers[MPI_SERVE_PLACES];
    MPI_Request requests[MPI_SERVE_WAITS + MPI_SERVE_PLACES];
};

/* The number of places that serve `window` requests of each other rank. */
unsigned mpi_serve_places(const struct pair *pair, unsigned window);
/* Posts the receives; `serve` has its pair and communicator. */
void mpi_serve_open(struct mpi_serve *serve, const struct mpi_serve_ops *ops,
    void *arg, unsigned waits, unsigned places);
/* Tests once; yields if nothing came and ranks share the core. Did something
 * come? */
bool mpi_serve_turn(struct mpi_serve *serve);
/* By all ranks, after their own requests: serves until all ranks have come. */
void mpi_serve_meet(struct mpi_serve *serve);
/* Cancels the receives; no rank sends requests any more. */
void mpi_serve_close(struct mpi_serve *serve);

/* The first bytes of a request, also of our calls, and all bytes of an answer.
 * The size is that of a null call, and of its reply, in the library. */
struct head {
    uint32_t origin;
    uint32_t place;  /* in the window of the origin */
    uint64_t number; /* number of the call */
    uint64_t sum;    /* checksum of the members above */
};

enum { HEAD_LEN = sizeof(struct head) };

void head_write(
    const struct pair *pair, uint64_t number, unsigned place, void *ret_buf);
/* Ends the job if `buf` differs from what an origin sends in this batch;
 * verifies the pattern behind the head in one request of 16. */
struct head head_check(const struct pair *pair, const void *buf, size_t len);
/* Fills `len` bytes, of which the head is written later. */
void head_fill(const struct pair *pair, void *ret_buf, size_t len);

/* Calls of `len` bytes, each of which is answered by its head. */
struct mpi_calls {
    struct mpi_serve serve;
    struct flight flight; /* of the origin */
    size_t len;
    bool is_ring; /* slot i calls rank (own rank + 1 + i) % size; else rank 1 */
    unsigned char *room;    /* a request for each slot */
    unsigned char *landing; /* a request for each place */
    struct head short_room[MPI_SERVE_WAITS];
    struct head short_landing[MPI_SERVE_PLACES];
    struct head heard[MPI_SERVE_WAITS];
    struct head said[MPI_SERVE_PLACES];
    uint64_t asked[2];  /* calls, and the sum of their numbers */
    uint64_t served[2]; /* served calls, and the sum of their numbers */
};

/* Opens `window` slots for calls in flight, and `places` to serve calls of
 * others. If `len` is more than HEAD_LEN, uses the room of the pair. */
void mpi_calls_open(struct mpi_calls *calls, struct pair *pair, MPI_Comm comm,
    size_t len, unsigned window, unsigned places);
/* By all ranks of `comm`: ends the job if, summed over all ranks, the calls
 * served and asked for differ in their count or in the sum of their numbers. */
void served_verify(const struct pair *pair, MPI_Comm comm,
    const uint64_t asked[2], const uint64_t served[2]);
/* By all ranks: serves until all calls have come, and verifies their number. */
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
