/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user-level thread is to be made with: what ABT_thread_attr points to.
 */
#ifndef AMG_ULT_ATTR_H
#define AMG_ULT_ATTR_H

#include <stdbool.h>
#include <stddef.h>

#include "abt.h"

/* The program's. */
struct amg_uattr {
    void *stack;        /* NULL: the library's */
    size_t stack_len;   /* 0: the default */
    bool is_of_primary; /* main()'s, whose stack is not known */
    bool is_migratable;
    void (*on_migration)(ABT_thread thread, void *arg);
    void *on_migration_arg;
};

#endif
