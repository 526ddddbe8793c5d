/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiling by the runtime's tool interface, which is not built: says so. */
#include "base/assert.h"
#include "margo/instance.h"

static int profile_refuse(margo_instance_id mid, const char *what)
{
    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
        return -1;
    margo_error(mid,
        "%s: no profile, the tool interface of Argobots is not used; "
        "monitoring tells of calls, margo_state_dump() of threads",
        what);
    return -1;
}

int margo_start_abt_profiling(margo_instance_id mid, bool detailed)
{
    (void)detailed;
    return profile_refuse(mid, "margo_start_abt_profiling()");
}

int margo_stop_abt_profiling(margo_instance_id mid)
{
    return profile_refuse(mid, "margo_stop_abt_profiling()");
}

int margo_dump_abt_profiling(
    margo_instance_id mid, const char *file, int uniquify, char **resolved)
{
    (void)file;
    (void)uniquify;
    (void)resolved;
    return profile_refuse(mid, "margo_dump_abt_profiling()");
}
