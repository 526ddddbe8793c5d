/* SPDX-License-Identifier: BSD-3-Clause */
/* Services for thallium.hpp: the function of a request's RPC, and the end of an
 * instance whose last engine goes away.
 *
 * Thallium up to 0.5 waited in the destructor of a server's engine until
 * finalize() was called, and a program's main() could end so; Thallium 0.16
 * ends nothing there. A server that no process can call any more has no reason
 * to wait: a server without an RPC of the program and without remote shutdown
 * ends at once, whatever the program wants. A server that waits logs that after
 * a second, by a timer of its loop, which fires before the wait returns. */
#include "amalgam_thallium.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/loop.h"
#include "margo/rpc.h"

void *amalgam_margo_data_ref(hg_handle_t handle, void (*ref)(void *data))
{
    struct amg_margo_handle *data = amg_margo_handle_find(handle);

    if (!AMG_CONTRACT(data != NULL, "handle is of no instance") ||
        !AMG_GIVEN(ref))
        return NULL;
    AMG_ASSERT(data->rpc != NULL);
    return amg_margo_rpc_data_ref(data->rpc, ref);
}

enum { LOG_AFTER_MS = 1000 };

/* A thread that waits for the end; on that thread's stack. */
struct end_wait {
    struct amg_margo_timer timer;
    margo_instance_id mid;
};

static void wait_log(struct amg_margo_timer *timer, bool is_due)
{
    const struct end_wait *wait =
        amg_container_of(timer, struct end_wait, timer);

    if (is_due && amg_margo_state_of(wait->mid) == AMG_MARGO_RUNNING)
        margo_warning(wait->mid,
            "the last engine of this server was destroyed without "
            "finalize(): the server goes on, and waits for "
            "finalize(); AMALGAM_ENGINE_WAIT=0 ends instead");
}

static void finalize_await(margo_instance_id mid)
{
    struct end_wait wait = {.timer = {.fire = wait_log}, .mid = mid};

    (void)amg_margo_timer_arm(
        mid, &wait.timer, amg_clock_deadline_ns(LOG_AFTER_MS));
    margo_wait_for_finalize(mid);
    AMG_ASSERT(!wait.timer.is_armed);
}

static bool may_be_called(margo_instance_id mid)
{
    return amg_margo_rpcs_are_served(mid) ||
           atomic_load_explicit(
               &mid->services->allows_shutdown, memory_order_relaxed);
}

void amalgam_margo_engine_end(
    margo_instance_id mid, enum amalgam_margo_engine_how how)
{
    bool is_running = false;

    if (!AMG_GIVEN(mid))
        return;
    is_running = amg_margo_state_of(mid) == AMG_MARGO_RUNNING;
    if (how == AMALGAM_MARGO_ENGINE_RELEASES) {
        if (is_running)
            (void)margo_instance_release(mid);
    } else if (!amg_margo_may_wait(mid)) {
        if (is_running)
            margo_finalize(mid);
    } else if (how == AMALGAM_MARGO_ENGINE_WAITS && is_running &&
               amg_env_number(AMG_ENV_ENGINE_WAIT) != 0 && may_be_called(mid)) {
        finalize_await(mid);
    } else {
        margo_finalize_and_wait(mid);
    }
}
