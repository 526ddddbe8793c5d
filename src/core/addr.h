/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: a peer and the route that leads to it. */
#ifndef AMG_CORE_ADDR_H
#define AMG_CORE_ADDR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/class.h"

/* The user owns an address of amg_addr_create(); any other address is part of a
 * struct, or on a stack. An address holds a reference to its peer, unless
 * is_borrowed. Constant once made, until amg_addr_keep() or amg_addr_fini(). */
struct hg_addr {
    struct amg_link kept;  /* in the attic, once destroyed */
    hg_class_t *cls;       /* NULL: destroyed */
    struct amg_peer *peer; /* NULL: none yet, or dropped */
    uint8_t route;
    bool is_users;    /* made by amg_addr_create(), counted in the class */
    bool is_borrowed; /* an arrival holds the reference to the peer */
};

/* Checks an address passed in by the program. */
#define AMG_ADDR_OK(addr)                                                      \
    AMG_ALIVE((addr) != HG_ADDR_NULL && (addr)->cls != NULL, "address", (addr))

/* Fills `ret_addr` in place, for a peer of an open route. This process itself
 * gets the loopback route, or with no_loopback the main route; a peer of the
 * main route gets the route that the route map has for the peer. Takes a
 * reference. HG_NOMEM; HG_ADDRNOTAVAIL: that route cannot reach the peer. */
hg_return_t amg_addr_init(hg_class_t *cls, unsigned route,
    struct amg_peer *peer, struct hg_addr *ret_addr);
/* Fills `ret_addr` for the sender of an arrival, by its route. */
void amg_addr_init_from(hg_class_t *cls, unsigned route, struct amg_peer *peer,
    struct hg_addr *ret_addr);
/* amg_addr_init_from() without a reference: the address is valid while the
 * arrival exists, unless amg_addr_keep() takes a reference. */
static inline void amg_addr_borrow(hg_class_t *cls, unsigned route,
    struct amg_peer *peer, struct hg_addr *ret_addr)
{
    ret_addr->cls = cls;
    ret_addr->peer = peer;
    ret_addr->route = (uint8_t)route;
    ret_addr->is_users = false;
    ret_addr->is_borrowed = true;
}
/* Gives a borrowed address a reference of its own. */
static inline void amg_addr_keep(struct hg_addr *addr)
{
    if (addr->is_borrowed)
        addr->peer =
            addr->cls->domains[addr->route]->transport->addr.ref(addr->peer);
    addr->is_borrowed = false;
}
/* The process of another rank has died: tells the drivers that reach it. */
void amg_addr_lose_rank(hg_class_t *cls, uint32_t rank);
/* amg_addr_init() for a rank of the job. HG_INVALID_ARG: there is no such rank;
 * else as amg_addr_init(). */
hg_return_t amg_addr_init_rank(
    hg_class_t *cls, uint32_t rank, struct hg_addr *ret_addr);
/* A copy of `other`, with a reference of its own. */
void amg_addr_init_copy(const struct hg_addr *other, struct hg_addr *ret_addr);
/* Drops the reference to the peer. */
void amg_addr_unref(const struct hg_addr *addr);
/* Drops the reference of the address, if any, and forgets the peer. */
static inline void amg_addr_fini(struct hg_addr *addr)
{
    if (!addr->is_borrowed && addr->peer != NULL)
        amg_addr_unref(addr);
    addr->peer = NULL;
}

/* Creates an address for the user: a copy of `value`. HG_NOMEM. */
hg_return_t amg_addr_create(
    const struct hg_addr *value, struct hg_addr **ret_addr);

/* The address of this process, by the loopback route, or with no_loopback by
 * the main route. Takes a reference. */
void amg_addr_init_self(hg_class_t *cls, struct hg_addr *ret_addr);

/* Parses text by the open route that understands it. HG_INVALID_ARG,
 * HG_PROTONOSUPPORT (the transport is not open here), HG_ADDRNOTAVAIL. */
hg_return_t amg_addr_parse(
    hg_class_t *cls, const char *text, struct hg_addr *ret_addr);
/* The rank of the process in the job of the class; -1: not a rank. */
int amg_addr_rank(const struct hg_addr *addr);
/* Text for other processes: the address by the main route, if that route
 * reaches the process. Codes as for `format` of the contract. */
hg_return_t amg_addr_format(
    const struct hg_addr *addr, char *ret_text, size_t *len);
/* For log lines: always returns a text. */
const char *amg_addr_text(const struct hg_addr *addr, char *room, size_t len);

bool amg_addr_is_same(const struct hg_addr *one, const struct hg_addr *other);

static inline bool amg_addr_is_self(const struct hg_addr *addr)
{
    return addr->route == AMG_ROUTE_SELF;
}

#endif
