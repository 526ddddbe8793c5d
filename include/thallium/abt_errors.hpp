/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and descriptions of the return codes of Argobots. */
#ifndef THALLIUM_ABT_ERRORS_HPP
#define THALLIUM_ABT_ERRORS_HPP

#include <thallium/config.hpp>

#include <abt.h>
#include <cstddef>

namespace thallium
{

namespace detail
{

struct abt_error {
    const char *name;
    const char *description;
};

/* Returns the row of a code. The codes are consecutive, from 0. */
inline const abt_error &abt_error_of(int code)
{
    static const abt_error rows[] = {
        {"ABT_SUCCESS", "Successful return code"},
        {"ABT_ERR_UNINITIALIZED", "Argobots is not initialized"},
        {"ABT_ERR_MEM", "Memory allocation failure"},
        {"ABT_ERR_OTHER", "another error"},
        {"ABT_ERR_INV_XSTREAM", "invalid execution stream"},
        {"ABT_ERR_INV_XSTREAM_RANK", "invalid rank of an execution stream"},
        {"ABT_ERR_INV_XSTREAM_BARRIER", "invalid barrier of execution streams"},
        {"ABT_ERR_INV_SCHED", "invalid scheduler"},
        {"ABT_ERR_INV_SCHED_KIND", "invalid kind of scheduler"},
        {"ABT_ERR_INV_SCHED_PREDEF", "invalid predefined scheduler"},
        {"ABT_ERR_INV_SCHED_TYPE", "invalid type of scheduler"},
        {"ABT_ERR_INV_SCHED_CONFIG", "invalid configuration of a scheduler"},
        {"ABT_ERR_INV_POOL", "invalid pool"},
        {"ABT_ERR_INV_POOL_KIND", "invalid kind of pool"},
        {"ABT_ERR_INV_POOL_ACCESS", "invalid access of a pool"},
        {"ABT_ERR_INV_UNIT", "invalid work unit"},
        {"ABT_ERR_INV_THREAD", "invalid thread"},
        {"ABT_ERR_INV_THREAD_ATTR", "invalid attributes of a thread"},
        {"ABT_ERR_INV_TASK", "invalid task"},
        {"ABT_ERR_INV_KEY", "invalid key"},
        {"ABT_ERR_INV_MUTEX", "invalid mutex"},
        {"ABT_ERR_INV_MUTEX_ATTR", "invalid attributes of a mutex"},
        {"ABT_ERR_INV_COND", "invalid condition variable"},
        {"ABT_ERR_INV_RWLOCK", "invalid reader-writer lock"},
        {"ABT_ERR_INV_EVENTUAL", "invalid eventual"},
        {"ABT_ERR_INV_FUTURE", "invalid future"},
        {"ABT_ERR_INV_BARRIER", "invalid barrier"},
        {"ABT_ERR_INV_TIMER", "invalid timer"},
        {"ABT_ERR_INV_QUERY_KIND", "invalid kind of query"},
        {"ABT_ERR_XSTREAM", "an execution stream failed"},
        {"ABT_ERR_XSTREAM_STATE", "wrong state of an execution stream"},
        {"ABT_ERR_XSTREAM_BARRIER", "a barrier of execution streams failed"},
        {"ABT_ERR_SCHED", "a scheduler failed or is in use"},
        {"ABT_ERR_SCHED_CONFIG", "the configuration of a scheduler failed"},
        {"ABT_ERR_POOL", "a pool failed or is in use"},
        {"ABT_ERR_UNIT", "a work unit failed"},
        {"ABT_ERR_THREAD", "a thread failed"},
        {"ABT_ERR_TASK", "a task failed"},
        {"ABT_ERR_KEY", "a key failed"},
        {"ABT_ERR_MUTEX", "a mutex failed"},
        {"ABT_ERR_MUTEX_LOCKED", "the mutex is locked"},
        {"ABT_ERR_COND", "a condition variable failed"},
        {"ABT_ERR_COND_TIMEDOUT", "the wait timed out"},
        {"ABT_ERR_RWLOCK", "a reader-writer lock failed"},
        {"ABT_ERR_EVENTUAL", "an eventual failed or has a value"},
        {"ABT_ERR_FUTURE", "a future failed or has all values"},
        {"ABT_ERR_BARRIER", "a barrier failed"},
        {"ABT_ERR_TIMER", "a timer failed"},
        {"ABT_ERR_MIGRATION_TARGET", "wrong target of a migration"},
        {"ABT_ERR_MIGRATION_NA", "migration is not available"},
        {"ABT_ERR_MISSING_JOIN", "a work unit was not joined"},
        {"ABT_ERR_FEATURE_NA", "the feature is not available"},
        {"ABT_ERR_INV_TOOL_CONTEXT", "invalid context of a tool"},
        {"ABT_ERR_INV_ARG", "invalid argument"},
        {"ABT_ERR_SYS", "a system call failed"},
        {"ABT_ERR_CPUID", "invalid processor"},
        {"ABT_ERR_INV_POOL_CONFIG", "invalid configuration of a pool"},
        {"ABT_ERR_INV_POOL_USER_DEF", "invalid definition of a pool"},
    };
    static const abt_error unknown = {"UNKNOWN", "unknown return code"};

    return code >= 0 && static_cast<std::size_t>(code) <
                            sizeof(rows) / sizeof(rows[0])
               ? rows[code]
               : unknown;
}

static_assert(ABT_SUCCESS == 0 && ABT_ERR_INV_POOL == 12 &&
                  ABT_ERR_INV_QUERY_KIND == 28 && ABT_ERR_COND_TIMEDOUT == 42 &&
                  ABT_ERR_INV_POOL_USER_DEF == 57,
    "abt_error_of() has the rows in this order");

} /* namespace detail */

/** The name of a return code, for instance "ABT_ERR_MEM". */
inline const char *abt_error_get_name(int code)
{
    return detail::abt_error_of(code).name;
}

/** Explains a return code in a few words. */
inline const char *abt_error_get_description(int code)
{
    return detail::abt_error_of(code).description;
}

} /* namespace thallium */

#endif
