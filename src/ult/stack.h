/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks of user-level threads, with a guard below, and caches of free stacks.
 */
#ifndef AMG_ULT_STACK_H
#define AMG_ULT_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fibre.h"

/* Owned by the thread that took it, until it is given back. */
struct amg_stack {
    struct amg_stack *next; /* in a cache */
    void *base;
    size_t len;
    struct amg_fibre fibre;
    unsigned color; /* recommended start of its user, see amg_stack_top() */
};

/* Cache of free stacks of an xstream; only its OS thread uses it. All zero is
 * empty. */
struct amg_stack_cache {
    struct amg_stack *first;
    unsigned count;
};

/* Reads the sizes of stacks and caches from the environment, before threads
 * run. Close frees the shared cache. */
void amg_stacks_open(void);
void amg_stacks_close(void);

/* Default size of a stack. */
size_t amg_stack_default_len(void);
/* Number of stacks in the cache of an xstream. */
unsigned amg_stack_kept_count(void);

/* At least `len` bytes. `cache`: of the calling xstream, or NULL. NULL: no
 * memory, logged. */
struct amg_stack *amg_stack_take(struct amg_stack_cache *cache, size_t len);
/* No thread runs on it. */
void amg_stack_give(struct amg_stack_cache *cache, struct amg_stack *stack);
/* The xstream ends. */
void amg_stack_cache_flush(struct amg_stack_cache *cache);

/* Memory for an object of `len` bytes at the upper end; the usable stack is
 * below. */
void *amg_stack_top(const struct amg_stack *stack, size_t len);

#endif
