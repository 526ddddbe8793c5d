/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of the program's own: how its functions are called, and what they call
 * a thread. */
#ifndef AMG_ULT_UPOOL_USER_H
#define AMG_ULT_UPOOL_USER_H

#include <stdbool.h>
#include <stddef.h>

#include "abt.h"

struct amg_ult;
struct amg_upool;
struct amg_unit;

/* What ABT_pool_user_def points to when it was made by us: `def` says so by its
 * u_get_type. In a pool, a copy of either form. */
struct amg_upool_user {
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

/* NULL: it is an ABT_pool_def. */
struct amg_upool_user *amg_upool_user_of(ABT_pool_user_def def);
/* Makes `user` one that amg_upool_user_of() knows. */
void amg_upool_user_mark(struct amg_upool_user *user);

/* Copies the definition into the pool, and calls its init. An ABT code. */
int amg_upool_user_open(
    struct amg_upool *pool, ABT_pool_user_def def, ABT_pool_config config);
void amg_upool_user_close(struct amg_upool *pool);

/* The functions; no lock is held. */
int amg_upool_user_unit_create(
    struct amg_upool *pool, struct amg_ult *ult, struct amg_unit **ret_unit);
void amg_upool_user_unit_free(struct amg_unit *unit);
void amg_upool_user_push(
    struct amg_upool *pool, struct amg_ult *ult, ABT_pool_context context);
struct amg_ult *amg_upool_user_pop(
    struct amg_upool *pool, ABT_pool_context context);
bool amg_upool_user_remove(struct amg_upool *pool, struct amg_ult *ult);
/* 0: nothing is ready; else at least 1. */
size_t amg_upool_user_size(const struct amg_upool *pool);

#endif
