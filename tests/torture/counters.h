/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of the classes, compared over all ranks when nothing is under way:
 * what was sent has arrived. */
#ifndef TESTS_TORTURE_COUNTERS_H
#define TESTS_TORTURE_COUNTERS_H

#include "world.h"

/* All ranks call it. */
void counters_compare(struct world *world);

#endif
