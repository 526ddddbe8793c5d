/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of all environment variables that the library reads. */
#include "base/env.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"

static const struct amg_env_var env_vars[AMG_ENV_COUNT] = {
    [AMG_ENV_TRANSPORT] = {"AMALGAM_TRANSPORT", "", 0, 0, 0,
        "transport that is opened where none or auto is asked for; mpi+p2p and "
        "mpi+rma also decide for mpi how bulk data moves"},
    [AMG_ENV_INTERNODE] = {"AMALGAM_INTERNODE", "", 0, 0, 0,
        "what leads from auto to the ranks of other nodes: mpi (the default), "
        "or a transport of libfabric, as ofi+tcp"},
    [AMG_ENV_CREDITS] = {"AMALGAM_CREDITS", "calls", 64, 1, 32767,
        "unanswered requests a rank may have at one peer"},
    [AMG_ENV_MESSAGE_BYTES] = {"AMALGAM_MESSAGE_BYTES", "bytes", 4096, 256,
        65536,
        "largest message, headers counted; beyond it arguments are "
        "fetched by bulk"},
    [AMG_ENV_PIECE_BYTES] = {"AMALGAM_PIECE_BYTES", "bytes", 16777216, 1024,
        1073741824, "largest MPI message of an emulated bulk transfer"},
    [AMG_ENV_POOL_BYTES] = {"AMALGAM_POOL_BYTES", "bytes", 1073741824, 0,
        1099511627776,
        "address space kept for memory that the library hands out, per "
        "class; 0: it comes from the heap"},
    [AMG_ENV_MAX_PENDING_BYTES] = {"AMALGAM_MAX_PENDING_BYTES", "bytes",
        8388608, 0, 1099511627776,
        "arguments beyond one message that a context pulls, or has pulled for "
        "calls that wait for their handler; further calls wait for room"},
    [AMG_ENV_SHM_COPY] = {"AMALGAM_SHM_COPY", "", 0, 0, 0,
        "how bulk data moves within a node: auto, direct, cma or segment; "
        "what is not possible goes through the segment"},
    [AMG_ENV_SHM_FENCE] = {"AMALGAM_SHM_FENCE", "", 0, 0, 1,
        "1: do without the kernel's membarrier, as where it has none"},
    [AMG_ENV_FREE_TIMEOUT] = {"AMALGAM_FREE_TIMEOUT_MS", "ms", 5000, 0, 3600000,
        "how long HG_Bulk_free waits for pieces in motion"},
    [AMG_ENV_FINALIZE_TIMEOUT] = {"AMALGAM_FINALIZE_TIMEOUT_MS", "ms", 30000, 0,
        3600000,
        "after so long the end of a class names the ranks that it waits for; "
        "it waits on"},
    [AMG_ENV_GIVE_UP] = {"AMALGAM_GIVE_UP_MS", "ms", 0, 0, 86400000,
        "for jobs that outlive a rank: after so long the end of a class goes "
        "on "
        "without the ranks that are missing; 0: it waits for all"},
    [AMG_ENV_SILENT] = {"AMALGAM_SILENT_MS", "ms", 10000, 0, 86400000,
        "after so long without an answer a rank that calls by MPI wait for is "
        "named in the log; 0: never"},
    [AMG_ENV_CONNECT_TIMEOUT] = {"AMALGAM_CONNECT_TIMEOUT_MS", "ms", 10000, 10,
        3600000,
        "how long a peer by libfabric may take to answer the first "
        "message, or to take one"},
    [AMG_ENV_UNIVERSE] = {"AMALGAM_UNIVERSE_SIZE", "processes", 0, 0, 16777216,
        "how many peers libfabric makes its queues for; 0: those of the job, "
        "at "
        "least 256; FI_UNIVERSE_SIZE, where it is set, decides"},
    [AMG_ENV_SLINGSHOT_VNI] = {"AMALGAM_SLINGSHOT_VNI", "", 0, 0, 64,
        "which VNI of SLINGSHOT_VNIS is taken, from 1 on; 0: the provider "
        "takes the first"},
    [AMG_ENV_PROGRESS] = {"AMALGAM_PROGRESS", "", 0, 0, 0,
        "who makes progress where the program does not say: caller, assist, "
        "thread or none; auto, the default, decides from the machine"},
    [AMG_ENV_WAIT] = {"AMALGAM_WAIT", "", 0, 0, 0,
        "how threads wait where the program does not say: spin, backoff or "
        "sleep; auto, the default, decides from the core"},
    [AMG_ENV_HANDLERS] = {"AMALGAM_HANDLERS", "threads, or auto", 0, 0, 64,
        "threads of a context that run handlers where the program does not "
        "say; auto: one where a core is idle"},
    [AMG_ENV_PROGRESS_CPUS] = {"AMALGAM_PROGRESS_CPUS", "", 0, 0, 0,
        "cores of the progress threads, as 3 or 0-3,8: the n-th rank of the "
        "node takes the n-th; none: not pinned; auto, the default: by policy"},
    [AMG_ENV_HANDLER_CPUS] = {"AMALGAM_HANDLER_CPUS", "", 0, 0, 0,
        "the same for handler threads: each rank takes as many as it has"},
    [AMG_ENV_SPIN_US] = {"AMALGAM_SPIN_US", "us", 100, 0, 1000000,
        "how long a wait looks for news before it gives the core away"},
    [AMG_ENV_BARRIER_TIMEOUT] = {"AMALGAM_BARRIER_TIMEOUT_MS", "ms", 600000, 1,
        86400000, "how long amalgam_barrier waits for missing ranks"},
    [AMG_ENV_REPORT] = {"AMALGAM_REPORT", "", 0, 0, 1,
        "1: the first rank says who is reached how, and who makes progress"},
    [AMG_ENV_ABORT_ON_MISUSE] = {"AMALGAM_ABORT_ON_MISUSE", "", 0, 0, 1,
        "1: end the process where a call breaks its contract"},
    [AMG_ENV_CONCURRENT_RPCS] = {"AMALGAM_MAX_CONCURRENT_RPCS", "handlers", 0,
        0, 16777216,
        "handlers that a Margo instance runs at the same time where its text "
        "does not say; further requests wait; 0: no limit"},
    [AMG_ENV_MARGO_LOG_LEVEL] = {"MARGO_LOG_LEVEL", "", 0, 0, 0,
        "lines of Margo that are shown: trace, debug, info, warning (the "
        "default), error or critical"},
    [AMG_ENV_MONITORING] = {"MARGO_ENABLE_MONITORING", "", 0, 0, 0,
        "anything but 0, false, no or off: Margo instances keep statistics and "
        "time series, and write them as they end"},
    [AMG_ENV_MONITORING_PREFIX] = {"MARGO_MONITORING_FILENAME_PREFIX", "", 0, 0,
        0,
        "what the names of those files begin with where the instance's text "
        "does not say (margo); may have folders in it"},
    [AMG_ENV_MONITORING_NO_STATS] = {"MARGO_MONITORING_DISABLE_STATISTICS", "",
        0, 0, 0, "anything but 0, false, no or off: no statistics"},
    [AMG_ENV_MONITORING_NO_SERIES] = {"MARGO_MONITORING_DISABLE_TIME_SERIES",
        "", 0, 0, 0, "anything but 0, false, no or off: no time series"},
    [AMG_ENV_MARGO_OUTPUT_DIR] = {"MARGO_OUTPUT_DIR", "", 0, 0, 0,
        "folder of the files that Margo writes under a relative name"},
    [AMG_ENV_LOG_LEVEL] = {"HG_LOG_LEVEL", "", 0, 0, 0,
        "none, fatal, error, warning (the default), info or debug"},
    [AMG_ENV_LOG_SUBSYS] = {"HG_LOG_SUBSYS", "", 0, 0, 0,
        "comma separated log outlets to show, ~name to hide one"},
    [AMG_ENV_ULT_STACK_BYTES] = {"ABT_THREAD_STACKSIZE", "bytes", 2097152,
        16384, 1073741824,
        "address space for the stack of a user-level thread that asks for "
        "no other; costs memory page by page, as it is used"},
    [AMG_ENV_ULT_STACKS_KEPT] = {"ABT_MEM_MAX_NUM_STACKS", "stacks", 64, 0,
        65536,
        "stacks that each stream keeps for its next threads; all streams "
        "together keep 16 times as many"},
    [AMG_ENV_ULT_AFFINITY] = {"ABT_SET_AFFINITY", "", 0, 0, 0,
        "0 or no: ABT_xstream_set_affinity() and _cpubind() are refused"},
};

const struct amg_env_var *amg_env_var(enum amg_env_id id)
{
    AMG_ASSERT(id < AMG_ENV_COUNT);
    return &env_vars[id];
}

const char *amg_env_text(enum amg_env_id id)
{
    const char *text = getenv(amg_env_var(id)->name);

    return text == NULL || text[0] == '\0' ? NULL : text;
}

uint64_t amg_env_number(enum amg_env_id id)
{
    static atomic_bool warned[AMG_ENV_COUNT];
    const struct amg_env_var *var = amg_env_var(id);
    const char *text = amg_env_text(id);
    char *end = NULL;
    unsigned long long value = 0;

    if (text == NULL)
        return var->default_value;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno == 0 && *end == '\0' && text[0] != '-' && value >= var->min &&
        value <= var->max)
        return value;
    if (!atomic_exchange_explicit(&warned[id], true, memory_order_relaxed))
        AMG_LOG_WARNING("cls",
            "%s is '%s': a number from %llu to %llu (%s) is wanted; %llu is "
            "taken",
            var->name, text, (unsigned long long)var->min,
            (unsigned long long)var->max, var->unit,
            (unsigned long long)var->default_value);
    return var->default_value;
}
