/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of ready user-level threads, behind ABT_pool, and sleepers, which wait
 * for pushes into pools. */
#ifndef AMG_ULT_READY_POOL_H
#define AMG_ULT_READY_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "ult/ult.h"

/* A sleeper blocks until a push into one of several pools. A sleeper is an idle
 * xstream, a user-level thread that blocks its xstream, or another OS thread.
 *
 *   AWAKE -> ASLEEP -> AWAKE               the claimer then wakes the futex
 *   AWAKE -> BLOCKED -> WAKING -> AWAKE    the claimer calls block->wake()
 *
 * A push or a request claims a sleeper by ending the sleeper's state ASLEEP or
 * BLOCKED; each push claims at most one sleeper. At a deadline or disarm, the
 * sleeper itself returns to AWAKE. An ASLEEP sleeper may be freed once claimed;
 * the memory of a WAKING sleeper stays until the sleeper is AWAKE. */
enum amg_sleeper_state {
    AMG_SLEEPER_AWAKE,
    AMG_SLEEPER_ASLEEP,
    AMG_SLEEPER_BLOCKED,
    AMG_SLEEPER_WAKING,
};

/* A user-level thread that blocks its whole xstream in a call of another
 * module. Owned by the caller of amg_block_begin() until amg_block_end(). */
struct amg_block {
    /* Called by any thread. If called before the user-level thread blocks, the
     * user-level thread must not block. */
    void (*wake)(void *arg);
    void *arg;
};

/* Part of an xstream, or on the stack of the caller that waits. */
struct amg_sleeper {
    /* An amg_sleeper_state, and the futex word. A change by the sleeper
     * publishes `block`; a claim publishes the claimer's push or request. */
    atomic_uint word;
    struct amg_block *block; /* valid while BLOCKED or WAKING */
};

/* Link in the list of one pool, guarded by the lock of that pool. */
struct amg_watch {
    struct amg_link link;
    struct amg_sleeper *sleeper;
};

/* A sleeper that was claimed, but not woken yet. */
struct amg_claim {
    struct amg_sleeper *sleeper;
    enum amg_sleeper_state was; /* before the claim; AWAKE: none was claimed */
};

void amg_sleeper_init(struct amg_sleeper *sleeper);

/* Announces that the caller will block unless claimed, and is a full barrier.
 * Afterwards the caller checks once more everything that it waits for. */
void amg_sleeper_arm(struct amg_sleeper *sleeper, struct amg_block *block);
/* Blocks until claimed; false: `deadline_ns` of amg_clock_ns() came first. */
bool amg_sleeper_sleep(struct amg_sleeper *sleeper, uint64_t deadline_ns);
/* Makes the sleeper AWAKE, claimed or not; waits while block->wake() runs. */
void amg_sleeper_disarm(struct amg_sleeper *sleeper);

/* Claims the sleeper; by any thread, also with a lock held. False: the sleeper
 * is awake, or another caller has claimed it. */
bool amg_sleeper_claim(
    struct amg_sleeper *sleeper, struct amg_claim *ret_claim);
/* Wakes all sleepers that are ASLEEP, but none that is BLOCKED. The caller
 * holds the lock of the list, and has changed what a woken sleeper checks. */
void amg_sleeper_wake_all(struct amg_list *watches);
/* Wakes a claimed sleeper. Called once for each claim, with no lock held. */
void amg_sleeper_wake(const struct amg_claim *claim);

/* The definition of a user-defined pool: an ABT_pool_def of the program (older
 * form), or made by ABT_pool_user_def_create(). Each pool has its own copy. */
struct amg_user_pool {
    ABT_pool pool;    /* the pool that has this copy */
    ABT_pool_def def; /* newer form: only u_get_type is set, to mark() */
    bool is_old;      /* the older form; set only in the copy of a pool */
    ABT_pool_user_create_unit_fn create_unit;
    ABT_pool_user_free_unit_fn free_unit;
    ABT_pool_user_is_empty_fn is_empty;
    ABT_pool_user_pop_fn pop;
    ABT_pool_user_push_fn push;
    ABT_pool_user_init_fn init;
    ABT_pool_user_free_fn free;
    ABT_pool_user_get_size_fn get_size;
    ABT_pool_user_pop_wait_fn pop_wait;
    ABT_pool_user_pop_many_fn pop_many;
    ABT_pool_user_push_many_fn push_many;
    ABT_pool_user_print_all_fn print_all;
};

/* Functions of a kind of pool, called with the lock of the pool held. */
struct amg_ready_pool_ops {
    ABT_pool_kind kind;
    const char *name;
    void (*push)(struct amg_ready_pool *pool, struct amg_ult *ult);
    struct amg_ult *(*pop)(struct amg_ready_pool *pool);
    /* Pops for a randws scheduler whose first pool is another pool. */
    struct amg_ult *(*steal)(struct amg_ready_pool *pool);
};

/* Owned by its creator; an automatic pool is freed with its last scheduler, or
 * with its successor. The lock guards lists, `turns` and `successor`. */
struct amg_ready_pool {
    const struct amg_ready_pool_ops *ops; /* NULL: user-defined, see `user` */
    struct amg_bias lock;
    struct amg_list ready;
    struct amg_list fresh;   /* threads that have never run, of prio_wait */
    struct amg_list watches; /* struct amg_watch of sleepers */
    unsigned turns;          /* pops, as ready_pool_kinds.c counts them */
    /* The next three members are read without the lock. `blocked`, and the
     * `size` of a built-in pool, are changed only under the lock. */
    atomic_size_t size;
    atomic_size_t blocked;
    atomic_uint users; /* schedulers that use the pool */
    ABT_pool_access access;
    bool is_automatic;
    int id;
    /* The pool that receives all threads pushed into this pool, once the last
     * scheduler of this pool is freed. Set once, with the lock held. */
    struct amg_ready_pool *successor;
    struct amg_watch successor_watch; /* makes each push read `successor` */
    /* Pools whose successor is this pool; they are freed with this pool. */
    struct amg_ready_pool *_Atomic predecessors;
    struct amg_ready_pool *next_predecessor;
    void *data;
    /* Pushes under way into a user-defined pool; a free waits for 0. */
    atomic_uint pushes;
    struct amg_user_pool *user; /* the functions of the program */
};

/* The functions of a built-in kind; NULL: there is no such kind. */
const struct amg_ready_pool_ops *amg_ready_pool_ops_of(ABT_pool_kind kind);

/* NULL: no memory. */
struct amg_ready_pool *amg_ready_pool_create(
    const struct amg_ready_pool_ops *ops, ABT_pool_access access,
    bool is_automatic);
/* A scheduler takes or drops its reference; the last scheduler frees an
 * automatic pool. Threads left in the pool move to `successor`, blocked threads
 * when they become ready. `successor` NULL: the threads are dropped. */
void amg_ready_pool_ref(struct amg_ready_pool *pool);
void amg_ready_pool_unref(
    struct amg_ready_pool *pool, struct amg_ready_pool *successor);
/* Undoes amg_ready_pool_ref(), frees no pool; returns the remaining users. */
unsigned amg_ready_pool_deref(struct amg_ready_pool *pool);

/* Makes `pool` the thread's pool, and creates a unit if `pool` is user-defined;
 * pushes nothing. Called by the thread's creator, or by a caller that removed
 * the thread from its pool. Returns an ABT code; an error changes nothing. */
int amg_ready_pool_adopt(struct amg_ready_pool *pool, struct amg_ult *ult);
/* Frees the unit of a thread that is freed, or moves to a built-in pool. */
void amg_ready_pool_disown(struct amg_ult *ult);

/* Makes a BLOCKED or ENDED thread ready: performs a requested migration, pushes
 * the thread into its pool, and wakes a sleeper that watches the pool. Called
 * by any thread. */
void amg_ult_make_ready(struct amg_ult *ult);
/* Makes ready a thread that yields, and has left its stack on the calling
 * xstream. Wakes no sleeper if runs_next() says that this xstream will next run
 * the only ready thread of the pool. */
void amg_ult_yielded(
    struct amg_ult *ult, bool (*runs_next)(const struct amg_ready_pool *pool));

/* Performs a requested migration: sets the pool, but pushes nothing. */
void amg_ult_migrate(struct amg_ult *ult);

/* Pushes a thread, and wakes a sleeper that watches the pool. Called by any
 * thread. `context`: for a user-defined pool; 0: `ult` is new or revived. */
void amg_ready_pool_push(
    struct amg_ready_pool *pool, struct amg_ult *ult, ABT_pool_context context);

/* Pushes the units of `count` ready threads, which the pool has adopted, by the
 * user-defined pool's function push_many, which must not be NULL. */
void amg_ready_pool_push_many(struct amg_ready_pool *pool,
    const ABT_unit *units, size_t count, ABT_pool_context context);

/* Pops the next thread, or NULL. `context` is for a user-defined pool. */
struct amg_ult *amg_ready_pool_pop(struct amg_ready_pool *pool);
struct amg_ult *amg_ready_pool_pop_for(
    struct amg_ready_pool *pool, ABT_pool_context context);
/* Pops by the program's function pop_wait. False: the pool has no pop_wait. */
bool amg_ready_pool_pop_wait(struct amg_ready_pool *pool, double secs,
    ABT_pool_context context, struct amg_ult **ret_ult);
struct amg_ult *amg_ready_pool_steal(struct amg_ready_pool *pool);
/* Pops a thread of a built-in pool, and counts another thread of the pool,
 * which is about to block, as blocked; locks the pool once. */
struct amg_ult *amg_ready_pool_pop_for_blocked(struct amg_ready_pool *pool);

/* `self`, which is about to leave its stack, yields to the next thread of its
 * built-in pool: pops and returns that thread, and pushes `self`. The pool
 * stays locked until `self` has left. NULL: no other thread is ready, or the
 * pool has watches; the pool is unchanged and unlocked. */
struct amg_ult *amg_ready_pool_turn(
    struct amg_ready_pool *pool, struct amg_ult *self);

/* Removes a thread; false: not in the pool, or p_remove failed or is NULL. */
bool amg_ready_pool_remove(struct amg_ready_pool *pool, struct amg_ult *ult);

/* _size() counts ready threads, _total() ready and blocked threads. No lock. */
size_t amg_ready_pool_size(const struct amg_ready_pool *pool);
size_t amg_ready_pool_total(const struct amg_ready_pool *pool);

/* Is a thread ready in a built-in pool? Takes no lock. */
static inline bool amg_ready_pool_has_any(const struct amg_ready_pool *pool)
{
    return atomic_load_explicit(&pool->size, memory_order_relaxed) > 0;
}

/* Counts a thread of the pool that blocks (1), or is ready again (-1). */
void amg_ready_pool_count_blocked(struct amg_ready_pool *pool, int change);
/* Decrements `blocked`: a thread has left the pool without a push. At 0, wakes
 * all sleepers of the pool, as an xstream that is being joined may end now. */
void amg_ready_pool_uncount_blocked(struct amg_ready_pool *pool);

/* Adds the watch of an armed sleeper, until amg_ready_pool_unwatch(). False:
 * the pool is not empty; the watch was added nevertheless. */
bool amg_ready_pool_watch(struct amg_ready_pool *pool, struct amg_watch *watch);
void amg_ready_pool_unwatch(
    struct amg_ready_pool *pool, struct amg_watch *watch);
/* Wakes one sleeper if the pool is not empty. */
void amg_ready_pool_wake_one(struct amg_ready_pool *pool);

/* The unit of `ult`, which may be NULL. In a built-in pool the unit is the
 * address of the thread, made odd: units of the program have even addresses. */
ABT_unit amg_unit_of(struct amg_ult *ult);
/* The thread of a unit; NULL: no such unit. */
struct amg_ult *amg_unit_ult(ABT_unit unit);

#endif
