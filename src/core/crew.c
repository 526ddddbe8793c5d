/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads that the library starts for a context.
 *
 * The progress thread makes progress while no caller does. It owns the context
 * only while it looks: before it sleeps it gives it away, so that a caller who
 * waits takes over at once. A caller's polls end what the thread announced, and
 * so the thread, as long as callers come, looks after them now and then. */
#include "core/crew.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/progress.h"
#include "place/bind.h"
#include "place/topo.h"

enum {
    SERVE_MAX = 64,  /* callbacks between two looks for news */
    STANDBY_MS = 1,  /* while a caller makes progress */
    SLEEP_MS = 1000, /* at most, where a descriptor tells of all */
    BLIND_MS = 5,    /* and where it does not */
};

struct amg_crew {
    hg_context_t *context;
    atomic_bool must_stop;
    bool has_thread;
    unsigned handlers; /* that run */
    pthread_t thread;
    pthread_t handler_ids[AMALGAM_HANDLERS_MAX];
};

/* One thread that begins. */
struct member {
    struct amg_crew *crew;
    const struct amg_seat *seat;
    const char *who;
};

/* Which crew the thread is of; NULL: the program's. */
static _Thread_local struct amg_crew *crew_mine;

static bool is_over(const struct amg_crew *crew)
{
    return atomic_load_explicit(&crew->must_stop, memory_order_acquire);
}

static void served_run(hg_context_t *context)
{
    struct amg_cq_entry *entry = NULL;
    unsigned count = 0;

    while (
        count++ < SERVE_MAX && (entry = amg_context_take_due(context)) != NULL)
        amg_context_run(entry);
}

static void standby(hg_context_t *context)
{
    unsigned epoch = amg_cq_epoch(&context->served);

    amg_cq_sleep(&context->served, epoch, amg_clock_deadline_ns(STANDBY_MS));
}

/* By the owner: looks, and sleeps when there is nothing, owning nothing. */
static void look(hg_context_t *context)
{
    unsigned epoch = amg_cq_epoch(&context->cq);
    unsigned ms = context->sleep.is_thread_blind ? BLIND_MS : SLEEP_MS;
    bool is_armed = amg_progress_poll(context) == 0 &&
                    amg_sleep_fd(context, AMG_CQ_THREAD) >= 0 &&
                    amg_sleep_arm(context, AMG_CQ_THREAD, epoch);

    amg_progress_disown(context);
    if (is_armed)
        amg_sleep_on(context, AMG_CQ_THREAD, amg_clock_deadline_ns(ms));
}

static void *thread_main(void *arg)
{
    struct amg_crew *crew = arg;
    hg_context_t *context = crew->context;

    crew_mine = crew;
    amg_role.is_ours = true;
    amg_bind_seat(amg_topo_this(), &context->cls->drive.placement->seat,
        "the progress thread");
    while (!is_over(crew)) {
        if (amg_progress_own(context))
            look(context);
        else
            standby(context);
        if (context->serve_by == AMG_SERVE_THREAD)
            served_run(context);
    }
    return NULL;
}

static void *handler_main(void *arg)
{
    struct amg_crew *crew = arg;
    hg_context_t *context = crew->context;

    crew_mine = crew;
    amg_role.is_ours = true;
    while (!is_over(crew)) {
        unsigned epoch = amg_cq_epoch(&context->served);

        served_run(context);
        if (!is_over(crew))
            amg_cq_sleep(
                &context->served, epoch, amg_clock_deadline_ns(SLEEP_MS));
    }
    return NULL;
}

static void threads_start(struct amg_crew *crew)
{
    const struct amg_placement *placement = crew->context->cls->drive.placement;
    int rc = 0;

    while (rc == 0 && crew->handlers < placement->handlers) {
        rc = pthread_create(
            &crew->handler_ids[crew->handlers], NULL, handler_main, crew);
        if (rc == 0)
            crew->handlers++;
    }
    if (rc == 0 && amg_policy_has_thread(placement->progress)) {
        rc = pthread_create(&crew->thread, NULL, thread_main, crew);
        crew->has_thread = rc == 0;
    }
    if (rc != 0)
        AMG_LOG_WARNING("ctx",
            "context %u: a thread cannot be started (%s), see ulimit -u: the "
            "calls that wait make progress instead",
            crew->context->id, strerror(rc));
}

void amg_crew_start(hg_context_t *context)
{
    const struct amg_placement *placement = context->cls->drive.placement;
    struct amg_crew *crew = NULL;

    if (placement == NULL || (placement->handlers == 0 &&
                                 !amg_policy_has_thread(placement->progress)))
        return;
    crew = amg_mem_zalloc(sizeof(*crew));
    if (crew == NULL)
        return;
    crew->context = context;
    context->crew = crew;
    if (placement->handlers > 0)
        context->serve_by = AMG_SERVE_POOL;
    else if (placement->progress == AMALGAM_PROGRESS_THREAD)
        context->serve_by = AMG_SERVE_THREAD;
    threads_start(crew);
}

bool amg_crew_stop(hg_context_t *context)
{
    struct amg_crew *crew = context->crew;

    if (crew == NULL)
        return true;
    if (crew_mine == crew)
        return false;
    atomic_store_explicit(&crew->must_stop, true, memory_order_release);
    amg_cq_wake(&context->served);
    amg_cq_wake(&context->cq);
    if (crew->has_thread)
        pthread_join(crew->thread, NULL);
    while (crew->handlers > 0)
        pthread_join(crew->handler_ids[--crew->handlers], NULL);
    context->serve_by = AMG_SERVE_TRIGGER;
    context->crew = NULL;
    amg_mem_free(crew);
    return true;
}
