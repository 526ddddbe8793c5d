/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: a peer and the route that leads to it. */
#ifndef AMG_CORE_ADDR_H
#define AMG_CORE_ADDR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/class.h"

/* Owned by the user when amg_addr_create() made it, else it lies in a handle
 * and lives as long as that. Has one share of its peer. Constant once made. */
struct hg_addr {
    struct amg_link kept;  /* the attic's, once it is gone */
    hg_class_t *cls;       /* NULL: it is gone */
    struct amg_peer *peer; /* NULL: none yet */
    uint8_t route;
    bool is_users;    /* made by amg_addr_create(), counted in the class */
    bool is_borrowed; /* the share is that of an arrival */
};

/* Is it one that is there? By the functions that programs call. */
#define AMG_ADDR_OK(addr)                                                      \
    AMG_ALIVE((addr) != HG_ADDR_NULL && (addr)->cls != NULL, "address", (addr))

/* Fills `ret_addr` in place, for a peer of an open route. A peer that is this
 * process itself is replaced by the loopback route, or with no_loopback by the
 * main one; one of the main route that is to be called by another one by that.
 * Takes a share. HG_NOMEM; HG_ADDRNOTAVAIL: that other one cannot reach it. */
hg_return_t amg_addr_init(hg_class_t *cls, unsigned route,
    struct amg_peer *peer, struct hg_addr *ret_addr);
/* The same for the sender of an arrival, which came by that very route. */
void amg_addr_init_from(hg_class_t *cls, unsigned route, struct amg_peer *peer,
    struct hg_addr *ret_addr);
/* The same, without a share of its own: for as long as the arrival is there, or
 * until amg_addr_keep(). */
static inline void amg_addr_borrow(hg_class_t *cls, unsigned route,
    struct amg_peer *peer, struct hg_addr *ret_addr)
{
    ret_addr->cls = cls;
    ret_addr->peer = peer;
    ret_addr->route = (uint8_t)route;
    ret_addr->is_users = false;
    ret_addr->is_borrowed = true;
}
/* Gives a borrowed one a share of its own. */
void amg_addr_keep(struct hg_addr *addr);
/* The same as `other`, with a share of its own. */
void amg_addr_init_copy(const struct hg_addr *other, struct hg_addr *ret_addr);
/* Ends the share; safe on one that has no peer. */
void amg_addr_fini(struct hg_addr *addr);

/* One for the user: a copy of `value`. HG_NOMEM. */
hg_return_t amg_addr_create(
    const struct hg_addr *value, struct hg_addr **ret_addr);
void amg_addr_destroy(struct hg_addr *addr);

/* This process, by the loopback route, or with no_loopback by the main one.
 * Takes a share. */
void amg_addr_init_self(hg_class_t *cls, struct hg_addr *ret_addr);

/* From text, by the open route that understands it. HG_INVALID_ARG,
 * HG_PROTONOSUPPORT (a transport this class has not open), HG_ADDRNOTAVAIL. */
hg_return_t amg_addr_parse(
    hg_class_t *cls, const char *text, struct hg_addr *ret_addr);
/* The same process as a peer of the main route, with a share, or NULL: it is
 * not reached that way. */
struct amg_peer *amg_addr_main_peer(const struct hg_addr *addr);
/* Text that others can parse: of the main route, also for this process. As
 * the contract's format. */
hg_return_t amg_addr_format(
    const struct hg_addr *addr, char *ret_text, size_t *len);
/* For log lines: always gives a text. */
const char *amg_addr_text(const struct hg_addr *addr, char *room, size_t len);

bool amg_addr_is_same(const struct hg_addr *one, const struct hg_addr *other);

static inline bool amg_addr_is_self(const struct hg_addr *addr)
{
    return addr->route == AMG_ROUTE_SELF;
}

#endif
