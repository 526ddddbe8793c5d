/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers of an instance: the heap of armed timers, which the loop fires, and
 * the timers of the program.
 *
 * The loop reads the due time of the first timer without a lock. A thread that
 * arms an earlier timer stores the new due time, and then wakes the loop if the
 * loop could sleep beyond that time.
 *
 * The loop fires a timer of the program by creating a user-level thread in the
 * timer's pool, or by calling the function itself. A cancel makes void each
 * created thread that has not begun (a void thread calls nothing), and waits
 * only for a callback that runs. The program, the heap and each created thread
 * have a reference; a timer without references is freed. The memory is reused
 * for timers alone, so that a call with a destroyed timer is recognised. */
#include "margo/request.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/list.h"
#include "base/pool.h"
#include "margo-timer.h"
#include "margo/instance.h"

static struct amg_margo_timer *timer_of(struct amg_heap_node *node)
{
    return node == NULL ? NULL
                        : amg_container_of(node, struct amg_margo_timer, node);
}

static void next_store_locked(margo_instance_id mid)
{
    const struct amg_heap_node *first = mid->timers->heap.first;

    AMG_ASSERT_HELD(&mid->timers->lock);
    atomic_store_explicit(&mid->wakeup.next_timer_ns,
        first == NULL ? AMG_NO_DEADLINE : first->key, memory_order_release);
}

static void remove_locked(margo_instance_id mid, struct amg_margo_timer *timer)
{
    bool was_first = mid->timers->heap.first == &timer->node;

    AMG_ASSERT_HELD(&mid->timers->lock);
    amg_heap_remove(&mid->timers->heap, &timer->node);
    timer->is_armed = false;
    if (was_first)
        next_store_locked(mid);
}

void amg_margo_timers_init(margo_instance_id mid)
{
    struct amg_margo_timers *timers = mid->timers;

    amg_lock_init(&timers->lock);
    timers->heap.first = NULL;
    timers->is_closed = false;
    atomic_init(&mid->wakeup.next_timer_ns, AMG_NO_DEADLINE);
    for (unsigned i = 0; i < AMG_MARGO_LOOP_COUNT; i++)
        atomic_init(&timers->firing[i], NULL);
}

/* Must loops be woken for a timer that is due before all others? A loop sleeps
 * for timeout_ub_ms at most, but a loop in gate_pass() sleeps until woken. */
static bool is_news(margo_instance_id mid, uint64_t due_ns)
{
    uint64_t bound_ms =
        atomic_load_explicit(&mid->wakeup.timeout_ub_ms, memory_order_relaxed);

    atomic_thread_fence(memory_order_seq_cst); /* see amg_margo_wake() */
    return atomic_load_explicit(&mid->wakeup.gated, memory_order_seq_cst) > 0 ||
           due_ns < amg_clock_ns() + bound_ms * AMG_NS_PER_MS;
}

bool amg_margo_timer_arm(
    margo_instance_id mid, struct amg_margo_timer *timer, uint64_t due_ns)
{
    struct amg_margo_timers *timers = mid->timers;
    bool is_first = false;

    if (amg_margo_is_inherited(mid))
        return false;
    amg_lock_lock(&timers->lock);
    if (timers->is_closed) {
        amg_lock_unlock(&timers->lock);
        return false;
    }
    timer->node.key = due_ns;
    timer->is_armed = true;
    amg_heap_push(&timers->heap, &timer->node);
    is_first = timers->heap.first == &timer->node;
    if (is_first)
        next_store_locked(mid);
    amg_lock_unlock(&timers->lock);
    if (is_first && is_news(mid, due_ns))
        amg_margo_wake(mid);
    return true;
}

/* Is the timer's fire() running, in another thread than the caller? */
static bool fires_elsewhere(
    margo_instance_id mid, const struct amg_margo_timer *timer)
{
    const struct amg_margo_timers *timers = mid->timers;
    ABT_thread self = amg_margo_self();

    for (unsigned i = 0; i < AMG_MARGO_LOOP_COUNT; i++)
        if (atomic_load_explicit(&timers->firing[i], memory_order_acquire) ==
            timer)
            return self == ABT_THREAD_NULL ||
                   !(i == AMG_MARGO_LOOP ? amg_margo_runs_loop(mid, self)
                                         : self == mid->loops[i]);
    return false;
}

static void callback_log(margo_instance_id mid)
{
    margo_warning(mid,
        "a thread has waited %u ms for a timer's callback, which still runs",
        (unsigned)amg_env_number(AMG_ENV_SILENT));
}

bool amg_margo_timer_disarm(
    margo_instance_id mid, struct amg_margo_timer *timer)
{
    struct amg_margo_timers *timers = mid->timers;
    uint64_t silent_ms = amg_env_number(AMG_ENV_SILENT);
    uint64_t log_ns = 0;
    bool was_armed = false;
    bool is_firing = true;
    unsigned tries = 0;

    /* Checks once more after fire(), which may arm the timer again. */
    while (!was_armed && is_firing) {
        amg_lock_lock(&timers->lock);
        was_armed = timer->is_armed;
        if (was_armed)
            remove_locked(mid, timer);
        is_firing = fires_elsewhere(mid, timer);
        amg_lock_unlock(&timers->lock);
        /* Yields, as the loop that runs fire() may need this stream. */
        if (!was_armed && is_firing) {
            (void)ABT_self_yield();
            amg_back_off(tries++);
            if (log_ns == 0)
                log_ns = amg_clock_deadline_ns((unsigned)silent_ms);
            if (silent_ms != 0 && amg_clock_ns() >= log_ns) {
                log_ns = 0;
                callback_log(mid);
            }
        }
    }
    return was_armed;
}

/* Fires the first timer that is due by `until_ns`. False: no such timer. */
static bool fire_one(
    margo_instance_id mid, unsigned loop, uint64_t until_ns, bool is_due)
{
    struct amg_margo_timers *timers = mid->timers;
    struct amg_margo_timer *timer = NULL;

    amg_lock_lock(&timers->lock);
    timer = timer_of(timers->heap.first);
    if (timer != NULL && timer->node.key <= until_ns) {
        remove_locked(mid, timer);
        /* Stored under the lock: a thread that finds the timer not armed sees
         * this store, too. */
        atomic_store_explicit(
            &timers->firing[loop], timer, memory_order_relaxed);
    } else {
        timer = NULL;
    }
    amg_lock_unlock(&timers->lock);
    if (timer == NULL)
        return false;
    timer->fire(timer, is_due);
    atomic_store_explicit(&timers->firing[loop], NULL, memory_order_release);
    return true;
}

void amg_margo_timers_fire(margo_instance_id mid, uint64_t now_ns)
{
    unsigned loop = AMG_MARGO_LOOP;

    if (mid->loops[AMG_MARGO_SECOND] != ABT_THREAD_NULL &&
        amg_margo_self() == mid->loops[AMG_MARGO_SECOND])
        loop = AMG_MARGO_SECOND;
    while (atomic_load_explicit(
               &mid->wakeup.next_timer_ns, memory_order_acquire) <= now_ns &&
           fire_one(mid, loop, now_ns, true))
        ;
}

void amg_margo_timers_fini(margo_instance_id mid)
{
    amg_lock_lock(&mid->timers->lock);
    mid->timers->is_closed = true;
    amg_lock_unlock(&mid->timers->lock);
    while (fire_one(mid, AMG_MARGO_LOOP, UINT64_MAX, false))
        ;
}

uint64_t amg_margo_timer_due_ns(double timeout_ms)
{
    double ns = timeout_ms * (double)AMG_NS_PER_MS;

    /* From 292 years on the sum might overflow. */
    if (!(ns < (double)INT64_MAX))
        return AMG_NO_DEADLINE - 1;
    return amg_clock_ns() + (ns > 0 ? (uint64_t)ns : 0);
}

enum { POSTPONE_NS = 50000 };

static struct amg_attic attic; /* freed timers of the program */

struct margo_timer {
    struct amg_margo_timer one_shot;
    /* True from creation until margo_timer_destroy(): the program has a
     * reference. An independent value, relaxed. */
    atomic_bool is_owned;
    margo_instance_id mid;
    margo_timer_callback_fn callback;
    void *arg;
    ABT_pool pool;          /* where callbacks run; ABT_POOL_NULL: in a loop */
    ABT_mutex_memory mutex; /* guards the fields below */
    ABT_cond_memory idle;   /* signals that a callback has returned */
    unsigned refs;
    bool is_started;     /* started, and has not fired */
    unsigned handed_out; /* created threads that have not begun */
    unsigned void_ones;  /* threads of `handed_out` that call nothing */
    unsigned cancelling; /* calls of cancel in progress: starts fail */
    bool is_running;     /* the callback runs; never twice at a time */
    ABT_thread runner;   /* thread that runs the callback */
};

static void timer_lock(struct margo_timer *timer)
{
    (void)ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&timer->mutex));
}

static void timer_unlock(struct margo_timer *timer)
{
    (void)ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&timer->mutex));
}

/* Drops `count` references, and unlocks. */
static void timer_unref_unlock(struct margo_timer *timer, unsigned count)
{
    bool is_last = timer->refs == count;

    AMG_ASSERT(timer->refs >= count);
    timer->refs -= count;
    timer_unlock(timer);
    if (is_last)
        amg_attic_put(&attic, timer);
}

/* Calls the program's function, which is not running. The caller has locked the
 * mutex; timer_call() unlocks the mutex, and drops the caller's reference. */
static void timer_call(struct margo_timer *timer)
{
    timer->is_running = true;
    timer->runner = amg_margo_self();
    timer_unlock(timer);
    timer->callback(timer->arg);
    timer_lock(timer);
    timer->is_running = false;
    timer->runner = ABT_THREAD_NULL;
    (void)ABT_cond_broadcast(ABT_COND_MEMORY_GET_HANDLE(&timer->idle));
    timer_unref_unlock(timer, 1);
}

/* Called repeatedly, with the mutex locked: waits until the callback ends, or
 * logs the wait after AMALGAM_SILENT_MS. */
static void idle_await(struct margo_timer *timer)
{
    ABT_cond idle = ABT_COND_MEMORY_GET_HANDLE(&timer->idle);
    ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(&timer->mutex);
    unsigned silent_ms = (unsigned)amg_env_number(AMG_ENV_SILENT);
    struct timespec moment;

    if (silent_ms == 0) {
        (void)ABT_cond_wait(idle, mutex);
        return;
    }
    moment = amg_margo_moment(silent_ms);
    if (ABT_cond_timedwait(idle, mutex, &moment) == ABT_SUCCESS)
        return;
    timer_unlock(timer);
    callback_log(timer->mid);
    timer_lock(timer);
}

/* The thread that a fired timer creates. */
static void timer_thread(void *arg)
{
    struct margo_timer *timer = arg;

    timer_lock(timer);
    while (timer->is_running)
        idle_await(timer);
    timer->handed_out--;
    if (timer->void_ones > 0) {
        timer->void_ones--;
        timer_unref_unlock(timer, 1);
    } else {
        timer_call(timer);
    }
}

/* Arms the timer again for a short time, since its callback still runs in the
 * other loop of the instance. Returns true with the mutex unlocked; if the
 * instance has ended, returns false with the mutex locked. */
static bool timer_postpone(struct margo_timer *timer)
{
    timer_unlock(timer);
    if (amg_margo_timer_arm(
            timer->mid, &timer->one_shot, amg_clock_ns() + POSTPONE_NS))
        return true;
    timer_lock(timer);
    return false;
}

/* Called with the reference of margo_timer_start(): runs the callback of a due
 * timer, or creates a thread that does so. */
static void timer_fire(struct amg_margo_timer *one_shot, bool is_due)
{
    struct margo_timer *timer =
        amg_container_of(one_shot, struct margo_timer, one_shot);
    int rc = ABT_SUCCESS;

    timer_lock(timer);
    if (is_due && timer->is_running && timer->pool == ABT_POOL_NULL) {
        if (timer_postpone(timer))
            return;
        is_due = false;
    }
    timer->is_started = false;
    if (!is_due) {
        timer_unref_unlock(timer, 1);
        return;
    }
    if (timer->pool == ABT_POOL_NULL) {
        timer_call(timer);
        return;
    }
    timer->handed_out++;
    timer_unlock(timer);
    AMG_TEST_POINT("timer.handed_out");
    rc = ABT_thread_create(
        timer->pool, timer_thread, timer, ABT_THREAD_ATTR_NULL, NULL);
    if (rc == ABT_SUCCESS)
        return;
    margo_error(timer->mid,
        "a timer is due, but its callback is not called: no user-level thread "
        "can be made, Argobots' error %d",
        rc);
    timer_lock(timer);
    timer->handed_out--;
    if (timer->void_ones > 0) /* a cancel has counted this thread */
        timer->void_ones--;
    timer_unref_unlock(timer, 1);
}

/* Has the program created the timer, and not destroyed it? */
static bool is_owned(margo_timer_t timer)
{
    return timer != MARGO_TIMER_NULL &&
           atomic_load_explicit(&timer->is_owned, memory_order_relaxed);
}

int margo_timer_create_with_pool(margo_instance_id mid,
    margo_timer_callback_fn cb_fn, void *cb_dat, ABT_pool pool,
    margo_timer_t *timer)
{
    static const ABT_mutex_memory fresh_mutex = ABT_MUTEX_INITIALIZER;
    static const ABT_cond_memory fresh_cond = ABT_COND_INITIALIZER;
    struct margo_timer *made = NULL;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(cb_fn) || !AMG_GIVEN(timer))
        return -1;
    made = amg_attic_get(&attic, _Alignof(struct margo_timer), sizeof(*made));
    if (made == NULL) {
        margo_error(mid, "no memory for a timer");
        return -1;
    }
    *made = (struct margo_timer){.one_shot.fire = timer_fire,
        .mid = mid,
        .callback = cb_fn,
        .arg = cb_dat,
        .pool = pool,
        .mutex = fresh_mutex,
        .idle = fresh_cond,
        .refs = 1,
        .runner = ABT_THREAD_NULL};
    atomic_init(&made->is_owned, true);
    *timer = made;
    return 0;
}

int margo_timer_create(margo_instance_id mid, margo_timer_callback_fn cb_fn,
    void *cb_dat, margo_timer_t *timer)
{
    ABT_pool pool = ABT_POOL_NULL;

    if (!AMG_GIVEN(mid))
        return -1;
    if (margo_get_handler_pool(mid, &pool) != 0)
        return -1;
    return margo_timer_create_with_pool(mid, cb_fn, cb_dat, pool, timer);
}

int margo_timer_start(margo_timer_t timer, double timeout_ms)
{
    bool may_start = false;

    if (!AMG_ALIVE(is_owned(timer), "timer", timer))
        return -1;
    if (!(timeout_ms >= 0)) {
        margo_error(
            timer->mid, "a timer of %g ms cannot be started", timeout_ms);
        return -1;
    }
    timer_lock(timer);
    may_start = !timer->is_started && timer->cancelling == 0;
    if (may_start) {
        timer->is_started = true;
        timer->refs++;
    }
    timer_unlock(timer);
    if (!may_start)
        return -1;
    if (amg_margo_timer_arm(
            timer->mid, &timer->one_shot, amg_margo_timer_due_ns(timeout_ms)))
        return 0;
    margo_error(timer->mid, "a timer was started after the instance's end");
    timer_lock(timer);
    timer->is_started = false;
    timer_unref_unlock(timer, 1);
    return -1;
}

/* Disarms the timer, and makes void the threads that have not begun. No start
 * succeeds until cancel_end(). */
static void cancel_begin(struct margo_timer *timer)
{
    if (amg_margo_is_inherited(timer->mid))
        return; /* an inherited timer does not fire */
    timer_lock(timer);
    timer->cancelling++;
    timer_unlock(timer);
    AMG_TEST_POINT("timer.cancels");
    /* Without the mutex: a disarm waits for timer_fire(), which locks it. */
    if (amg_margo_timer_disarm(timer->mid, &timer->one_shot)) {
        timer_lock(timer);
        timer->is_started = false;
        timer->refs--; /* not the last: the program has a reference */
    } else {
        timer_lock(timer);
    }
    timer->void_ones = timer->handed_out;
    timer_unlock(timer);
}

/* Waits for a running callback, unless the caller runs in that callback. False:
 * the caller cannot wait. */
static bool cancel_end(struct margo_timer *timer)
{
    ABT_thread self = amg_margo_self();
    bool can_wait = !amg_margo_is_tasklet();
    bool is_idle = true;

    if (amg_margo_is_inherited(timer->mid))
        return true;
    timer_lock(timer);
    while (can_wait && timer->is_running &&
           (self == ABT_THREAD_NULL || timer->runner != self))
        idle_await(timer);
    is_idle = !timer->is_running || timer->runner == self;
    timer->cancelling--;
    timer_unlock(timer);
    if (!is_idle)
        margo_error(timer->mid,
            "margo_timer_cancel(): the callback runs, and a tasklet cannot "
            "wait for its end; call it in a user-level thread");
    return is_idle;
}

int margo_timer_cancel(margo_timer_t timer)
{
    if (!AMG_ALIVE(is_owned(timer), "timer", timer))
        return -1;
    cancel_begin(timer);
    return cancel_end(timer) ? 0 : -1;
}

int margo_timer_cancel_many(size_t n, margo_timer_t *timers)
{
    bool is_done = true;

    if (!AMG_CONTRACT(
            timers != NULL || n == 0, "timers is NULL, but n is %zu", n))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (timers[i] != MARGO_TIMER_NULL &&
            !AMG_ALIVE(is_owned(timers[i]), "timer", timers[i]))
            return -1;
    for (size_t i = 0; i < n; i++)
        if (timers[i] != MARGO_TIMER_NULL)
            cancel_begin(timers[i]);
    for (size_t i = 0; i < n; i++)
        if (timers[i] != MARGO_TIMER_NULL)
            is_done = cancel_end(timers[i]) && is_done;
    return is_done ? 0 : -1;
}

int margo_timer_destroy(margo_timer_t timer)
{
    if (!AMG_ALIVE(timer != MARGO_TIMER_NULL &&
                       atomic_exchange_explicit(
                           &timer->is_owned, false, memory_order_relaxed),
            "timer", timer))
        return -1;
    timer_lock(timer);
    timer_unref_unlock(timer, 1);
    return 0;
}
