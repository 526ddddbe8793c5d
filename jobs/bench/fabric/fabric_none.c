/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of the control over libfabric, where the build has no driver for
 * libfabric: no class is carried by it then. */
#include "jobs/bench/fabric/fabric.h"

bool fabric_is_way(const struct pair *pair)
{
    (void)pair;
    return false;
}

bool fabric_open(struct pair *pair, const char *stack)
{
    (void)pair;
    (void)stack;
    return false;
}

void fabric_close(struct fabric *fabric)
{
    (void)fabric;
}

static double refuse(const struct pair *pair)
{
    pair_fail(pair, "this build has no control over libfabric");
}

void fabric_prepare(struct pair *pair)
{
    (void)refuse(pair);
}

double fabric_pingpong(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    (void)duel;
    (void)ret_samples;
    return refuse(pair);
}

void fabric_pingpong_plain(struct pair *pair, unsigned calls)
{
    (void)calls;
    (void)refuse(pair);
}

double fabric_rate(struct pair *pair, struct duel *duel, double *ret_samples)
{
    (void)duel;
    (void)ret_samples;
    return refuse(pair);
}

double fabric_bulk(struct pair *pair, struct duel *duel, double *ret_samples)
{
    (void)duel;
    (void)ret_samples;
    return refuse(pair);
}
