/* SPDX-License-Identifier: BSD-3-Clause */
/* A scheduler, which says what a stream runs next: what ABT_sched points to. */
#ifndef AMG_ULT_SCHED_H
#define AMG_ULT_SCHED_H

#include <stdatomic.h>
#include <stdbool.h>

#include "abt.h"
#include "ult/sleeper.h"

struct amg_stream;
struct amg_ult;
struct amg_upool;

/* What it is asked for; it looks between two threads. */
enum amg_sched_ask {
    AMG_SCHED_TO_EXIT = 1,   /* returns at once */
    AMG_SCHED_TO_FINISH = 2, /* returns when its pools are empty */
};

/* Its creator's; an automatic one is its stream's. Only the stream that runs it
 * changes what has no word on it. */
struct amg_sched {
    ABT_sched_predef kind;
    bool is_users; /* its run function is the program's */
    bool is_automatic;
    ABT_sched_def def;                 /* of the program's own */
    atomic_uint asked;                 /* of enum amg_sched_ask */
    atomic_bool is_used;               /* a stream or a pool has it */
    struct amg_stream *_Atomic stream; /* that runs it, or will */
    void *data;
    int next;  /* the pool whose turn it is */
    int count; /* of pools; does not change */
    struct amg_upool **pools;
    struct amg_watch *watches; /* one for each pool, for when it sleeps */
};

/* What ABT_sched_create_basic() does, with the same codes. */
int amg_sched_create(ABT_sched_predef kind, int count, ABT_pool *pools,
    bool is_automatic, struct amg_sched **ret_sched);
/* The same for one of the program's; def->init is yet to be called. */
int amg_sched_create_users(const ABT_sched_def *def, int count, ABT_pool *pools,
    bool is_automatic, struct amg_sched **ret_sched);
/* With its pools, as far as they are automatic; nobody uses it. What these
 * still have goes to `heir`, see amg_upool_drop(). */
void amg_sched_destroy(struct amg_sched *sched, struct amg_upool *heir);

/* What is to be run next, or NULL; by its stream, one of ours. */
struct amg_ult *amg_sched_pop(struct amg_sched *sched);

bool amg_sched_has(const struct amg_sched *sched, const struct amg_upool *pool);

/* Is it to return? */
bool amg_sched_is_to_stop(const struct amg_sched *sched);
/* The same in each round, by its stream: does what else the stream is asked
 * for. */
bool amg_sched_has_to_stop(struct amg_sched *sched);

/* Runs it until it is to stop; by the scheduler's thread of its stream. */
void amg_sched_run(struct amg_sched *sched);

/* Threads that are ready in its pools; no lock. */
size_t amg_sched_size(const struct amg_sched *sched);

#endif
