/* SPDX-License-Identifier: BSD-3-Clause */
/* A histogram of which each rank keeps a part, and the ways to update it. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <pthread.h>

#include "jobs/bench/frame/duel.h"

enum {
    HISTOGRAM_BINS = 4096,    /* of each rank */
    HISTOGRAM_BATCH = 64,     /* updates of one message, at most */
    HISTOGRAM_MESSAGES = 64,  /* that a rank may have under way */
    HISTOGRAM_WEIGHTS = 1000, /* an update adds 1 to so many */
};

struct histogram;

struct update {
    uint32_t bin; /* of the rank to which it goes */
    uint32_t weight;
};

/* What goes to one rank. */
struct histogram_message {
    uint32_t count;
    struct update list[HISTOGRAM_BATCH];
};

/* A way to do it; each is called by all ranks. */
struct histogram_way {
    /* Before and after each batch. */
    void (*begin)(struct histogram *histogram);
    void (*end)(struct histogram *histogram);
    /* Sends updates `next` to `last`; returns when those of all ranks have been
     * added. */
    void (*run)(struct histogram *histogram);
};

/* How messages go; for histogram_stream(). */
struct histogram_port {
    /* There is room for one more under way. */
    void (*send)(struct histogram *histogram, int rank,
        const struct histogram_message *message);
    /* One look for news; false: there were none. */
    bool (*turn)(struct histogram *histogram);
};

/* One of the messages that may be under way. */
struct histogram_place {
    struct histogram *histogram;
    hg_handle_t handle; /* of the way by calls */
};

/* What a batch needs. Owned by bench_histogram(). */
struct histogram {
    struct pair *team;
    unsigned batch; /* updates of a message: 1, or HISTOGRAM_BATCH */
    uint64_t first; /* mix_first() of this rank */
    unsigned next;
    unsigned last;
    pthread_mutex_t lock; /* guards the next two: handlers may run in threads */
    uint64_t *bins;
    uint64_t received; /* updates */
    uint64_t sent;
    struct histogram_message *pending; /* for each rank */
    struct histogram_place places[HISTOGRAM_MESSAGES];
    struct histogram_place *free[HISTOGRAM_MESSAGES];
    unsigned free_count;
    hg_addr_t *addrs;
    hg_id_t add_id;
    struct histogram_mpi *mpi; /* of the control, within a batch */
    MPI_Win win;
    uint64_t *win_bins;
};

extern const struct histogram_way histogram_way_rpc;    /* one-way calls */
extern const struct histogram_way histogram_way_mpi;    /* MPI_Isend */
extern const struct histogram_way histogram_way_window; /* MPI_Accumulate */

/* By all ranks, once the class is open. */
void histogram_rpc_register(struct histogram *histogram);
/* By all ranks: the window of histogram_way_window. */
void histogram_window_open(struct histogram *histogram);
void histogram_window_close(struct histogram *histogram);

/* The run() of those ways that send messages. */
void histogram_stream(
    struct histogram *histogram, const struct histogram_port *port);
/* All places are free. */
void histogram_places_reset(struct histogram *histogram);
/* At the target: adds what has come. */
void histogram_add(
    struct histogram *histogram, const struct update *list, unsigned count);

/* Update `number` of the rank with that `first`, which goes to `ret_rank`. */
struct update histogram_update(const struct histogram *histogram,
    uint64_t first, int rank, unsigned number, int *ret_rank);

#endif
