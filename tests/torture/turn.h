/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: each turn takes one of the ways that the API offers. */
#ifndef TESTS_TORTURE_TURN_H
#define TESTS_TORTURE_TURN_H

#include "world.h"

/* Progress and callbacks of all contexts, and what is due later. */
void turn(struct world *world);
/* The same by a thread that waits for an answer: sometimes a long time. */
void turn_await(struct world *world);
/* A little of them, inside of a handler. */
void turn_inside(hg_context_t *context);

#endif
