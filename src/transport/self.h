/* SPDX-License-Identifier: BSD-3-Clause */
/* Loopback: calls and transfers of a process to itself. */
#ifndef AMG_TRANSPORT_SELF_H
#define AMG_TRANSPORT_SELF_H

#include "transport/transport.h"

extern const struct amg_transport amg_self_transport;

/* Is `key` that of memory which this domain exposes now, with these segments?
 * Then the segments are addresses of this process. */
bool amg_self_mem_is(const struct amg_domain *domain, const struct amg_key *key,
    const struct amg_segment *segments, uint32_t count);

#endif
