/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress thread (service thread) of a context: stands by while callers make
 * progress (standby.c); in mode AMALGAM_PROGRESS_THREAD runs incoming calls. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/progress.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/process.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/lock.h"
#include "affinity/bind.h"
#include "affinity/topo.h"

enum { SERVE_MAX = 64 }; /* callbacks between two steps of standby.c */

/* Owned by its context, from start to stop. */
struct amg_service_thread {
    hg_context_t *context;
    atomic_bool must_stop; /* pairs: release by stop, acquire by the thread */
    pthread_t id;
    struct amg_standby standby;
};

/* Runs queued incoming calls, up to a limit. */
static void progress_thread_serve(hg_context_t *context)
{
    struct amg_cq_entry *entry = NULL;
    unsigned count = 0;

    while (
        count < SERVE_MAX && (entry = amg_context_take_due(context)) != NULL) {
        amg_context_run_by_service_thread(context, entry);
        count++;
    }
    amg_context_send_unsent(context);
}

/* `has_core`: no other thread uses the core. */
static void progress_thread_run(
    struct amg_service_thread *thread, bool has_core)
{
    hg_context_t *context = thread->context;

    amg_standby_begin(&thread->standby, context, has_core);
    while (!atomic_load_explicit(&thread->must_stop, memory_order_acquire))
        if (amg_standby_step(&thread->standby, AMG_NO_DEADLINE) &&
            context->incoming_mode == AMG_SERVE_THREAD)
            progress_thread_serve(context);
    amg_standby_end(&thread->standby);
}

static void *thread_main(void *arg)
{
    struct amg_service_thread *thread = arg;
    const struct amg_core_slot *slot =
        &thread->context->cls->progress_config.placement->slot;

    amg_role.is_library_thread = true;
    amg_role.serves = thread->context;
    amg_role.polls_always = true;
    /* A thread whose core the system refuses runs on shared cores. */
    progress_thread_run(thread,
        amg_bind_core_slot(amg_topo_this(), slot, "the progress thread") &&
            slot->is_dedicated);
    return NULL;
}

/* Returns the result of pthread_create(). The thread blocks all signals, so
 * that only threads of the program handle signals. */
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
            "context %u: no memory for its progress thread: calls that wait "
            "make progress instead",
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

/* Does not change `incoming_mode`: in the other mode later calls go to `cq`,
 * and HG_Trigger() would run them before the calls left in `incoming`. */
bool amg_service_thread_stop(hg_context_t *context)
{
    struct amg_service_thread *thread = context->thread;

    if (thread == NULL)
        return true;
    if (amg_role.serves == context)
        return false;
    atomic_store_explicit(&thread->must_stop, true, memory_order_release);
    amg_standby_call(&thread->standby, context);
    pthread_join(thread->id, NULL);
    context->thread = NULL;
    amg_mem_free(thread);
    return true;
}
