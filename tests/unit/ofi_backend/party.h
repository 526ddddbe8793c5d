/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that meet over tcp, all within the test: a domain of the driver
 * with one endpoint for each. */
#ifndef TEST_OFI_BACKEND_PARTY_H
#define TEST_OFI_BACKEND_PARTY_H

#include <stdint.h>

#include "transport/transport.h"

/* One of them, as far as it and the others can tell. */
struct party {
    struct amg_domain *domain; /* NULL: not open */
    struct amg_ep *ep;         /* of context 0; NULL: closed */
};

/* `credits`: 0 takes the default. */
void party_open(struct party *party, uint32_t credits, uint32_t contexts);

/* Closes the endpoint, unless it is; returns how many operations ended so. */
unsigned party_leave(struct party *party);
/* The domain, too. */
unsigned party_close(struct party *party);

/* `other`, as `party` knows it, with a share. */
struct amg_peer *party_meet(
    const struct party *party, const struct party *other);

#endif
