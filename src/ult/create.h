/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes user-level threads, and takes their memory back. */
#ifndef AMG_ULT_CREATE_H
#define AMG_ULT_CREATE_H

#include "ult/ult.h"

/* What one is to be. */
struct amg_ult_wish {
    enum amg_ult_kind kind; /* THREAD, TASKLET or SCHEDULER */
    struct amg_upool *pool; /* NULL for a SCHEDULER */
    void (*function)(void *arg);
    void *arg;
    void *stack;      /* of the program, NULL: ours */
    size_t stack_len; /* 0: the default */
    bool is_named;
    bool is_fixed; /* it stays where it is created: is not migrated */
    void (*on_migration)(ABT_thread thread, void *arg);
    void *on_migration_arg;
};

/* NEW, in no pool. NULL: no memory, said in the log. */
struct amg_ult *amg_ult_create(const struct amg_ult_wish *wish);

/* It has ended, or never run. Not by itself. */
void amg_ult_destroy(struct amg_ult *ult);

/* It has ended, and is as after create but for its state; its pool has adopted
 * it. */
void amg_ult_renew(struct amg_ult *ult, void (*function)(void *arg), void *arg);

/* The fields every one has, all other zeros. */
void amg_ult_init(struct amg_ult *ult, enum amg_ult_kind kind);

/* The least bytes of a stack that the program gives. */
size_t amg_ult_least_stack_len(void);

#endif
