/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of all environment variables that the library reads. */
#ifndef AMG_BASE_ENV_H
#define AMG_BASE_ENV_H

#include <stdint.h>

enum amg_env_id {
    AMG_ENV_TRANSPORT,
    AMG_ENV_INTERNODE,
    AMG_ENV_CREDITS,
    AMG_ENV_MESSAGE_BYTES,
    AMG_ENV_PACK_BYTES,
    AMG_ENV_AGGREGATE,
    AMG_ENV_FRAGMENT_BYTES,
    AMG_ENV_POOL_BYTES,
    AMG_ENV_MAX_PENDING_BYTES,
    AMG_ENV_MAX_REQUEST_BYTES,
    AMG_ENV_SHM_COPY,
    AMG_ENV_SHM_FENCE,
    AMG_ENV_FREE_TIMEOUT,
    AMG_ENV_FINALIZE_TIMEOUT,
    AMG_ENV_GIVE_UP,
    AMG_ENV_SILENT,
    AMG_ENV_HANG,
    AMG_ENV_CONNECT_TIMEOUT,
    AMG_ENV_UNIVERSE,
    AMG_ENV_SLINGSHOT_VNI,
    AMG_ENV_PROGRESS,
    AMG_ENV_WAIT,
    AMG_ENV_PROGRESS_CPUS,
    AMG_ENV_SPIN_US,
    AMG_ENV_BARRIER_TIMEOUT,
    AMG_ENV_REPORT,
    AMG_ENV_TRACE,
    AMG_ENV_TRACE_LEVEL,
    AMG_ENV_TRACE_BYTES,
    AMG_ENV_ABORT_ON_MISUSE,
    AMG_ENV_CONCURRENT_RPCS,
    AMG_ENV_ENGINE_WAIT,
    AMG_ENV_MARGO_LOG_LEVEL,
    AMG_ENV_MONITORING,
    AMG_ENV_MONITORING_PREFIX,
    AMG_ENV_MONITORING_NO_STATS,
    AMG_ENV_MONITORING_NO_SERIES,
    AMG_ENV_MARGO_OUTPUT_DIR,
    AMG_ENV_LOG_LEVEL,
    AMG_ENV_LOG_SUBSYS,
    AMG_ENV_ULT_STACK_BYTES,
    AMG_ENV_ULT_STACKS_KEPT,
    AMG_ENV_ULT_AFFINITY,
    AMG_ENV_COUNT
};

/* An environment variable, in the words that amalgam_info prints. */
struct amg_env_var {
    const char *name;
    const char *unit; /* "": text, or a number without a unit */
    uint64_t default_value;
    uint64_t min;
    uint64_t max;
    const char *help;
};

const struct amg_env_var *amg_env_var(enum amg_env_id id);

/* The value, or the default when the variable is unset. The default also
 * replaces, with one warning, a value that is no number or out of range. */
uint64_t amg_env_number(enum amg_env_id id);

/* NULL when unset or empty. */
const char *amg_env_text(enum amg_env_id id);

/* Once per process: warns of variables that begin with A and that nothing
 * reads, but whose names are nearly those of variables of the table. */
void amg_env_check(void);

#endif
