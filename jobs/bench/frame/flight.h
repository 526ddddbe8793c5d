/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations in flight: each place of the window posts its next operation when
 * the one before has ended, as a program does that has much to do. */
#ifndef BENCH_FLIGHT_H
#define BENCH_FLIGHT_H

#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/pair.h"

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

/* Owned by the batch, which fills in what stands first. */
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
    double
        *samples; /* of all operations, in the order of their ends; or NULL */
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
/* No more are posted; until all have ended. */
void flight_stop(struct flight *flight);
/* An operation has ended: takes its time, and posts the next one. */
void flight_ended(struct flight_slot *slot);

/* For calls: a callback whose argument is the slot; a look; and a handle for
 * each slot, or their end. */
hg_return_t flight_call_ended(const struct hg_cb_info *info);
bool flight_turn(struct flight *flight);
void flight_handles(struct flight *flight, hg_id_t id);
void flight_handles_free(struct flight *flight);
/* The post of a call without input. */
void flight_null(struct flight_slot *slot);

#endif
