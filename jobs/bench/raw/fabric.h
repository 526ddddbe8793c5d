/* SPDX-License-Identifier: BSD-3-Clause */
/* Controls by plain calls of libfabric between the same two ranks, over the
 * stack of providers that the class uses. */
#ifndef BENCH_FABRIC_H
#define BENCH_FABRIC_H

#include "jobs/bench/frame/duel.h"

/* Does libfabric carry the calls? If not, the batches below must not be run. */
bool fabric_is_way(const struct pair *pair);
/* By both ranks: opens the control now, instead of in its first batch. */
void fabric_open(struct pair *pair);
/* Called by pair_close(), or after fabric_open(). Accepts NULL. */
void fabric_close(struct fabric *fabric);

#define FABRIC_TRIP_TEXT                                                       \
    "round trip of tagged messages of libfabric, the receives posted before, " \
    "fi_cq_read until they are there: the same bytes there (8 for the null "   \
    "call), 8 bytes back"
double fabric_trip(struct pair *pair, struct duel *duel);

#define FABRIC_RATE_TEXT                                                       \
    "24 B requests and 24 B replies by tagged messages of libfabric, as many " \
    "in flight: fi_tinject and fi_trecv for each, fi_cq_read of 16 at once"
double fabric_rate(struct pair *pair, struct duel *duel);

/* duel->arg is a struct bulk. */
#define FABRIC_BULK_TEXT                                                       \
    "fi_read (pull), or a write that ends when the bytes are there "           \
    "(FI_DELIVERY_COMPLETE; push), of the same size, as many in flight; the "  \
    "target in fi_cq_read"
double fabric_bulk(struct pair *pair, struct duel *duel);

#endif
