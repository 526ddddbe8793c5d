/* SPDX-License-Identifier: BSD-3-Clause */
/* Quiescing of a class: this process disconnects, and waits until all other
 * processes have disconnected, or gives up those that have not. */
#include "base/env.h"
#include "core/context.h"

/* Longest wait once a rank has died, which will not close, if
 * AMALGAM_GIVE_UP_MS sets no other. */
#define DEATH_NS (5000 * AMG_NS_PER_MS)

/* Quiesces all routes, the main route last, because the disconnect of the main
 * route tells the other ranks that nothing follows by any route. */
static hg_return_t class_quiesce_once(hg_class_t *cls)
{
    struct amg_domain *main_domain = cls->domains[cls->plan.main_route];
    hg_return_t worst = HG_SUCCESS;
    hg_return_t rc = HG_SUCCESS;

    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++) {
        struct amg_domain *domain = cls->domains[route];

        if (domain == NULL || domain == main_domain)
            continue;
        rc = domain->transport->domain.quiesce(domain);
        if (rc == HG_AGAIN || worst == HG_SUCCESS)
            worst = rc;
    }
    if (worst == HG_AGAIN)
        return worst;
    rc = main_domain->transport->domain.quiesce(main_domain);
    return worst == HG_SUCCESS ? rc : rc == HG_AGAIN ? rc : worst;
}

void amg_class_report(hg_class_t *cls)
{
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++)
        if (cls->domains[route] != NULL)
            cls->domains[route]->transport->domain.report(cls->domains[route]);
}

static void class_abandon(hg_class_t *cls)
{
    cls->is_abandoned = true;
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++)
        if (cls->domains[route] != NULL &&
            cls->domains[route]->transport->domain.abandon(cls->domains[route]))
            cls->has_lost = true;
}

/* Is there a call that has not reached a driver, or an operation in flight?
 * After a long reply has arrived and before it is pulled, no driver knows the
 * call, but `in_flight` counts it until its callback has run. */
static bool class_is_busy(hg_class_t *cls)
{
    const hg_context_t *context = amg_class_context(cls, 0);

    while (context != NULL &&
           atomic_load_explicit(&context->unsent, memory_order_relaxed) == 0 &&
           amg_tally_sum(&context->in_flight) == 0)
        context = amg_class_context(cls, context->id + 1u);
    return context != NULL;
}

static hg_return_t class_quiesce(hg_class_t *cls)
{
    bool is_of_job = cls->domains[AMG_ROUTE_MPI] != NULL;
    enum amg_patience_verdict verdict = AMG_PATIENCE_WAIT;
    uint64_t sums[AMG_COUNTERS] = {0};
    bool is_busy = class_is_busy(cls);
    hg_return_t rc = HG_TIMEOUT;

    (void)amg_context_sum_all(cls, sums);
    cls->domains[cls->plan.main_route]->posted = sums[AMG_COUNT_REQUESTS_SENT];
    if (!cls->is_abandoned)
        rc = is_busy ? HG_AGAIN : class_quiesce_once(cls);
    if (rc != HG_AGAIN)
        return rc;
    verdict = amg_patience_look(&cls->patience);
    if (amg_job_has_deaths(&cls->job) && amg_env_number(AMG_ENV_GIVE_UP) == 0 &&
        amg_clock_ns() - cls->patience.start_ns >= DEATH_NS)
        verdict = AMG_PATIENCE_OVER;
    if (verdict == AMG_PATIENCE_WAIT)
        return HG_AGAIN;
    if (verdict == AMG_PATIENCE_TELL && is_of_job) {
        amg_class_report(cls);
        return HG_AGAIN;
    }
    class_abandon(cls);
    return HG_TIMEOUT;
}

hg_return_t amg_class_quiesce(hg_class_t *cls)
{
    hg_return_t rc = class_quiesce(cls);

    if (rc != HG_AGAIN)
        amg_status_leave(cls->job.status);
    return rc == HG_TIMEOUT && amg_job_has_deaths(&cls->job) ? HG_HOSTUNREACH
                                                             : rc;
}
