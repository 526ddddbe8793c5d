/* SPDX-License-Identifier: BSD-3-Clause */
/* Runtime, from the first ABT_init() to the last ABT_finalize().
 *
 * A child of fork() has one OS thread. The child must not run its copies of the
 * parent's user-level threads, which the parent runs, nor wait for the parent's
 * streams. So a fork handler ends the runtime in the child, where the caller of
 * fork() is a plain OS thread, and may call ABT_init(). */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/process.h"
#include "ult/park.h"
#include "ult/sched.h"
#include "ult/switch_to.h"
#include "ult/xstream_local.h"

/* When a user-level thread overruns its stack, the guard page below the stack
 * raises SIGSEGV. The handler, which runs on a stack of its own, writes a line
 * that names the thread if the fault lies in the thread's guard page. Then
 * the handler restores the previous action, and the signal comes a second time:
 * a fault occurs again when the handler returns, and the handler raises again a
 * signal that a process sent. So the kernel delivers the signal with the flags
 * of the previous action. From then on no overrun is reported until the runtime
 * is opened again. The program may have set a handler that calls this handler.
 * If the runtime is opened after that, the program's handler becomes
 * `action_before`, and the two handlers would call each other for ever. So if
 * `action_before` is in place, this handler restores the default action. */

static struct sigaction action_before;

enum { LINE_CAP = 320 };

/* The calling thread, if `address` lies in its stack's guard page, or NULL. */
static const struct amg_ult *overrun_of(uintptr_t address)
{
    const struct amg_ult *ult = amg_ult_current();
    uintptr_t base = 0;

    if (ult == NULL || ult->stack == NULL)
        return NULL;
    base = (uintptr_t)ult->stack_base;
    return address < base && address >= base - AMG_GUARD_LEN ? ult : NULL;
}

static void overrun_report(const struct amg_ult *ult)
{
    char line[LINE_CAP];
    int len = snprintf(line, sizeof(line),
        "amalgam: user-level thread %p (id %llu, function %p) has used up its "
        "stack of %zu bytes, from %p on; give it more by "
        "ABT_thread_attr_set_stacksize(), or all threads by "
        "ABT_THREAD_STACKSIZE=%zu in the environment\n",
        (const void *)ult, (unsigned long long)ult->id,
        (void *)(uintptr_t)ult->function, ult->stack_len, ult->stack_base,
        ult->stack_len * 4);

    if (len > 0 &&
        write(STDERR_FILENO, line,
            (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1) < 0)
        return; /* nothing more can be done */
}

static void segv_handle(int number, siginfo_t *info, void *context)
{
    /* Sent by kill() or the like: not a fault, which would occur again. */
    bool is_sent = info->si_code <= 0;
    const struct amg_ult *ult =
        is_sent ? NULL : overrun_of((uintptr_t)info->si_addr);
    struct sigaction now;

    (void)context;
    if (ult != NULL)
        overrun_report(ult);
    if (sigaction(number, NULL, &now) == 0 &&
        now.sa_sigaction == action_before.sa_sigaction)
        now = (struct sigaction){.sa_handler = SIG_DFL};
    else
        now = action_before;
    (void)sigaction(number, &now, NULL);
    if (is_sent)
        (void)raise(number);
}

static void guard_open(void)
{
    struct sigaction action = {.sa_sigaction = segv_handle,
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &action_before);
}

static void guard_close(void)
{
    struct sigaction now;

    /* Keeps an action that the program has set meanwhile. */
    if (sigaction(SIGSEGV, NULL, &now) == 0 &&
        (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == segv_handle)
        sigaction(SIGSEGV, &action_before, NULL);
}

static struct {
    struct amg_lock lock; /* guards count, inherited and is_closing */
    unsigned count;       /* calls of ABT_init() not finalized yet */
    unsigned inherited;   /* `count` of fork()'s parent, not finalized here */
    bool is_closing;      /* the last ABT_finalize() is under way */
    struct amg_xstream *xstream;
    struct amg_ult *primary; /* changed without the lock if is_closing */
} runtime;

/* Creates the primary xstream, for the calling OS thread, with its main
 * scheduler and a pool. Returns an ABT code. */
static int xstream_open(struct amg_xstream **ret_stream)
{
    struct amg_sched *sched = NULL;
    struct amg_xstream *xstream = NULL;
    int rc = amg_sched_create(ABT_SCHED_DEFAULT, NULL, 0, NULL, true, &sched);

    if (rc != ABT_SUCCESS)
        return rc;
    rc = amg_xstream_create(sched, 0, &xstream);
    if (rc != ABT_SUCCESS) {
        amg_sched_destroy(sched, NULL);
        return rc;
    }
    xstream->is_primary = true;
    xstream->tid = (int)syscall(SYS_gettid);
    xstream->thread = pthread_self();
    atomic_store_explicit(
        &xstream->state, ABT_XSTREAM_STATE_RUNNING, memory_order_release);
    *ret_stream = xstream;
    return ABT_SUCCESS;
}

/* Runs the main scheduler, and its replacements. Never returns: primary_close()
 * frees the thread of this loop, while main() runs. */
static void primary_loop(void *arg)
{
    struct amg_xstream *xstream = arg;

    /* The first switch to this loop, by main() or by a thread that main() has
     * switched to, may have handed over a thread to run. */
    amg_ult_run(xstream, NULL);
    for (;;) {
        amg_xstream_run(xstream);
        AMG_TEST_POINT("runtime.sched_ended");
        /* A request, such as ABT_sched_exit(), has ended the scheduler. Clears
         * the requests, as only ABT_finalize() ends the primary xstream, but
         * not TO_LOOK: another xstream may have returned main() meanwhile. */
        atomic_fetch_and(&xstream->asked, AMG_XSTREAM_TO_LOOK);
        atomic_store_explicit(
            &amg_xstream_sched(xstream)->asked, 0, memory_order_relaxed);
    }
}

/* Makes the caller a user-level thread, the primary thread, of the xstream's
 * pool, and creates a thread for the scheduler. NULL: no memory, logged. */
static struct amg_ult *primary_open(struct amg_xstream *xstream)
{
    const struct amg_thread_attr fixed = {.is_migratable = false};
    const struct amg_ult_spec spec = {
        .kind = AMG_ULT_SCHEDULER,
        .function = primary_loop,
        .arg = xstream,
        .is_named = true,
        .attr = &fixed,
    };
    struct amg_xstream_local *local = amg_xstream_local_open(xstream);

    if (local == NULL)
        return NULL;
    local->scheduler = amg_ult_create(&spec);
    if (local->scheduler == NULL) {
        amg_xstream_local_close(local);
        return NULL;
    }
    atomic_store_explicit(
        &local->scheduler->xstream, xstream, memory_order_relaxed);
    amg_ult_set_state(local->scheduler, AMG_ULT_RUNNING);
    local->own.kind = AMG_ULT_PRIMARY;
    amg_ult_set_pool(&local->own, amg_xstream_sched(xstream)->pools[0]);
    local->own.scheduler = local->scheduler;
    local->own.is_named = true;
    return &local->own;
}

static void primary_close(struct amg_ult *primary)
{
    struct amg_xstream_local *local =
        amg_container_of(primary, struct amg_xstream_local, own);

    AMG_ASSERT(local == amg_xstream_local_self() && local->current == primary);
    amg_key_table_clear(&primary->keys);
    amg_ready_pool_disown(primary);
    amg_ult_destroy(local->scheduler);
    amg_xstream_local_close(local);
}

/* Ends the runtime in a child of fork(). */
static void runtime_inherit(void)
{
    amg_lock_init(&runtime.lock);
    if (runtime.xstream == NULL)
        return;
    amg_xstream_local_leave();
    guard_close();
    amg_timeout_inherit();
    amg_xstreams_inherit();
    runtime.inherited += runtime.count;
    runtime.count = 0;
    runtime.is_closing = false;
    runtime.xstream = NULL;
    runtime.primary = NULL;
}

static void fork_watch(void)
{
    amg_fork_watch();
    amg_fork_tell(NULL, NULL, runtime_inherit);
}

/* Opens the runtime; the calling thread becomes the primary thread. */
static int runtime_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct amg_xstream *xstream = NULL;
    int rc = ABT_SUCCESS;

    (void)pthread_once(&once, fork_watch);
    amg_stacks_open();
    guard_open();
    rc = xstream_open(&xstream);
    if (rc != ABT_SUCCESS)
        goto close_room;
    runtime.primary = primary_open(xstream);
    if (runtime.primary == NULL) {
        rc = ABT_ERR_MEM;
        goto close_stream;
    }
    runtime.xstream = xstream;
    return ABT_SUCCESS;

close_stream:
    amg_xstream_destroy(xstream);
close_room:
    guard_close();
    amg_stacks_close();
    return rc;
}

static struct amg_sched *runtime_sched(void)
{
    return atomic_load_explicit(&runtime.xstream->sched, memory_order_relaxed);
}

/* Parks the primary thread until `until_ns`, so that other threads run. */
static void primary_sleep(uint64_t until_ns)
{
    struct amg_lock lock = {0};
    struct amg_list waiters;
    struct amg_waiter waiter;

    amg_list_init(&waiters);
    amg_waiter_init(&waiter);
    amg_lock_lock(&lock);
    amg_list_push(&waiters, &waiter.link);
    (void)amg_park_until(&waiter, &lock, until_ns);
}

/* Runs the threads of this xstream that are ready, or that a timeout wakes. */
static void runtime_drain(void)
{
    uint64_t until_ns = 0;
    size_t left = 0;

    do {
        while (amg_sched_size(runtime_sched()) > 0)
            ABT_thread_yield();
        until_ns = amg_timeout_next_ns();
        if (until_ns != AMG_NO_DEADLINE)
            primary_sleep(until_ns);
    } while (
        until_ns != AMG_NO_DEADLINE || amg_sched_size(runtime_sched()) > 0);
    (void)ABT_sched_get_total_size(amg_sched_handle(runtime_sched()), &left);
    if (left > 0)
        AMG_LOG_WARNING("ult",
            "ABT_finalize: %zu user-level threads of the primary stream are "
            "blocked, and no thread is left to wake them; they are dropped",
            left);
}

static bool secondary_visit(struct amg_xstream *xstream, void *arg)
{
    struct amg_xstream **found = arg;

    if (!xstream->is_primary)
        *found = xstream;
    return *found != NULL;
}

/* Joins and frees all xstreams but the primary one. */
static void join_others(void)
{
    for (;;) {
        struct amg_xstream *xstream = NULL;

        if (!amg_xstreams_each(secondary_visit, &xstream))
            return;
        amg_xstream_join(xstream);
        amg_xstream_destroy(xstream);
    }
}

static void runtime_close(void)
{
    struct amg_sched *sched = NULL;

    join_others();
    runtime_drain();
    primary_close(runtime.primary);
    /* The main scheduler of the primary stream and its pools end with the
     * runtime, automatic or not, as in Argobots. */
    sched = runtime_sched();
    sched->is_automatic = true;
    for (int i = 0; i < sched->count; i++)
        sched->pools[i]->is_automatic = true;
    amg_xstream_destroy(runtime.xstream);
    amg_timeout_fini();
    guard_close();
    amg_stacks_close();
    runtime.xstream = NULL;
    runtime.primary = NULL;
}

/* Locks the runtime. An OS thread first waits while the last ABT_finalize() is
 * under way. A user-level thread must not wait: ABT_finalize() waits for it. */
static void runtime_lock_steady(void)
{
    bool is_inside = amg_ult_current() != NULL;

    amg_lock_lock(&runtime.lock);
    for (unsigned tries = 0; runtime.is_closing && !is_inside; tries++) {
        amg_lock_unlock(&runtime.lock);
        AMG_TEST_POINT("runtime.waits");
        amg_back_off(tries);
        amg_lock_lock(&runtime.lock);
    }
}

int ABT_init(int argc, char **argv)
{
    int rc = ABT_SUCCESS;

    (void)argc;
    (void)argv;
    /* NOTE(why): holds the lock while the runtime opens: other callers have to
     * wait until then, and no user-level thread that would wait runs yet. */
    runtime_lock_steady();
    if (runtime.count == 0)
        rc = runtime_open();
    if (rc == ABT_SUCCESS)
        runtime.count++;
    amg_lock_unlock(&runtime.lock);
    return rc;
}

/* May the caller finalize the runtime? Returns an ABT code. */
static int closer_check(void)
{
    struct amg_ult *self = amg_ult_current();

    if (!runtime.is_closing && self == runtime.primary)
        return ABT_SUCCESS;
    AMG_LOG_ERROR("ult",
        "the last ABT_finalize must be called by the thread that called "
        "ABT_init first, not by %s; nothing was done",
        self == NULL ? "an OS thread that belongs to no stream"
                     : "another user-level thread");
    return self == NULL ? ABT_ERR_INV_XSTREAM : ABT_ERR_INV_THREAD;
}

int ABT_finalize(void)
{
    bool is_last = false;
    int rc = ABT_SUCCESS;

    amg_lock_lock(&runtime.lock);
    if (runtime.count == 0 && runtime.inherited > 0)
        runtime.inherited--; /* nothing is left to end */
    else if (runtime.count == 0)
        rc = ABT_ERR_UNINITIALIZED;
    else if (runtime.count == 1)
        rc = closer_check();
    is_last = rc == ABT_SUCCESS && runtime.count == 1;
    if (is_last)
        runtime.is_closing = true;
    else if (rc == ABT_SUCCESS && runtime.count > 0)
        runtime.count--;
    amg_lock_unlock(&runtime.lock);
    if (!is_last)
        return rc;
    AMG_TEST_POINT("runtime.closes");
    /* Without the lock: threads that still run may call ABT_initialized(). */
    runtime_close();
    AMG_TEST_POINT("runtime.closed");
    amg_lock_lock(&runtime.lock);
    runtime.count = 0; /* drops calls of ABT_init() made while closing */
    runtime.is_closing = false;
    amg_lock_unlock(&runtime.lock);
    return ABT_SUCCESS;
}

int ABT_initialized(void)
{
    bool is_open = false;

    amg_lock_lock(&runtime.lock);
    is_open =
        runtime.count > 0 && (!runtime.is_closing || amg_ult_current() != NULL);
    amg_lock_unlock(&runtime.lock);
    return is_open ? ABT_SUCCESS : ABT_ERR_UNINITIALIZED;
}
