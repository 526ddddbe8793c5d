/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads that the library starts for a context.
 *
 * One makes progress (progress_thread.c), the others run handlers: they wait
 * for what is queued for them, and each push wakes one. All signals are left to
 * the program's threads.
 *
 * A child of fork() has the crew's memory, but not its threads: it forgets
 * them, with what they held when it began. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setname_np */
#endif
#include "core/crew.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/relax.h"
#include "core/pace.h"
#include "core/progress.h"
#include "core/progress_thread.h"
#include "place/bind.h"
#include "place/topo.h"

enum { LOOKS = 64 /* at the queue, between two looks at the clock */ };

/* One thread. */
struct member {
    struct amg_crew *crew;
    const struct amg_seat *seat;
    const char *who;  /* for the log */
    const char *name; /* for the system, at most 15 bytes */
    void (*run)(struct member *);
    bool is_alone; /* on its core; its own, after it is pinned */
    pthread_t id;
};

/* Owned by its context, from start to stop. */
struct amg_crew {
    hg_context_t *context;
    unsigned forks; /* as amg_fork_count() said at the start */
    /* The release store of stop pairs with the acquire load of each thread. */
    atomic_bool must_stop;
    bool has_thread;
    unsigned handlers; /* that run */
    struct member thread;
    struct member handler[AMALGAM_HANDLERS_MAX];
};

/* Which crew the thread is of; NULL: the program's. */
static _Thread_local struct amg_crew *crew_mine;

static bool is_over(const struct amg_crew *crew)
{
    return atomic_load_explicit(&crew->must_stop, memory_order_acquire);
}

static void thread_run(struct member *member)
{
    amg_progress_thread_run(
        member->crew->context, &member->crew->must_stop, member->is_alone);
}

/* Looks for a moment whether something is queued. */
static void handler_look(const hg_context_t *context)
{
    unsigned looks = 0;

    while (looks++ < LOOKS && amg_cq_is_empty(&context->served))
        amg_relax();
}

static void handler_rest(hg_context_t *context, const struct amg_pace *pace,
    unsigned epoch, uint64_t quiet_since_ns)
{
    uint64_t now_ns = amg_clock_ns();
    struct amg_pace_step step = amg_pace_next(pace, now_ns - quiet_since_ns);

    if (step.kind != AMG_PACE_NAP && step.kind != AMG_PACE_SLEEP)
        handler_look(context);
    else
        amg_cq_sleep(&context->served, epoch,
            now_ns + (step.ns < AMG_PACE_FOR_LONG_NS ? step.ns
                                                     : AMG_PACE_FOR_LONG_NS));
}

static void handler_run(struct member *member)
{
    hg_context_t *context = member->crew->context;
    struct amg_pace pace = {
        .wish = context->cls->drive.wait,
        .core = member->is_alone ? AMG_PACE_OWN : AMG_PACE_SHARED,
        .spin_ns = context->spin_ns,
    };
    uint64_t quiet_since_ns = amg_clock_ns();

    for (;;) {
        unsigned epoch = amg_cq_epoch(&context->served);

        if (is_over(member->crew))
            return;
        if (amg_progress_thread_serve(context) == 0)
            handler_rest(context, &pace, epoch, quiet_since_ns);
        else
            quiet_since_ns = amg_clock_ns();
    }
}

static void *member_main(void *arg)
{
    struct member *member = arg;

    crew_mine = member->crew;
    amg_role.is_ours = true;
    /* Whose seat the system refuses runs where others compute. */
    member->is_alone =
        amg_bind_seat(amg_topo_this(), member->seat, member->who) &&
        member->seat->is_dedicated;
    member->run(member);
    return NULL;
}

/* What pthread_create() returned. */
static int member_start(struct member *member)
{
    sigset_t all;
    sigset_t before;
    int rc = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&member->id, NULL, member_main, member);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        (void)pthread_setname_np(member->id, member->name);
    return rc;
}

static void handlers_start(struct amg_crew *crew)
{
    const struct amg_placement *placement = crew->context->cls->drive.placement;
    int rc = 0;

    while (crew->handlers < placement->handlers) {
        struct member *member = &crew->handler[crew->handlers];

        *member = (struct member){
            .crew = crew,
            .seat = &placement->handler_seats[crew->handlers],
            .who = "a handler thread",
            .name = "amg-handler",
            .run = handler_run,
        };
        rc = member_start(member);
        if (rc != 0)
            break;
        crew->handlers++;
    }
    if (rc != 0)
        AMG_LOG_WARNING("ctx",
            "context %u: only %u of %u handler threads can be started (%s), "
            "see ulimit -u: %s",
            crew->context->id, crew->handlers, placement->handlers,
            strerror(rc),
            crew->handlers > 0 ? "these run all handlers"
                               : "handlers run as if none were asked for");
}

static void thread_start(struct amg_crew *crew)
{
    hg_context_t *context = crew->context;
    int rc = 0;

    crew->thread = (struct member){
        .crew = crew,
        .seat = &context->cls->drive.placement->seat,
        .who = "the progress thread",
        .name = "amg-progress",
        .run = thread_run,
    };
    rc = member_start(&crew->thread);
    crew->has_thread = rc == 0;
    if (rc == 0)
        return;
    if (context->serve_by == AMG_SERVE_THREAD)
        context->serve_by = AMG_SERVE_TRIGGER;
    AMG_LOG_WARNING("ctx",
        "context %u: the progress thread cannot be started (%s), see ulimit "
        "-u: the calls that wait make progress instead",
        context->id, strerror(rc));
}

void amg_crew_start(hg_context_t *context)
{
    const struct amg_placement *placement = context->cls->drive.placement;
    struct amg_crew *crew = NULL;

    if (placement == NULL || (placement->handlers == 0 &&
                                 !amg_policy_has_thread(placement->progress)))
        return;
    crew = amg_mem_zalloc(sizeof(*crew));
    if (crew == NULL) {
        AMG_LOG_WARNING("ctx",
            "context %u: no memory for its threads: the calls that wait make "
            "progress instead",
            context->id);
        return;
    }
    amg_fork_watch();
    crew->context = context;
    crew->forks = amg_fork_count();
    context->crew = crew;
    handlers_start(crew);
    if (crew->handlers > 0)
        context->serve_by = AMG_SERVE_POOL;
    else if (placement->progress == AMALGAM_PROGRESS_THREAD)
        context->serve_by = AMG_SERVE_THREAD;
    if (amg_policy_has_thread(placement->progress))
        thread_start(crew);
}

static void crew_join(struct amg_crew *crew)
{
    hg_context_t *context = crew->context;

    atomic_store_explicit(&crew->must_stop, true, memory_order_release);
    if (crew->has_thread)
        amg_sleep_rouse(context, AMG_CQ_THREAD);
    amg_cq_wake(&context->served);
    if (crew->has_thread)
        pthread_join(crew->thread.id, NULL);
    while (crew->handlers > 0)
        pthread_join(crew->handler[--crew->handlers].id, NULL);
}

bool amg_crew_stop(hg_context_t *context)
{
    struct amg_crew *crew = context->crew;

    if (crew == NULL)
        return true;
    if (crew_mine == crew)
        return false;
    if (crew->forks == amg_fork_count())
        crew_join(crew);
    else
        amg_context_forget_threads(context);
    context->serve_by = AMG_SERVE_TRIGGER;
    context->crew = NULL;
    amg_mem_free(crew);
    return true;
}
