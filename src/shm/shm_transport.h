/* SPDX-License-Identifier: BSD-3-Clause */
/* Driver of shared memory, as the rest of the library sees it: its operations
 * table, and what the ranks of a node tell each other to meet in it. */
#ifndef AMG_SHM_SHM_TRANSPORT_H
#define AMG_SHM_SHM_TRANSPORT_H

#include "shm/shm_ring.h"
#include "transport/transport.h"

/* Who a domain is: plain bytes, valid on this node. */
struct amg_shm_id {
    char name[AMG_SHM_NAME_CAP];
    uint64_t incarnation; /* the random word in its segment */
};

/* `domain` is one that amg_shm_transport opened. */
void amg_shm_node_id(
    const struct amg_domain *domain, struct amg_shm_id *ret_id);

/* Maps the segment of that name and reads its word back; the peer comes with a
 * share. HG_ADDRNOTAVAIL: there is no such segment here, or it is another one's
 * (containers share a node, but not its memory); HG_NOMEM; HG_NA_ERROR. */
hg_return_t amg_shm_node_find(struct amg_domain *domain,
    const struct amg_shm_id *id, struct amg_peer **ret_peer);

/* May we open what that peer has open, whatever name it has? */
bool amg_shm_node_is_open_to_us(
    const struct amg_domain *domain, const struct amg_peer *peer);
/* Takes the name away from the segment of `domain`, before it has a context:
 * all that need it have mapped it, and may open what we have open. So nothing
 * is left in the file system by a job that is killed from now on. */
void amg_shm_node_unname(struct amg_domain *domain);

extern const struct amg_transport amg_shm_transport;

/* Removes what processes that died left in /dev/shm. */
void amg_shm_cleanup(void);

#endif
