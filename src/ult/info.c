/* SPDX-License-Identifier: BSD-3-Clause */
/* Information about the runtime: the functions of abt_info.h, the names of
 * error codes, and the tool interface, which is not available. */
#include <inttypes.h>
#include <string.h>

#include "affinity/bind.h"
#include "base/assert.h"
#include "ult/ready_pool.h"
#include "ult/sched.h"
#include "ult/switch.h"
#include "ult/ult.h"
#include "ult/xstream_local.h"

int ABT_info_query_config(ABT_info_query_kind query_kind, void *val)
{
    enum { GUARD_PAGE = 2, SLEEPS = 0 };

    if (val == NULL)
        return ABT_ERR_INV_ARG;
    switch (query_kind) {
    case ABT_INFO_QUERY_KIND_ENABLED_CHECK_ERROR:
    case ABT_INFO_QUERY_KIND_ENABLED_PRESERVE_FPU:
    case ABT_INFO_QUERY_KIND_ENABLED_THREAD_CANCEL:
    case ABT_INFO_QUERY_KIND_ENABLED_TASK_CANCEL:
    case ABT_INFO_QUERY_KIND_ENABLED_MIGRATION:
    case ABT_INFO_QUERY_KIND_ENABLED_STACKABLE_SCHED:
    case ABT_INFO_QUERY_KIND_ENABLED_EXTERNAL_THREAD:
    case ABT_INFO_QUERY_KIND_ENABLED_SCHED_SLEEP:
    case ABT_INFO_QUERY_KIND_FCONTEXT:
        *(ABT_bool *)val = ABT_TRUE;
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_ENABLED_AFFINITY:
        *(ABT_bool *)val = amg_cpuset_count(amg_bind_process()) > 0;
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_ENABLED_DEBUG:
    case ABT_INFO_QUERY_KIND_ENABLED_PRINT_ERRNO:
    case ABT_INFO_QUERY_KIND_ENABLED_LOG:
    case ABT_INFO_QUERY_KIND_ENABLED_VALGRIND:
    case ABT_INFO_QUERY_KIND_ENABLED_CHECK_POOL_PRODUCER:
    case ABT_INFO_QUERY_KIND_ENABLED_CHECK_POOL_CONSUMER:
    case ABT_INFO_QUERY_KIND_ENABLED_PRINT_CONFIG:
    case ABT_INFO_QUERY_KIND_ENABLED_TOOL:
    case ABT_INFO_QUERY_KIND_DYNAMIC_PROMOTION:
    case ABT_INFO_QUERY_KIND_ENABLED_STACK_UNWIND:
    case ABT_INFO_QUERY_KIND_ENABLED_LAZY_STACK_ALLOC:
        *(ABT_bool *)val = ABT_FALSE;
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_MAX_NUM_XSTREAMS:
        /* The hardware threads: more xstreams are possible, but not useful. */
        *(unsigned *)val = amg_cpuset_count(amg_bind_process());
        *(unsigned *)val += *(unsigned *)val == 0;
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE:
    case ABT_INFO_QUERY_KIND_DEFAULT_SCHED_STACKSIZE:
        *(size_t *)val = amg_stack_default_len();
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_DEFAULT_SCHED_EVENT_FREQ:
        *(uint64_t *)val = 1; /* checks events in each round */
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_DEFAULT_SCHED_SLEEP_NSEC:
        *(uint64_t *)val = 0; /* sleeps until woken */
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_ENABLED_STACK_OVERFLOW_CHECK:
        *(int *)val = GUARD_PAGE;
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_WAIT_POLICY:
        *(int *)val = SLEEPS;
        return ABT_SUCCESS;
    default:
        return ABT_ERR_INV_QUERY_KIND;
    }
}

#define AMG_READS_ALL                                                          \
    __attribute__((no_sanitize_address, no_sanitize_thread, noinline))

/* Bytes of a stack that one line shows. */
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

static void pool_print(FILE *fp, const struct amg_ready_pool *pool, int depth)
{
    fprintf(fp, "%*spool %d: %s, %zu ready, %zu blocked, in %u schedulers%s\n",
        depth, "", pool->id,
        pool->ops == NULL ? "of the program" : pool->ops->name,
        amg_ready_pool_size(pool),
        atomic_load_explicit(&pool->blocked, memory_order_relaxed),
        atomic_load_explicit(&pool->users, memory_order_relaxed),
        pool->is_automatic ? ", freed with the last scheduler" : "");
}

static void sched_print(FILE *fp, const struct amg_sched *sched, int depth)
{
    fprintf(fp, "%*sscheduler: %s, %d pools%s\n", depth, "", sched_name(sched),
        sched->count, sched->is_automatic ? ", freed with its stream" : "");
    for (int i = 0; i < sched->count; i++)
        pool_print(fp, sched->pools[i], depth + 2);
}

static bool xstream_print(struct amg_xstream *xstream, void *arg)
{
    FILE *fp = arg;

    fprintf(fp, "stream %d: %s%s\n", xstream->rank,
        amg_xstream_has_ended(xstream) ? "ended" : "runs",
        xstream->is_primary ? ", primary" : "");
    sched_print(fp, amg_xstream_sched(xstream), 2);
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
        amg_stack_cache_cap());
    return ABT_SUCCESS;
}

int ABT_info_print_all_xstreams(FILE *fp)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (ABT_initialized() != ABT_SUCCESS)
        return ABT_ERR_UNINITIALIZED;
    amg_xstreams_each(xstream_print, fp);
    return ABT_SUCCESS;
}

int ABT_info_print_xstream(FILE *fp, ABT_xstream xstream)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    xstream_print(amg_xstream_of(xstream), fp);
    return ABT_SUCCESS;
}

int ABT_info_print_sched(FILE *fp, ABT_sched sched)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (sched == ABT_SCHED_NULL)
        return ABT_ERR_INV_SCHED;
    sched_print(fp, amg_sched_of(sched), 0);
    return ABT_SUCCESS;
}

int ABT_info_print_pool(FILE *fp, ABT_pool pool)
{
    if (fp == NULL)
        return ABT_ERR_INV_ARG;
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    pool_print(fp, amg_ready_pool_of(pool), 0);
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
    const struct amg_thread_attr *known = amg_thread_attr_of(attr);

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

/* Prints the stack from the thread's `sp` to the upper end. Not instrumented,
 * since this function also reads bytes that AddressSanitizer puts between
 * variables, and bytes that other threads write, such as a timeout's node. */
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

/* Has the thread a stack of its own, and is the thread not running? */
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

static const char *const names[] = {
#define NAME(code) [code] = #code
    NAME(ABT_SUCCESS),
    NAME(ABT_ERR_UNINITIALIZED),
    NAME(ABT_ERR_MEM),
    NAME(ABT_ERR_OTHER),
    NAME(ABT_ERR_INV_XSTREAM),
    NAME(ABT_ERR_INV_XSTREAM_RANK),
    NAME(ABT_ERR_INV_XSTREAM_BARRIER),
    NAME(ABT_ERR_INV_SCHED),
    NAME(ABT_ERR_INV_SCHED_KIND),
    NAME(ABT_ERR_INV_SCHED_PREDEF),
    NAME(ABT_ERR_INV_SCHED_TYPE),
    NAME(ABT_ERR_INV_SCHED_CONFIG),
    NAME(ABT_ERR_INV_POOL),
    NAME(ABT_ERR_INV_POOL_KIND),
    NAME(ABT_ERR_INV_POOL_ACCESS),
    NAME(ABT_ERR_INV_UNIT),
    NAME(ABT_ERR_INV_THREAD),
    NAME(ABT_ERR_INV_THREAD_ATTR),
    NAME(ABT_ERR_INV_TASK),
    NAME(ABT_ERR_INV_KEY),
    NAME(ABT_ERR_INV_MUTEX),
    NAME(ABT_ERR_INV_MUTEX_ATTR),
    NAME(ABT_ERR_INV_COND),
    NAME(ABT_ERR_INV_RWLOCK),
    NAME(ABT_ERR_INV_EVENTUAL),
    NAME(ABT_ERR_INV_FUTURE),
    NAME(ABT_ERR_INV_BARRIER),
    NAME(ABT_ERR_INV_TIMER),
    NAME(ABT_ERR_INV_QUERY_KIND),
    NAME(ABT_ERR_XSTREAM),
    NAME(ABT_ERR_XSTREAM_STATE),
    NAME(ABT_ERR_XSTREAM_BARRIER),
    NAME(ABT_ERR_SCHED),
    NAME(ABT_ERR_SCHED_CONFIG),
    NAME(ABT_ERR_POOL),
    NAME(ABT_ERR_UNIT),
    NAME(ABT_ERR_THREAD),
    NAME(ABT_ERR_TASK),
    NAME(ABT_ERR_KEY),
    NAME(ABT_ERR_MUTEX),
    NAME(ABT_ERR_MUTEX_LOCKED),
    NAME(ABT_ERR_COND),
    NAME(ABT_ERR_COND_TIMEDOUT),
    NAME(ABT_ERR_RWLOCK),
    NAME(ABT_ERR_EVENTUAL),
    NAME(ABT_ERR_FUTURE),
    NAME(ABT_ERR_BARRIER),
    NAME(ABT_ERR_TIMER),
    NAME(ABT_ERR_MIGRATION_TARGET),
    NAME(ABT_ERR_MIGRATION_NA),
    NAME(ABT_ERR_MISSING_JOIN),
    NAME(ABT_ERR_FEATURE_NA),
    NAME(ABT_ERR_INV_TOOL_CONTEXT),
    NAME(ABT_ERR_INV_ARG),
    NAME(ABT_ERR_SYS),
    NAME(ABT_ERR_CPUID),
    NAME(ABT_ERR_INV_POOL_CONFIG),
    NAME(ABT_ERR_INV_POOL_USER_DEF),
#undef NAME
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

int ABT_error_get_str(int err, char *str, size_t *len)
{
    if (!AMG_CONTRACT(err >= 0 && err < NAMES, "err is %d; codes are 0 to %d",
            err, NAMES - 1))
        return ABT_ERR_INV_ARG;
    AMG_ASSERT(names[err] != NULL);
    if (str != NULL)
        strcpy(str, names[err]);
    if (len != NULL)
        *len = strlen(names[err]);
    return ABT_SUCCESS;
}

int ABT_tool_register_thread_callback(
    ABT_tool_thread_callback_fn cb_func, uint64_t event_mask, void *user_arg)
{
    (void)cb_func;
    (void)event_mask;
    (void)user_arg;
    return ABT_ERR_FEATURE_NA;
}

int ABT_tool_query_thread(ABT_tool_context context, uint64_t event,
    ABT_tool_query_kind query_kind, void *val)
{
    (void)context;
    (void)event;
    (void)query_kind;
    (void)val;
    return ABT_ERR_FEATURE_NA;
}
