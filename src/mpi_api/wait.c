/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting while calls are served: MPI requests, barriers and quiescence. */
#include <sched.h>

#include "amalgam.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "core/progress.h"
#include "core/wait_policy.h"
#include "mercury_context.h"
#include "mpi_backend/mpi_public.h"
#include "rpc/group.h"

/* MPI has no descriptor, so a wait polls MPI, by the policy of waits without a
 * descriptor (core/wait_policy.c). On a core of its own a thread polls for 200
 * ms; on a shared core it yields for 0.1 ms. Then the thread naps between two
 * polls: for 1 ms, and, if the class has one context, later for 5 ms (on a
 * shared core: after 20 ms without events). A call or reply ends a nap. */

#define YIELD_NS 100000ull /* time to yield before the first nap */

enum {
    TRIGGER_MAX = 64,  /* callbacks per context between two polls of MPI */
    ASK_EVERY = 64,    /* turns between two checks for a shared core */
    YIELD_EVERY = 256, /* turns between two yields, on a core of its own */
    SHORT_NAP_MS = 1,
    LONG_NAP_MS = 5,
};

/* State of one wait, on the stack of the caller. */
struct serve {
    hg_class_t *cls;
    uint64_t quiet_since_ns; /* time of the last event; 0: not polled yet */
    unsigned turns;          /* calls of comm_serve_turn() since that event */
    unsigned next;           /* id of the context to block in next */
    bool is_oversubscribed;  /* the core was shared at the last check */
};

/* Does a peer that the context waits for run on the caller's core? */
static bool is_core_shared(hg_context_t *context)
{
    bool is_oversubscribed = false;

    if (!amg_progress_own(context))
        return false;
    is_oversubscribed = amg_wakeup_is_core_shared(context);
    amg_progress_disown(context);
    return is_oversubscribed;
}

/* The next step of the wait, after `quiet_ns` without events. */
static struct amg_wait_step wait_step(
    struct serve *serve, hg_context_t *context, uint64_t quiet_ns)
{
    struct amg_wait_policy policy = amg_progress_wait_policy(
        &serve->cls->progress_config, context == NULL ? 0 : context->spin_ns);

    policy.is_not_pollable = true;
    if (context != NULL && serve->turns % ASK_EVERY == 0)
        serve->is_oversubscribed = is_core_shared(context);
    if (serve->is_oversubscribed)
        policy.core = AMG_CORE_SHARED;
    return amg_wait_policy_next(&policy, quiet_ns);
}

/* The next context to block in: the contexts of the class take turns. */
static hg_context_t *context_next(struct serve *serve)
{
    hg_context_t *context = amg_class_context(serve->cls, serve->next);

    if (context == NULL)
        context = amg_class_context(serve->cls, 0);
    serve->next = context == NULL ? 0 : context->id + 1u;
    return context;
}

/* Blocks until the context, if any, has events, but at most for `left_ns` or
 * 5 ms (1 ms if `ns` is 1 ms or less, or the class has several contexts). */
static void nap(
    struct serve *serve, hg_context_t *context, uint64_t ns, uint64_t left_ns)
{
    bool is_short = ns <= SHORT_NAP_MS * AMG_NS_PER_MS ||
                    amg_class_counted(serve->cls, AMG_CLASS_CONTEXTS) > 1;
    uint64_t left_ms = (left_ns + AMG_NS_PER_MS - 1) / AMG_NS_PER_MS;
    unsigned ms = is_short ? SHORT_NAP_MS : LONG_NAP_MS;

    if (left_ms < ms)
        ms = (unsigned)left_ms;
    if (context == NULL)
        amg_clock_sleep_ns(ms * AMG_NS_PER_MS);
    else
        (void)amg_progress_wait(context, ms);
}

/* Serves all contexts once. If nothing happened, yields or blocks by the
 * policy: until the deadline at most, and only for some ms, because MPI wakes
 * no thread when a request ends. `now_ns` is the current time. */
static void comm_serve_turn(
    struct serve *serve, uint64_t now_ns, uint64_t deadline_ns)
{
    struct amg_wait_step step;
    hg_context_t *context = NULL;
    uint64_t quiet_ns = 0;

    if (amg_progress_serve(serve->cls, TRIGGER_MAX) > 0 ||
        serve->quiet_since_ns == 0) {
        serve->quiet_since_ns = now_ns;
        serve->turns = 0;
        return;
    }
    serve->turns++;
    context = context_next(serve);
    quiet_ns = now_ns - serve->quiet_since_ns;
    step = wait_step(serve, context, quiet_ns);
    if (step.kind == AMG_WAIT_YIELD || (step.kind == AMG_WAIT_POLL_AND_YIELD &&
                                           serve->turns % YIELD_EVERY == 0)) {
        sched_yield();
    } else if (step.kind == AMG_WAIT_SLEEP) {
        /* At first only yields: the request may end sooner than a nap would. */
        if (quiet_ns <= YIELD_NS)
            sched_yield();
        else if (now_ns < deadline_ns)
            nap(serve, context, step.ns, deadline_ns - now_ns);
    }
}

/* comm_serve_turn(), at least once. False: the deadline has passed. */
static bool serve_until(struct serve *serve, uint64_t deadline_ns)
{
    uint64_t now_ns = amg_clock_ns();

    if (now_ns >= deadline_ns && serve->quiet_since_ns != 0)
        return false;
    comm_serve_turn(serve, now_ns, deadline_ns);
    return true;
}

/* Tests the request. HG_AGAIN: not ended yet. HG_NA_ERROR: failed, logged. */
static hg_return_t request_test(
    const struct amg_domain *domain, MPI_Request *request, MPI_Status *status)
{
    MPI_Status ended;
    int flag = 0;
    int err = MPI_SUCCESS;
    hg_return_t rc = amg_mpi_calls_lock(domain);

    if (rc != HG_SUCCESS)
        return rc;
    ended.MPI_ERROR = MPI_SUCCESS;
    /* MPI_Testall leaves the error of a request in the status, and does not
     * call the error handler of the request's communicator. */
    amg_mpi_handlers_put_aside();
    err = MPI_Testall(1, request, &flag, &ended);
    amg_mpi_handlers_put_back();
    amg_mpi_calls_unlock(domain);
    if (err == MPI_SUCCESS && !flag)
        return HG_AGAIN;
    if (status != NULL && status != MPI_STATUS_IGNORE && flag)
        *status = ended;
    if (err == MPI_SUCCESS)
        return HG_SUCCESS;
    if (flag && ended.MPI_ERROR != MPI_SUCCESS)
        err = ended.MPI_ERROR;
    return amg_mpi_comm_error(err, "an MPI request of the program");
}

/* The class's MPI domain, or NULL with a line in the log. */
static const struct amg_domain *class_domain(const hg_class_t *cls)
{
    const struct amg_domain *domain = cls->domains[AMG_ROUTE_MPI];

    if (domain == NULL)
        AMG_LOG_ERROR("mpi", "this class is not over MPI: wait for the request "
                             "by MPI_Test(), and call HG_Progress() meanwhile");
    return domain;
}

hg_return_t amalgam_test(
    hg_class_t *hg_class, MPI_Request *request, int *flag, MPI_Status *status)
{
    const struct amg_domain *domain = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(request) || !AMG_GIVEN(flag))
        return amg_refusal();
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    rc = amg_mpi_calls_lock(domain);
    if (rc != HG_SUCCESS)
        return rc;
    amg_mpi_calls_unlock(domain);
    (void)amg_progress_serve(hg_class, TRIGGER_MAX);
    rc = request_test(domain, request, status);
    if (rc != HG_SUCCESS && rc != HG_AGAIN)
        return rc;
    *flag = rc == HG_SUCCESS;
    return HG_SUCCESS;
}

hg_return_t amalgam_wait(hg_class_t *hg_class, MPI_Request *request,
    unsigned timeout_ms, MPI_Status *status)
{
    const struct amg_domain *domain = NULL;
    struct serve serve = {.cls = hg_class};
    uint64_t deadline_ns = 0;
    hg_return_t rc = HG_SUCCESS;
    uint64_t wait = 0;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(request))
        return amg_refusal();
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    deadline_ns = amg_clock_deadline_ns(timeout_ms);
    wait = amg_status_wait(hg_class->job.status, AMG_AWAIT_MPI_REQUEST);
    while ((rc = request_test(domain, request, status)) == HG_AGAIN &&
           serve_until(&serve, deadline_ns))
        continue;
    amg_status_waited(hg_class->job.status, wait);
    return rc == HG_AGAIN ? HG_TIMEOUT : rc;
}

static hg_return_t barrier_pass(hg_class_t *cls, struct amg_domain *domain)
{
    unsigned timeout_ms = (unsigned)amg_env_number(AMG_ENV_BARRIER_TIMEOUT);
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout_ms);
    uint64_t now_ns = 0;
    struct serve serve = {.cls = cls};
    hg_return_t rc = HG_SUCCESS;

    while ((rc = amg_mpi_barrier_look(domain)) == HG_AGAIN) {
        if (amg_job_has_deaths(&cls->job))
            return HG_HOSTUNREACH;
        now_ns = amg_clock_ns();
        if (now_ns >= deadline_ns) {
            AMG_LOG_WARNING("mpi",
                "not all %d ranks of the class came to the barrier within %u "
                "ms; call amalgam_barrier() again to go on waiting, or raise "
                "AMALGAM_BARRIER_TIMEOUT_MS",
                amg_mpi_size(domain), timeout_ms);
            return HG_TIMEOUT;
        }
        comm_serve_turn(&serve, now_ns, deadline_ns);
    }
    return rc;
}

hg_return_t amalgam_barrier(hg_class_t *hg_class)
{
    struct amg_domain *domain = NULL;
    hg_return_t rc = HG_SUCCESS;
    uint64_t wait = 0;

    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    domain = hg_class->domains[AMG_ROUTE_MPI];
    if (domain == NULL) {
        AMG_LOG_ERROR(
            "mpi", "this class is not over MPI: it has no ranks for a barrier");
        return HG_OPNOTSUPPORTED;
    }
    if (amg_role.is_library_thread) {
        AMG_LOG_ERROR("mpi",
            "a handler in a thread of the library cannot wait in a barrier, as "
            "no calls would be served meanwhile; call amalgam_barrier() in a "
            "thread of the program");
        return HG_OPNOTSUPPORTED;
    }
    if (amg_job_has_deaths(&hg_class->job))
        return HG_HOSTUNREACH;
    rc = amg_mpi_barrier_begin(domain);
    if (rc != HG_SUCCESS)
        return rc;
    wait = amg_status_wait(hg_class->job.status, AMG_AWAIT_BARRIER);
    rc = barrier_pass(hg_class, domain);
    amg_status_waited(hg_class->job.status, wait);
    amg_mpi_barrier_end(domain);
    return rc;
}

hg_return_t amalgam_quiesce(hg_class_t *hg_class, unsigned timeout_ms)
{
    struct serve serve = {.cls = hg_class};
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout_ms);
    hg_return_t rc = HG_SUCCESS;
    uint64_t wait = 0;

    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    if (amg_role.is_running) {
        AMG_LOG_ERROR("rpc",
            "amalgam_quiesce(): the caller is a handler or callback, for whose "
            "end the quiescence would wait");
        return HG_OPNOTSUPPORTED;
    }
    wait = amg_status_wait(hg_class->job.status, AMG_AWAIT_QUIESCE);
    while ((rc = amg_quiet_enter(hg_class, NULL, NULL)) == HG_AGAIN &&
           serve_until(&serve, deadline_ns))
        continue;
    amg_status_waited(hg_class->job.status, wait);
    return rc == HG_AGAIN ? HG_TIMEOUT : rc;
}
