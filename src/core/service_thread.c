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

/* Owned by its context, from start to stop. Apart from the first three members,
 * only the thread uses them. */
struct amg_service_thread {
    hg_context_t *context;
    atomic_bool must_stop; /* pairs: release by stop, acquire by the thread */
    pthread_t id;
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

static bool must_stop(const struct amg_service_thread *thread)
{
    return atomic_load_explicit(&thread->must_stop, memory_order_acquire);
}

static bool is_serving(const struct amg_service_thread *thread)
{
    return thread->context->incoming_mode == AMG_SERVE_THREAD;
}

static bool has_incoming(const struct amg_service_thread *thread)
{
    return is_serving(thread) && amg_context_has_due(thread->context);
}

static bool is_alone(const struct amg_service_thread *thread)
{
    return thread->policy.core == AMG_CORE_DEDICATED;
}

static struct amg_wait_step pace_now(
    struct amg_service_thread *thread, uint64_t now_ns)
{
    unsigned moves = atomic_load_explicit(
        &thread->context->wakeup.moves, memory_order_relaxed);

    if (thread->quiet_since_ns == 0 || thread->moves != moves)
        thread->quiet_since_ns = now_ns;
    thread->moves = moves;
    return amg_wait_policy_next(
        &thread->policy, now_ns - thread->quiet_since_ns);
}

/* Were there calls since the last check? */
static bool turns_changed(struct amg_service_thread *thread)
{
    unsigned turns =
        atomic_load_explicit(&thread->context->turns, memory_order_relaxed);

    if (turns == thread->turns)
        return false;
    thread->turns = turns;
    thread->calm = 0;
    thread->kept = 0;
    thread->quiet_since_ns = 0;
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
static void sleep_behind(struct amg_service_thread *thread)
{
    hg_context_t *context = thread->context;
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
static void nap(struct amg_service_thread *thread, uint64_t now_ns)
{
    hg_context_t *context = thread->context;

    amg_wakeup_timed_wait(context, now_ns + STANDBY_MS * AMG_NS_PER_MS);
    if (amg_wakeup_fd(context, AMG_CQ_THREAD) >= 0)
        amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
}

/* Callers make progress, or did a moment ago. Callers also run incoming calls
 * in that time, but no longer: they may never call HG_Trigger(). */
static void stand_by(struct amg_service_thread *thread)
{
    uint64_t now_ns = amg_clock_ns();

    thread->is_left = has_incoming(thread);
    if (is_alone(thread) && pace_now(thread, now_ns).kind == AMG_WAIT_POLL) {
        spin_by(now_ns);
    } else if (thread->kept < KEPT_NAPS) {
        thread->kept++;
        nap(thread, now_ns);
        thread->is_left = true;
        thread->calm = CALM_SPINS; /* a nap is longer than all spins */
    } else {
        sleep_behind(thread);
        thread->is_left = true;
    }
    if (!turns_changed(thread))
        thread->calm++;
}

/* By the owner, which leaves: blocks until an event. */
static void drive_sleep(struct amg_service_thread *thread, unsigned epoch,
    uint64_t now_ns, uint64_t ns)
{
    hg_context_t *context = thread->context;
    enum amg_wakeup_reason end = AMG_WAKEUP_EVENT;
    bool is_armed = thread->fruitless < FRUITLESS_MAX &&
                    amg_wakeup_fd(context, AMG_CQ_THREAD) >= 0;

    if (!is_armed) {
        amg_progress_disown(context);
        thread->fruitless = 0;
        amg_wakeup_timed_wait(context, now_ns + STANDBY_MS * AMG_NS_PER_MS);
        return;
    }
    is_armed = amg_wakeup_arm(context, AMG_CQ_THREAD, epoch);
    if (!is_armed) {
        amg_progress_disown(context);
    } else {
        amg_bias_unlock_fenced(&context->owner);
        if (amg_cq_is_awaited(&context->cq))
            amg_cq_hand_over(&context->cq);
        end = amg_wakeup_block(context, AMG_CQ_THREAD,
            now_ns + (ns < AMG_WAIT_LONG_NS ? ns : AMG_WAIT_LONG_NS));
    }
    if (end == AMG_WAKEUP_SIGNAL)
        thread->quiet_since_ns = 0;
    thread->fruitless = end == AMG_WAKEUP_EVENT ? thread->fruitless + 1 : 0;
}

/* By the owner, after an empty poll. False: the owner has left, and slept, or a
 * check of the context is due. */
static bool drive_rest(struct amg_service_thread *thread, unsigned epoch)
{
    hg_context_t *context = thread->context;
    uint64_t now_ns = amg_clock_ns();
    uint64_t look_ns = amg_context_look_ns(context);
    struct amg_wait_step step = pace_now(thread, now_ns);

    if (look_ns <= now_ns) {
        amg_progress_disown(context);
        return false;
    }
    if (look_ns - now_ns < step.ns)
        step.ns = look_ns - now_ns;
    if (step.kind == AMG_WAIT_SLEEP) {
        drive_sleep(thread, epoch, now_ns, step.ns);
        return false;
    }
    return true;
}

/* There was an event, which also ends the quiet time of callers' waits. */
static void drive_found(struct amg_service_thread *thread)
{
    thread->quiet_since_ns = 0;
    thread->fruitless = 0;
    thread->context->wakeup.quiet_since_ns = 0;
}

/* By the owner, which leaves: polls until nothing comes or a caller does. */
static void drive(struct amg_service_thread *thread)
{
    hg_context_t *context = thread->context;
    unsigned polls = 0;

    thread->kept = 0;
    thread->is_left = false;
    do {
        unsigned epoch = amg_cq_epoch(&context->cq);
        bool has_found = amg_progress_poll(context);

        polls++;
        if (has_found)
            drive_found(thread);
        if (amg_cq_is_awaited(&context->cq) || turns_changed(thread)) {
            thread->calm = 0;
            break;
        }
        if (has_incoming(thread))
            break;
        if (polls % CLOCK_EVERY == 0)
            amg_context_send_unsent(context);
        if (!has_found &&
            (thread->policy.core == AMG_CORE_SHARED ||
                polls % CLOCK_EVERY == 0) &&
            !drive_rest(thread, epoch))
            return;
    } while (!must_stop(thread));
    amg_progress_disown(context);
}

/* Was there no caller for long enough? */
static bool is_calm(const struct amg_service_thread *thread)
{
    return thread->calm >= (is_alone(thread) ? CALM_SPINS : CALM_NAPS);
}

/* `has_core`: no other thread uses the core. */
static void progress_thread_run(
    struct amg_service_thread *thread, bool has_core)
{
    hg_context_t *context = thread->context;

    thread->policy =
        amg_progress_config_wait_policy(&context->cls->progress_config,
            has_core ? AMG_CORE_DEDICATED : AMG_CORE_SHARED, context->spin_ns);
    thread->policy.is_not_pollable = context->wakeup.is_thread_not_pollable;
    thread->calm = CALM_SPINS;
    thread->turns = atomic_load_explicit(&context->turns, memory_order_relaxed);
    if (amg_wakeup_fd(context, AMG_CQ_THREAD) >= 0)
        amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
    while (!must_stop(thread)) {
        (void)turns_changed(thread);
        if (is_calm(thread) && amg_progress_own(context))
            drive(thread);
        else
            stand_by(thread);
        if (is_serving(thread) && (is_calm(thread) || thread->is_left))
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

/* Set in the progress thread; NULL: a thread of the program. */
static _Thread_local struct amg_service_thread *mine;

static void *thread_main(void *arg)
{
    const struct amg_core_slot *slot = NULL;

    mine = arg;
    slot = &mine->context->cls->progress_config.placement->slot;
    amg_role.is_library_thread = true;
    amg_role.polls_always = true;
    /* A thread whose core the system refuses runs on shared cores. */
    progress_thread_run(mine,
        amg_bind_core_slot(amg_topo_this(), slot, "the progress thread") &&
            slot->is_dedicated);
    return NULL;
}

/* Returns the result of pthread_create(). All signals are left to the threads
 * of the program. */
static int thread_start(struct amg_service_thread *thread)
{
    sigset_t all;
    sigset_t before;
    int rc = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread->id, NULL, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        (void)pthread_setname_np(thread->id, "amg-progress");
    return rc;
}

void amg_service_thread_start(hg_context_t *context)
{
    const struct amg_placement *placement =
        context->cls->progress_config.placement;
    struct amg_service_thread *thread = NULL;
    enum amg_serve before = context->incoming_mode;
    int rc = 0;

    if (placement == NULL || !amg_policy_has_thread(placement->progress))
        return;
    thread = amg_mem_zalloc(sizeof(*thread));
    if (thread == NULL) {
        AMG_LOG_WARNING("ctx",
            "context %u: no memory for its thread: the calls that wait make "
            "progress instead",
            context->id);
        return;
    }
    thread->context = context;
    context->thread = thread;
    if (placement->progress == AMALGAM_PROGRESS_THREAD)
        context->incoming_mode = AMG_SERVE_THREAD;
    rc = thread_start(thread);
    if (rc == 0)
        return;
    context->incoming_mode = before;
    context->thread = NULL;
    amg_mem_free(thread);
    AMG_LOG_WARNING("ctx",
        "context %u: the progress thread cannot be started (%s), see ulimit "
        "-u: the calls that wait make progress instead",
        context->id, strerror(rc));
}

/* Later calls still go to `incoming`: the calls that are left there are older,
 * and HG_Trigger() looks into `cq` first. */
bool amg_service_thread_stop(hg_context_t *context)
{
    struct amg_service_thread *thread = context->thread;

    if (thread == NULL)
        return true;
    if (mine == thread)
        return false;
    atomic_store_explicit(&thread->must_stop, true, memory_order_release);
    amg_wakeup_wake(context, AMG_CQ_THREAD);
    pthread_join(thread->id, NULL);
    context->thread = NULL;
    amg_mem_free(thread);
    return true;
}
