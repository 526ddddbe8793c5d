/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks of user-level threads.
 *
 * Free stacks of the default length are cached: up to `kept` stacks by each
 * xstream, without a lock, and SHARED_FACTOR times as many in a shared cache,
 * under a lock. So threads that one xstream creates and another xstream frees
 * cost no system calls either. Other stacks are unmapped at once. */
#include "ult/xstream_local.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"

/* Tops of stacks differ by an offset (color), to fall into many cache sets. */
enum {
    SHARED_FACTOR = 16,
    COLORS = 16,      /* number of offsets */
    COLOR_STEP = 128, /* bytes */
};

static struct amg_lock stacks_lock AMG_LOCK_KEPT;
static struct {
    size_t default_len;
    unsigned kept;
    /* stacks_lock guards `shared`, `all` and `next_color`. */
    struct amg_stack_cache shared;
    struct amg_list all;
    unsigned next_color;
} stacks = {.all = {{&stacks.all.head, &stacks.all.head}}};

static size_t len_round(size_t len)
{
    return (len + AMG_PAGE_LEN - 1) / AMG_PAGE_LEN * AMG_PAGE_LEN;
}

static void stack_destroy(struct amg_stack *stack)
{
    amg_lock_lock(&stacks_lock);
    amg_list_remove(&stack->in_all);
    amg_lock_unlock(&stacks_lock);
    amg_fibre_close(&stack->fibre);
    amg_guarded_close(stack->base, stack->len);
    amg_mem_free(stack);
}

static struct amg_stack *stack_create(size_t len)
{
    struct amg_stack *stack = amg_mem_zalloc(sizeof(*stack));

    if (stack != NULL)
        stack->base = amg_guarded_open(len);
    if (stack == NULL || stack->base == NULL) {
        AMG_LOG_ERROR("ult",
            "no stack of %zu bytes for a user-level thread: %s; use fewer "
            "threads, a smaller ABT_THREAD_STACKSIZE, or more address space "
            "(ulimit -v, vm.overcommit_memory)",
            len, stack == NULL ? "no memory" : strerror(errno));
        amg_mem_free(stack);
        return NULL;
    }
    stack->len = len;
    amg_fibre_open(&stack->fibre, stack->base, len);
    amg_lock_lock(&stacks_lock);
    stack->color = stacks.next_color++ % COLORS;
    amg_list_push(&stacks.all, &stack->in_all);
    amg_lock_unlock(&stacks_lock);
    return stack;
}

/* Takes a stack out of a cache; NULL: the cache is empty. */
static struct amg_stack *cache_pop(struct amg_stack_cache *cache)
{
    struct amg_stack *stack = cache->first;

    if (stack != NULL) {
        cache->first = stack->next;
        cache->count--;
    }
    return stack;
}

/* Puts a stack into a cache; false: the cache is full. */
static bool cache_push(
    struct amg_stack_cache *cache, struct amg_stack *stack, unsigned cap)
{
    if (cache->count >= cap)
        return false;
    stack->next = cache->first;
    cache->first = stack;
    cache->count++;
    return true;
}

/* Takes a stack out of the shared cache; NULL: the cache is empty. */
static struct amg_stack *shared_pop(void)
{
    struct amg_stack *stack = NULL;

    amg_lock_lock(&stacks_lock);
    stack = cache_pop(&stacks.shared);
    amg_lock_unlock(&stacks_lock);
    return stack;
}

/* Keeps the stack in the shared cache, or destroys it. */
static void shared_push(struct amg_stack *stack)
{
    bool is_kept = false;

    amg_lock_lock(&stacks_lock);
    is_kept = cache_push(&stacks.shared, stack, stacks.kept * SHARED_FACTOR);
    amg_lock_unlock(&stacks_lock);
    if (!is_kept)
        stack_destroy(stack);
}

void amg_stacks_open(void)
{
    amg_lock_lock(&stacks_lock);
    stacks.default_len = len_round(amg_env_number(AMG_ENV_ULT_STACK_BYTES));
    stacks.kept = (unsigned)amg_env_number(AMG_ENV_ULT_STACKS_KEPT);
    amg_lock_unlock(&stacks_lock);
}

void amg_stacks_close(void)
{
    struct amg_stack *stack = NULL;

    while ((stack = shared_pop()) != NULL)
        stack_destroy(stack);
}

void amg_stacks_visit(
    void (*visit)(const struct amg_stack *stack, void *arg), void *arg)
{
    struct amg_link *link = NULL;

    amg_lock_lock(&stacks_lock);
    for (link = amg_list_first(&stacks.all); link != NULL;
         link = amg_list_next(&stacks.all, link))
        visit(amg_container_of(link, struct amg_stack, in_all), arg);
    amg_lock_unlock(&stacks_lock);
}

size_t amg_stack_default_len(void)
{
    return stacks.default_len;
}

unsigned amg_stack_cache_cap(void)
{
    return stacks.kept;
}

struct amg_stack *amg_stack_alloc(struct amg_stack_cache *cache, size_t len)
{
    struct amg_stack *stack = NULL;

    len = len_round(len);
    if (len == 0)
        /* len_round() has overflowed: stack_create() fails, and logs that. */
        len = SIZE_MAX - SIZE_MAX % AMG_PAGE_LEN;
    if (len != stacks.default_len)
        return stack_create(len);
    if (cache != NULL)
        stack = cache_pop(cache);
    if (stack == NULL)
        stack = shared_pop();
    return stack != NULL ? stack : stack_create(len);
}

void amg_stack_free(struct amg_stack_cache *cache, struct amg_stack *stack)
{
    if (stack->len != stacks.default_len)
        stack_destroy(stack);
    else if (cache == NULL || !cache_push(cache, stack, stacks.kept))
        shared_push(stack);
}

void amg_stack_cache_flush(struct amg_stack_cache *cache)
{
    struct amg_stack *stack = NULL;

    while ((stack = cache_pop(cache)) != NULL)
        shared_push(stack);
}

void *amg_stack_top(const struct amg_stack *stack, size_t len)
{
    uintptr_t top = (uintptr_t)stack->base + stack->len;

    top -= stack->color * COLOR_STEP + len;
    return (void *)(top & ~(uintptr_t)63);
}
