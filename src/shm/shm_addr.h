/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers of a domain: their references and address strings. */
#ifndef AMG_SHM_SHM_ADDR_H
#define AMG_SHM_SHM_ADDR_H

#include "shm/shm_domain.h"

/* Protocol violations of a peer; each is logged once. */
enum amg_shm_fault {
    AMG_SHM_FAULT_FORM,    /* a cell of unknown kind or wrong length */
    AMG_SHM_FAULT_CREDITS, /* it returned more credits than it was given */
    AMG_SHM_FAULT_ANSWER,  /* a reply without a call */
    AMG_SHM_FAULT_ACCESS,  /* a refused put or get */
};

/* Creates the peer that stands for this domain itself. */
hg_return_t amg_shm_addr_init(struct amg_shm_domain *domain);
/* Frees all peers; nothing is in flight any more. */
void amg_shm_addr_fini(struct amg_shm_domain *domain);

/* The peer of that name and incarnation (0: any living one), with a reference.
 * HG_ADDRNOTAVAIL: no peer has that name; HG_NOMEM; HG_AGAIN: no descriptor is
 * left at the moment; HG_PROTOCOL_ERROR; HG_NA_ERROR. NOTE(why): it makes
 * system calls under the lock, because two threads must not map one peer twice;
 * it is rare. */
hg_return_t amg_shm_peer_find_locked(struct amg_shm_domain *domain,
    const char *name, uint64_t incarnation, struct amg_shm_peer **ret_peer);

/* Whether the peer is a class of this process, and so dies with it. */
static inline bool amg_shm_peer_is_own_process(const struct amg_shm_peer *peer)
{
    const struct amg_shm_region *own = &peer->domain->region;

    return peer->region.pid == own->pid && peer->region.pid_ns == own->pid_ns;
}

/* Stops watching for its death. */
void amg_shm_peer_unwatch_locked(struct amg_shm_peer *peer);

/* Frees the peer and all that belongs to it. */
void amg_shm_peer_free_locked(struct amg_shm_peer *peer);
bool amg_shm_peer_is_idle_locked(const struct amg_shm_peer *peer);

/* Frees it if it has no references and nothing is in flight. */
static inline void amg_shm_peer_reap_locked(struct amg_shm_peer *peer)
{
    if (!AMG_LIKELY(peer->shares > 0) && amg_shm_peer_is_idle_locked(peer))
        amg_shm_peer_free_locked(peer);
}

static inline void amg_shm_peer_drop_locked(struct amg_shm_peer *peer)
{
    peer->shares--;
    amg_shm_peer_reap_locked(peer);
}

/* Logs the fault if it is the first of its kind from the peer. */
void amg_shm_addr_blame(struct amg_shm_peer *peer, enum amg_shm_fault fault,
    unsigned kind, long number);

/* The slots of the contract. */
struct amg_peer *amg_shm_addr_self(struct amg_domain *domain);
struct amg_peer *amg_shm_addr_ref(struct amg_peer *peer);
void amg_shm_addr_unref(struct amg_domain *domain, struct amg_peer *peer);
bool amg_shm_addr_is_self(
    const struct amg_domain *domain, const struct amg_peer *peer);
bool amg_shm_addr_is_same(const struct amg_domain *domain,
    const struct amg_peer *one, const struct amg_peer *other);
hg_return_t amg_shm_addr_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len);
hg_return_t amg_shm_addr_parse(
    struct amg_domain *domain, const char *text, struct amg_peer **ret_peer);

#endif
