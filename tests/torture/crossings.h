/* SPDX-License-Identifier: BSD-3-Clause */
/* Crossings that a run visits: kind of traffic, copy path and state of credits.
 * Kinds are those of calls, with the length of what they move. The path and the
 * credits are those that the environment asks for. */
#ifndef TESTS_TORTURE_CROSSINGS_H
#define TESTS_TORTURE_CROSSINGS_H

#include "world.h"

void crossings_count(struct world *world, const struct plan_call *call);
/* Rank 0 writes the line of all ranks, which all call it. */
void crossings_write(struct exchange *exchange, const char *transport);

#endif
