/* SPDX-License-Identifier: BSD-3-Clause */
/* Replacement of the control over libfabric in builds without the driver, in
 * which libfabric carries no class. */
#include "jobs/bench/raw/fabric.h"

bool fabric_is_way(const struct pair *pair)
{
    (void)pair;
    return false;
}

void fabric_open(struct pair *pair)
{
    (void)pair;
}

void fabric_close(struct fabric *fabric)
{
    (void)fabric;
}

double fabric_trip(struct pair *pair, struct duel *duel)
{
    (void)duel;
    pair_fail(pair, "this build has no control over libfabric");
}

double fabric_rate(struct pair *pair, struct duel *duel)
{
    return fabric_trip(pair, duel);
}

double fabric_bulk(struct pair *pair, struct duel *duel)
{
    return fabric_trip(pair, duel);
}
