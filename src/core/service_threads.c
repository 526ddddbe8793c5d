/* SPDX-License-Identifier: BSD-3-Clause */
/* Service thread of a context: its progress thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/progress.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/lock.h"
#include "core/wait_policy.h"
#include "affinity/bind.h"
#include "affinity/topo.h"

/* The progress thread owns the context only while it polls. Before it blocks it
 * announces that to all event sources and gives up ownership, so that a waiting
 * caller takes over at once. A caller's first poll disarms the thread, and the
 * leaving caller wakes the thread: the only system call while calls go on. From
 * then on the thread stands by, in short naps on a shared core, spinning on a
 * core of its own, and the count of turns tells whether callers still make
 * progress. After some time without a caller, the thread takes over.
 *
 *   progress --(no event)--> blocked, armed, not the owner
 *   progress or blocked --(a caller)--> standby
 *   standby --(no caller for one nap, or 12 us)--> progress
 *   standby --(another thread stays owner)--> blocked until it leaves
 *
 * A descriptor that keeps reporting events when there are none would keep the
 * thread running: after FRUITLESS_MAX such wake-ups it naps instead. */

enum {
    SERVE_MAX = 64,     /* callbacks between two polls */
    CLOCK_EVERY = 32,   /* polls between two reads of the clock */
    STANDBY_MS = 1,     /* a nap while callers make progress */
    STANDBY_NS = 4000,  /* a spin on a core of its own */
    CALM_SPINS = 3,     /* spins without a caller, then takes over */
    CALM_NAPS = 1,      /* naps without a caller, then takes over */
    KEPT_NAPS = 10,     /* naps, after which it waits for the owner */
    FRUITLESS_MAX = 16, /* wake-ups without an event */
};

struct driver {
    hg_context_t *context;
    const atomic_bool *must_stop;
    struct amg_wait_policy policy;
    uint64_t quiet_since_ns; /* 0: there was an event */
    unsigned moves;          /* wakeup.moves, when last read */
    unsigned turns;          /* of callers, as last read */
    unsigned calm;           /* checks since the last caller */
    unsigned kept;           /* naps in which the owner stayed */
    unsigned fruitless;
    bool is_left; /* callers leave incoming calls to this thread */
};

/* Runs queued incoming calls, up to a limit; returns how many. */
static unsigned progress_thread_serve(hg_context_t *context)
{
    struct amg_cq_entry *entry = NULL;
    unsigned count = 0;

    while (
        count < SERVE_MAX && (entry = amg_context_take_due(context)) != NULL) {
        amg_context_run_by_service_thread(context, entry);
        count++;
    }
    amg_context_send_unsent(context);
    return count;
}

static bool driver_is_over(const struct driver *driver)
{
    return atomic_load_explicit(driver->must_stop, memory_order_acquire);
}

static bool is_serving(const struct driver *driver)
{
    return driver->context->incoming_mode == AMG_SERVE_THREAD;
}

static bool has_incoming(const struct driver *driver)
{
    return is_serving(driver) && amg_context_has_due(driver->context);
}

static bool is_alone(const struct driver *driver)
{
    return driver->policy.core == AMG_CORE_DEDICATED;
}

static struct amg_wait_step pace_now(struct driver *driver, uint64_t now_ns)
{
    unsigned moves = atomic_load_explicit(
        &driver->context->wakeup.moves, memory_order_relaxed);

    if (driver->quiet_since_ns == 0 || driver->moves != moves)
        driver->quiet_since_ns = now_ns;
    driver->moves = moves;
    return amg_wait_policy_next(
        &driver->policy, now_ns - driver->quiet_since_ns);
}

/* Were there calls since the last check? */
static bool turns_changed(struct driver *driver)
{
    unsigned turns =
        atomic_load_explicit(&driver->context->turns, memory_order_relaxed);

    if (turns == driver->turns)
        return false;
    driver->turns = turns;
    driver->calm = 0;
    driver->kept = 0;
    driver->quiet_since_ns = 0;
    return true;
}

/* Spins for a moment, on a core of its own. */
static void spin_by(uint64_t now_ns)
{
    while (amg_clock_ns() - now_ns < STANDBY_NS)
        amg_relax();
}

/* Sleeps until the owner leaves: the owner sees the announcement, or this
 * thread sees that the owner has left (base/bias.h). */
static void sleep_behind(struct driver *driver)
{
    hg_context_t *context = driver->context;
    unsigned epoch = amg_cq_epoch(&context->cq);

    if (amg_wakeup_fd(context, AMG_CQ_THREAD) < 0 ||
        !amg_cq_arm(&context->cq, AMG_CQ_THREAD, epoch)) {
        amg_wakeup_timed_wait(
            context, amg_clock_ns() + STANDBY_MS * AMG_NS_PER_MS);
        return;
    }
    if (!amg_progress_own(context)) {
        amg_wakeup_timed_wait(context, amg_clock_ns() + AMG_WAIT_LONG_NS);
        amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
        return;
    }
    amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
    amg_progress_disown(context);
}

/* Sleeps for STANDBY_MS, or until woken. */
static void nap(struct driver *driver, uint64_t now_ns)
{
    hg_context_t *context = driver->context;

    amg_wakeup_timed_wait(context, now_ns + STANDBY_MS * AMG_NS_PER_MS);
    if (amg_wakeup_fd(context, AMG_CQ_THREAD) >= 0)
        amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
}

/* Callers make progress, or did a moment ago. Callers also run incoming calls
 * in that time, but no longer: they may never call HG_Trigger(). */
static void stand_by(struct driver *driver)
{
    uint64_t now_ns = amg_clock_ns();

    driver->is_left = has_incoming(driver);
    if (is_alone(driver) && pace_now(driver, now_ns).kind == AMG_WAIT_POLL) {
        spin_by(now_ns);
    } else if (driver->kept < KEPT_NAPS) {
        driver->kept++;
        nap(driver, now_ns);
        driver->is_left = true;
        driver->calm = CALM_SPINS; /* a nap is longer than all spins */
    } else {
        sleep_behind(driver);
        driver->is_left = true;
    }
    if (!turns_changed(driver))
        driver->calm++;
}

/* By the owner, which leaves: blocks until an event. */
static void drive_sleep(
    struct driver *driver, unsigned epoch, uint64_t now_ns, uint64_t ns)
{
    hg_context_t *context = driver->context;
    enum amg_wakeup_reason end = AMG_WAKEUP_EVENT;
    bool is_armed = driver->fruitless < FRUITLESS_MAX &&
                    amg_wakeup_fd(context, AMG_CQ_THREAD) >= 0;

    if (!is_armed) {
        amg_progress_disown(context);
        driver->fruitless = 0;
        amg_wakeup_timed_wait(context, now_ns + STANDBY_MS * AMG_NS_PER_MS);
        return;
    }
    is_armed = amg_wakeup_arm(context, AMG_CQ_THREAD, epoch);
    if (!is_armed) {
        amg_progress_disown(context);
    } else {
        if (amg_progress_leave(context))
            amg_cq_wake(&context->cq);
        end = amg_wakeup_block(context, AMG_CQ_THREAD,
            now_ns + (ns < AMG_WAIT_LONG_NS ? ns : AMG_WAIT_LONG_NS));
    }
    if (end == AMG_WAKEUP_SIGNAL)
        driver->quiet_since_ns = 0;
    driver->fruitless = end == AMG_WAKEUP_EVENT ? driver->fruitless + 1 : 0;
}

/* By the owner, after an empty poll. False: the owner has left, and slept, or a
 * check of the context is due. */
static bool drive_rest(struct driver *driver, unsigned epoch)
{
    hg_context_t *context = driver->context;
    uint64_t now_ns = amg_clock_ns();
    uint64_t look_ns = amg_context_look_ns(context);
    struct amg_wait_step step = pace_now(driver, now_ns);

    if (look_ns <= now_ns) {
        amg_progress_disown(context);
        return false;
    }
    if (look_ns - now_ns < step.ns)
        step.ns = look_ns - now_ns;
    if (step.kind == AMG_WAIT_SLEEP) {
        drive_sleep(driver, epoch, now_ns, step.ns);
        return false;
    }
    return true;
}

/* There was an event, which also ends the quiet time of callers' waits. */
static void drive_found(struct driver *driver)
{
    driver->quiet_since_ns = 0;
    driver->fruitless = 0;
    driver->context->wakeup.quiet_since_ns = 0;
}

/* By the owner, which leaves: polls until nothing comes or a caller does. */
static void drive(struct driver *driver)
{
    hg_context_t *context = driver->context;
    unsigned polls = 0;

    driver->kept = 0;
    driver->is_left = false;
    do {
        unsigned epoch = amg_cq_epoch(&context->cq);
        bool has_found = amg_progress_poll(context);

        polls++;
        if (has_found)
            drive_found(driver);
        if (amg_progress_is_awaited(context) || turns_changed(driver)) {
            driver->calm = 0;
            break;
        }
        if (has_incoming(driver))
            break;
        if (polls % CLOCK_EVERY == 0)
            amg_context_send_unsent(context);
        if (!has_found &&
            (driver->policy.core == AMG_CORE_SHARED ||
                polls % CLOCK_EVERY == 0) &&
            !drive_rest(driver, epoch))
            return;
    } while (!driver_is_over(driver));
    amg_progress_disown(context);
}

/* Was there no caller for long enough? */
static bool is_calm(const struct driver *driver)
{
    return driver->calm >= (is_alone(driver) ? CALM_SPINS : CALM_NAPS);
}

/* Body of the progress thread, until `must_stop` is set, by a release store
 * that pairs with an acquire load here, and AMG_CQ_THREAD is woken. `has_core`:
 * no other thread uses the core. */
static void progress_thread_run(
    hg_context_t *context, const atomic_bool *must_stop, bool has_core)
{
    struct driver driver = {
        .context = context,
        .must_stop = must_stop,
        .policy = amg_progress_config_wait_policy(
            &context->cls->progress_config,
            has_core ? AMG_CORE_DEDICATED : AMG_CORE_SHARED, context->spin_ns),
        .calm = CALM_SPINS,
    };

    driver.policy.is_not_pollable = context->wakeup.is_thread_not_pollable;
    driver.turns = atomic_load_explicit(&context->turns, memory_order_relaxed);
    if (amg_wakeup_fd(context, AMG_CQ_THREAD) >= 0)
        amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
    while (!driver_is_over(&driver)) {
        (void)turns_changed(&driver);
        if (is_calm(&driver) && amg_progress_own(context))
            drive(&driver);
        else
            stand_by(&driver);
        if (is_serving(&driver) && (is_calm(&driver) || driver.is_left))
            progress_thread_serve(context);
        amg_context_send_unsent(context);
        if (amg_context_look_ns(context) != AMG_CONTEXT_NEVER)
            amg_context_look(context, amg_clock_ns());
    }
    /* Disarms: a poll ends the announcements of a thread that exits. */
    if (amg_progress_own(context)) {
        amg_progress_poll(context);
        amg_progress_disown(context);
    }
}

/* The thread of a context. Owned by its context, from start to stop. All
 * signals are left to the program's threads. */
struct amg_service_threads {
    hg_context_t *context;
    /* The release store of stop pairs with the acquire load of the thread. */
    atomic_bool must_stop;
    pthread_t id;
};

/* Set in the progress thread; NULL: a thread of the program. */
static _Thread_local struct amg_service_threads *threads_mine;

static void *thread_main(void *arg)
{
    struct amg_service_threads *threads = arg;
    hg_context_t *context = threads->context;
    const struct amg_core_slot *slot =
        &context->cls->progress_config.placement->slot;
    bool has_core = false;

    threads_mine = threads;
    amg_role.is_library_thread = true;
    amg_role.polls_always = true;
    /* A thread whose core the system refuses runs on shared cores. */
    has_core =
        amg_bind_core_slot(amg_topo_this(), slot, "the progress thread") &&
        slot->is_dedicated;
    progress_thread_run(context, &threads->must_stop, has_core);
    return NULL;
}

/* Returns the result of pthread_create(). */
static int thread_start(struct amg_service_threads *threads)
{
    sigset_t all;
    sigset_t before;
    int rc = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&threads->id, NULL, thread_main, threads);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        (void)pthread_setname_np(threads->id, "amg-progress");
    return rc;
}

void amg_service_threads_start(hg_context_t *context)
{
    const struct amg_placement *placement =
        context->cls->progress_config.placement;
    struct amg_service_threads *threads = NULL;
    enum amg_serve before = context->incoming_mode;
    int rc = 0;

    if (placement == NULL || !amg_policy_has_thread(placement->progress))
        return;
    threads = amg_mem_zalloc(sizeof(*threads));
    if (threads == NULL) {
        AMG_LOG_WARNING("ctx",
            "context %u: no memory for its thread: the calls that wait make "
            "progress instead",
            context->id);
        return;
    }
    threads->context = context;
    context->threads = threads;
    if (placement->progress == AMALGAM_PROGRESS_THREAD)
        context->incoming_mode = AMG_SERVE_THREAD;
    rc = thread_start(threads);
    if (rc == 0)
        return;
    context->incoming_mode = before;
    context->threads = NULL;
    amg_mem_free(threads);
    AMG_LOG_WARNING("ctx",
        "context %u: the progress thread cannot be started (%s), see ulimit "
        "-u: the calls that wait make progress instead",
        context->id, strerror(rc));
}

/* Later calls still go to `incoming`: the calls that are left there are older,
 * and HG_Trigger() looks into `cq` first. */
bool amg_service_threads_stop(hg_context_t *context)
{
    struct amg_service_threads *threads = context->threads;

    if (threads == NULL)
        return true;
    if (threads_mine == threads)
        return false;
    atomic_store_explicit(&threads->must_stop, true, memory_order_release);
    amg_wakeup_wake(context, AMG_CQ_THREAD);
    pthread_join(threads->id, NULL);
    context->threads = NULL;
    amg_mem_free(threads);
    return true;
}
