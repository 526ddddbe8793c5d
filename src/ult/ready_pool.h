/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool of user-level threads that are ready: what ABT_pool points to. */
#ifndef AMG_ULT_READY_POOL_H
#define AMG_ULT_READY_POOL_H

#include "ult/sleeper.h"
#include "ult/ult.h"

struct amg_user_pool;

/* What a kind of pool does; with its lock held. */
struct amg_upool_ops {
    ABT_pool_kind kind;
    const char *name;
    void (*push)(struct amg_upool *pool, struct amg_ult *ult);
    struct amg_ult *(*pop)(struct amg_upool *pool);
    /* By a stream whose first pool it is not. */
    struct amg_ult *(*steal)(struct amg_upool *pool);
};

/* Its creator's; an automatic one is freed with the last scheduler that has
 * it. The lock guards lists and turns, and is the pool's own. */
struct amg_upool {
    const struct amg_upool_ops *ops; /* NULL: the program's own, see `user` */
    struct amg_bias lock;
    struct amg_list ready;
    struct amg_list fresh;   /* have never run; where that makes a difference */
    struct amg_list watches; /* of struct amg_watch: who sleeps */
    unsigned turns; /* how often fresh ones had to wait for ready ones */
    /* Changed with the lock held, read by anyone; a hint. */
    atomic_size_t size;
    atomic_size_t blocked;
    atomic_uint users; /* schedulers that have it */
    ABT_pool_access access;
    bool is_automatic;
    int id;
    /* Of one whose last scheduler is gone: who gets what is pushed, and owns
     * it. Set once, with the lock held. */
    struct amg_upool *heir;
    struct amg_watch bequest;          /* makes each push look at `heir` */
    struct amg_upool *_Atomic orphans; /* whose heir it is; freed with it */
    struct amg_upool *next_orphan;
    void *data;
    /* Of one of the program's own: by threads that have not let go of it. */
    atomic_uint pushes;
    struct amg_user_pool *user; /* what the program's functions are */
};

/* The kinds that are built in; NULL: no such one. */
const struct amg_upool_ops *amg_upool_ops_of(ABT_pool_kind kind);

/* NULL: no memory. */
struct amg_upool *amg_upool_create(
    const struct amg_upool_ops *ops, ABT_pool_access access, bool is_automatic);
/* Waits for pushes that have done all but let go of the pool: what they pushed
 * may have run to its end. */
void amg_upool_quiesce(const struct amg_upool *pool);
/* Nothing is in it, and no scheduler has it. */
void amg_upool_destroy(struct amg_upool *pool);

/* A scheduler has it, or has it no longer: it may be gone then. Threads that an
 * automatic one still has go to `heir` as soon as they are ready; NULL: they
 * are dropped. */
void amg_upool_hold(struct amg_upool *pool);
void amg_upool_drop(struct amg_upool *pool, struct amg_upool *heir);

/* A thread belongs to the pool from now on, instead of the one it belonged to,
 * if any: by its creator, or who has it out of its pool. An ABT code; nothing
 * changes on an error. */
int amg_upool_adopt(struct amg_upool *pool, struct amg_ult *ult);
/* Before it is freed. */
void amg_upool_disown(struct amg_ult *ult);

/* A thread that was new, blocked or has ended becomes ready: follows a wish to
 * migrate, pushes it into its pool, and wakes a sleeper that watches that. By
 * any thread. */
void amg_ult_make_ready(struct amg_ult *ult);
/* The same for one that yields, and has left the stack of the calling stream.
 * No sleeper is woken if `will_look` says that the stream comes to it next. */
void amg_ult_yielded(
    struct amg_ult *ult, bool (*will_look)(const struct amg_upool *pool));

/* Follows the wish to migrate, if there is one. */
void amg_ult_migrate(struct amg_ult *ult);

/* By any thread. Wakes a sleeper that watches the pool, and tells a pool of the
 * program's why; 0: it was created or revived. */
void amg_upool_push(
    struct amg_upool *pool, struct amg_ult *ult, ABT_pool_context context);

/* The next one, or NULL. */
struct amg_ult *amg_upool_pop(struct amg_upool *pool);
struct amg_ult *amg_upool_pop_for(
    struct amg_upool *pool, ABT_pool_context context);
struct amg_ult *amg_upool_steal(struct amg_upool *pool);

/* One was popped from a pool of the program's by another function of it. */
void amg_upool_count_popped(struct amg_upool *pool);

/* Takes out that one; false: it is not in there. */
bool amg_upool_remove(struct amg_upool *pool, struct amg_ult *ult);

/* Ready ones, and with those that are blocked. No lock. */
size_t amg_upool_size(const struct amg_upool *pool);
size_t amg_upool_total(const struct amg_upool *pool);

/* Calls a function for each that is ready, with the lock held; not for the
 * program's own pools. */
void amg_upool_each(struct amg_upool *pool, void *arg,
    void (*visit)(void *arg, ABT_thread thread));

/* A thread of the pool blocks (1), or is ready again (-1). */
void amg_upool_count_blocked(struct amg_upool *pool, int change);
/* One that was blocked left the pool, and is not pushed there: streams that are
 * joined, and sleep as long as somebody is blocked, look again. */
void amg_upool_left_blocked(struct amg_upool *pool);

/* Each push rings for a sleeper from now on, until it is taken off again. The
 * sleeper has announced itself; false: there is something in it. */
bool amg_upool_watch(struct amg_upool *pool, struct amg_watch *watch);
void amg_upool_unwatch(struct amg_upool *pool, struct amg_watch *watch);
/* If there is something in it, lets one who sleeps look. */
void amg_upool_nudge(struct amg_upool *pool);

#endif
