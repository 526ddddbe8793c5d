/* SPDX-License-Identifier: BSD-3-Clause */
/* Return codes of abt.h. */
#ifndef ABT_ERRORS_H
#define ABT_ERRORS_H

#define ABT_SUCCESS                 0
#define ABT_ERR_UNINITIALIZED       1
#define ABT_ERR_MEM                 2
#define ABT_ERR_OTHER               3
#define ABT_ERR_INV_XSTREAM         4
#define ABT_ERR_INV_XSTREAM_RANK    5
#define ABT_ERR_INV_XSTREAM_BARRIER 6
#define ABT_ERR_INV_SCHED           7
#define ABT_ERR_INV_SCHED_KIND      8
#define ABT_ERR_INV_SCHED_PREDEF    9
#define ABT_ERR_INV_SCHED_TYPE      10
#define ABT_ERR_INV_SCHED_CONFIG    11
#define ABT_ERR_INV_POOL            12
#define ABT_ERR_INV_POOL_KIND       13
#define ABT_ERR_INV_POOL_ACCESS     14
#define ABT_ERR_INV_UNIT            15
#define ABT_ERR_INV_THREAD          16
#define ABT_ERR_INV_THREAD_ATTR     17
#define ABT_ERR_INV_TASK            18
#define ABT_ERR_INV_KEY             19
#define ABT_ERR_INV_MUTEX           20
#define ABT_ERR_INV_MUTEX_ATTR      21
#define ABT_ERR_INV_COND            22
#define ABT_ERR_INV_RWLOCK          23
#define ABT_ERR_INV_EVENTUAL        24
#define ABT_ERR_INV_FUTURE          25
#define ABT_ERR_INV_BARRIER         26
#define ABT_ERR_INV_TIMER           27
#define ABT_ERR_INV_QUERY_KIND      28
#define ABT_ERR_XSTREAM             29
#define ABT_ERR_XSTREAM_STATE       30
#define ABT_ERR_XSTREAM_BARRIER     31
#define ABT_ERR_SCHED               32
#define ABT_ERR_SCHED_CONFIG        33
#define ABT_ERR_POOL                34
#define ABT_ERR_UNIT                35
#define ABT_ERR_THREAD              36
#define ABT_ERR_TASK                37
#define ABT_ERR_KEY                 38
#define ABT_ERR_MUTEX               39
#define ABT_ERR_MUTEX_LOCKED        40
#define ABT_ERR_COND                41
#define ABT_ERR_COND_TIMEDOUT       42
#define ABT_ERR_RWLOCK              43
#define ABT_ERR_EVENTUAL            44
#define ABT_ERR_FUTURE              45
#define ABT_ERR_BARRIER             46
#define ABT_ERR_TIMER               47
#define ABT_ERR_MIGRATION_TARGET    48
#define ABT_ERR_MIGRATION_NA        49
#define ABT_ERR_MISSING_JOIN        50
#define ABT_ERR_FEATURE_NA          51
#define ABT_ERR_INV_TOOL_CONTEXT    52
#define ABT_ERR_INV_ARG             53
#define ABT_ERR_SYS                 54
#define ABT_ERR_CPUID               55
#define ABT_ERR_INV_POOL_CONFIG     56
#define ABT_ERR_INV_POOL_USER_DEF   57

#endif
