/* SPDX-License-Identifier: BSD-3-Clause */
/* A class: the transports that one instance of the library has open. */
#include "core/class.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/pool.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "mercury_class.h"

static struct amg_attic attic; /* memory of classes */

/* state_edges[from] has a bit for each state that may follow. */
static const unsigned state_edges[AMG_CLASS_STATE_COUNT] = {
    [AMG_CLASS_CLOSED] = 1u << AMG_CLASS_OPENING,
    [AMG_CLASS_OPENING] = 1u << AMG_CLASS_OPEN | 1u << AMG_CLASS_CLOSED,
    [AMG_CLASS_OPEN] = 1u << AMG_CLASS_DRAINING,
    [AMG_CLASS_DRAINING] = 1u << AMG_CLASS_CLOSED,
};

void amg_class_set_state(hg_class_t *cls, enum amg_class_state next)
{
    AMG_ASSERT((state_edges[cls->state] >> next & 1u) != 0);
    AMG_LOG_DEBUG("cls", "class %p state %d to %d", (void *)cls,
        (int)cls->state, (int)next);
    cls->state = next;
}

static uint32_t smaller(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

bool amg_class_is_user_bound(const hg_class_t *cls, unsigned route)
{
    const struct amg_domain *domain = cls->domains[route];
    struct amg_limits limits;

    domain->transport->domain.limits(domain, &limits);
    return limits.is_user_bound;
}

static void class_take_limits(hg_class_t *cls)
{
    bool has_free = false;  /* a route that any thread may progress */
    bool has_bound = false; /* a route that only the program may progress */

    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++) {
        struct amg_limits limits;

        if (cls->domains[route] == NULL)
            continue;
        cls->domains[route]->transport->domain.limits(
            cls->domains[route], &limits);
        if (route != AMG_ROUTE_SELF && !cls->is_idle[route]) {
            has_free = has_free || !limits.is_user_bound;
            has_bound = has_bound || limits.is_user_bound;
        }
        if (route == cls->plan.main_route)
            cls->plan.no_loopback =
                cls->plan.no_loopback && limits.reaches_self;
        if (cls->limits.request_len == 0) {
            cls->limits = limits;
            /* A post to this process wakes a blocked thread, so the loopback
             * beside another main route does not affect how threads wait. */
            if (route == AMG_ROUTE_SELF && cls->plan.main_route != route)
                cls->limits.is_spinning = cls->limits.must_yield = false;
            continue;
        }
        cls->limits.request_len =
            smaller(cls->limits.request_len, limits.request_len);
        cls->limits.reply_len =
            smaller(cls->limits.reply_len, limits.reply_len);
        cls->limits.credits = smaller(cls->limits.credits, limits.credits);
        if (!cls->is_idle[route])
            cls->limits.is_spinning =
                cls->limits.is_spinning || limits.is_spinning;
        cls->limits.must_yield = cls->limits.must_yield || limits.must_yield;
    }
    /* A thread of the library is useful if it may progress one route. */
    cls->limits.is_user_bound = has_bound && !has_free;
    cls->progress_config.has_bound = has_bound;
}

/* Borrows the domains of the owner, until class_give_back(). */
static hg_return_t class_borrow(hg_class_t *cls)
{
    hg_class_t *owner = cls->plan.owner;
    int none = 0;

    if (owner->state != AMG_CLASS_OPEN) {
        AMG_LOG_ERROR("cls",
            "amalgam_finalize() has disconnected the NA class; NA_Finalize() "
            "it, and open another");
        return HG_BUSY;
    }
    if (!atomic_compare_exchange_strong_explicit(
            &owner->counts[AMG_CLASS_BORROWERS], &none, 1, memory_order_acq_rel,
            memory_order_relaxed)) {
        AMG_LOG_ERROR("cls",
            "another HG class uses the NA class: HG_Finalize() that HG class "
            "first, or NA_Initialize() an NA class for each");
        return HG_BUSY;
    }
    memcpy(cls->domains, owner->domains, sizeof(cls->domains));
    memcpy(cls->is_idle, owner->is_idle, sizeof(cls->is_idle));
    memcpy(cls->reach, owner->reach, sizeof(cls->reach));
    memcpy(cls->reason, owner->reason, sizeof(cls->reason));
    amg_progress_config_borrow(&cls->progress_config, &owner->progress_config);
    cls->route_map = owner->route_map;
    cls->joined = owner->joined;
    cls->ranks = owner->ranks;
    cls->job = owner->job;
    cls->job.status = amg_status_none();
    cls->pool = owner->pool; /* the pool that the domains know */
    /* With no_loopback, calls to this process itself use the main route. */
    if (cls->plan.no_loopback)
        cls->is_idle[cls->plan.main_route] = false;
    return HG_SUCCESS;
}

static void class_give_back(hg_class_t *cls)
{
    if (cls->domains[AMG_ROUTE_SELF] == NULL)
        return; /* class_borrow() has not succeeded */
    memset(cls->domains, 0, sizeof(cls->domains));
    cls->route_map = NULL;
    cls->pool = NULL;
    cls->progress_config.ranks = NULL;
    amg_class_count(cls->plan.owner, AMG_CLASS_BORROWERS, -1);
}

hg_return_t amg_class_add_route(hg_class_t *cls, enum amg_route route,
    const struct amg_transport *transport, const char *protocol,
    const char *info)
{
    struct amg_open how = cls->plan.how;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(cls->state == AMG_CLASS_OPENING && cls->domains[route] == NULL);
    how.protocol = protocol;
    how.info = info;
    how.job.internode = NULL;
    how.is_joined = true;
    rc = transport->domain.open(&how, &cls->domains[route]);
    if (rc == HG_SUCCESS)
        cls->plan.transports[route] = transport;
    return rc;
}

void amg_class_remove_route(hg_class_t *cls, enum amg_route route)
{
    if (cls->domains[route] == NULL)
        return;
    cls->domains[route]->transport->domain.close(cls->domains[route]);
    cls->domains[route] = NULL;
    cls->plan.transports[route] = NULL;
}

/* Closes the domains, and frees the class. */
static void class_free(hg_class_t *cls)
{
    unsigned route = AMG_ROUTE_COUNT;

    amg_status_close(cls->job.status);
    if (cls->plan.owner == NULL)
        amg_mem_free(cls->job.mates);
    if (cls->plan.owner != NULL)
        class_give_back(cls);
    else if (cls->route_map != NULL)
        cls->route_map_free(cls);
    while (route-- > 0)
        amg_class_remove_route(cls, route);
    amg_class_pool_destroy(cls->pool);
    if (cls->data_free != NULL)
        cls->data_free(cls->data);
    amg_progress_config_fini(&cls->progress_config);
    amg_class_set_state(cls, AMG_CLASS_CLOSED);
    amg_attic_put(&attic, cls);
}

/* Stops the other domains: the main domain's medium ended before the class. */
static void class_stop(void *arg)
{
    hg_class_t *cls = arg;

    amg_status_leave(cls->job.status);
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++)
        if (cls->domains[route] != NULL &&
            route != (unsigned)cls->plan.main_route)
            cls->domains[route]->transport->domain.stop(cls->domains[route]);
}

static hg_return_t class_open_domains(hg_class_t *cls)
{
    hg_return_t rc = HG_SUCCESS;

    if (cls->plan.owner != NULL)
        return class_borrow(cls);
    rc = amg_class_pool_create(amg_env_number(AMG_ENV_POOL_BYTES), &cls->pool);
    if (rc != HG_SUCCESS)
        return rc;
    cls->plan.how.area = amg_class_pool_area(cls->pool);
    cls->plan.how.protocol = cls->plan.protocol;
    cls->plan.how.nic.nearest = amg_nics_nearest;
    if (cls->plan.far_protocol[0] != '\0') {
        /* far_protocol is for libfabric; the main route uses its default. */
        cls->plan.how.protocol = NULL;
        cls->plan.how.job.internode = cls->plan.far_protocol;
    }
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++) {
        const struct amg_transport *transport = cls->plan.transports[route];
        struct amg_open how = cls->plan.how;

        if (transport == NULL)
            continue;
        if (route != (unsigned)cls->plan.main_route)
            how.info = ""; /* the init string is for the main route */
        rc = transport->domain.open(&how, &cls->domains[route]);
        if (rc != HG_SUCCESS)
            return rc;
    }
    cls->domains[cls->plan.main_route]->stopped_arg = cls;
    cls->domains[cls->plan.main_route]->stopped = class_stop;
    snprintf(cls->reach, sizeof(cls->reach), "%s to all it reaches",
        cls->plan.transports[cls->plan.main_route]->name);
    return cls->plan.join == NULL ? HG_SUCCESS : cls->plan.join(cls);
}

/* Takes a part of the status page. The first rank of a node names the job. */
static void class_show(hg_class_t *cls)
{
    const struct amg_class_mate *first = cls->job.mates;
    uint64_t job = first == NULL ? 0 : first->start_time ^ first->pid;

    cls->job.status =
        amg_status_open(cls->job.rank, cls->job.size, job, cls->reach);
}

hg_return_t amg_class_open(
    const struct amg_class_plan *plan, hg_class_t **ret_class)
{
    hg_class_t *cls = NULL;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(plan->transports[AMG_ROUTE_SELF] != NULL);
    AMG_ASSERT(plan->transports[plan->main_route] != NULL);
    amg_trace_start_by_env();
    cls = amg_attic_get(&attic, _Alignof(hg_class_t), sizeof(*cls));
    if (cls == NULL)
        return HG_NOMEM;
    memset(&cls->domains, 0, sizeof(*cls) - offsetof(hg_class_t, domains));
    cls->plan = *plan;
    cls->progress_config.is_mercury = plan->is_mercury;
    cls->job.status = amg_status_none();
    amg_lock_init(&cls->lock);
    amg_class_set_state(cls, AMG_CLASS_OPENING);
    rc = amg_progress_config_ask(&cls->progress_config, plan->progress);
    cls->plan.progress = NULL; /* owned by the caller, who may free it */
    if (rc == HG_SUCCESS)
        rc = class_open_domains(cls);
    if (rc != HG_SUCCESS)
        goto free_class;
    class_take_limits(cls);
    class_show(cls);
    cls->progress_config.no_block = plan->no_block;
    cls->progress_config.must_yield = cls->limits.must_yield;
    amg_class_set_state(cls, AMG_CLASS_OPEN);
    amg_report_set(cls, &cls->is_reported, true);
    amg_classes_join(cls);
    *ret_class = cls;
    return HG_SUCCESS;

free_class:
    class_free(cls);
    return rc;
}

void amg_class_close(hg_class_t *cls)
{
    if (cls->state == AMG_CLASS_OPEN)
        amg_class_set_state(cls, AMG_CLASS_DRAINING);
    amg_classes_leave(cls);
    amg_report_set(cls, &cls->is_reported, false);
    if (cls->upper_free != NULL)
        cls->upper_free(cls);
    class_free(cls);
}

void amg_class_count(hg_class_t *cls, enum amg_class_count what, int change)
{
    int before = atomic_fetch_add_explicit(
        &cls->counts[what], change, memory_order_acq_rel);

    AMG_ASSERT(before + change >= 0);
}

int amg_class_counted(const hg_class_t *cls, enum amg_class_count what)
{
    return atomic_load_explicit(&cls->counts[what], memory_order_acquire);
}

hg_context_t *amg_class_context(hg_class_t *cls, unsigned from)
{
    hg_context_t *found = NULL;

    amg_lock_lock(&cls->lock);
    for (unsigned id = from; id < cls->plan.how.max_contexts && found == NULL;
         id++)
        found = cls->contexts[id];
    amg_lock_unlock(&cls->lock);
    return found;
}

const char *HG_Class_get_name(const hg_class_t *hg_class)
{
    if (!AMG_CLASS_EXISTS(hg_class))
        return NULL;
    return hg_class->plan.name;
}

const char *HG_Class_get_protocol(const hg_class_t *hg_class)
{
    if (!AMG_CLASS_EXISTS(hg_class))
        return NULL;
    return hg_class->plan.protocol;
}

bool HG_Class_is_listening(const hg_class_t *hg_class)
{
    return AMG_CLASS_EXISTS(hg_class) && hg_class->plan.how.is_listening;
}

hg_size_t HG_Class_get_input_eager_size(const hg_class_t *hg_class)
{
    if (!AMG_CLASS_EXISTS(hg_class))
        return 0;
    return hg_class->limits.request_len - hg_class->plan.head_len;
}

hg_size_t HG_Class_get_output_eager_size(const hg_class_t *hg_class)
{
    if (!AMG_CLASS_EXISTS(hg_class))
        return 0;
    return hg_class->limits.reply_len - hg_class->plan.head_len;
}

hg_return_t HG_Class_set_data(
    hg_class_t *hg_class, void *data, void (*free_callback)(void *))
{
    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    hg_class->data = data;
    hg_class->data_free = free_callback;
    return HG_SUCCESS;
}

void *HG_Class_get_data(const hg_class_t *hg_class)
{
    return AMG_CLASS_EXISTS(hg_class) ? hg_class->data : NULL;
}

void amg_class_settle_progress(hg_class_t *cls)
{
    struct amg_progress_config *config = &cls->progress_config;

    config->is_user_bound = cls->limits.is_user_bound;
    config->is_not_pollable = cls->limits.is_spinning;
    config->must_yield = cls->limits.must_yield;
    config->is_reporting = cls->is_first;
    amg_progress_config_settle(config);
    cls->limits.must_yield =
        cls->limits.must_yield || config->is_oversubscribed;
}

hg_return_t amalgam_set_progress(
    hg_class_t *hg_class, const struct amalgam_progress_options *options)
{
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    if (amg_class_counted(hg_class, AMG_CLASS_CONTEXTS) > 0) {
        AMG_LOG_WARNING("cls",
            "amalgam_set_progress: %d contexts are open; call it before "
            "HG_Context_create()",
            amg_class_counted(hg_class, AMG_CLASS_CONTEXTS));
        return HG_BUSY;
    }
    rc = amg_progress_config_ask(&hg_class->progress_config, options);
    if (rc == HG_SUCCESS)
        amg_class_settle_progress(hg_class);
    return rc;
}
