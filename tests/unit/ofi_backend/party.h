/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that are connected over tcp, all within the test: each is a domain
 * of the driver with one endpoint. */
#ifndef TEST_OFI_BACKEND_PARTY_H
#define TEST_OFI_BACKEND_PARTY_H

#include <stdint.h>

#include "transport/transport.h"

/* A process, as it and the others see it. */
struct party {
    struct amg_domain *domain; /* NULL: not open */
    struct amg_ep *ep;         /* of context 0; NULL: closed */
};

/* `credits`: 0 takes the default. */
void party_open(struct party *party, uint32_t credits, uint32_t contexts);

/* Closes the endpoint if it is open; returns the number of operations that this
 * ended. */
unsigned party_leave(struct party *party);
/* Closes the endpoint, then the domain. */
unsigned party_close(struct party *party);

/* `other`, as a peer of `party`, with a reference. */
struct amg_peer *party_meet(
    const struct party *party, const struct party *other);

#endif
