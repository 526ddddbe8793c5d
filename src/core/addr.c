/* SPDX-License-Identifier: BSD-3-Clause */
/* An address: a peer and the route that leads to it, chosen once. */
#include "core/addr.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/attic.h"
#include "base/log.h"
#include "core/route_map.h"
#include "transport/registry.h"

static struct amg_attic attic; /* of the program's addresses */

static const struct amg_addr_ops *addr_ops(const struct hg_addr *addr)
{
    return &addr->cls->domains[addr->route]->transport->addr;
}

static struct amg_domain *addr_domain(const struct hg_addr *addr)
{
    return addr->cls->domains[addr->route];
}

void amg_addr_init_self(hg_class_t *cls, struct hg_addr *ret_addr)
{
    unsigned route =
        cls->plan.no_loopback ? cls->plan.main_route : AMG_ROUTE_SELF;
    struct amg_domain *domain = cls->domains[route];

    ret_addr->cls = cls;
    ret_addr->route = (uint8_t)route;
    ret_addr->is_users = false;
    ret_addr->is_borrowed = false;
    ret_addr->peer = domain->transport->addr.self(domain);
}

void amg_addr_init_from(hg_class_t *cls, unsigned route, struct amg_peer *peer,
    struct hg_addr *ret_addr)
{
    ret_addr->cls = cls;
    ret_addr->route = (uint8_t)route;
    ret_addr->is_users = false;
    ret_addr->is_borrowed = false;
    ret_addr->peer = cls->domains[route]->transport->addr.hold(peer);
}

hg_return_t amg_addr_init(hg_class_t *cls, unsigned route,
    struct amg_peer *peer, struct hg_addr *ret_addr)
{
    struct amg_domain *domain = cls->domains[route];

    if (route != AMG_ROUTE_SELF &&
        domain->transport->addr.is_self(domain, peer)) {
        amg_addr_init_self(cls, ret_addr);
        return HG_SUCCESS;
    }
    if (route == cls->plan.main_route) {
        hg_return_t rc = amg_route_map_find(cls, peer, &route, &peer);

        if (rc != HG_SUCCESS && rc != HG_NOENTRY)
            return rc;
    }
    amg_addr_init_from(cls, route, peer, ret_addr);
    return HG_SUCCESS;
}

void amg_addr_init_copy(const struct hg_addr *other, struct hg_addr *ret_addr)
{
    *ret_addr = *other;
    ret_addr->is_users = false;
    ret_addr->is_borrowed = false;
    if (other->peer != NULL)
        ret_addr->peer = addr_ops(other)->hold(other->peer);
}

void amg_addr_keep(struct hg_addr *addr)
{
    if (!addr->is_borrowed)
        return;
    addr->peer = addr_ops(addr)->hold(addr->peer);
    addr->is_borrowed = false;
}

void amg_addr_fini(struct hg_addr *addr)
{
    if (addr->peer == NULL)
        return;
    if (!addr->is_borrowed)
        addr_ops(addr)->drop(addr_domain(addr), addr->peer);
    addr->peer = NULL;
}

hg_return_t amg_addr_create(
    const struct hg_addr *value, struct hg_addr **ret_addr)
{
    struct hg_addr *addr =
        amg_attic_get(&attic, _Alignof(struct hg_addr), sizeof(*addr));

    if (addr == NULL)
        return HG_NOMEM;
    amg_addr_init_copy(value, addr);
    addr->is_users = true;
    amg_class_count(addr->cls, AMG_CLASS_ADDRS, 1);
    *ret_addr = addr;
    return HG_SUCCESS;
}

void amg_addr_destroy(struct hg_addr *addr)
{
    hg_class_t *cls = addr->cls;

    AMG_ASSERT(addr->is_users);
    amg_addr_fini(addr);
    addr->cls = NULL;
    amg_attic_put(&attic, addr);
    amg_class_count(cls, AMG_CLASS_ADDRS, -1);
}

/* Does `text` begin with a scheme of the driver? Only then is it asked to read
 * it, so that a string of one driver is no mistake to be logged by others. */
static bool text_is_of(const char *text, const struct amg_transport *transport)
{
    const struct amg_transport *const one[] = {transport, NULL};

    return amg_registry_find(one, text) != NULL;
}

hg_return_t amg_addr_parse(
    hg_class_t *cls, const char *text, struct hg_addr *ret_addr)
{
    unsigned route = 0;

    for (route = 0; route < AMG_ROUTE_COUNT; route++) {
        struct amg_domain *domain = cls->domains[route];
        struct amg_peer *peer = NULL;
        hg_return_t rc = HG_SUCCESS;

        if (domain == NULL || !text_is_of(text, domain->transport))
            continue;
        rc = domain->transport->addr.parse(domain, text, &peer);
        if (rc != HG_SUCCESS)
            return rc;
        rc = amg_addr_init(cls, route, peer, ret_addr);
        domain->transport->addr.drop(domain, peer);
        return rc;
    }
    AMG_LOG_ERROR("addr",
        "address '%s': no transport of this class understands it (it was "
        "opened with %s)",
        text, cls->domains[cls->plan.main_route]->transport->schemes);
    return strstr(text, "://") == NULL ? HG_INVALID_ARG : HG_PROTONOSUPPORT;
}

/* The peer of the main route, without a reference; not for the loopback. */
static struct amg_peer *main_peer_find(const struct hg_addr *addr)
{
    if (addr->route == addr->cls->plan.main_route)
        return addr->peer;
    return amg_route_map_main_peer(addr->cls, addr->route, addr->peer);
}

struct amg_peer *amg_addr_main_peer(const struct hg_addr *addr)
{
    unsigned main_route = addr->cls->plan.main_route;
    struct amg_domain *domain = addr->cls->domains[main_route];
    struct amg_peer *peer = NULL;

    if (addr->route == AMG_ROUTE_SELF && main_route != AMG_ROUTE_SELF)
        return domain->transport->addr.self(domain);
    peer = main_peer_find(addr);
    return peer == NULL ? NULL : domain->transport->addr.hold(peer);
}

hg_return_t amg_addr_format(
    const struct hg_addr *addr, char *ret_text, size_t *len)
{
    struct amg_domain *domain = addr_domain(addr);
    struct amg_peer *peer = amg_addr_main_peer(addr);
    hg_return_t rc = HG_SUCCESS;

    /* Others know a process by the main route, if it has one. */
    if (peer == NULL)
        return domain->transport->addr.format(
            domain, addr->peer, ret_text, len);
    domain = addr->cls->domains[addr->cls->plan.main_route];
    rc = domain->transport->addr.format(domain, peer, ret_text, len);
    domain->transport->addr.drop(domain, peer);
    return rc;
}

const char *amg_addr_text(const struct hg_addr *addr, char *room, size_t len)
{
    if (amg_addr_format(addr, room, &len) != HG_SUCCESS)
        return "?";
    return room;
}

/* The same process by two routes? */
static bool addr_is_same_rank(
    const struct hg_addr *one, const struct hg_addr *other)
{
    struct amg_domain *domain = one->cls->domains[one->cls->plan.main_route];
    struct amg_peer *main_peer = NULL;
    struct amg_peer *other_peer = NULL;

    if (one->route == AMG_ROUTE_SELF || other->route == AMG_ROUTE_SELF)
        return false;
    main_peer = main_peer_find(one);
    other_peer = main_peer_find(other);
    return main_peer != NULL && other_peer != NULL &&
           domain->transport->addr.is_same(domain, main_peer, other_peer);
}

bool amg_addr_is_same(const struct hg_addr *one, const struct hg_addr *other)
{
    if (one->cls != other->cls)
        return false;
    if (one->peer == NULL || other->peer == NULL)
        return one->peer == other->peer;
    if (one->route != other->route)
        return addr_is_same_rank(one, other);
    return addr_ops(one)->is_same(addr_domain(one), one->peer, other->peer);
}
