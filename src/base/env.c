/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of all environment variables that the library reads, and a check for
 * names that were misspelt. */
#include "base/env.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"

static const struct amg_env_var env_vars[AMG_ENV_COUNT] = {
    [AMG_ENV_TRANSPORT] = {"AMALGAM_TRANSPORT", "", 0, 0, 0,
        "transport to open where the program asks for none or for auto; "
        "mpi+p2p and mpi+rma also select how mpi moves bulk data"},
    [AMG_ENV_INTERNODE] = {"AMALGAM_INTERNODE", "", 0, 0, 0,
        "transport between the nodes of a job under auto: mpi (the "
        "default), or one of libfabric, such as ofi+tcp"},
    [AMG_ENV_CREDITS] = {"AMALGAM_CREDITS", "calls", 64, 1, 32767,
        "unanswered requests that a process may have at one peer"},
    [AMG_ENV_MESSAGE_BYTES] = {"AMALGAM_MESSAGE_BYTES", "bytes", 4096, 256,
        65536,
        "largest message, including headers; longer arguments follow it, or "
        "the target pulls them"},
    [AMG_ENV_PACK_BYTES] = {"AMALGAM_PACK_BYTES", "bytes", 65536, 0, 65536,
        "limit for a message that several calls to one peer share (one-way "
        "calls; over MPI and libfabric all calls); at most "
        "AMALGAM_MESSAGE_BYTES; 0: each call is a message of its own"},
    [AMG_ENV_AGGREGATE] = {"AMALGAM_AGGREGATE", "", 0, 0, 0,
        "node: one-way calls between nodes go through the first rank of each "
        "node, which packs them for a node; the same on all ranks"},
    [AMG_ENV_FRAGMENT_BYTES] = {"AMALGAM_FRAGMENT_BYTES", "bytes", 16777216,
        1024, 1073741824, "largest MPI message of a bulk transfer by messages"},
    [AMG_ENV_POOL_BYTES] = {"AMALGAM_POOL_BYTES", "bytes", 1073741824, 0,
        1099511627776,
        "address space reserved per class for memory that the library "
        "allocates; 0: use the heap"},
    [AMG_ENV_MAX_PENDING_BYTES] = {"AMALGAM_MAX_PENDING_BYTES", "bytes",
        8388608, 0, 1099511627776,
        "limit per context for arguments longer than one message that are "
        "being pulled or wait for their handler; further calls wait for "
        "room"},
    [AMG_ENV_MAX_REQUEST_BYTES] = {"AMALGAM_MAX_REQUEST_BYTES", "bytes",
        67108864, 0, 1099511627776,
        "limit per class and transport for requests that have arrived and are "
        "not answered, from all peers; many peers get fewer credits, each at "
        "least one"},
    [AMG_ENV_SHM_COPY] = {"AMALGAM_SHM_COPY", "", 0, 0, 0,
        "how bulk data moves within a node: auto, direct (mapped memory), "
        "cma (process_vm_readv) or segment; segment is used where the "
        "chosen way is not possible"},
    [AMG_ENV_SHM_FENCE] = {"AMALGAM_SHM_FENCE", "", 0, 0, 1,
        "1: shared memory does not use the kernel's membarrier"},
    [AMG_ENV_FREE_TIMEOUT] = {"AMALGAM_FREE_TIMEOUT_MS", "ms", 5000, 0, 3600000,
        "how long HG_Bulk_free waits for transfers in flight"},
    [AMG_ENV_FINALIZE_TIMEOUT] = {"AMALGAM_FINALIZE_TIMEOUT_MS", "ms", 30000, 0,
        3600000,
        "after this time, closing a class logs the missing peers; it continues "
        "to wait for ranks of its job, and gives up other peers"},
    [AMG_ENV_GIVE_UP] = {"AMALGAM_GIVE_UP_MS", "ms", 0, 0, 86400000,
        "for jobs that outlive a rank: after this time, closing a class "
        "continues without the missing ranks; 0: wait for all, or for 5 s "
        "once a rank has died"},
    [AMG_ENV_SILENT] = {"AMALGAM_SILENT_MS", "ms", 10000, 0, 86400000,
        "after this time the log names a peer that has not answered, and the "
        "cause of a long wait in Margo or for the end of an execution stream; "
        "0: never"},
    [AMG_ENV_HANG] = {"AMALGAM_HANG_S", "s", 60, 0, 86400,
        "after this time a call, transfer, barrier, quiescence or end of a "
        "class that still waits is reported once for the job, with the ranks "
        "that wait for each other; 0: never"},
    [AMG_ENV_CONNECT_TIMEOUT] = {"AMALGAM_CONNECT_TIMEOUT_MS", "ms", 10000, 10,
        3600000,
        "how long a libfabric peer may take to answer the first message, "
        "or to accept a message"},
    [AMG_ENV_UNIVERSE] = {"AMALGAM_UNIVERSE_SIZE", "processes", 0, 0, 16777216,
        "number of peers that libfabric sizes its queues for, at least 256; "
        "0: the ranks of the job; FI_UNIVERSE_SIZE takes precedence"},
    [AMG_ENV_SLINGSHOT_VNI] = {"AMALGAM_SLINGSHOT_VNI", "", 0, 0, 64,
        "which VNI of SLINGSHOT_VNIS to use, counted from 1; 0: the "
        "provider uses the first"},
    [AMG_ENV_PROGRESS] = {"AMALGAM_PROGRESS", "", 0, 0, 0,
        "which threads make progress where the program does not say: "
        "caller, assist or thread; auto, the default, decides by the cores "
        "of the node"},
    [AMG_ENV_WAIT] = {"AMALGAM_WAIT", "", 0, 0, 0,
        "how threads wait where the program does not say: spin or sleep; "
        "auto, the default, decides by the core of the thread"},
    [AMG_ENV_PROGRESS_CPUS] = {"AMALGAM_PROGRESS_CPUS", "", 0, 0, 0,
        "cores of the progress threads, such as 3 or 0-3,8: the n-th rank "
        "of the node uses the n-th core; none: do not pin; auto, the "
        "default: chosen by the library"},
    [AMG_ENV_SPIN_US] = {"AMALGAM_SPIN_US", "us", 100, 0, 1000000,
        "how long a wait polls before it yields the core or sleeps"},
    [AMG_ENV_BARRIER_TIMEOUT] = {"AMALGAM_BARRIER_TIMEOUT_MS", "ms", 600000, 1,
        86400000, "how long amalgam_barrier waits for missing ranks"},
    [AMG_ENV_REPORT] = {"AMALGAM_REPORT", "", 0, 0, 1,
        "1: rank 0 prints the transports in use and the threads that make "
        "progress"},
    [AMG_ENV_TRACE] = {"AMALGAM_TRACE", "", 0, 0, 0,
        "folder for a trace of each process, from its first class on; see "
        "amalgam_trace(1)"},
    [AMG_ENV_TRACE_LEVEL] = {"AMALGAM_TRACE_LEVEL", "", 1, 1, 3,
        "1: calls and bulk transfers; 2: also waits and sleeps of progress; "
        "3: also switches between user-level threads"},
    [AMG_ENV_TRACE_BYTES] = {"AMALGAM_TRACE_BYTES", "bytes", 268435456, 65536,
        1099511627776,
        "longest file of a trace, but for 64 KiB of names; further events are "
        "lost, and counted"},
    [AMG_ENV_ABORT_ON_MISUSE] = {"AMALGAM_ABORT_ON_MISUSE", "", 0, 0, 1,
        "1: abort the process when a call breaks its contract"},
    [AMG_ENV_CONCURRENT_RPCS] = {"AMALGAM_MAX_CONCURRENT_RPCS", "handlers", 0,
        0, 16777216,
        "handlers that a Margo instance runs at the same time where its "
        "configuration does not say; further requests wait; 0: no limit"},
    [AMG_ENV_ENGINE_WAIT] = {"AMALGAM_ENGINE_WAIT", "", 1, 0, 1,
        "0: a server in C++ that nobody has finalized ends with its last "
        "engine; 1: such a server waits for finalize()"},
    [AMG_ENV_MARGO_LOG_LEVEL] = {"MARGO_LOG_LEVEL", "", 0, 0, 0,
        "lowest level of Margo's log lines: trace, debug, info, warning "
        "(the default), error or critical"},
    [AMG_ENV_MONITORING] = {"MARGO_ENABLE_MONITORING", "", 0, 0, 0,
        "anything but 0, false, no or off: Margo instances collect "
        "statistics and time series, and write them when they are finalized"},
    [AMG_ENV_MONITORING_PREFIX] = {"MARGO_MONITORING_FILENAME_PREFIX", "", 0, 0,
        0,
        "first part of the names of monitoring files where the "
        "configuration does not say (default: margo); may contain folders"},
    [AMG_ENV_MONITORING_NO_STATS] = {"MARGO_MONITORING_DISABLE_STATISTICS", "",
        0, 0, 0, "anything but 0, false, no or off: no statistics"},
    [AMG_ENV_MONITORING_NO_SERIES] = {"MARGO_MONITORING_DISABLE_TIME_SERIES",
        "", 0, 0, 0, "anything but 0, false, no or off: no time series"},
    [AMG_ENV_MARGO_OUTPUT_DIR] = {"MARGO_OUTPUT_DIR", "", 0, 0, 0,
        "folder for files that Margo writes under a relative name"},
    [AMG_ENV_LOG_LEVEL] = {"HG_LOG_LEVEL", "", 0, 0, 0,
        "none, fatal, error, warning (the default), info or debug"},
    [AMG_ENV_LOG_SUBSYS] = {"HG_LOG_SUBSYS", "", 0, 0, 0,
        "comma-separated log outlets to show; ~name hides an outlet"},
    [AMG_ENV_ULT_STACK_BYTES] = {"ABT_THREAD_STACKSIZE", "bytes", 2097152,
        16384, 1073741824,
        "address space for the stack of a user-level thread without a "
        "stack size of its own; memory is used page by page"},
    [AMG_ENV_ULT_STACKS_KEPT] = {"ABT_MEM_MAX_NUM_STACKS", "stacks", 64, 0,
        65536,
        "unused stacks that each execution stream keeps for its next "
        "threads; a cache that all streams share keeps 16 times as many"},
    [AMG_ENV_ULT_AFFINITY] = {"ABT_SET_AFFINITY", "", 0, 0, 0,
        "0 or no: ABT_xstream_set_affinity() and ABT_xstream_set_cpubind() "
        "are refused"},
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
        AMG_LOG_JOB_WARNING("cls",
            "%s is '%s', but must be a number from %llu to %llu (%s); using "
            "the default, %llu",
            var->name, text, (unsigned long long)var->min,
            (unsigned long long)var->max, var->unit,
            (unsigned long long)var->default_value);
    return var->default_value;
}

/* Greatest number of letter changes in a name that counts as misspelt. */
enum { NEAR = 2 };

/* Does the name in `entry`, "NAME=VALUE", become `known` if at most `most`
 * letters are inserted, left out, changed, or exchanged with neighbours? */
static bool is_near(const char *entry, const char *known, unsigned most)
{
    bool has_letter = false;

    while (*entry == *known && *known != '\0') {
        entry++;
        known++;
    }
    has_letter = *entry != '\0' && *entry != '=';
    if (most == 0 || (!has_letter && *known == '\0'))
        return !has_letter && *known == '\0';
    return (has_letter && is_near(entry + 1, known, most - 1)) ||
           (*known != '\0' && is_near(entry, known + 1, most - 1)) ||
           (has_letter && *known != '\0' &&
               (is_near(entry + 1, known + 1, most - 1) ||
                   (entry[0] == known[1] && entry[1] == known[0] &&
                       is_near(entry + 2, known + 2, most - 1))));
}

static void name_check(const char *entry)
{
    for (unsigned most = 0; most <= NEAR; most++)
        for (unsigned id = 0; id < AMG_ENV_COUNT; id++) {
            if (!is_near(entry, env_vars[id].name, most))
                continue;
            if (most > 0)
                AMG_LOG_JOB_WARNING("cls",
                    "the environment has %.*s, which nothing reads: is %s "
                    "meant?",
                    (int)strcspn(entry, "="), entry, env_vars[id].name);
            return;
        }
}

static void names_check(void)
{
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        if (**entry == 'A')
            name_check(*entry);
}

void amg_env_check(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, names_check);
}
