/* SPDX-License-Identifier: BSD-3-Clause */
/* What the runtime can tell of itself as text: the functions of abt_info.h. */
#include <inttypes.h>
#include <string.h>

#include "ult/attr.h"
#include "ult/handle.h"
#include "ult/sched.h"
#include "ult/stack.h"
#include "ult/state.h"
#include "ult/stream.h"
#include "ult/streams.h"
#include "ult/switch.h"
#include "ult/ult.h"
#include "ult/upool.h"

#define AMG_READS_ALL __attribute__((no_sanitize_address, noinline))

/* Bytes of a line of a stack. */
enum { STACK_LINE = 32 };

static const char *state_name(enum amg_ult_state state)
{
    static const char *const names[] = {
        [AMG_ULT_NEW] = "new",
        [AMG_ULT_READY] = "ready",
        [AMG_ULT_RUNNING] = "running",
        [AMG_ULT_BLOCKED] = "blocked",
        [AMG_ULT_ENDED] = "ended",
    };

    return names[state];
}

static const char *kind_name(const struct amg_ult *ult)
{
    static const char *const names[] = {
        [AMG_ULT_THREAD] = "thread",
        [AMG_ULT_TASKLET] = "tasklet",
        [AMG_ULT_PRIMARY] = "primary thread",
        [AMG_ULT_SCHEDULER] = "scheduler",
    };

    return names[ult->kind];
}

static const char *sched_name(const struct amg_sched *sched)
{
    static const char *const names[] = {
        [ABT_SCHED_DEFAULT] = "basic_wait",
        [ABT_SCHED_BASIC] = "basic",
        [ABT_SCHED_PRIO] = "prio",
        [ABT_SCHED_RANDWS] = "randws",
        [ABT_SCHED_BASIC_WAIT] = "basic_wait",
    };

    return sched->is_users ? "of the program" : names[sched->kind];
}

static void pool_print(FILE *fp, const struct amg_upool *pool, int depth)
{
    fprintf(fp, "%*spool %d: %s, %zu ready, %zu blocked, of %u schedulers%s\n",
        depth, "", pool->id,
        pool->ops == NULL ? "of the program" : pool->ops->name,
        amg_upool_size(pool),
        atomic_load_explicit(&pool->blocked, memory_order_relaxed),
        atomic_load_explicit(&pool->users, memory_order_relaxed),
        pool->is_automatic ? ", freed with the last" : "");
}

static void sched_print(FILE *fp, const struct amg_sched *sched, int depth)
{
    fprintf(fp, "%*sscheduler: %s, %d pools%s\n", depth, "", sched_name(sched),
        sched->count, sched->is_automatic ? ", freed with its stream" : "");
    for (int i = 0; i < sched->count; i++)
        pool_print(fp, sched->pools[i], depth + 2);
}

static bool stream_print(struct amg_stream *stream, void *arg)
{
    FILE *fp = arg;

    fprintf(fp, "stream %d: %s%s\n", stream->rank,
        amg_stream_has_ended(stream) ? "ended" : "runs",
        stream->is_primary ? ", primary" : "");
    sched_print(
        fp, atomic_load_explicit(&stream->sched, memory_order_acquire), 2);
    return false;
}

int ABT_info_print_config(FILE *fp)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    fprintf(fp,
        "user-level threads of Amalgam, with the API of Argobots %s\n"
        "  switch of stacks: %s\n"
        "  stack of a thread: %zu bytes, a guard page below\n"
        "  stacks kept by a stream: %u\n",
        ABT_VERSION, amg_switch_name, amg_stack_default_len(),
        amg_stack_kept_count());
    return ABT_SUCCESS;
}

int ABT_info_print_all_xstreams(FILE *fp)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (ABT_initialized() != ABT_SUCCESS)
        return ABT_ERR_UNINITIALIZED;
    amg_streams_each(stream_print, fp);
    return ABT_SUCCESS;
}

int ABT_info_print_xstream(FILE *fp, ABT_xstream xstream)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    stream_print(amg_stream_of(xstream), fp);
    return ABT_SUCCESS;
}

int ABT_info_print_sched(FILE *fp, ABT_sched sched)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (sched == ABT_SCHED_NULL)
        return ABT_ERR_INV_SCHED;
    sched_print(fp, (const struct amg_sched *)(void *)sched, 0);
    return ABT_SUCCESS;
}

int ABT_info_print_pool(FILE *fp, ABT_pool pool)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    pool_print(fp, amg_upool_of(pool), 0);
    return ABT_SUCCESS;
}

int ABT_info_print_thread(FILE *fp, ABT_thread thread)
{
    struct amg_ult *ult = amg_ult_of(thread);
    ABT_unit_id id = 0;

    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    ABT_thread_get_id(thread, &id);
    fprintf(fp, "%s %" PRIu64 ": %s, pool %d, stack of %zu bytes%s\n",
        kind_name(ult), id, state_name(amg_ult_state(ult)),
        amg_ult_pool(ult) == NULL ? -1 : amg_ult_pool(ult)->id, ult->stack_len,
        ult->is_named ? "" : ", frees itself");
    return ABT_SUCCESS;
}

int ABT_info_print_task(FILE *fp, ABT_task task)
{
    int rc = ABT_info_print_thread(fp, task);

    return rc == ABT_ERR_INV_THREAD ? ABT_ERR_INV_TASK : rc;
}

int ABT_info_print_thread_attr(FILE *fp, ABT_thread_attr attr)
{
    const struct amg_uattr *known = amg_uattr_of(attr);

    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (known == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    fprintf(fp, "thread attributes: stack of %zu bytes%s%s\n",
        known->stack_len == 0 ? amg_stack_default_len() : known->stack_len,
        known->stack == NULL ? "" : " that is the program's",
        known->is_migratable ? ", may migrate" : "");
    return ABT_SUCCESS;
}

/* From where it goes on to the upper end; what the sanitizer keeps between the
 * variables is read, too. */
AMG_READS_ALL static void stack_print(FILE *fp, const struct amg_ult *ult)
{
    const unsigned char *at = ult->sp;
    const unsigned char *end =
        (const unsigned char *)ult->stack_base + ult->stack_room;

    for (; at < end; at += STACK_LINE) {
        fprintf(fp, "%p:", (const void *)at);
        for (int i = 0; i < STACK_LINE && at + i < end; i++)
            fprintf(fp, "%s%02x", i % 8 == 0 ? " " : "", at[i]);
        fputc('\n', fp);
    }
}

/* It has a stack of its own, and is not on it. */
static bool has_stack_to_show(const struct amg_ult *ult)
{
    enum amg_ult_state state = amg_ult_state(ult);

    return ult->kind == AMG_ULT_THREAD && ult->stack_base != NULL &&
           (state == AMG_ULT_READY || state == AMG_ULT_BLOCKED);
}

int ABT_info_print_thread_stack(FILE *fp, ABT_thread thread)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (ult == NULL || !has_stack_to_show(ult))
        return ABT_ERR_INV_THREAD;
    ABT_info_print_thread(fp, thread);
    stack_print(fp, ult);
    return ABT_SUCCESS;
}

static void thread_stack_print(void *arg, ABT_thread thread)
{
    (void)ABT_info_print_thread_stack(arg, thread);
}

int ABT_info_print_thread_stacks_in_pool(FILE *fp, ABT_pool pool)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    return ABT_pool_print_all_threads(pool, fp, thread_stack_print);
}

int ABT_info_trigger_print_all_thread_stacks(
    FILE *fp, double timeout, void (*cb_func)(ABT_bool, void *), void *arg)
{
    (void)fp;
    (void)timeout;
    (void)cb_func;
    (void)arg;
    return ABT_ERR_FEATURE_NA;
}
