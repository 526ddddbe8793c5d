/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks of user-level threads: made with a guard below, kept for the next
 * thread when one has ended. */
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
    unsigned color; /* where its user should begin, see amg_stack_top() */
};

/* Stacks that one xstream keeps; only its OS thread touches them. Zeros are an
 * empty one. */
struct amg_stack_cache {
    struct amg_stack *first;
    unsigned count;
};

/* Reads from the environment how long stacks are and how many are kept; when
 * nothing runs. Close gives back what is kept by all together. */
void amg_stacks_open(void);
void amg_stacks_close(void);

/* Of threads that ask for nothing. */
size_t amg_stack_default_len(void);
/* How many one xstream keeps. */
unsigned amg_stack_kept_count(void);

/* `len`: at least so many bytes. `cache`: of the calling xstream, or NULL.
 * NULL: no memory, said in the log. */
struct amg_stack *amg_stack_take(struct amg_stack_cache *cache, size_t len);
/* No thread runs on it. */
void amg_stack_give(struct amg_stack_cache *cache, struct amg_stack *stack);
/* The xstream ends. */
void amg_stack_cache_flush(struct amg_stack_cache *cache);

/* The room for an object of `len` bytes at the upper end; the stack proper is
 * below. */
void *amg_stack_top(const struct amg_stack *stack, size_t len);

#endif
