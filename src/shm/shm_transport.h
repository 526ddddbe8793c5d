/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared-memory driver: its operations table, and the identifiers by which the
 * ranks of a node find each other. */
#ifndef AMG_SHM_SHM_TRANSPORT_H
#define AMG_SHM_SHM_TRANSPORT_H

#include "shm/shm_ring.h"
#include "transport/transport.h"

/* Identifier of a domain: plain bytes, valid on this node. */
struct amg_shm_id {
    char name[AMG_SHM_NAME_CAP];
    uint64_t incarnation; /* the random number in its segment */
};

/* `domain` is one that amg_shm_transport opened. */
void amg_shm_node_id(
    const struct amg_domain *domain, struct amg_shm_id *ret_id);

/* Maps the segment of that name and checks its incarnation; the peer comes with
 * a reference. HG_ADDRNOTAVAIL: no such segment here, or another one of that
 * name (containers share a node, but not its memory); HG_NOMEM; HG_NA_ERROR. */
hg_return_t amg_shm_node_find(struct amg_domain *domain,
    const struct amg_shm_id *id, struct amg_peer **ret_peer);

/* Whether this process may open the peer's descriptors through /proc. */
bool amg_shm_node_is_open_to_us(
    const struct amg_domain *domain, const struct amg_peer *peer);
/* Removes the name of the segment of `domain`, before it has a context. All
 * peers have mapped it and may open our descriptors. So a job that is killed
 * later leaves nothing in the file system. */
void amg_shm_node_unname(struct amg_domain *domain);

extern const struct amg_transport amg_shm_transport;

/* Removes the files that dead processes left in /dev/shm. */
void amg_shm_cleanup(void);

#endif
