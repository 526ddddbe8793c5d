/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes files of Margo's monitoring for margo_stats.sh.
 *
 * stats_maker MODE: calls "busy" one after another (run) or all at once
 * (queue), or by the handlers of "outer" (nest). */
#include <string.h>
#include <time.h>

#include "margo/alone.h"

enum { CALLS = 20, BUSY_NS = 3000000, NS_PER_S = 1000000000 };

static hg_id_t busy_id;

/* CPU time of this thread, so that other processes do not matter. */
static long long used_ns(void)
{
    struct timespec used;

    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
    return (long long)used.tv_sec * NS_PER_S + used.tv_nsec;
}

static void busy(hg_handle_t handle)
{
    long long end_ns = used_ns() + BUSY_NS;

    while (used_ns() < end_ns)
        continue;
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(busy)

static void outer(hg_handle_t handle)
{
    alone_call(busy_id);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(outer)

static void call_all_at_once(void)
{
    hg_handle_t handles[CALLS];
    margo_request requests[CALLS];

    for (unsigned i = 0; i < CALLS; i++) {
        handles[i] = alone_handle(busy_id);
        CHECK_RC(margo_iforward(handles[i], NULL, &requests[i]), HG_SUCCESS);
    }
    for (unsigned i = 0; i < CALLS; i++) {
        CHECK_RC(margo_wait(requests[i]), HG_SUCCESS);
        CHECK_RC(margo_destroy(handles[i]), HG_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    hg_id_t id = 0;

    CHECK(argc == 2);
    alone_open(NULL, margo_default_monitor);
    busy_id = MARGO_REGISTER(pair.mid, "busy", void, void, busy);
    id = busy_id;
    if (strcmp(argv[1], "nest") == 0)
        id = MARGO_REGISTER(pair.mid, "outer", void, void, outer);
    if (strcmp(argv[1], "queue") == 0)
        call_all_at_once();
    else
        for (unsigned i = 0; i < CALLS; i++)
            alone_call(id);
    alone_close();
    return 0;
}
