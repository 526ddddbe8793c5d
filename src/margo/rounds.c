/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of a progress loop.
 *
 * A round polls the network at most once, then runs the callbacks. If the poll
 * found no event and no other thread of the stream is ready, the round sleeps
 * before the callbacks, in HG_Progress(), until a message comes, a timer is
 * due, a thread becomes ready for this stream, or a thread wakes the loop.
 * HG_Progress() decides how long to poll before it blocks (core/wait_policy.c);
 * progress_spindown_msec, if given, forbids sleeps for that time after an
 * event. A sleep lasts progress_timeout_ub_msec at most, so a thread that arms
 * a timer due beyond that bound does not wake the loop (timer.c).
 *
 * Two loops in one pool, for example the loops of two instances in one stream,
 * always find each other ready, so neither would ever sleep. All loops of the
 * process are registered with their pools; an idle loop that finds another loop
 * in its pool backs off: it leaves the pool for a few milliseconds. */
#include "margo/loop.h"

#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "core/context.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/registry.h"
#include "margo/runtime.h"
#include "mercury.h"

enum {
    TRIGGER_BATCH = 64, /* callbacks before other ready threads run */
    FINALIZE_POLL_MS =
        1, /* between two checks whether all operations have ended */
    IDLE_ROUNDS =
        64, /* rounds without events before a loop backs off for another loop */
    BACKOFF_MAX_MS = 5,
    STUCK_NS = 1000000, /* wait of a callback that makes turn_is_stuck() true */
    NS_PER_S = 1000000000,
    MS_PER_S = 1000,
};

static struct amg_lock registry_lock AMG_LOCK_KEPT;
static struct {
    struct amg_list loops; /* of struct amg_margo_rounds, each with its pool */
    atomic_uint count;     /* number of loops; read without the lock: a hint */
} loop_registry = {
    .loops = {{&loop_registry.loops.head, &loop_registry.loops.head}}};

static ABT_pool pool_mine(void)
{
    ABT_pool pool = ABT_POOL_NULL;

    return ABT_self_get_last_pool(&pool) == ABT_SUCCESS ? pool : ABT_POOL_NULL;
}

bool amg_margo_loop_is_elsewhere(margo_instance_id mid)
{
    return pool_mine() != mid->pools->progress_pool;
}

/* Is another loop in the caller's pool? Takes no lock if there is one loop. */
static bool has_other_in_pool(struct amg_margo_rounds *rounds)
{
    ABT_pool pool = ABT_POOL_NULL;
    unsigned count = 0;

    if (atomic_load_explicit(&loop_registry.count, memory_order_relaxed) < 2)
        return false;
    pool = pool_mine();
    amg_lock_lock(&registry_lock);
    rounds->pool = pool;
    for (struct amg_link *link = amg_list_first(&loop_registry.loops);
         link != NULL; link = amg_list_next(&loop_registry.loops, link))
        count +=
            amg_container_of(link, struct amg_margo_rounds, link)->pool == pool;
    amg_lock_unlock(&registry_lock);
    return count > 1;
}

void amg_margo_rounds_begin(margo_instance_id mid,
    struct amg_margo_rounds *rounds, struct amg_margo_loop_counts *counts)
{
    *rounds = (struct amg_margo_rounds){
        .mid = mid, .counts = counts, .pool = pool_mine()};
    if (mid->config->is_spindown_given)
        rounds->spindown_ms = mid->config->progress_spindown_ms;
    amg_lock_lock(&registry_lock);
    atomic_fetch_add_explicit(&loop_registry.count, 1u, memory_order_relaxed);
    amg_list_push(&loop_registry.loops, &rounds->link);
    amg_lock_unlock(&registry_lock);
}

void amg_margo_rounds_end(struct amg_margo_rounds *rounds)
{
    amg_lock_lock(&registry_lock);
    amg_list_remove(&rounds->link);
    atomic_fetch_sub_explicit(&loop_registry.count, 1u, memory_order_relaxed);
    amg_lock_unlock(&registry_lock);
}

/* When the first timer is due; UINT64_MAX: no timer. */
static uint64_t next_timer_ns(margo_instance_id mid)
{
    return atomic_load_explicit(
        &mid->wakeup.next_timer_ns, memory_order_acquire);
}

static void count(_Atomic(uint64_t) *calls)
{
    atomic_store_explicit(calls,
        atomic_load_explicit(calls, memory_order_relaxed) + 1,
        memory_order_relaxed);
}

static ABT_mutex mutex_of(margo_instance_id mid)
{
    return ABT_MUTEX_MEMORY_GET_HANDLE(&mid->wakeup.mutex);
}

static ABT_cond cond_of(margo_instance_id mid)
{
    return ABT_COND_MEMORY_GET_HANDLE(&mid->wakeup.cond);
}

static AMG_NOINLINE unsigned trigger_monitored(margo_instance_id mid)
{
    struct margo_monitor_trigger_args event = {.max_count = TRIGGER_BATCH};
    unsigned ran = 0;

    AMG_MARGO_NOTIFY(mid, trigger, MARGO_MONITOR_FN_START, &event);
    event.ret = HG_Trigger(mid->hg_context, 0, TRIGGER_BATCH, &ran);
    event.actual_count = ran;
    AMG_MARGO_NOTIFY(mid, trigger, MARGO_MONITOR_FN_END, &event);
    return ran;
}

/* Runs callbacks; false: no more are left. */
static bool trigger(margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    unsigned ran = 0;

    if (AMG_MARGO_HAS_MONITOR(mid))
        ran = trigger_monitored(mid);
    else
        (void)HG_Trigger(mid->hg_context, 0, TRIGGER_BATCH, &ran);
    count(&rounds->counts->trigger_calls);
    return ran == TRIGGER_BATCH;
}

/* Is this the first of two loops, which makes progress only while no other
 * thread does? False if the instance drains: then the first loop must poll. */
static AMG_NOINLINE bool stands_by(
    margo_instance_id mid, const struct amg_margo_rounds *rounds)
{
    const struct amg_margo_loop *loop = mid->loop;

    return rounds == &loop->rounds &&
           atomic_load_explicit(&loop->second.is_there, memory_order_acquire) &&
           !atomic_load_explicit(&mid->is_draining, memory_order_acquire);
}

/* A step of a loop that stands by; HG_SUCCESS: callbacks are due. */
static hg_return_t standby_step(margo_instance_id mid, unsigned timeout_ms)
{
    (void)amg_standby_step(&mid->loop->standby,
        timeout_ms == 0 ? 0 : amg_clock_deadline_ns(timeout_ms));
    return amg_context_has_due(mid->hg_context) ? HG_SUCCESS : HG_TIMEOUT;
}

static hg_return_t rounds_sleep(void *arg, unsigned timeout_ms)
{
    const struct amg_margo_rounds *rounds = arg;
    margo_instance_id mid = rounds->mid;

    return rounds->stands_by ? standby_step(mid, timeout_ms)
                             : HG_Progress(mid->hg_context, timeout_ms);
}

/* Wakes a loop in whose stream a thread has become ready. Any thread. */
static void rounds_wake(void *arg)
{
    const struct amg_margo_rounds *rounds = arg;
    margo_instance_id mid = rounds->mid;

    if (rounds->stands_by)
        amg_standby_call(&mid->loop->standby, mid->hg_context);
    else
        amg_context_ring(mid->hg_context);
}

/* Sleeps until an event, the timeout, or a ready thread of the stream. */
static AMG_NOINLINE hg_return_t sleep_in_progress(
    struct amg_margo_rounds *rounds, unsigned timeout_ms)
{
    const struct amg_margo_sleep sleep = {
        .sleep = rounds_sleep, .wake = rounds_wake, .arg = rounds};
    hg_return_t rc = HG_SUCCESS;

    atomic_store_explicit(
        &rounds->counts->is_asleep, true, memory_order_relaxed);
    rc = amg_margo_runtime_sleep(&sleep, timeout_ms);
    atomic_store_explicit(
        &rounds->counts->is_asleep, false, memory_order_relaxed);
    return rc;
}

static AMG_INLINE hg_return_t progress_once(
    margo_instance_id mid, struct amg_margo_rounds *rounds, unsigned timeout_ms)
{
    if (timeout_ms > 0)
        return sleep_in_progress(rounds, timeout_ms);
    return AMG_LIKELY(!rounds->stands_by) ? HG_Progress(mid->hg_context, 0)
                                          : standby_step(mid, 0);
}

static AMG_NOINLINE hg_return_t progress_monitored(
    margo_instance_id mid, struct amg_margo_rounds *rounds, unsigned timeout_ms)
{
    struct margo_monitor_progress_args event = {.timeout_ms = timeout_ms};

    AMG_MARGO_NOTIFY_CALL(
        mid, progress, &event, progress_once(mid, rounds, timeout_ms));
    return event.ret;
}

static AMG_NOINLINE void progress_log(margo_instance_id mid, hg_return_t ret)
{
    if (ret != HG_TIMEOUT)
        margo_critical(mid,
            "progress failed: HG_Progress() says %s; the lines of the "
            "transport before this one say why",
            HG_Error_to_string(ret));
}

static hg_return_t progress(
    margo_instance_id mid, struct amg_margo_rounds *rounds, unsigned timeout_ms)
{
    hg_return_t rc = AMG_MARGO_HAS_MONITOR(mid)
                         ? progress_monitored(mid, rounds, timeout_ms)
                         : progress_once(mid, rounds, timeout_ms);

    count(&rounds->counts->progress_calls);
    if (rc != HG_SUCCESS)
        progress_log(mid, rc);
    return rc;
}

/* How long the loop may sleep: until a timer is due, at most the upper bound.
 * While the instance ends, at most 1 ms: the end of the last operation wakes no
 * loop (see amg_margo_operation_end()). 0: the loop must not sleep. A loop that
 * stands by gets 0 only if that loop had the turn and a timer is due. */
static unsigned sleep_ms(
    margo_instance_id mid, const struct amg_margo_rounds *rounds)
{
    uint64_t due_ns = next_timer_ns(mid);
    uint64_t now_ns = 0;
    unsigned bound_ms =
        atomic_load_explicit(&mid->wakeup.timeout_ub_ms, memory_order_relaxed);
    uint64_t wait_ms = 0;

    if (atomic_load_explicit(&mid->is_draining, memory_order_acquire) &&
        bound_ms > FINALIZE_POLL_MS)
        bound_ms = FINALIZE_POLL_MS;
    if (rounds->stands_by && (bound_ms == 0 || !rounds->has_turn))
        return 1;
    if (due_ns == UINT64_MAX)
        return bound_ms;
    now_ns = amg_clock_ns();
    if (due_ns <= now_ns)
        return 0;
    wait_ms = (due_ns - now_ns + AMG_NS_PER_MS - 1) / AMG_NS_PER_MS;
    return wait_ms < bound_ms ? (unsigned)wait_ms : bound_ms;
}

/* Is progress needed, for a loop that makes progress only when needed? */
static bool is_needed(margo_instance_id mid)
{
    return atomic_load_explicit(&mid->operations, memory_order_seq_cst) > 0 ||
           atomic_load_explicit(&mid->handlers, memory_order_relaxed) > 0 ||
           !atomic_load_explicit(
               &mid->wakeup.is_when_needed, memory_order_relaxed) ||
           next_timer_ns(mid) != UINT64_MAX ||
           atomic_load_explicit(&mid->is_draining, memory_order_acquire);
}

/* Waits until progress is needed. */
static void gate_pass(margo_instance_id mid)
{
    unsigned seen = 0;

    ABT_mutex_lock(mutex_of(mid));
    (void)atomic_fetch_add(&mid->wakeup.gated, 1u);
    atomic_thread_fence(memory_order_seq_cst); /* see amg_margo_wake() */
    amg_margo_counts_sync(mid);
    seen = mid->wakeup.wakes;
    while (!is_needed(mid)) {
        while (seen == mid->wakeup.wakes)
            ABT_cond_wait(cond_of(mid), mutex_of(mid));
        seen = mid->wakeup.wakes;
    }
    (void)atomic_fetch_sub_explicit(
        &mid->wakeup.gated, 1u, memory_order_relaxed);
    ABT_mutex_unlock(mutex_of(mid));
}

/* Does progress_spindown_msec still delay the sleep? */
static bool spins_on(const struct amg_margo_rounds *rounds)
{
    return rounds->spin_until_ns != 0 && amg_clock_ns() < rounds->spin_until_ns;
}

struct timespec amg_margo_moment(unsigned time_ms)
{
    struct timespec moment;

    clock_gettime(CLOCK_REALTIME, &moment);
    moment.tv_sec += time_ms / MS_PER_S;
    moment.tv_nsec += (long)(time_ms % MS_PER_S) * AMG_NS_PER_MS;
    if (moment.tv_nsec >= NS_PER_S) {
        moment.tv_sec++;
        moment.tv_nsec -= NS_PER_S;
    }
    return moment;
}

/* Blocks the loop, but not its stream, up to `time_ms`, or until woken. The
 * caller holds the mutex. */
static void timed_wait(margo_instance_id mid, unsigned time_ms)
{
    struct timespec moment = amg_margo_moment(time_ms);

    (void)ABT_cond_timedwait(cond_of(mid), mutex_of(mid), &moment);
}

/* Called when the stream is about to end, and other streams run the pool, too:
 * parks the loop for 1 ms, so that another stream runs it next. */
static void stream_migrate(margo_instance_id mid)
{
    ABT_mutex_lock(mutex_of(mid));
    timed_wait(mid, 1);
    ABT_mutex_unlock(mutex_of(mid));
}

/* Called when another loop is in the pool, and this loop is idle: without
 * back-off the two would yield to each other for ever. The first back-off lasts
 * at most 1 ms, later ones 5 ms. A call that this instance makes ends the
 * back-off; an incoming request waits until the back-off has ended. */
static void back_off(margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    unsigned bound_ms = sleep_ms(mid, rounds);

    if (bound_ms == 0) {
        ABT_thread_yield();
        return;
    }
    rounds->backoff_ms = rounds->backoff_ms == 0 ? 1 : BACKOFF_MAX_MS;
    if (bound_ms > rounds->backoff_ms)
        bound_ms = rounds->backoff_ms;
    ABT_mutex_lock(mutex_of(mid));
    (void)atomic_fetch_add(&mid->wakeup.gated, 1u);
    atomic_thread_fence(memory_order_seq_cst); /* see amg_margo_wake() */
    amg_margo_counts_sync(mid);
    if (atomic_load_explicit(&mid->operations, memory_order_seq_cst) == 0)
        timed_wait(mid, bound_ms);
    (void)atomic_fetch_sub_explicit(
        &mid->wakeup.gated, 1u, memory_order_relaxed);
    ABT_mutex_unlock(mutex_of(mid));
}

/* Polls the network once. If no event comes and no thread of the stream is
 * ready, sleeps. A loop that stands by makes a standby step instead. With only
 * one loop: while handlers queue callbacks between rounds, every second round
 * skips the poll. */
static hg_return_t look(margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    hg_return_t rc = HG_TIMEOUT;
    unsigned timeout_ms = 0;

    if (!AMG_LIKELY(!mid->loop->has_second))
        rounds->stands_by = stands_by(mid, rounds);
    rounds->has_skipped = !rounds->has_skipped && !mid->loop->has_second &&
                          amg_context_has_due(mid->hg_context);
    if (rounds->has_skipped)
        return HG_SUCCESS;
    /* A poll does not sleep: amg_margo_runtime_sleep() is not needed. */
    if (AMG_LIKELY(!rounds->stands_by)) {
        rc = progress(mid, rounds, 0);
        if (rc == HG_SUCCESS)
            return rc;
    }
    if (!amg_margo_runtime_has_ready() &&
        (rounds->stands_by || !spins_on(rounds)) &&
        !amg_margo_runtime_must_migrate())
        timeout_ms = sleep_ms(mid, rounds);
    return timeout_ms > 0 || rounds->stands_by
               ? progress(mid, rounds, timeout_ms)
               : rc;
}

/* Is the second loop, which has the turn, parked, or has it yielded? */
static bool second_waits(margo_instance_id mid)
{
    ABT_thread_state state = ABT_THREAD_STATE_RUNNING;

    return ABT_thread_get_state(mid->loops[AMG_MARGO_SECOND], &state) ==
               ABT_SUCCESS &&
           state != ABT_THREAD_STATE_RUNNING;
}

/* Called by the first loop, without the turn. True: a callback of the second
 * loop has waited so long (1 ms) that the first loop runs callbacks, too. */
static bool turn_is_stuck(margo_instance_id mid)
{
    struct amg_margo_loop *loop = mid->loop;
    uint64_t now_ns = amg_clock_ns();

    if (!second_waits(mid))
        loop->stuck_ns = 0;
    else if (loop->stuck_ns == 0)
        loop->stuck_ns = now_ns;
    else if (now_ns - loop->stuck_ns >= STUCK_NS)
        return true;
    if (amg_context_has_due(mid->hg_context))
        amg_standby_defer(&loop->standby);
    return false;
}

/* Takes the turn to run callbacks. True: the loop may run callbacks, as it got
 * the turn, or as the turn is stuck. */
static bool turn_take(margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    bool is_first = rounds == &mid->loop->rounds;

    rounds->has_turn = !atomic_exchange_explicit(
        &mid->loop->is_running, true, memory_order_acquire);
    if (rounds->has_turn) {
        rounds->tries = 0;
        if (is_first)
            mid->loop->stuck_ns = 0;
    } else if (is_first) {
        return turn_is_stuck(mid);
    } else if (!amg_margo_runtime_has_ready()) {
        amg_back_off(rounds->tries++); /* leaves the core to the first loop */
    }
    return rounds->has_turn;
}

static void timers_look(margo_instance_id mid)
{
    uint64_t due_ns = next_timer_ns(mid);
    uint64_t now_ns = 0;

    if (due_ns == UINT64_MAX)
        return;
    now_ns = amg_clock_ns();
    if (due_ns <= now_ns)
        amg_margo_timers_fire(mid, now_ns);
}

static AMG_INLINE void callbacks_run(
    margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    while (trigger(mid, rounds))
        if (amg_margo_runtime_has_ready())
            break;
    timers_look(mid);
}

/* callbacks_run() by one of two loops. */
static AMG_NOINLINE void callbacks_run_in_turn(
    margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    if (!turn_take(mid, rounds))
        return;
    callbacks_run(mid, rounds);
    if (rounds->has_turn)
        atomic_store_explicit(
            &mid->loop->is_running, false, memory_order_release);
}

void amg_margo_rounds_run(
    margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    atomic_store_explicit(
        &mid->loop->mark, amg_bias_mark(), memory_order_relaxed);
    rounds->idle_rounds++;
    if (look(mid, rounds) == HG_SUCCESS) {
        rounds->idle_rounds = 0;
        rounds->backoff_ms = 0;
        if (rounds->spindown_ms > 0)
            rounds->spin_until_ns = amg_clock_deadline_ns(rounds->spindown_ms);
    }
    if (AMG_LIKELY(!mid->loop->has_second))
        callbacks_run(mid, rounds);
    else
        callbacks_run_in_turn(mid, rounds);
}

/* Is this loop idle beside another loop of its pool? */
static bool is_idle_beside_other(
    margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    return rounds->idle_rounds >= IDLE_ROUNDS &&
           amg_margo_runtime_has_ready() && !spins_on(rounds) &&
           atomic_load_explicit(&mid->operations, memory_order_relaxed) == 0 &&
           has_other_in_pool(rounds);
}

void amg_margo_rounds_yield(
    margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    bool is_moving =
        rounds == &mid->loop->rounds &&
        atomic_load_explicit(&mid->wakeup.is_moving, memory_order_relaxed);

    if (is_moving) {
        atomic_store_explicit(
            &mid->wakeup.is_moving, false, memory_order_relaxed);
        ABT_thread_yield();
    } else if (is_idle_beside_other(mid, rounds)) {
        back_off(mid, rounds);
    } else if (amg_margo_runtime_has_ready()) {
        amg_margo_runtime_yield();
    }
    if (amg_margo_runtime_must_migrate())
        stream_migrate(mid);
    if (atomic_load_explicit(
            &mid->wakeup.is_when_needed, memory_order_relaxed) &&
        !is_needed(mid))
        gate_pass(mid);
}

bool amg_margo_rounds_may_rest(
    margo_instance_id mid, const struct amg_margo_rounds *rounds)
{
    return !atomic_load_explicit(
               &mid->wakeup.is_moving, memory_order_relaxed) &&
           !atomic_load_explicit(
               &mid->wakeup.is_when_needed, memory_order_relaxed) &&
           rounds->idle_rounds < IDLE_ROUNDS && !mid->loop->has_second &&
           !amg_margo_runtime_must_migrate();
}

void amg_margo_rounds_rest(struct amg_margo_loop *loop)
{
    if (!amg_margo_runtime_has_ready())
        return;
    atomic_store_explicit(&loop->is_at_rest, true, memory_order_relaxed);
    amg_margo_runtime_yield();
    atomic_store_explicit(&loop->is_at_rest, false, memory_order_relaxed);
}

void amg_margo_loop_drive(margo_instance_id mid, ABT_eventual eventual)
{
    ABT_bool is_set = ABT_FALSE;
    unsigned tries = 0;
    unsigned ran = 0;

    amg_margo_operation_begin(mid);
    while (ABT_eventual_test(eventual, NULL, &is_set) == ABT_SUCCESS &&
           is_set == ABT_FALSE) {
        (void)HG_Progress(mid->hg_context, 0);
        (void)HG_Trigger(mid->hg_context, 0, 1, &ran);
        (void)ABT_self_yield();
        amg_back_off(tries++);
    }
    amg_margo_operation_end(mid);
}
