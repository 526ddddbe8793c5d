/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for news: spin on a core of one's own, sleep on a shared one.
 *
 * One thread of a context makes progress, the others sleep on the completion
 * queue and are woken when something is queued or the owner leaves. The owner
 * itself looks without pause for a short time; then, where nothing but polling
 * brings news (MPI has no descriptor) and the ranks of the node outnumber its
 * cores, it sleeps between two looks: 20 us at first, doubling to 1 ms, and to
 * 5 ms once nothing has come for 20 ms. Measured: looking every 200 us takes 11
 * % of a core from the rank that computes there, every 5 ms 0.5 %. */
#include <sched.h>

#include "base/clock.h"
#include "core/progress.h"

#define FIRST_NAP_NS  20000ull
#define SHORT_NAP_NS  1000000ull
#define LONG_NAP_NS   5000000ull
#define LONG_AFTER_NS 20000000ull

enum {
    CLOCK_EVERY = 32,  /* polls between two looks at the clock */
    YIELD_EVERY = 256, /* polls between two yields, on a core of one's own */
};

static uint64_t nap_ns(uint64_t quiet_ns, uint64_t spin_ns)
{
    uint64_t nap = FIRST_NAP_NS;
    uint64_t past = spin_ns;

    if (quiet_ns > LONG_AFTER_NS)
        return LONG_NAP_NS;
    /* Each nap as long as the wait so far: that is the doubling. */
    while (nap < SHORT_NAP_NS && past + nap < quiet_ns) {
        past += nap;
        nap *= 2;
    }
    return nap < SHORT_NAP_NS ? nap : SHORT_NAP_NS;
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* One thing to do between two polls. */
static void owner_pause(hg_context_t *context, unsigned polls, unsigned epoch,
    uint64_t start_ns, uint64_t now_ns, uint64_t deadline_ns)
{
    const struct amg_limits *limits = &context->cls->limits;
    uint64_t quiet_ns = now_ns - start_ns;

    if (quiet_ns <= context->spin_ns) {
        if (limits->must_yield)
            sched_yield();
        return;
    }
    if (!limits->is_spinning) {
        amg_cq_sleep(&context->cq, epoch, deadline_ns);
        return;
    }
    if (limits->must_yield) {
        uint64_t nap = nap_ns(quiet_ns, context->spin_ns);

        amg_cq_sleep(&context->cq, epoch, earlier(now_ns + nap, deadline_ns));
        return;
    }
    if (polls % YIELD_EVERY == 0)
        sched_yield();
}

/* By the owner: polls until there is news or the moment has come. */
static hg_return_t owner_wait(hg_context_t *context, uint64_t deadline_ns)
{
    uint64_t start_ns = amg_clock_ns();
    unsigned polls = 0;

    for (;;) {
        unsigned epoch = amg_cq_epoch(&context->cq);

        if (amg_progress_poll(context) > 0 || !amg_cq_is_empty(&context->cq))
            return HG_SUCCESS;
        polls++;
        if (polls % CLOCK_EVERY == 0) {
            uint64_t now_ns = amg_clock_ns();

            if (now_ns >= deadline_ns)
                return HG_TIMEOUT;
            owner_pause(context, polls, epoch, start_ns, now_ns, deadline_ns);
        }
    }
}

/* By the owner, who leaves then. */
static hg_return_t owner_progress(
    hg_context_t *context, unsigned timeout_ms, uint64_t deadline_ns)
{
    hg_return_t rc = HG_TIMEOUT;

    if (amg_progress_poll(context) > 0 || !amg_cq_is_empty(&context->cq))
        rc = HG_SUCCESS;
    else if (timeout_ms > 0)
        rc = owner_wait(context,
            deadline_ns != 0 ? deadline_ns : amg_clock_deadline_ns(timeout_ms));
    amg_progress_disown(context);
    return rc;
}

/* By a thread that found an owner: sleeps until something is queued, the owner
 * leaves, or the moment has come. Who counts itself as waiting before it tries
 * again is either let in or woken by the owner that leaves. */
static hg_return_t waiter_wait(hg_context_t *context, unsigned timeout_ms)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout_ms);
    hg_return_t rc = HG_TIMEOUT;

    atomic_fetch_add_explicit(&context->awaiting, 1u, memory_order_seq_cst);
    do {
        unsigned epoch = amg_cq_epoch(&context->cq);

        if (!amg_cq_is_empty(&context->cq)) {
            rc = HG_SUCCESS;
            break;
        }
        if (amg_progress_own(context)) {
            atomic_fetch_sub_explicit(
                &context->awaiting, 1u, memory_order_relaxed);
            return owner_progress(context, timeout_ms, deadline_ns);
        }
        amg_cq_sleep(&context->cq, epoch, deadline_ns);
    } while (amg_clock_ns() < deadline_ns);
    atomic_fetch_sub_explicit(&context->awaiting, 1u, memory_order_relaxed);
    return rc;
}

hg_return_t amg_progress_wait(hg_context_t *context, unsigned timeout_ms)
{
    if (amg_progress_own(context))
        return owner_progress(context, timeout_ms, 0);
    if (!amg_cq_is_empty(&context->cq))
        return HG_SUCCESS;
    return timeout_ms == 0 ? HG_TIMEOUT : waiter_wait(context, timeout_ms);
}
