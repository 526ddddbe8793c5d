/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the fake drivers in the tests of routes: the loopback under
 * another name, with peers that count their references. */
#ifndef AMG_TESTS_ROUTE_DRIVER_H
#define AMG_TESTS_ROUTE_DRIVER_H

#include "core/route_map.h"
#include "transport/self.h"

struct amg_peer {
    int number;
    int shares;
};

static inline hg_return_t open_as(const struct amg_open *how,
    struct amg_domain **ret_domain, const struct amg_transport *transport)
{
    hg_return_t rc = amg_self_transport.domain.open(how, ret_domain);

    if (rc == HG_SUCCESS)
        (*ret_domain)->transport = transport;
    return rc;
}

static inline struct amg_peer *peer_ref(struct amg_peer *peer)
{
    peer->shares++;
    return peer;
}

static inline void peer_unref(struct amg_domain *domain, struct amg_peer *peer)
{
    (void)domain;
    peer->shares--;
}

static inline bool is_never(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    (void)domain;
    (void)peer;
    return false;
}

#endif
