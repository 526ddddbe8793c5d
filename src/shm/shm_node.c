/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a node tell each other, so as to meet in shared memory. */
#include "shm/shm_node.h"

#include <string.h>

#include "shm/shm_addr.h"
#include "shm/shm_domain.h"

void amg_shm_node_id(const struct amg_domain *base, struct amg_shm_id *ret_id)
{
    const struct amg_shm_region *region = &amg_shm_domain_of(base)->region;

    memset(ret_id, 0, sizeof(*ret_id));
    memcpy(ret_id->name, region->name, strlen(region->name));
    ret_id->incarnation = region->incarnation;
}

hg_return_t amg_shm_node_find(struct amg_domain *base,
    const struct amg_shm_id *id, struct amg_peer **ret_peer)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);
    struct amg_shm_peer *peer = NULL;
    hg_return_t rc = HG_SUCCESS;

    amg_bias_take(&domain->lock);
    rc = amg_shm_peer_find_locked(domain, id->name, id->incarnation, &peer);
    amg_bias_give(&domain->lock);
    if (rc == HG_SUCCESS)
        *ret_peer = amg_shm_peer_base(peer);
    return rc;
}

bool amg_shm_node_is_open_to_us(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    return amg_shm_region_is_open_to_us(
        &amg_shm_domain_of(domain)->region, &amg_shm_peer_of(peer)->region);
}

void amg_shm_node_unname(struct amg_domain *base)
{
    amg_shm_region_unname(&amg_shm_domain_of(base)->region);
}
