/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the child of a fork() from its parent. */
#include "base/fork.h"

#include <pthread.h>
#include <stdatomic.h>

/* Written in a child, where only one thread is. */
static atomic_uint forks;

static void child_count(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

/* NOTE(not looked at): without memory for it, a child is taken for its parent,
 * as it was before. */
static void watch_begin(void)
{
    (void)pthread_atfork(NULL, NULL, child_count);
}

void amg_fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, watch_begin);
}

unsigned amg_fork_count(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
