/* SPDX-License-Identifier: BSD-3-Clause */
/* A measurement beside its control, and what is measured: one operation after
 * the other, several in flight, and several ways to do the same. */
#ifndef BENCH_DUEL_H
#define BENCH_DUEL_H

#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/pair.h"

struct duel;

/* One batch, run by all ranks of the pair at the same time. Rank 0 writes the
 * time of each of duel->calls operations to duel->samples, and returns that of
 * all. In us. */
typedef double (*duel_batch_fn)(struct pair *pair, struct duel *duel);

enum {
    DUEL_WARM = 50, /* small operations before the clock of a batch starts */
    DUEL_MORE_MAX = 3,
};

/* The figure of a batch, which is compared. */
enum duel_figure {
    DUEL_US,      /* the median time of its operations */
    DUEL_MEAN_US, /* their mean time */
    DUEL_GBPS,    /* gigabytes a second */
    DUEL_KPS,     /* thousands of operations a second */
};

/* The measurement, or the control. */
struct duel_side {
    duel_batch_fn run;
    void *arg;         /* duel->arg, while this side runs */
    struct pair *pair; /* by which it runs; NULL: the pair of the duel */
    bool enters;       /* has a context of that pair open, for each batch */
};

/* If the control is MPI, the library has a context only during its own
 * batches (`ours.enters`): MPI looks through the receives that a context keeps
 * posted. With 32 of them 8 bytes took 1.45 times as long (MPICH 4.0.2). */
struct duel {
    const char *op;
    const char *against;
    const char *text;   /* what the control is */
    const char *memory; /* NULL: "host" */
    size_t size;        /* bytes of payload */
    unsigned window;    /* 0: 1, without `ranks` */
    unsigned calls;     /* of each in a batch, unless the user wants others */
    unsigned warm;      /* operations before the clock of a batch starts */
    unsigned rest_us;   /* before each operation, where it counts by itself */
    unsigned ranks;     /* that share the calls, as many each, which the bench
                         * has set as the user wants; 0: rank 0 makes them */
    unsigned each;      /* what a call counts in DUEL_KPS; 0: 1 */
    unsigned batches;   /* 0: as the user wants, or OPTIONS_BATCHES */
    unsigned threads;   /* of each rank; 0: one */
    unsigned peers;     /* for the row, as the next */
    enum duel_figure figure;
    bool is_open; /* a context of the pair is open all the time */
    struct duel_side ours;
    struct duel_side control;
    /* Further rows, of figures that batches write to more[]: op, unit and what
     * is better; the rest, where it is NULL, is as in the row of the duel. */
    const struct row *more_rows;
    unsigned more_count;
    /* During a batch. */
    void *arg;
    double *samples;
    double ended_us; /* when rank 0's last operation ended; by flight_batch() */
    double more[DUEL_MORE_MAX];
};

/* Runs all batches, as often as --runs says, by all ranks of the pair; rank 0
 * reports the row. False at all of them, with nothing done, when the time limit
 * of the run is over. */
bool duel_run(struct pair *pair, struct duel *duel);

/* Operations that warm a batch up. */
static inline unsigned duel_warm(const struct duel *duel)
{
    return duel->warm < duel->calls ? duel->warm : duel->calls;
}

/* A batch of `once`, one after the other: first to warm up, then timed, each.
 * With duel->rest_us the calling thread sleeps so long before each. */
double duel_each(struct pair *pair, struct duel *duel,
    void (*once)(struct pair *pair, void *arg), void *arg);

/* A look at the clock takes a tenth of a small call: it is taken for one of so
 * many, whose time stands for those that end until the next. */
enum { FLIGHT_TIMED_EVERY = 16 };

struct flight;

struct flight_slot {
    struct flight *flight;
    unsigned number;
    double posted_us;   /* 0: this operation is not timed */
    hg_handle_t handle; /* of calls */
};

/* Operations in flight: each place of the window posts its next operation when
 * the one before has ended. Owned by the batch, which fills in what stands
 * first. */
struct flight {
    struct pair *pair;
    void *arg; /* of the batch */
    /* Posts the next operation of a slot. */
    void (*post)(struct flight_slot *slot);
    /* One look for news: flight_ended() for each that has ended. */
    bool (*look)(struct flight *flight);
    /* The time of one that was timed; may be NULL. */
    void (*timed)(struct flight *flight, double us);
    void *timed_arg;
    unsigned window;
    unsigned timed_every;
    double *samples; /* of all, in the order of their ends; or NULL */
    uint64_t calls;
    uint64_t posted;
    uint64_t ended;
    double last_us; /* how long the one took that was timed last */
    struct flight_slot slots[OPTIONS_WINDOW_MAX];
};

/* Fills the window. */
void flight_start(struct flight *flight);
/* `calls` operations, from the first to the last; how long they took. */
double flight_run(struct flight *flight, uint64_t calls, double *samples);
/* Those of a batch, and before them those that warm it up. */
double flight_batch(struct flight *flight, struct duel *duel);
/* No more are posted; until all have ended. */
void flight_stop(struct flight *flight);
/* An operation has ended: takes its time, and posts the next one. */
void flight_ended(struct flight_slot *slot);

/* For calls: a callback whose argument is the slot; a look; a handle for each
 * slot, and their end; and the post of a call without input. */
hg_return_t flight_call_ended(const struct hg_cb_info *info);
bool flight_turn(struct flight *flight);
void flight_handles(struct flight *flight, hg_id_t id);
void flight_handles_free(struct flight *flight);
void flight_null(struct flight_slot *slot);
/* A batch of such a flight by the caller, while the target serves. */
double flight_served(struct flight *flight, struct duel *duel);

enum { WAYS_MAX = 9, WAYS_SAMPLES = 1024 };

/* The calls of a rank in its slices of time. */
struct ways_slice {
    double kps; /* thousands of its calls a second, in the last one */
    /* The times of some of them: the last ones that there is room for. */
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

/* Ways to do the same, beside each other: is the first, which the library
 * chooses by itself, as good as the best of the others? All of them have a
 * short time in each round, so what else happens on the machine meets them
 * alike. */
struct ways {
    const char *ops[WAYS_MAX]; /* the last ones may be NULL */
    const char *best_text;     /* the control of the first row */
    const char *chosen_text;   /* and that of the others */
    /* By all ranks of the pair: calls with `window` in flight for `us`. */
    void (*slice)(struct pair *pair, unsigned way, unsigned window, double us,
        struct ways_slice *ret_slice);
};

/* Runs all rounds, nothing pinned, and adds a row for each way. */
void ways_run(struct pair *pair, const struct ways *ways);

#endif
