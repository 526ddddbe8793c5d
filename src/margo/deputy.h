/* SPDX-License-Identifier: BSD-3-Clause */
/* A second loop, on the program's stream, for a progress stream that has no
 * core of its own. */
#ifndef AMG_MARGO_DEPUTY_H
#define AMG_MARGO_DEPUTY_H

#include "margo/loop.h"

struct amg_margo_deputy {
    bool is_wanted;       /* the progress stream shares its core; constant */
    ABT_thread thread;    /* NULL: there is none */
    ABT_pool pool;        /* its own */
    atomic_bool is_there; /* false for good when it has ended */
    atomic_bool is_busy;  /* may touch the context */
    atomic_bool is_dismissed; /* the loop has come to its pool */
    atomic_bool is_dozing;    /* asleep, and any news ends that */
    /* The watcher's: it makes progress itself; it sleeps until the deputy wakes
     * it, by the word. */
    atomic_bool is_relieved;
    atomic_bool is_parked;
    atomic_bool is_in_round; /* the watcher, while it makes progress */
    atomic_uint word;
    struct amg_margo_loop_counts counts;
};

/* Where it is wanted, and there is a pool of the program's for it. */
void amg_margo_deputy_start(margo_instance_id mid);
void amg_margo_deputy_join(margo_instance_id mid);

/* By the loop, when the instance ends: might the deputy touch the context? */
bool amg_margo_deputy_is_busy(const struct margo_instance *mid);

/* By the loop where one is wanted, before each round: comes back when the loop
 * has to do it; and after it. */
void amg_margo_deputy_watch(
    margo_instance_id mid, struct amg_margo_rounds *rounds);
void amg_margo_deputy_watched(margo_instance_id mid);

/* Lets the loop look whether it has something to do. Any thread. */
void amg_margo_deputy_wake_watcher(margo_instance_id mid);

#endif
