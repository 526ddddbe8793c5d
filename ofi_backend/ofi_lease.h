/* SPDX-License-Identifier: BSD-3-Clause */
/* Leases of peers' memory: the right to access it by reads and writes of the
 * provider. */
#ifndef AMG_OFI_BACKEND_OFI_LEASE_H
#define AMG_OFI_BACKEND_OFI_LEASE_H

#include "ofi_backend/ofi_msg.h"

enum amg_ofi_lease_state {
    AMG_OFI_LEASE_ASKED, /* waits for all its rows */
    AMG_OFI_LEASE_OPEN,  /* may be used */
    AMG_OFI_LEASE_ENDED, /* revoked: accesses in flight may finish, none begins
                          */
    AMG_OFI_LEASE_STATES
};

/* Lives while a transfer uses it, and for some time after. */
struct amg_ofi_lease {
    struct amg_link link;  /* on its peer's list */
    struct amg_link idle;  /* on the domain's list while nobody uses it */
    struct amg_peer *peer; /* a reference */
    enum amg_ofi_lease_state state;
    struct amg_ofi_key key;
    uint32_t cookie; /* ours */
    uint32_t id;     /* the exposer's */
    uint8_t context; /* whom it was asked of */
    uint8_t flags;   /* of enum amg_mem_flags */
    bool is_gone;    /* the peer is: there is nobody to return it to */
    bool is_kept;    /* such a one was asked for before: worth keeping */
    uint32_t count;  /* rows, of which */
    uint32_t got;    /* so many have come, and */
    uint32_t cap;    /* for so many there is room */
    uint32_t users;  /* transfers */
    unsigned idle_tick;
    struct amg_list waiting;      /* transfers, until it is open */
    struct amg_segment *segments; /* as the provider calls them there */
    uint64_t *keys;
};

/* One for `key` of memory of `peer`, perhaps still to be granted, which the
 * caller uses until amg_ofi_lease_put_locked(). HG_NOMEM. */
hg_return_t amg_ofi_lease_get_locked(struct amg_peer *peer, uint8_t context,
    uint8_t target_context, const struct amg_ofi_key *key,
    struct amg_ofi_lease **ret_lease);
void amg_ofi_lease_put_locked(struct amg_ofi_lease *lease);

/* May the memory be accessed at once? */
bool amg_ofi_lease_is_open_locked(
    const struct amg_peer *peer, const struct amg_ofi_key *key);
/* Is this the first access, as far as recorded? Records it. */
bool amg_ofi_lease_is_new_locked(
    struct amg_peer *peer, const struct amg_ofi_key *key);

/* Handlers of messages. Each returns the lease if the transfers that wait for
 * it, or use it, are to be told; the caller then uses the lease, too. `ret`:
 * HG_SUCCESS, or why the lease is not open. */
struct amg_ofi_lease *amg_ofi_lease_granted_locked(
    const struct amg_ofi_message *message, hg_return_t *ret);
struct amg_ofi_lease *amg_ofi_lease_denied_locked(
    const struct amg_ofi_message *message, hg_return_t *ret);
struct amg_ofi_lease *amg_ofi_lease_revoked_locked(
    const struct amg_ofi_message *message);

/* The peer is lost. */
void amg_ofi_lease_lost_locked(struct amg_peer *peer);
/* After some time: returns leases that were not used since. */
void amg_ofi_lease_tick_locked(struct amg_ofi_domain *domain);
/* The domain closes: returns all idle leases. */
void amg_ofi_lease_return_all_locked(struct amg_ofi_domain *domain);

#endif
