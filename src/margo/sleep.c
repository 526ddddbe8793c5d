/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleep: a user-level thread leaves its stream to others for a while. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/list.h"
#include "margo/instance.h"
#include "margo/request.h"

/* On the stack of who sleeps. */
struct nap {
    struct amg_margo_timer timer;
    struct amg_margo_waiter waiter;
};

static void nap_over(struct amg_margo_timer *timer, bool is_due)
{
    (void)is_due; /* an instance that ends wakes it as well */
    amg_margo_waiter_ring(&AMG_OBJECT(timer, struct nap, timer)->waiter);
}

static void sleep_for(margo_instance_id mid, double timeout_ms)
{
    struct nap nap = {.timer = {.fire = nap_over}};
    uint64_t now_ns = 0;
    uint64_t due_ns = amg_margo_timer_due_ns(timeout_ms);

    amg_margo_waiter_init(&nap.waiter);
    /* The loop, in a callback, cannot wait for a timer of its own. */
    if (!amg_margo_is_loop(mid) &&
        amg_margo_timer_arm(mid, &nap.timer, due_ns)) {
        amg_margo_waiter_wait(&nap.waiter, 1);
        return;
    }
    now_ns = amg_clock_ns();
    if (due_ns > now_ns)
        amg_clock_sleep_ns(due_ns - now_ns);
}

void margo_thread_sleep(margo_instance_id mid, double timeout_ms)
{
    struct margo_monitor_sleep_args args = {.timeout_ms = timeout_ms};

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
        return;
    AMG_MARGO_TELL(mid, sleep, MARGO_MONITOR_FN_START, &args);
    if (timeout_ms > 0)
        sleep_for(mid, timeout_ms);
    else
        (void)ABT_self_yield();
    AMG_MARGO_TELL(mid, sleep, MARGO_MONITOR_FN_END, &args);
}
