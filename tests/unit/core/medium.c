/* SPDX-License-Identifier: BSD-3-Clause */
/* Fake transport for tests of waiting. */
#include "medium.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/lock.h"
#include "transport/self.h"

struct medium medium;
hg_context_t *medium_context;

static struct amg_transport transport;

static hg_return_t fake_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    hg_return_t rc = amg_self_transport.domain.open(how, ret_domain);

    if (rc == HG_SUCCESS)
        (*ret_domain)->transport = &transport;
    return rc;
}

static void fake_limits(
    const struct amg_domain *domain, struct amg_limits *ret_limits)
{
    amg_self_transport.domain.limits(domain, ret_limits);
    ret_limits->is_spinning = medium.is_not_pollable;
    ret_limits->must_yield = false;
}

static hg_return_t fake_ep_open(
    struct amg_domain *domain, uint8_t context_id, struct amg_ep **ret_ep)
{
    hg_return_t rc = amg_self_transport.ep.open(domain, context_id, ret_ep);

    if (rc == HG_SUCCESS) {
        (*ret_ep)->transport = &transport;
        (*ret_ep)->pending = NULL; /* the fake poll has its own events */
    }
    return rc;
}

static int fake_wait_fd(const struct amg_ep *ep)
{
    (void)ep;
    return medium.is_not_pollable ? -1 : medium.event_fd;
}

/* Announces, then checks; medium_send() does it in the opposite order. */
static bool fake_arm(struct amg_ep *ep)
{
    (void)ep;
    atomic_fetch_add(&medium.arms, 1);
    if (medium.is_not_pollable)
        return true;
    atomic_store(&medium.is_armed, true);
    return atomic_load(&medium.events) == 0;
}

static bool fake_is_crowded(struct amg_ep *ep)
{
    (void)ep;
    atomic_fetch_add(&medium.asked, 1);
    return atomic_load(&medium.is_oversubscribed);
}

static unsigned fake_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *ret_events)
{
    (void)ep;
    (void)max;
    ret_events->has_moved = medium.has_moved;
    atomic_fetch_add(&medium.polls, 1);
    if (atomic_exchange(&medium.is_armed, false) && !medium.is_not_pollable)
        amg_eventfd_drain(medium.event_fd);
    return atomic_exchange(&medium.events, 0);
}

void medium_send(void)
{
    atomic_fetch_add(&medium.events, 1);
    if (atomic_load(&medium.is_armed))
        amg_eventfd_signal(medium.event_fd);
}

static void never_arrives(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    (void)context;
    (void)route;
    (void)arrival;
    fail();
}

static void never_looks(hg_context_t *context, uint64_t now_ns)
{
    (void)context;
    (void)now_ns;
}

static hg_return_t nothing_unsent(hg_context_t *context, bool is_final)
{
    (void)context;
    (void)is_final;
    return HG_SUCCESS;
}

static hg_return_t nothing_open(hg_context_t *context)
{
    (void)context;
    return HG_SUCCESS;
}

static void nothing_close(hg_context_t *context)
{
    (void)context;
}

static void nothing_written(hg_context_t *context, struct amg_state *state)
{
    (void)context;
    (void)state;
}

hg_context_t *medium_open(bool is_not_pollable, bool no_block)
{
    struct amg_class_plan plan = {
        .transports[AMG_ROUTE_SELF] = &amg_self_transport,
        .transports[AMG_ROUTE_OFI] = &transport,
        .main_route = AMG_ROUTE_OFI,
        .how = {.info = "", .is_listening = true, .max_contexts = 2},
        .no_block = no_block,
    };
    const struct amg_context_ops ops = {never_arrives, never_looks,
        nothing_unsent, nothing_written, nothing_open, nothing_close};
    hg_context_t *context = NULL;
    hg_class_t *cls = NULL;

    transport = amg_self_transport;
    transport.domain.open = fake_open;
    transport.domain.limits = fake_limits;
    transport.ep.open = fake_ep_open;
    transport.ep.wait_fd = fake_wait_fd;
    transport.ep.arm = fake_arm;
    transport.ep.is_oversubscribed = fake_is_crowded;
    transport.ep.poll = fake_poll;
    memset(&medium, 0, sizeof(medium));
    medium.is_not_pollable = is_not_pollable;
    medium.event_fd = amg_eventfd_open();
    assert_true(medium.event_fd >= 0);
    assert_int_equal(amg_class_open(&plan, &cls), HG_SUCCESS);
    assert_int_equal(amg_context_open(cls, 0, &ops, &context), HG_SUCCESS);
    return context;
}

int medium_open_sleeping(void **state)
{
    (void)state;
    medium_context = medium_open(false, false);
    return 0;
}

int medium_open_not_pollable(void **state)
{
    (void)state;
    medium_context = medium_open(true, false);
    return 0;
}

void medium_close(hg_context_t *context)
{
    hg_class_t *cls = context->cls;

    amg_context_close(context);
    amg_class_close(cls);
    amg_eventfd_close(medium.event_fd);
}
