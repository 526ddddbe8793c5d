/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls without a clock and without a word, for those who count what happens
 * meanwhile: system calls, instructions, time per function.
 *
 * The part to be counted lies between two system calls that do nothing, so that
 * a trace shows where it begins and ends. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "jobs/bench/base/guard.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/control.h"
#include "jobs/bench/fabric/fabric.h"

enum { CALLS = 10000, WARM = 1000, ROOM_LEN = 4096 };

#define MARK_BEGIN "/amalgam_bench/begin"
#define MARK_END   "/amalgam_bench/end"

/* The answer is known, and of no interest. */
static void mark(const char *name)
{
    if (access(name, F_OK) == 0)
        return;
}

static void rpc_run(struct pair *pair, unsigned calls)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    if (!pair->is_caller) {
        pair_serve(pair);
        return;
    }
    handle = pair_handle(pair, pair->null_id);
    for (unsigned i = 0; i < calls; i++)
        pair_call(pair, handle, NULL);
    pair_check(pair, HG_Destroy(handle), "HG_Destroy");
    pair_stop(pair);
}

static void raw_run(struct pair *pair, unsigned calls)
{
    if (fabric_is_way(pair))
        fabric_pingpong_plain(pair, calls);
    else
        control_pingpong_plain(pair, calls);
}

void bench_count(struct pair *pair)
{
    unsigned calls = pair->options->calls == 0 ? CALLS : pair->options->calls;
    bool is_raw =
        pair->options->what != NULL && strcmp(pair->options->what, "rpc") != 0;

    guard_step("%u counted calls", calls);
    pair_need_room(pair, ROOM_LEN);
    pair_enter(pair);
    rpc_run(pair, WARM);
    raw_run(pair, WARM);
    mark(MARK_BEGIN);
    if (is_raw)
        raw_run(pair, calls);
    else
        rpc_run(pair, calls);
    mark(MARK_END);
    pair_leave(pair);
}
