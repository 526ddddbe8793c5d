/* SPDX-License-Identifier: BSD-3-Clause */
/* A context: one endpoint of every open transport, and one completion queue. */
#include "core/context.h"

#include <string.h>

#include "base/assert.h"
#include "base/pool.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "transport/pack.h"

#define NS_PER_US 1000ull

enum { SHOW_MS = 250 /* between two writes of the counters */ };

#define WATCH_NS (1000 * AMG_NS_PER_MS)

static struct amg_attic attic; /* memory of contexts */
static atomic_uint serials;    /* numbers of contexts, from 1 */

/* After a push to `incoming`: wakes the threads that may run the entry, unless
 * the caller is the progress thread of this context, which will run the entry
 * itself. (A handler on the progress thread of another context may call this
 * context.) */
static void apart_tell(hg_context_t *context)
{
    if (amg_role.serves != context)
        amg_cq_wake(&context->cq);
}

void amg_context_queue_apart(hg_context_t *context, struct amg_cq_entry *entry)
{
    amg_cq_push(&context->incoming, entry);
    apart_tell(context);
}

void amg_context_queue_first_apart(
    hg_context_t *context, struct amg_cq_entry *entry)
{
    amg_cq_push_first(&context->incoming, entry);
    apart_tell(context);
}

/* If the progress thread and HG_Trigger() may run incoming calls, one thread at
 * a time has the turn, so that calls of a peer do not run in parallel or out of
 * order. A handler may make progress and run further calls in its turn. No
 * wake-up is lost: a thread that finds the turn taken has read the epoch of
 * `cq` before, and the end of a turn with calls left changes that epoch; a call
 * that is queued later wakes the threads. The fences here and in
 * amg_context_may_turn() pair: the thread that ends the turn sees the call, or
 * a thread that looks for calls sees the end of the turn. */
static void nothing_run(struct amg_cq_entry *entry)
{
    (void)entry;
}

static struct amg_cq_entry *turn_run(hg_context_t *context)
{
    static struct amg_cq_entry ran = {.run = nothing_run, .is_incoming = true};
    struct amg_role *turn = NULL;
    struct amg_cq_entry *entry = NULL;

    if (!atomic_compare_exchange_strong_explicit(&context->turn, &turn,
            &amg_role, memory_order_acquire, memory_order_acquire))
        return turn == &amg_role ? amg_cq_pop(&context->incoming) : NULL;
    entry = amg_cq_pop(&context->incoming);
    if (entry != NULL)
        amg_context_run(entry);
    AMG_ASSERT(atomic_load_explicit(&context->turn, memory_order_relaxed));
    atomic_store_explicit(&context->turn, NULL, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    if (!amg_cq_is_empty(&context->incoming))
        amg_cq_wake(&context->cq);
    return entry == NULL ? NULL : &ran;
}

struct amg_cq_entry *amg_context_take_incoming(hg_context_t *context)
{
    if (context->incoming_mode == AMG_SERVE_THREAD)
        return turn_run(context);
    return amg_cq_pop(&context->incoming);
}

void amg_context_ring(hg_context_t *context)
{
    /* Counts first: a waiting thread reads the epoch before it reads `ran`. */
    atomic_fetch_add_explicit(&context->ran, 1u, memory_order_release);
    amg_cq_ring(&context->cq);
}

void amg_context_run_by_service_thread(
    hg_context_t *context, struct amg_cq_entry *entry)
{
    amg_context_run(entry);
    if (!AMG_LIKELY(amg_context_look_ns(context) == AMG_CONTEXT_NEVER))
        amg_context_look(context, amg_clock_ns());
    amg_context_ring(context);
}

void amg_context_look_at(hg_context_t *context, uint64_t at_ns)
{
    uint_fast64_t old = amg_context_look_ns(context);

    while (at_ns < old &&
           !atomic_compare_exchange_weak_explicit(&context->look_ns, &old,
               at_ns, memory_order_relaxed, memory_order_relaxed))
        continue;
    /* No look is lost: threads read the epoch, then `look_ns`, then sleep. */
    if (at_ns < old)
        amg_cq_wake_armed(&context->cq);
}

void amg_context_look(hg_context_t *context, uint64_t now_ns)
{
    uint_fast64_t at_ns = amg_context_look_ns(context);

    /* The thread that resets `look_ns` runs the check, no other. */
    if (at_ns <= now_ns &&
        atomic_compare_exchange_strong_explicit(&context->look_ns, &at_ns,
            AMG_CONTEXT_NEVER, memory_order_relaxed, memory_order_relaxed))
        context->ops.look(context, now_ns);
}

void amg_context_begin_ticks(hg_context_t *context)
{
    context->wakeup.has_ticks = true;
    for (unsigned i = 0; i < context->open_count; i++)
        atomic_store_explicit(&context->eps[context->open[i]]->domain->look_ns,
            &context->look_ns, memory_order_relaxed);
}

/* Afterwards no driver stores to `look_ns`: the close of an endpoint takes the
 * lock under which a driver reads and uses the pointer. */
static void context_end_ticks(const hg_context_t *context)
{
    for (unsigned i = 0; i < context->open_count; i++) {
        struct amg_domain *domain = context->eps[context->open[i]]->domain;

        if (atomic_load_explicit(&domain->look_ns, memory_order_relaxed) ==
            &context->look_ns)
            atomic_store_explicit(&domain->look_ns, NULL, memory_order_relaxed);
    }
}

static void context_close_eps(hg_context_t *context)
{
    unsigned i = context->open_count;

    context_end_ticks(context);
    while (i-- > 0) {
        unsigned route = context->open[i];
        struct amg_ep *ep = context->eps[route];
        struct amg_events events;

        amg_events_init(&events);
        context->eps[route] = NULL;
        ep->transport->ep.close(ep, &events);
        AMG_ASSERT(amg_list_is_empty(&events.arrived));
        amg_context_step_all(&events.done);
    }
    context->open_count = 0;
}

/* Moves a route behind the routes that every poll checks. */
static void context_cool(hg_context_t *context, unsigned route)
{
    unsigned last = 0;
    unsigned i = 0;

    while (context->hot[last + 1] != NULL)
        last++;
    while (context->open[i] != route)
        i++;
    context->open[i] = context->open[last];
    context->open[last] = route;
    context->hot[i] = context->hot[last];
    context->hot[last] = NULL;
}

/* Selects the endpoints that not every poll checks: MPI is never polled if it
 * reaches no peer; the route to other nodes is polled rarely beside shared
 * memory. */
static void context_set_rare(hg_context_t *context)
{
    unsigned far = AMG_ROUTE_MPI;

    context->rare.route = AMG_ROUTE_COUNT;
    for (unsigned i = 0; i < context->open_count; i++)
        context->hot[i] = context->eps[context->open[i]];
    if (context->cls->is_idle[far] && context->eps[far] != NULL) {
        context_cool(context, far);
        far = AMG_ROUTE_OFI;
    }
    if (context->eps[far] == NULL || context->eps[AMG_ROUTE_SHM] == NULL)
        return;
    context_cool(context, far);
    context->rare.route = far;
    context->rare.is_user_bound = amg_class_is_user_bound(context->cls, far);
}

static hg_return_t context_open_eps(hg_context_t *context)
{
    unsigned keeping_count = 0;

    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++) {
        struct amg_domain *domain = context->cls->domains[route];
        hg_return_t rc = HG_SUCCESS;

        if (domain == NULL)
            continue;
        rc = domain->transport->ep.open(
            domain, context->id, &context->eps[route]);
        if (rc != HG_SUCCESS)
            return rc;
        context->open[context->open_count] = route;
        context->open_count++;
        if (context->eps[route]->kept == NULL)
            continue;
        context->keeping[keeping_count] = route;
        context->keeps[keeping_count] = context->eps[route]->kept;
        keeping_count++;
    }
    return HG_SUCCESS;
}

/* Reserves the context id. HG_BUSY: the id is taken; HG_INVALID_ARG: the id is
 * not below the number of contexts that the class was opened for. */
static hg_return_t class_enter(
    hg_class_t *cls, uint8_t id, hg_context_t *context)
{
    hg_return_t rc = HG_SUCCESS;

    if (id >= cls->plan.how.max_contexts) {
        AMG_LOG_ERROR("ctx",
            "context id %u: the class was opened for %u contexts; ask for "
            "more by na_init_info.max_contexts",
            id, cls->plan.how.max_contexts);
        return HG_INVALID_ARG;
    }
    amg_lock_lock(&cls->lock);
    if (cls->contexts[id] == NULL)
        cls->contexts[id] = context;
    else
        rc = HG_BUSY;
    amg_lock_unlock(&cls->lock);
    if (rc == HG_BUSY)
        AMG_LOG_ERROR("ctx", "context id %u is open already", id);
    else
        amg_class_count(cls, AMG_CLASS_CONTEXTS, 1);
    return rc;
}

/* Adds all that a context has counted to `sums`. */
static void context_sum(
    const hg_context_t *context, uint64_t sums[AMG_COUNTERS])
{
    const struct amg_cq_waiters *waiters = &context->cq.waiters;

    amg_counters_sum(&context->counters, sums);
    sums[AMG_COUNT_SLEEPS] += (uint64_t)amg_tally_sum(&waiters->sleeps);
    sums[AMG_COUNT_WAKES] += (uint64_t)amg_tally_sum(&waiters->wakes);
}

static void class_leave(hg_context_t *context)
{
    hg_class_t *cls = context->cls;

    amg_lock_lock(&cls->report_lock); /* a report may be at this context */
    amg_lock_lock(&cls->lock);
    context_sum(context, cls->past);
    cls->contexts[context->id] = NULL;
    amg_lock_unlock(&cls->lock);
    amg_lock_unlock(&cls->report_lock);
    amg_class_count(cls, AMG_CLASS_CONTEXTS, -1);
}

hg_return_t amg_context_open(hg_class_t *cls, uint8_t id,
    const struct amg_context_ops *ops, hg_context_t **ret_context)
{
    hg_context_t *context =
        amg_attic_get(&attic, _Alignof(hg_context_t), sizeof(*context));
    hg_return_t rc = HG_NOMEM;

    if (context == NULL)
        return HG_NOMEM;
    memset(context, 0, sizeof(*context));
    context->cls = cls;
    context->id = id;
    context->ops = *ops;
    atomic_init(&context->look_ns, AMG_CONTEXT_NEVER);
    context->serial =
        atomic_fetch_add_explicit(&serials, 1u, memory_order_relaxed) + 1u;
    context->opened_ns = amg_clock_ns();
    context->spin_ns = amg_env_number(AMG_ENV_SPIN_US) * NS_PER_US;
    context->nap_ns = amg_env_number(AMG_ENV_SILENT) * AMG_NS_PER_MS;
    if (context->nap_ns == 0)
        context->nap_ns = UINT64_MAX;
    /* Deaths of ranks are noticed by ticks, also while a rank is idle. */
    if (context->cls->job.mate_count > 1 && context->nap_ns > WATCH_NS)
        context->nap_ns = WATCH_NS;
    amg_bias_init(&context->owner);
    amg_tally_init(&context->handles);
    amg_tally_init(&context->in_flight);
    amg_cq_init(&context->cq);
    amg_cq_init(&context->incoming);
    amg_events_init(&context->events);
    rc = ops->open(context);
    if (rc != HG_SUCCESS)
        goto free_context;
    rc = class_enter(cls, id, context);
    if (rc != HG_SUCCESS)
        goto close_upper;
    rc = context_open_eps(context);
    if (rc != HG_SUCCESS)
        goto leave_class;
    context_set_rare(context);
    amg_wakeup_init(context);
    amg_report_set(cls, &context->is_reported, true);
    *ret_context = context;
    return HG_SUCCESS;

leave_class:
    context_close_eps(context);
    class_leave(context);
close_upper:
    ops->close(context);
free_context:
    amg_cq_fini(&context->incoming);
    amg_cq_fini(&context->cq);
    context->cls = NULL;
    amg_attic_put(&attic, context);
    return rc;
}

void amg_context_close(hg_context_t *context)
{
    struct amg_cq_entry *entry = NULL;

    amg_report_set(context->cls, &context->is_reported, false);
    amg_wakeup_fini(context);
    context_close_eps(context);
    while ((entry = amg_cq_pop(&context->cq)) != NULL ||
           (entry = amg_cq_pop(&context->incoming)) != NULL)
        entry->run(entry);
    class_leave(context);
    if (context->data_free != NULL)
        context->data_free(context->data);
    context->ops.close(context);
    amg_cq_fini(&context->incoming);
    amg_cq_fini(&context->cq);
    context->cls = NULL;
    amg_attic_put(&attic, context);
}

hg_class_t *HG_Context_get_class(const hg_context_t *context)
{
    return AMG_CONTEXT_EXISTS(context) ? amg_context_class(context) : NULL;
}

uint8_t HG_Context_get_id(const hg_context_t *context)
{
    return AMG_CONTEXT_EXISTS(context) ? context->id : 0;
}

hg_return_t HG_Context_set_data(
    hg_context_t *context, void *data, void (*free_callback)(void *))
{
    if (!AMG_CONTEXT_OK(context))
        return amg_refusal();
    context->data = data;
    context->data_free = free_callback;
    return HG_SUCCESS;
}

void *HG_Context_get_data(const hg_context_t *context)
{
    return AMG_CONTEXT_EXISTS(context) ? context->data : NULL;
}

static uint64_t count_read(const atomic_uint_fast64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* Adds what the drivers of a class have counted to `sums`. */
static void drivers_sum(const hg_class_t *cls, uint64_t sums[AMG_COUNTERS])
{
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++) {
        const struct amg_domain *domain = cls->domains[route];

        if (domain == NULL)
            continue;
        if (domain->packs != NULL) {
            sums[AMG_COUNT_PACKED_MESSAGES] +=
                count_read(&domain->packs->messages);
            sums[AMG_COUNT_PACKED_CALLS] += count_read(&domain->packs->calls);
        }
        if (domain->counts != NULL) {
            sums[AMG_COUNT_CREDITS_SHORT] +=
                count_read(&domain->counts->credits_short);
            sums[AMG_COUNT_RETRIES] += count_read(&domain->counts->retries);
            sums[AMG_COUNT_WAKES] += count_read(&domain->counts->wakes);
        }
    }
}

int amg_context_sum_all(hg_class_t *cls, uint64_t sums[AMG_COUNTERS])
{
    int handles = 0;

    drivers_sum(cls, sums);
    amg_lock_lock(&cls->lock);
    for (unsigned i = 0; i < AMG_COUNTERS; i++)
        sums[i] += cls->past[i];
    for (unsigned i = 0; i < cls->plan.how.max_contexts; i++) {
        const hg_context_t *context = cls->contexts[i];

        if (context == NULL)
            continue;
        context_sum(context, sums);
        handles += (int)amg_tally_sum(&context->handles);
    }
    amg_lock_unlock(&cls->lock);
    return handles;
}

void amg_context_show(hg_context_t *context, uint64_t now_ns)
{
    hg_class_t *cls = amg_context_class(context);
    uint64_t sums[AMG_COUNTERS] = {0};

    context->wakeup.show_ns = now_ns + SHOW_MS * AMG_NS_PER_MS;
    if (context->wakeup.has_ticks)
        atomic_store_explicit(&context->look_ns, 0, memory_order_relaxed);
    (void)amg_context_sum_all(cls, sums);
    amg_status_write(cls->job.status, now_ns, NULL, sums, AMG_COUNTERS, NULL);
}
