/* SPDX-License-Identifier: BSD-3-Clause */
/* Pool of ready user-level threads, of ABT_pool. */
#ifndef AMG_ULT_READY_POOL_H
#define AMG_ULT_READY_POOL_H

#include "ult/sleeper.h"
#include "ult/ult.h"

struct amg_user_pool;

/* Functions of a kind of pool; with its lock held. */
struct amg_ready_pool_ops {
    ABT_pool_kind kind;
    const char *name;
    void (*push)(struct amg_ready_pool *pool, struct amg_ult *ult);
    struct amg_ult *(*pop)(struct amg_ready_pool *pool);
    /* By an xstream whose first pool it is not. */
    struct amg_ult *(*steal)(struct amg_ready_pool *pool);
};

/* Owned by its creator; an automatic one is freed with its last scheduler. The
 * lock guards lists and turns. */
struct amg_ready_pool {
    const struct amg_ready_pool_ops
        *ops; /* NULL: the program's own, see `user` */
    struct amg_bias lock;
    struct amg_list ready;
    struct amg_list fresh;   /* have never run; where that makes a difference */
    struct amg_list watches; /* of struct amg_watch: of sleepers */
    unsigned turns; /* how often fresh ones had to wait for ready ones */
    /* Changed with the lock held, read without, as a hint. */
    atomic_size_t size;
    atomic_size_t blocked;
    atomic_uint users; /* schedulers that have it */
    ABT_pool_access access;
    bool is_automatic;
    int id;
    /* Of a pool whose last scheduler was freed: receives and owns pushed
     * threads. Set once, with the lock held. */
    struct amg_ready_pool *successor;
    struct amg_watch successor_watch; /* makes each push read `successor` */
    struct amg_ready_pool
        *_Atomic predecessors; /* whose successor it is; freed with it */
    struct amg_ready_pool *next_predecessor;
    void *data;
    /* Of one of the program's own: by threads that still touch it. */
    atomic_uint pushes;
    struct amg_user_pool *user; /* what the program's functions are */
};

/* The kinds that are built in; NULL: no such one. */
const struct amg_ready_pool_ops *amg_ready_pool_ops_of(ABT_pool_kind kind);

/* NULL: no memory. */
struct amg_ready_pool *amg_ready_pool_create(
    const struct amg_ready_pool_ops *ops, ABT_pool_access access,
    bool is_automatic);
/* Waits for pushes that still access the pool: the thread that they pushed may
 * have ended already. */
void amg_ready_pool_quiesce(const struct amg_ready_pool *pool);
/* The pool is empty, and no scheduler has it. */
void amg_ready_pool_destroy(struct amg_ready_pool *pool);

/* A scheduler takes or drops its reference, which may free the pool. Remaining
 * threads of an automatic one go to `successor` as soon as they are ready;
 * NULL: they are dropped. */
void amg_ready_pool_ref(struct amg_ready_pool *pool);
void amg_ready_pool_unref(
    struct amg_ready_pool *pool, struct amg_ready_pool *successor);

/* A thread belongs to the pool from now on, instead of the one it belonged to,
 * if any: by its creator, or a caller that took it out of its pool. An ABT
 * code; nothing changes on an error. */
int amg_ready_pool_adopt(struct amg_ready_pool *pool, struct amg_ult *ult);
/* Before it is freed. */
void amg_ready_pool_disown(struct amg_ult *ult);

/* A thread that was new, blocked or has ended becomes ready: follows a wish to
 * migrate, pushes it into its pool, and wakes a sleeper that watches that. By
 * any thread. */
void amg_ult_make_ready(struct amg_ult *ult);
/* The same for one that yields, and has left the stack of the calling xstream.
 * No sleeper is woken if `will_look` says that the xstream comes to it next. */
void amg_ult_yielded(
    struct amg_ult *ult, bool (*will_look)(const struct amg_ready_pool *pool));

/* Performs a requested migration. */
void amg_ult_migrate(struct amg_ult *ult);

/* By any thread. Wakes a sleeper that watches the pool, and tells a pool of the
 * program's why; 0: it was created or revived. */
void amg_ready_pool_push(
    struct amg_ready_pool *pool, struct amg_ult *ult, ABT_pool_context context);

/* The next one, or NULL. */
struct amg_ult *amg_ready_pool_pop(struct amg_ready_pool *pool);
struct amg_ult *amg_ready_pool_pop_for(
    struct amg_ready_pool *pool, ABT_pool_context context);
struct amg_ult *amg_ready_pool_steal(struct amg_ready_pool *pool);

/* A thread was popped from a user-defined pool by another of its functions. */
void amg_ready_pool_count_popped(struct amg_ready_pool *pool);

/* Takes out that one; false: it is not in there. */
bool amg_ready_pool_remove(struct amg_ready_pool *pool, struct amg_ult *ult);

/* Ready ones, and with those that are blocked. No lock. */
size_t amg_ready_pool_size(const struct amg_ready_pool *pool);
size_t amg_ready_pool_total(const struct amg_ready_pool *pool);

/* Calls a function for each that is ready, with the lock held; not for the
 * program's own pools. */
void amg_ready_pool_each(struct amg_ready_pool *pool, void *arg,
    void (*visit)(void *arg, ABT_thread thread));

/* A thread of the pool blocks (1), or is ready again (-1). */
void amg_ready_pool_count_blocked(struct amg_ready_pool *pool, int change);
/* A blocked thread left the pool without a push: wakes xstreams that are being
 * joined, and block as long as it has blocked threads. */
void amg_ready_pool_left_blocked(struct amg_ready_pool *pool);

/* Adds a sleeper, which has announced itself: each push wakes one until it is
 * removed. False: the pool is not empty. */
bool amg_ready_pool_watch(struct amg_ready_pool *pool, struct amg_watch *watch);
void amg_ready_pool_unwatch(
    struct amg_ready_pool *pool, struct amg_watch *watch);
/* Wakes one sleeper if the pool is not empty. */
void amg_ready_pool_nudge(struct amg_ready_pool *pool);

#endif
