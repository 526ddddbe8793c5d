/* SPDX-License-Identifier: BSD-3-Clause */
/* A measurement in turn with its control. Measured are operations one after
 * another, several in flight, and several ways to do the same work. */
#ifndef BENCH_DUEL_H
#define BENCH_DUEL_H

#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/pair.h"

struct duel;

/* One batch, run by all ranks of the pair at the same time. Rank 0 writes the
 * time of each of duel->calls operations to duel->samples, and returns the time
 * of all operations. Times are in us. */
typedef double (*duel_batch_fn)(struct pair *pair, struct duel *duel);

enum {
    DUEL_WARM = 50, /* small operations before the clock of a batch starts */
    DUEL_MORE_MAX = 3,
};

/* The figure of a batch that is compared with the control. */
enum duel_figure {
    DUEL_US,      /* the median time of its operations */
    DUEL_MEAN_US, /* the mean time of its operations */
    DUEL_GBPS,    /* gigabytes a second */
    DUEL_KPS,     /* thousands of operations a second */
};

/* The measurement, or the control. */
struct duel_side {
    duel_batch_fn run;
    void *arg;         /* duel->arg, while this side runs */
    struct pair *pair; /* the pair that runs it; NULL: the pair of the duel */
    bool enters;       /* opens a context of that pair for each batch */
};

/* If the control is MPI, the library has a context only during its own batches
 * (`ours.enters`): MPI searches the receives that a context posts. With 32
 * posted receives 8 bytes took 1.45 times as long (MPICH 4.0.2). */
struct duel {
    const char *op;
    const char *against;
    const char *text;   /* what the control is */
    const char *memory; /* NULL: "host" */
    size_t size;        /* bytes of payload */
    unsigned window;    /* 0: one, unless `ranks` is set */
    unsigned calls;     /* operations of each side in a batch; --calls */
    unsigned warm;      /* operations before the clock of a batch starts */
    unsigned rest_us;   /* sleep before each operation of duel_each() */
    unsigned ranks;     /* that share `calls` equally, where the benchmark
                         * has applied --calls; 0: rank 0 makes all calls */
    unsigned each;      /* what a call counts in DUEL_KPS; 0: 1 */
    unsigned batches;   /* 0: --batches, or OPTIONS_BATCHES */
    unsigned threads;   /* of each rank; 0: one */
    unsigned peers;     /* only for the row */
    enum duel_figure figure;
    bool is_open; /* a context of the pair is open for all batches */
    struct duel_side ours;
    struct duel_side control;
    /* Further rows, of the figures that batches write to more[]: op, unit,
     * better, and control unless NULL; all else is as in the first row. */
    const struct row *more_rows;
    unsigned more_count;
    /* During a batch. */
    void *arg;
    double *samples;
    double ended_us; /* when rank 0's last operation ended; by flight_batch() */
    double more[DUEL_MORE_MAX];
};

/* Runs all batches, as often as --runs says, by all ranks of the pair; rank 0
 * reports the row. False at all ranks, with nothing done: the time limit of the
 * run is over. */
bool duel_run(struct pair *pair, struct duel *duel);

/* A batch of `run` under a trace of a level, whose file is removed then. */
double duel_traced(
    struct pair *pair, struct duel *duel, int level, duel_batch_fn run);

/* Operations that warm a batch up. */
static inline unsigned duel_warm(const struct duel *duel)
{
    return duel->warm < duel->calls ? duel->warm : duel->calls;
}

/* A batch of calls of `once`, one after another: duel_warm() calls, then timed
 * calls. The calling thread sleeps duel->rest_us before each timed call. */
double duel_each(struct pair *pair, struct duel *duel,
    void (*once)(struct pair *pair, void *arg), void *arg);

/* Reading the clock takes a tenth of a small call, so only one operation of so
 * many is timed. Its time stands for all that end until the next timed one. */
enum { FLIGHT_TIMED_EVERY = 16 };

struct flight;

struct flight_slot {
    struct flight *flight;
    unsigned number;
    double posted_us;   /* 0: this operation is not timed */
    hg_handle_t handle; /* of calls */
};

/* Operations in flight: each slot of the window posts its next operation when
 * the last one has ended. Owned by the batch, which sets all members up to
 * `timed_every`. */
struct flight {
    struct pair *pair;
    void *arg; /* of the batch */
    /* Posts the next operation of a slot. */
    void (*post)(struct flight_slot *slot);
    /* Polls once: flight_ended() for each operation that has ended. */
    bool (*look)(struct flight *flight);
    /* Takes the time of a timed operation; may be NULL. */
    void (*timed)(struct flight *flight, double us);
    void *timed_arg;
    unsigned window;
    unsigned timed_every;
    double *samples; /* of all operations, by their ends; or NULL */
    uint64_t calls;
    uint64_t posted;
    uint64_t ended;
    double last_us; /* time of the operation that was timed last */
    struct flight_slot slots[OPTIONS_WINDOW_MAX];
};

/* Fills the window. */
void flight_start(struct flight *flight);
/* Runs `calls` operations. The time from the first post to the last end. */
double flight_run(struct flight *flight, uint64_t calls, double *samples);
/* Runs the operations of a batch, after those that warm the batch up. */
double flight_batch(struct flight *flight, struct duel *duel);
/* Posts no more operations, and waits until all have ended. */
void flight_stop(struct flight *flight);
/* An operation has ended: takes its time, and posts the next one. */
void flight_ended(struct flight_slot *slot);

/* For flights of calls: the callback; `look`; flight_handles() makes a handle
 * for each slot, which flight_handles_free() frees; `post` of a call without
 * input. */
hg_return_t flight_call_ended(const struct hg_cb_info *info);
bool flight_turn(struct flight *flight);
void flight_handles(struct flight *flight, hg_id_t id);
void flight_handles_free(struct flight *flight);
void flight_null(struct flight_slot *slot);
/* A batch of a flight of calls by the caller, while the target serves. */
double flight_served(struct flight *flight, struct duel *duel);

enum { WAYS_MAX = 9, WAYS_SAMPLES = 1024 };

/* The calls of a rank in its slices of time. */
struct ways_slice {
    double kps; /* thousands of calls a second, in the last slice */
    /* Times of the last timed calls, as many as there is room for. */
    double samples_us[WAYS_SAMPLES];
    unsigned sample_count;
};

static inline void ways_sample(struct ways_slice *slice, double us)
{
    slice->samples_us[slice->sample_count++ % WAYS_SAMPLES] = us;
}

/* For a flight whose `timed_arg` is a slice. */
static inline void ways_timed(struct flight *flight, double us)
{
    ways_sample(flight->timed_arg, us);
}

/* Ways to do the same work: is the first, which the library chooses by itself,
 * as good as the best of the others? Each way runs for a short time in each
 * round, so that other load of the machine slows all ways equally. */
struct ways {
    const char *ops[WAYS_MAX]; /* the last ones may be NULL */
    const char *best_text;     /* the control of the first row */
    const char *chosen_text;   /* the control of the other rows */
    /* By all ranks of the pair: calls for `us`, with `window` in flight. */
    void (*slice)(struct pair *pair, unsigned way, unsigned window, double us,
        struct ways_slice *ret_slice);
};

/* Runs all rounds, with nothing pinned, and adds a row for each way. */
void ways_run(struct pair *pair, const struct ways *ways);

#endif
