/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: a peer and the route that leads to it. */
#include "core/addr.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/pool.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/route_map.h"
#include "mercury_address.h"
#include "transport/registry.h"

static struct amg_attic attic; /* addresses of the program */

static const struct amg_addr_ops *addr_ops(const struct hg_addr *addr)
{
    return &addr->cls->domains[addr->route]->transport->addr;
}

static struct amg_domain *addr_domain(const struct hg_addr *addr)
{
    return addr->cls->domains[addr->route];
}

/* Fills in an address that takes over a reference to `peer`. */
static void addr_fill(hg_class_t *cls, unsigned route, struct amg_peer *peer,
    struct hg_addr *ret_addr)
{
    amg_addr_borrow(cls, route, peer, ret_addr);
    ret_addr->is_borrowed = false;
}

void amg_addr_init_self(hg_class_t *cls, struct hg_addr *ret_addr)
{
    unsigned route =
        cls->plan.no_loopback ? cls->plan.main_route : AMG_ROUTE_SELF;
    struct amg_domain *domain = cls->domains[route];

    addr_fill(cls, route, domain->transport->addr.self(domain), ret_addr);
}

void amg_addr_init_from(hg_class_t *cls, unsigned route, struct amg_peer *peer,
    struct hg_addr *ret_addr)
{
    addr_fill(
        cls, route, cls->domains[route]->transport->addr.ref(peer), ret_addr);
}

hg_return_t amg_addr_init(hg_class_t *cls, unsigned route,
    struct amg_peer *peer, struct hg_addr *ret_addr)
{
    struct amg_domain *domain = cls->domains[route];
    hg_return_t rc = HG_NOENTRY;

    if (route != AMG_ROUTE_SELF &&
        domain->transport->addr.is_self(domain, peer)) {
        amg_addr_init_self(cls, ret_addr);
        return HG_SUCCESS;
    }
    if (route == cls->plan.main_route)
        rc = amg_route_map_find(cls, peer, &route, &peer);
    if (rc == HG_SUCCESS)
        addr_fill(cls, route, peer, ret_addr);
    if (rc != HG_NOENTRY)
        return rc;
    amg_addr_init_from(cls, route, peer, ret_addr);
    return HG_SUCCESS;
}

hg_return_t amg_addr_init_rank(
    hg_class_t *cls, uint32_t rank, struct hg_addr *ret_addr)
{
    struct amg_peer *peer = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (cls->ranks == NULL) { /* HG_Init("self"): the only rank */
        amg_addr_init_self(cls, ret_addr);
        return HG_SUCCESS;
    }
    rc = cls->ranks->peer(cls->domains[cls->plan.main_route], rank, &peer);
    return rc == HG_SUCCESS
               ? amg_addr_init(cls, cls->plan.main_route, peer, ret_addr)
               : rc;
}

void amg_addr_lose_rank(hg_class_t *cls, uint32_t rank)
{
    struct amg_domain *domain = cls->domains[cls->plan.main_route];
    struct amg_peer *peer = NULL;
    struct hg_addr near;

    if (cls->ranks->peer(domain, rank, &peer) == HG_SUCCESS)
        domain->transport->domain.lost(domain, peer);
    if (amg_addr_init_rank(cls, rank, &near) != HG_SUCCESS)
        return;
    domain = cls->domains[near.route];
    domain->transport->domain.lost(domain, near.peer);
    amg_addr_fini(&near);
}

void amg_addr_init_copy(const struct hg_addr *other, struct hg_addr *ret_addr)
{
    *ret_addr = *other;
    ret_addr->is_users = false;
    ret_addr->is_borrowed = false;
    if (other->peer != NULL)
        ret_addr->peer = addr_ops(other)->ref(other->peer);
}

void amg_addr_unref(const struct hg_addr *addr)
{
    addr_ops(addr)->unref(addr_domain(addr), addr->peer);
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

static void addr_destroy(struct hg_addr *addr)
{
    hg_class_t *cls = addr->cls;

    AMG_ASSERT(addr->is_users);
    amg_addr_fini(addr);
    addr->cls = NULL;
    amg_attic_put(&attic, addr);
    amg_class_count(cls, AMG_CLASS_ADDRS, -1);
}

/* Does `text` begin with a scheme of the driver? Only that driver parses the
 * text: other drivers would log an error about an unknown scheme. */
static bool text_is_of(const char *text, const struct amg_transport *transport)
{
    const struct amg_transport *const one[] = {transport, NULL};

    return amg_registry_find(one, text) != NULL;
}

hg_return_t amg_addr_parse(
    hg_class_t *cls, const char *text, struct hg_addr *ret_addr)
{
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++) {
        struct amg_domain *domain = cls->domains[route];
        struct amg_peer *peer = NULL;
        hg_return_t rc = HG_SUCCESS;

        if (domain == NULL || !text_is_of(text, domain->transport))
            continue;
        rc = domain->transport->addr.parse(domain, text, &peer);
        if (rc != HG_SUCCESS)
            return rc;
        rc = amg_addr_init(cls, route, peer, ret_addr);
        domain->transport->addr.unref(domain, peer);
        return rc;
    }
    AMG_LOG_ERROR("addr",
        "address '%s': no transport of this class understands it (it was "
        "opened with %s)",
        text, cls->domains[cls->plan.main_route]->transport->schemes);
    return strstr(text, "://") == NULL ? HG_INVALID_ARG : HG_PROTONOSUPPORT;
}

/* The peer by which the main route reaches the process of `addr`, with a
 * reference. NULL: the main route does not reach that process. */
static struct amg_peer *main_peer_ref(const struct hg_addr *addr)
{
    const hg_class_t *cls = addr->cls;
    struct amg_domain *domain = cls->domains[cls->plan.main_route];
    struct amg_peer *peer = addr->peer;
    uint32_t rank = 0;

    if (addr->route == cls->plan.main_route)
        return domain->transport->addr.ref(peer);
    if (addr->route == AMG_ROUTE_SELF)
        return domain->transport->addr.self(domain);
    rank = amg_route_map_rank(cls, addr->route, peer);
    if (rank == UINT32_MAX ||
        cls->ranks->peer(domain, rank, &peer) != HG_SUCCESS)
        return NULL;
    return domain->transport->addr.ref(peer);
}

int amg_addr_rank(const struct hg_addr *addr)
{
    const hg_class_t *cls = addr->cls;
    struct amg_domain *domain = cls->domains[cls->plan.main_route];
    struct amg_peer *peer = NULL;
    uint32_t rank = UINT32_MAX;

    if (cls->ranks == NULL)
        return -1;
    if (addr->route == cls->plan.main_route) {
        rank = cls->ranks->rank(domain, addr->peer);
    } else if (addr->route == AMG_ROUTE_SELF) {
        peer = domain->transport->addr.self(domain);
        rank = cls->ranks->rank(domain, peer);
        domain->transport->addr.unref(domain, peer);
    } else {
        rank = amg_route_map_rank(cls, addr->route, addr->peer);
    }
    return rank == UINT32_MAX ? -1 : (int)rank;
}

hg_return_t amg_addr_format(
    const struct hg_addr *addr, char *ret_text, size_t *len)
{
    struct amg_domain *domain = addr_domain(addr);
    struct amg_peer *peer = main_peer_ref(addr);
    hg_return_t rc = HG_SUCCESS;

    /* Other processes know a process by its address of the main route. */
    if (peer == NULL)
        return domain->transport->addr.format(
            domain, addr->peer, ret_text, len);
    domain = addr->cls->domains[addr->cls->plan.main_route];
    rc = domain->transport->addr.format(domain, peer, ret_text, len);
    domain->transport->addr.unref(domain, peer);
    return rc;
}

const char *amg_addr_text(const struct hg_addr *addr, char *room, size_t len)
{
    if (amg_addr_format(addr, room, &len) != HG_SUCCESS)
        return "?";
    return room;
}

/* Are two addresses of different routes, except the loopback, of one rank? */
static bool addr_is_same_rank(
    const struct hg_addr *one, const struct hg_addr *other)
{
    int rank = amg_addr_rank(one);

    return one->route != AMG_ROUTE_SELF && other->route != AMG_ROUTE_SELF &&
           rank >= 0 && rank == amg_addr_rank(other);
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

enum { TEXT_CAP = 512 /* bytes for an address in a log line */ };

/* A lookup whose callback is queued. Owned by the queue. */
struct lookup {
    struct amg_cq_entry entry;
    hg_cb_t callback;
    struct hg_cb_info info;
    hg_context_t *context;
};

static void lookup_run(struct amg_cq_entry *entry)
{
    struct lookup *lookup = amg_container_of(entry, struct lookup, entry);
    hg_context_t *context = lookup->context;

    lookup->callback(&lookup->info);
    amg_mem_free(lookup);
    amg_context_leave(context);
}

hg_return_t HG_Addr_lookup1(hg_context_t *context, hg_cb_t callback, void *arg,
    const char *name, hg_op_id_t *op_id)
{
    struct lookup *lookup = NULL;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTEXT_OK(context) || !AMG_GIVEN(callback) || !AMG_GIVEN(name))
        return amg_refusal();
    lookup = amg_mem_zalloc(sizeof(*lookup));
    if (lookup == NULL)
        return HG_NOMEM;
    rc = HG_Addr_lookup2(context->cls, name, &addr);
    if (rc != HG_SUCCESS) {
        amg_mem_free(lookup);
        return rc;
    }
    lookup->entry.run = lookup_run;
    lookup->entry.is_incoming = amg_role.is_serving;
    lookup->callback = callback;
    lookup->context = context;
    lookup->info.arg = arg;
    lookup->info.type = HG_CB_LOOKUP;
    lookup->info.ret = HG_SUCCESS;
    lookup->info.info.lookup.addr = addr;
    if (op_id != NULL && op_id != HG_OP_ID_IGNORE)
        *op_id = HG_OP_ID_NULL; /* the lookup has ended: nothing to cancel */
    amg_context_enter(context);
    amg_context_queue(context, &lookup->entry);
    return HG_SUCCESS;
}

hg_return_t HG_Addr_lookup2(
    hg_class_t *hg_class, const char *name, hg_addr_t *addr)
{
    struct hg_addr value;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(name) || !AMG_GIVEN(addr))
        return amg_refusal();
    rc = amg_addr_parse(hg_class, name, &value);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_addr_create(&value, addr);
    amg_addr_fini(&value);
    return rc;
}

hg_return_t HG_Addr_free(hg_class_t *hg_class, hg_addr_t addr)
{
    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal_end();
    if (addr == HG_ADDR_NULL)
        return HG_SUCCESS;
    if (!AMG_ADDR_OK(addr) ||
        !AMG_CONTRACT(addr->cls == hg_class, "the address is of another class"))
        return amg_refusal_end();
    if (!addr->is_users) {
        AMG_LOG_ERROR("addr",
            "this address belongs to a handle (HG_Get_info()); to keep one, "
            "HG_Addr_dup() it");
        return HG_INVALID_ARG;
    }
    addr_destroy(addr);
    return HG_SUCCESS;
}

hg_return_t HG_Addr_set_remove(hg_class_t *hg_class, hg_addr_t addr)
{
    if (!AMG_CLASS_OK(hg_class) || !AMG_ADDR_OK(addr))
        return amg_refusal();
    return HG_SUCCESS; /* a hint, which no transport uses */
}

hg_return_t HG_Addr_self(hg_class_t *hg_class, hg_addr_t *addr)
{
    struct hg_addr value;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(addr))
        return amg_refusal();
    amg_addr_init_self(hg_class, &value);
    rc = amg_addr_create(&value, addr);
    amg_addr_fini(&value);
    return rc;
}

hg_return_t HG_Addr_dup(
    hg_class_t *hg_class, hg_addr_t addr, hg_addr_t *new_addr)
{
    if (!AMG_CLASS_OK(hg_class) || !AMG_ADDR_OK(addr) || !AMG_GIVEN(new_addr))
        return amg_refusal();
    if (!AMG_CONTRACT(addr->cls == hg_class, "the address is of another class"))
        return HG_INVALID_ARG;
    return amg_addr_create(addr, new_addr);
}

uint8_t HG_Addr_cmp(hg_class_t *hg_class, hg_addr_t addr1, hg_addr_t addr2)
{
    if (!AMG_CLASS_OK(hg_class))
        return HG_FALSE;
    if (addr1 == HG_ADDR_NULL || addr2 == HG_ADDR_NULL)
        return addr1 == addr2;
    return amg_addr_is_same(addr1, addr2);
}

/* Programs forget to set *buf_size before HG_Addr_to_string(). */
static void overflow_log(hg_addr_t addr, size_t room, size_t len)
{
    char text[TEXT_CAP];

    AMG_LOG_WARNING("addr",
        "%zu bytes are too few for the address '%s', which needs %zu; was "
        "*buf_size set before HG_Addr_to_string()?",
        room, amg_addr_text(addr, text, sizeof(text)), len);
}

hg_return_t HG_Addr_to_string(
    hg_class_t *hg_class, char *buf, hg_size_t *buf_size, hg_addr_t addr)
{
    size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(buf_size) || !AMG_GIVEN(addr) ||
        !AMG_CONTRACT(addr->cls == hg_class, "the address is of another class"))
        return amg_refusal();
    len = buf == NULL ? 0 : *buf_size;
    rc = amg_addr_format(addr, buf, &len);
    if (rc == HG_OVERFLOW && buf != NULL)
        overflow_log(addr, *buf_size, len);
    if (rc == HG_SUCCESS || rc == HG_OVERFLOW)
        *buf_size = len;
    return buf == NULL && rc == HG_OVERFLOW ? HG_SUCCESS : rc;
}
