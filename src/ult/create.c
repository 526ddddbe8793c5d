/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes user-level threads, and takes their memory back.
 *
 * A thread lies at the upper end of its own stack, so it takes no further
 * memory, and its first page is one that it touches anyway. */
#include "ult/create.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "ult/end.h"
#include "ult/host.h"
#include "ult/leave.h"
#include "ult/switch.h"
#include "ult/upool.h"

enum {
    OWN_LEN = 4096, /* more than a thread and the hue of its stack take */
    LEAST_STACK = 4096,
};

/* The first function on its stack. */
static void ult_entry(void *arg)
{
    struct amg_ult *self = arg;

    amg_ult_arrive();
    if ((atomic_load_explicit(&self->requests, memory_order_relaxed) &
            AMG_ULT_TO_CANCEL) == 0)
        self->function(self->arg);
    amg_ult_end(self);
}

void amg_ult_init(struct amg_ult *ult, enum amg_ult_kind kind)
{
    memset(ult, 0, sizeof(*ult));
    ult->kind = kind;
    amg_list_init(&ult->joiners);
}

/* Its stack as it was before the first switch to it. */
static void stack_prepare(struct amg_ult *ult)
{
    ult->sp =
        amg_switch_prepare(ult->stack_base, ult->stack_room, ult_entry, ult);
}

size_t amg_ult_least_stack_len(void)
{
    return LEAST_STACK;
}

/* On a stack of ours; its memory is the upper end of that. */
static struct amg_ult *create_on_ours(const struct amg_ult_wish *wish)
{
    size_t len = amg_stack_default_len();
    struct amg_host *host = amg_host_self();
    struct amg_stack *stack = NULL;
    struct amg_ult *ult = NULL;

    if (wish->stack_len != 0 && wish->stack_len != len)
        len = wish->stack_len + OWN_LEN;
    stack = amg_stack_take(host == NULL ? NULL : &host->stacks, len);
    if (stack == NULL)
        return NULL;
    ult = amg_stack_top(stack, sizeof(*ult));
    amg_ult_init(ult, wish->kind);
    ult->stack = stack;
    amg_fibre_reuse(&stack->fibre);
    ult->fibre = stack->fibre;
    ult->stack_base = stack->base;
    ult->stack_room = (size_t)((char *)ult - (char *)stack->base);
    ult->stack_len =
        wish->stack_len != 0 ? wish->stack_len : amg_stack_default_len();
    return ult;
}

/* Without a stack, or on one of the program. */
static struct amg_ult *create_beside(const struct amg_ult_wish *wish)
{
    struct amg_ult *ult = amg_mem_alloc(sizeof(*ult));

    if (ult == NULL) {
        AMG_LOG_ERROR("ult", "no memory for a user-level thread");
        return NULL;
    }
    amg_ult_init(ult, wish->kind);
    ult->stack_base = wish->stack;
    ult->stack_room = wish->stack_len;
    if (wish->stack != NULL)
        amg_fibre_open(&ult->fibre, wish->stack, wish->stack_len);
    ult->stack_len = wish->stack_len;
    return ult;
}

void amg_ult_destroy(struct amg_ult *ult)
{
    struct amg_host *host = amg_host_self();
    struct amg_stack *stack = ult->stack;

    amg_key_table_clear(&ult->keys);
    if (ult->unit != NULL)
        amg_upool_disown(ult);
    amg_fibre_clean(&ult->fibre, ult->sp);
    if (stack != NULL) {
        amg_stack_give(host == NULL ? NULL : &host->stacks, stack);
        return;
    }
    if (ult->stack_base != NULL)
        amg_fibre_close(&ult->fibre);
    amg_mem_free(ult);
}

struct amg_ult *amg_ult_create(const struct amg_ult_wish *wish)
{
    bool has_stack = wish->kind != AMG_ULT_TASKLET;
    struct amg_ult *ult = has_stack && wish->stack == NULL
                              ? create_on_ours(wish)
                              : create_beside(wish);

    if (ult == NULL)
        return NULL;
    ult->function = wish->function;
    ult->arg = wish->arg;
    ult->is_named = wish->is_named;
    ult->is_migratable = !wish->is_fixed;
    ult->on_migration = wish->on_migration;
    ult->on_migration_arg = wish->on_migration_arg;
    if (has_stack)
        stack_prepare(ult);
    if (wish->pool != NULL && amg_upool_adopt(wish->pool, ult) != ABT_SUCCESS) {
        amg_ult_destroy(ult);
        return NULL;
    }
    return ult;
}

void amg_ult_renew(struct amg_ult *ult, void (*function)(void *arg), void *arg)
{
    ult->function = function;
    ult->arg = arg;
    ult->caught = (struct amg_caught){.exceptions = NULL};
    atomic_store_explicit(&ult->requests, 0, memory_order_relaxed);
    atomic_store_explicit(&ult->migrates_to, NULL, memory_order_relaxed);
    if (ult->kind != AMG_ULT_TASKLET) {
        amg_fibre_clean(&ult->fibre, ult->sp);
        stack_prepare(ult);
    }
}
