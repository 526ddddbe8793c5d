/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program may ask of the configuration, one fact at a time. */
#include <stdbool.h>

#include "abt.h"
#include "place/bind.h"
#include "ult/stack.h"

static void bool_answer(void *val, bool is_so)
{
    *(ABT_bool *)val = is_so ? ABT_TRUE : ABT_FALSE;
}

/* False: it is not a yes or no, or none of ours. */
static bool yes_no_answer(ABT_info_query_kind kind, void *val)
{
    switch (kind) {
    case ABT_INFO_QUERY_KIND_ENABLED_CHECK_ERROR:
    case ABT_INFO_QUERY_KIND_ENABLED_PRESERVE_FPU:
    case ABT_INFO_QUERY_KIND_ENABLED_THREAD_CANCEL:
    case ABT_INFO_QUERY_KIND_ENABLED_TASK_CANCEL:
    case ABT_INFO_QUERY_KIND_ENABLED_MIGRATION:
    case ABT_INFO_QUERY_KIND_ENABLED_STACKABLE_SCHED:
    case ABT_INFO_QUERY_KIND_ENABLED_EXTERNAL_THREAD:
    case ABT_INFO_QUERY_KIND_ENABLED_SCHED_SLEEP:
    case ABT_INFO_QUERY_KIND_FCONTEXT:
        bool_answer(val, true);
        return true;
    case ABT_INFO_QUERY_KIND_ENABLED_AFFINITY:
        bool_answer(val, amg_cpuset_count(amg_bind_process()) > 0);
        return true;
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
        bool_answer(val, false);
        return true;
    default:
        return false;
    }
}

/* As many streams as cores are worth having; there is no limit. */
static unsigned core_count(void)
{
    unsigned count = amg_cpuset_count(amg_bind_process());

    return count > 0 ? count : 1;
}

int ABT_info_query_config(ABT_info_query_kind query_kind, void *val)
{
    enum { GUARD_PAGE = 2, SLEEPS = 0 };

    if (val == NULL)
        return ABT_ERR_INV_ARG;
    if (yes_no_answer(query_kind, val))
        return ABT_SUCCESS;
    switch (query_kind) {
    case ABT_INFO_QUERY_KIND_MAX_NUM_XSTREAMS:
        *(unsigned *)val = core_count();
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE:
    case ABT_INFO_QUERY_KIND_DEFAULT_SCHED_STACKSIZE:
        *(size_t *)val = amg_stack_default_len();
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_DEFAULT_SCHED_EVENT_FREQ:
        *(uint64_t *)val = 1; /* always */
        return ABT_SUCCESS;
    case ABT_INFO_QUERY_KIND_DEFAULT_SCHED_SLEEP_NSEC:
        *(uint64_t *)val = 0; /* sleeps until it is woken */
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
