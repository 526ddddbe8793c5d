/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair of which each rank has an instance of Margo. */
#ifndef BENCH_MEND_H
#define BENCH_MEND_H

#include <stdatomic.h>

#include "jobs/bench/frame/duel.h"
#include "margo.h"

/* How the instance is to be; zeros take Margo's defaults. */
struct mend_how {
    const char *json; /* NULL: none */
    uint8_t wait;     /* enum amalgam_wait, of its class */
    unsigned credits; /* unanswered calls that a rank may have */
};

/* Never sleeps. */
#define MEND_POLLING_JSON                                                      \
    "{\"progress_timeout_ub_msec\": 0, \"progress_spindown_msec\": 0}"

/* Owned by whoever opened it; duel->more of the batches that use it. */
struct mend {
    const struct pair *like;
    margo_instance_id mid;
    ABT_pool pool; /* of handlers, and of threads that call */
    hg_addr_t peer;
    hg_id_t null_id; /* a call without arguments */
    hg_id_t stop_id; /* the last one of a batch */
    ABT_eventual over;
    atomic_ullong served; /* null calls */
};

/* Opens one like the pair's class. Ends the job when it cannot; both ranks. */
void mend_open(
    struct mend *mend, const struct pair *like, const struct mend_how *how);
void mend_close(struct mend *mend);

/* Until the other rank is here, too; meanwhile the instance answers. */
void mend_meet(const struct mend *mend);

/* A handle for calls to the other rank. */
hg_handle_t mend_handle(struct mend *mend, hg_id_t id);
/* Calls, and waits for the answer. */
void mend_call(struct mend *mend, hg_handle_t handle, void *input);

/* Tells the other rank that no more calls come; returns when it knows. */
void mend_stop(struct mend *mend);
/* Until the other rank has said so; serves. */
void mend_serve(struct mend *mend);
/* Ends the job when others than `count` null calls came since the last time. */
void mend_verify_served(struct mend *mend, unsigned long long count);

/* duel->calls null calls, one after the other; rank 1 serves. */
double mend_latency(struct pair *pair, struct duel *duel, double *ret_samples);
/* The same by duel->window threads at once. */
double mend_rate(struct pair *pair, struct duel *duel, double *ret_samples);

#endif
