/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts in flight: their memory must not change meanwhile. */
#include "ofi/shim/shim_flight.h"

#include <stdlib.h>
#include <string.h>

/* 8 bytes at once: it reads MiB, and often. */
static uint64_t sum_of(const struct shim_flight *flight)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < flight->count; i++) {
        const unsigned char *at = flight->iov[i].iov_base;
        size_t len = flight->iov[i].iov_len;
        uint64_t word = 0;

        for (; len >= sizeof(word); len -= sizeof(word), at += sizeof(word)) {
            memcpy(&word, at, sizeof(word));
            sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
            sum ^= sum >> 29;
        }
        word = 0;
        memcpy(&word, at, len);
        sum = (sum ^ word) * 0xbf58476d1ce4e5b9ull;
    }
    return sum;
}

/* The access that a post makes to the poster's memory. */
static uint64_t access_of(enum shim_way way)
{
    switch (way) {
    case SHIM_SEND:
        return FI_SEND;
    case SHIM_RECV:
        return FI_RECV;
    case SHIM_READ:
        return FI_READ;
    default:
        return FI_WRITE;
    }
}

static bool leaves(enum shim_way way)
{
    return way == SHIM_SEND || way == SHIM_WRITE;
}

static bool owns_context(void)
{
    return (shim_profile->mode & (FI_CONTEXT | FI_CONTEXT2)) != 0;
}

static void context_check(
    const struct shim_ep *ep, const void *context, const char *call)
{
    const struct shim_flight *at = ep->object.domain->flights;

    if (!owns_context())
        return;
    if (context == NULL || (uintptr_t)context % sizeof(void *) != 0)
        shim_breach(call, "the context %p is no struct fi_context2", context);
    for (; at != NULL; at = at->next)
        if (at->user == context)
            shim_breach(call, "the context %p is in flight already", context);
}

struct shim_flight *shim_flight_make(struct shim_ep *ep, enum shim_way way,
    const struct iovec *iov, void *const *descs, size_t count, void *context,
    const char *call)
{
    struct shim_flight *flight = shim_alloc(sizeof(*flight));

    if (!ep->is_enabled)
        shim_breach(call, "the endpoint is not enabled");
    if (count > shim_profile->iov_max || count > SHIM_IOVS)
        shim_breach(call, "%zu pieces of memory; %zu are the limit", count,
            shim_profile->iov_max);
    context_check(ep, context, call);
    flight->ep = ep;
    flight->way = way;
    flight->user = context;
    flight->mark = (unsigned char)(shim_dice() | 1);
    flight->count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        flight->iov[i] = iov[i];
        flight->mrs[i] = shim_mr_check(ep, descs == NULL ? NULL : descs[i],
            iov[i].iov_base, iov[i].iov_len, access_of(way), call);
    }
    return flight;
}

/* Has this peer not yet refused often enough? */
static bool is_connecting(struct shim_domain *domain, fi_addr_t to)
{
    if (to == FI_ADDR_UNSPEC || shim_profile->refusals == 0)
        return false;
    if (to >= domain->posts_count) {
        size_t count = (size_t)to * 2 + 16;
        unsigned *posts = shim_alloc(count * sizeof(*posts));

        if (domain->posts_count > 0)
            memcpy(posts, domain->posts, domain->posts_count * sizeof(*posts));
        free(domain->posts);
        domain->posts = posts;
        domain->posts_count = count;
    }
    if (domain->posts[to] >= shim_profile->refusals)
        return false;
    domain->posts[to]++;
    return true;
}

bool shim_flight_is_refused(
    struct shim_ep *ep, fi_addr_t to, bool has_completion)
{
    struct shim_domain *domain = ep->object.domain;

    return is_connecting(domain, to) ||
           (has_completion && domain->depth >= shim_profile->depth) ||
           shim_dice_is(shim_profile->again);
}

void shim_flight_begin(struct shim_flight *flight)
{
    struct shim_domain *domain = flight->ep->object.domain;

    if (leaves(flight->way))
        flight->sum = sum_of(flight);
    /* Received bytes overwrite the mark; until then it must stay. */
    if (flight->way == SHIM_RECV)
        for (unsigned i = 0; i < flight->count; i++)
            memset(
                flight->iov[i].iov_base, flight->mark, flight->iov[i].iov_len);
    if (owns_context())
        memset(flight->user, flight->mark, sizeof(struct fi_context2));
    flight->next = domain->flights;
    domain->flights = flight;
    domain->depth += flight->way == SHIM_RECV ? 0 : 1;
}

static void flight_unlink(struct shim_flight *flight)
{
    struct shim_domain *domain = flight->ep->object.domain;
    struct shim_flight **at = &domain->flights;

    while (*at != NULL && *at != flight)
        at = &(*at)->next;
    if (*at == NULL)
        return;
    *at = flight->next;
    domain->depth -= flight->way == SHIM_RECV ? 0 : 1;
    for (unsigned i = 0; i < flight->page_count; i++)
        shim_book_drop(flight->pages[i]);
    flight->page_count = 0;
}

static void flight_keep(struct shim_flight *flight)
{
    struct shim_domain *domain = flight->ep->object.domain;

    flight->next = domain->past;
    domain->past = flight;
}

void shim_flight_undo(struct shim_flight *flight)
{
    flight_unlink(flight);
    free(flight);
}

static void context_look(const struct shim_flight *flight)
{
    const unsigned char *bytes = flight->user;

    for (size_t i = 0; owns_context() && i < sizeof(struct fi_context2); i++)
        if (bytes[i] != flight->mark)
            shim_breach("cq_read",
                "byte %zu of the context %p was changed in flight", i,
                flight->user);
}

void shim_flight_end(struct shim_flight *flight)
{
    context_look(flight);
    if (leaves(flight->way) && sum_of(flight) != flight->sum)
        shim_breach("cq_read",
            "the %zu bytes at %p were changed while they were being sent or "
            "written",
            flight->iov[0].iov_len, flight->iov[0].iov_base);
    flight_unlink(flight);
    /* A full buffer may still get messages that began before. */
    if (flight->way == SHIM_RECV)
        flight_keep(flight);
    else
        free(flight);
}

void shim_flight_drop_all(struct shim_ep *ep)
{
    struct shim_flight *at = ep->object.domain->flights;

    while (at != NULL) {
        struct shim_flight *flight = at;

        at = at->next;
        if (flight->ep != ep)
            continue;
        flight_unlink(flight);
        flight_keep(flight);
    }
}

void shim_flight_forget_all(struct shim_domain *domain)
{
    while (domain->past != NULL) {
        struct shim_flight *flight = domain->past;

        domain->past = flight->next;
        free(flight);
    }
    free(domain->posts);
    domain->posts = NULL;
    domain->posts_count = 0;
}
