/* SPDX-License-Identifier: BSD-3-Clause */
/* User-defined pools: their functions, and the units that represent threads in
 * them. */
#ifndef AMG_ULT_USER_POOL_H
#define AMG_ULT_USER_POOL_H

#include "ult/ult.h"

/* A definition, behind ABT_pool_user_def when the library made it: `def` says
 * so by its u_get_type. In a pool, a copy of either form. */
struct amg_user_pool {
    ABT_pool pool;    /* that has this copy */
    ABT_pool_def def; /* the older form */
    bool is_old;      /* in a pool: only that one counts */
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

/* The unit of a thread in such a pool; ult->unit points to it. Freed with the
 * thread, or when that belongs to another pool. */
struct amg_unit {
    ABT_unit unit; /* the program's */
    struct amg_user_pool *pool;
    struct amg_ult *ult;
};

/* NULL: it is an ABT_pool_def. */
struct amg_user_pool *amg_user_pool_of(ABT_pool_user_def def);

/* A copy of the definition for `pool`. NULL: no memory. */
struct amg_user_pool *amg_user_pool_create(
    ABT_pool pool, ABT_pool_user_def def);
/* Does the definition have all that a pool needs? */
bool amg_user_pool_is_whole(ABT_pool_user_def def);

/* The functions of the program; no lock is held. */
int amg_user_pool_init(
    const struct amg_user_pool *user, ABT_pool_config config);
void amg_user_pool_free(const struct amg_user_pool *user);
void amg_user_pool_push(const struct amg_user_pool *user, struct amg_ult *ult,
    ABT_pool_context context);
struct amg_ult *amg_user_pool_pop(
    const struct amg_user_pool *user, ABT_pool_context context);
bool amg_user_pool_remove(
    const struct amg_user_pool *user, struct amg_ult *ult);
/* 0: nothing is ready; else at least 1. `counted`: by the library. */
size_t amg_user_pool_size(const struct amg_user_pool *user, size_t counted);

/* An ABT code. */
int amg_unit_create(struct amg_user_pool *user, struct amg_ult *ult,
    struct amg_unit **ret_unit);
void amg_unit_destroy(struct amg_unit *unit);

/* In a pool of ours it is the thread's own address, made odd: those of the
 * program's objects are even. */
ABT_unit amg_unit_of(struct amg_ult *ult);
/* NULL: nothing of that name is there. */
struct amg_ult *amg_unit_ult(ABT_unit unit);

#endif
