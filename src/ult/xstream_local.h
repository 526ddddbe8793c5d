/* SPDX-License-Identifier: BSD-3-Clause */
/* State of an execution stream that belongs to the stream's OS thread; stacks
 * of user-level threads, each with a guard page below, and their caches. */
#ifndef AMG_ULT_XSTREAM_LOCAL_H
#define AMG_ULT_XSTREAM_LOCAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fibre.h"
#include "ult/ult.h"

/* Owned by the user-level thread that runs on the stack, or by a cache. */
struct amg_stack {
    struct amg_stack *next; /* next stack in the cache */
    struct amg_link in_all; /* the list of all stacks */
    void *base;
    size_t len;
    struct amg_fibre fibre;
    unsigned color; /* number of the offset at the upper end; see stack.c */
    /* Struct of the thread, at the upper end, which the next thread on this
     * stack uses again; NULL: the stack has had no thread yet. */
    struct amg_ult *ult;
};

/* Cache of free stacks: of an xstream, for its OS thread alone, or shared
 * (stack.c). A cache of zeros is empty. */
struct amg_stack_cache {
    struct amg_stack *first;
    unsigned count;
};

/* Reads the sizes of stacks and caches from the environment, before threads
 * run. amg_stacks_close() frees the stacks of the shared cache. */
void amg_stacks_open(void);
void amg_stacks_close(void);
/* Calls `visit` for all stacks, also unused ones, with their lock held. */
void amg_stacks_visit(
    void (*visit)(const struct amg_stack *stack, void *arg), void *arg);

/* Default size of a stack. */
size_t amg_stack_default_len(void);
/* Maximum number of free stacks in the cache of an xstream. */
unsigned amg_stack_cache_cap(void);

/* A stack of at least `len` bytes; NULL: no memory, logged. `cache`: the cache
 * of the calling xstream, or NULL. */
struct amg_stack *amg_stack_alloc(struct amg_stack_cache *cache, size_t len);
/* Frees a stack that no thread runs on. */
void amg_stack_free(struct amg_stack_cache *cache, struct amg_stack *stack);
/* At an xstream's end: moves its stacks to the shared cache, or frees them. */
void amg_stack_cache_flush(struct amg_stack_cache *cache);

/* Memory for an object of `len` bytes at the upper end of a stack; the thread's
 * frames use the memory below. */
void *amg_stack_top(const struct amg_stack *stack, size_t len);

/* Xstream state. Other threads use only `own`, `xstream`, `is_own_ready`. */
struct amg_xstream_local {
    struct amg_ult *current;
    struct amg_ult *left;   /* the thread that has just left its stack */
    struct amg_ult *handed; /* thread that the scheduler has to run first */
    struct amg_xstream *xstream;
    /* C++ state of the running thread, at an address that does not change while
     * this OS thread lives; NULL: no C++ runtime was loaded when the xstream
     * began. */
    struct amg_caught *caught;
    struct amg_stack_cache stacks;
    struct amg_ult *scheduler; /* main scheduler; NULL: not primary xstream */
    void *signal_stack; /* NULL: the OS thread had a signal stack before */
    /* main() is ready, and another xstream has popped main(). */
    atomic_bool is_own_ready;
    struct amg_ult own; /* on the OS thread's stack: main(), or a scheduler */
};

/* Makes the calling OS thread the thread of `xstream`. The stack of the OS
 * thread is the stack of `own`. NULL: no memory, logged. The OS thread runs no
 * user-level threads after amg_xstream_local_close(). */
struct amg_xstream_local *amg_xstream_local_open(struct amg_xstream *xstream);
void amg_xstream_local_close(struct amg_xstream_local *local);
/* Called in a child of fork(): takes the calling thread off its xstream. */
void amg_xstream_local_leave(void);

/* amg_xstream_local_self() as a call, for machines other than x86-64. */
struct amg_xstream_local *amg_xstream_local_far(void);

/* The state of the calling OS thread; NULL: the OS thread belongs to no
 * xstream. No caller keeps the result over a switch of threads, and no compiler
 * may merge two calls: after a switch another OS thread may run the caller. */
static inline struct amg_xstream_local *amg_xstream_local_self(void)
{
#if defined(__x86_64__) && !defined(__ILP32__)
    struct amg_xstream_local *local = NULL;

    /* ELF Handling for Thread-Local Storage, 4.4.6: initial exec. */
    __asm__ volatile("movq amg_xstream_local_of_thread@gottpoff(%%rip), %0\n\t"
                     "movq %%fs:(%0), %0"
                     : "=r"(local));
    return local;
#else
    return amg_xstream_local_far();
#endif
}

/* The execution stream of the calling OS thread, or NULL. */
static inline struct amg_xstream *amg_xstream_self(void)
{
    struct amg_xstream_local *local = amg_xstream_local_self();

    return local == NULL ? NULL : local->xstream;
}

/* The calling user-level thread, tasklet or scheduler; NULL: the OS thread
 * belongs to no xstream. */
static inline struct amg_ult *amg_ult_current(void)
{
    struct amg_xstream_local *local = amg_xstream_local_self();

    return local == NULL ? NULL : local->current;
}

/* The calling user-level thread. NULL: the caller is on no xstream, or is a
 * tasklet or scheduler, which cannot leave its stack. */
static inline struct amg_ult *amg_ult_self(void)
{
    struct amg_ult *ult = amg_ult_current();

    return ult == NULL ||
                   (ult->kind != AMG_ULT_THREAD && ult->kind != AMG_ULT_PRIMARY)
               ? NULL
               : ult;
}

/* The ABT code for a caller that is on no xstream. */
int amg_ult_none_code(void);

/* Is the caller a tasklet? Tasklets run on their scheduler's stack, so they
 * cannot wait for other threads of their xstream. */
static inline bool amg_ult_caller_is_task(void)
{
    const struct amg_ult *ult = amg_ult_current();

    return ult != NULL && ult->kind == AMG_ULT_TASKLET;
}

/* May this OS thread run `ult`? Only main()'s own OS thread may run main(). */
static inline bool amg_ult_may_run_on(
    const struct amg_xstream_local *local, const struct amg_ult *ult)
{
    return ult->kind != AMG_ULT_PRIMARY || ult == &local->own;
}

#endif
