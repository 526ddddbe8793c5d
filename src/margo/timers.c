/* SPDX-License-Identifier: BSD-3-Clause */
/* The timers of an instance: what is due when, and the loop that fires it.
 *
 * The loop reads without a lock when the first one is due. Who arms one that
 * comes before all others stores that and then kicks the loop, so that it does
 * not sleep beyond it. */
#include "margo/timers.h"

#include "base/clock.h"
#include "base/list.h"
#include "margo/instance.h"

static struct amg_margo_timer *timer_of(struct amg_heap_node *node)
{
    return node == NULL ? NULL : AMG_OBJECT(node, struct amg_margo_timer, node);
}

static void next_store_locked(struct amg_margo_timers *timers)
{
    const struct amg_heap_node *first = timers->heap.first;

    atomic_store_explicit(&timers->next_ns,
        first == NULL ? AMG_NO_DEADLINE : first->key, memory_order_release);
}

static void remove_locked(
    struct amg_margo_timers *timers, struct amg_margo_timer *timer)
{
    bool was_first = timers->heap.first == &timer->node;

    amg_heap_remove(&timers->heap, &timer->node);
    timer->is_armed = false;
    if (was_first)
        next_store_locked(timers);
}

void amg_margo_timers_init(margo_instance_id mid)
{
    struct amg_margo_timers *timers = &mid->timers;

    amg_lock_init(&timers->lock);
    timers->heap.first = NULL;
    timers->is_closed = false;
    atomic_init(&timers->next_ns, AMG_NO_DEADLINE);
    for (unsigned i = 0; i < AMG_MARGO_FIRING_COUNT; i++)
        atomic_init(&timers->firing[i], NULL);
}

bool amg_margo_timer_arm(
    margo_instance_id mid, struct amg_margo_timer *timer, uint64_t due_ns)
{
    struct amg_margo_timers *timers = &mid->timers;
    bool is_first = false;

    amg_lock_take(&timers->lock);
    if (timers->is_closed) {
        amg_lock_give(&timers->lock);
        return false;
    }
    timer->node.key = due_ns;
    timer->is_armed = true;
    amg_heap_push(&timers->heap, &timer->node);
    is_first = timers->heap.first == &timer->node;
    if (is_first)
        next_store_locked(timers);
    amg_lock_give(&timers->lock);
    if (is_first)
        amg_margo_loop_kick(mid);
    return true;
}

/* Runs its function, in another thread than the caller? */
static bool fires_elsewhere(
    margo_instance_id mid, const struct amg_margo_timer *timer)
{
    ABT_thread loops[AMG_MARGO_FIRING_COUNT] = {
        [AMG_MARGO_FIRING_LOOP] = mid->loop.thread,
        [AMG_MARGO_FIRING_DEPUTY] = mid->deputy.thread,
    };
    ABT_thread self = ABT_THREAD_NULL;

    for (unsigned i = 0; i < AMG_MARGO_FIRING_COUNT; i++)
        if (atomic_load_explicit(
                &mid->timers.firing[i], memory_order_acquire) == timer)
            return ABT_self_get_thread(&self) != ABT_SUCCESS ||
                   self == ABT_THREAD_NULL || self != loops[i];
    return false;
}

bool amg_margo_timer_disarm(
    margo_instance_id mid, struct amg_margo_timer *timer)
{
    struct amg_margo_timers *timers = &mid->timers;
    bool was_armed = false;
    bool is_firing = true;
    unsigned tries = 0;

    /* What fires may arm it anew, so it is looked at after that. */
    while (!was_armed && is_firing) {
        amg_lock_take(&timers->lock);
        was_armed = timer->is_armed;
        if (was_armed)
            remove_locked(timers, timer);
        is_firing = fires_elsewhere(mid, timer);
        amg_lock_give(&timers->lock);
        /* The loop that fires it may wait for this stream. */
        if (!was_armed && is_firing) {
            (void)ABT_self_yield();
            amg_lock_rest(tries++);
        }
    }
    return was_armed;
}

uint64_t amg_margo_timers_next(margo_instance_id mid)
{
    return atomic_load_explicit(&mid->timers.next_ns, memory_order_acquire);
}

/* Takes out the first one that is due by then, and fires it. */
static bool fire_one(struct amg_margo_timers *timers, unsigned place,
    uint64_t until_ns, bool is_due)
{
    struct amg_margo_timer *timer = NULL;

    amg_lock_take(&timers->lock);
    timer = timer_of(timers->heap.first);
    if (timer != NULL && timer->node.key <= until_ns) {
        remove_locked(timers, timer);
        /* Under the lock: who finds it not armed sees this as well. */
        atomic_store_explicit(
            &timers->firing[place], timer, memory_order_relaxed);
    } else {
        timer = NULL;
    }
    amg_lock_give(&timers->lock);
    if (timer == NULL)
        return false;
    timer->fire(timer, is_due);
    atomic_store_explicit(&timers->firing[place], NULL, memory_order_release);
    return true;
}

void amg_margo_timers_fire(margo_instance_id mid, uint64_t now_ns)
{
    ABT_thread self = ABT_THREAD_NULL;
    unsigned place = AMG_MARGO_FIRING_LOOP;

    if (mid->deputy.thread != ABT_THREAD_NULL &&
        ABT_self_get_thread(&self) == ABT_SUCCESS && self == mid->deputy.thread)
        place = AMG_MARGO_FIRING_DEPUTY;
    while (amg_margo_timers_next(mid) <= now_ns &&
           fire_one(&mid->timers, place, now_ns, true))
        ;
}

void amg_margo_timers_fini(margo_instance_id mid)
{
    struct amg_margo_timers *timers = &mid->timers;

    amg_lock_take(&timers->lock);
    timers->is_closed = true;
    amg_lock_give(&timers->lock);
    while (fire_one(timers, AMG_MARGO_FIRING_LOOP, UINT64_MAX, false))
        ;
}

uint64_t amg_margo_timer_due_ns(double timeout_ms)
{
    double ns = timeout_ms * (double)AMG_NS_PER_MS;

    /* Some 292 years: as good as never, and no overflow. */
    if (!(ns < (double)INT64_MAX))
        return AMG_NO_DEADLINE - 1;
    return amg_clock_ns() + (ns > 0 ? (uint64_t)ns : 0);
}
