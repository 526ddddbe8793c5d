/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on demand while a rank tortures the library: calls that the library
 * makes to the system, MPI and libfabric fail, by tests/fault/inject, which is
 * preloaded. */
#ifndef TESTS_TORTURE_FAULTS_H
#define TESTS_TORTURE_FAULTS_H

#include <stdbool.h>

#include "world.h"

/* False: tests/fault/inject is not there. From now on lines of the log count.
 */
bool faults_start(void);
/* Before a class opens. */
void faults_open(void);
/* From now on one in so many calls fails, as the options say, or none. */
void faults_arm(const struct world *world);
void faults_disarm(void);
/* All ranks have closed: nothing is left, and calls that vanished are in the
 * log. */
void faults_closed(struct world *world);
/* After the books were compared: one-way calls that vanished are in the log of
 * a rank. */
void faults_compare(struct world *world);

/* Long answers that stay with their target, as the log of this rank says: there
 * was no memory to acknowledge them. */
long faults_kept(void);

/* Whether a call may fail or end with that code because of a fault. */
bool faults_may_be(const struct world *world, int code);
/* True: a fault made a call fail that had no effect; make it again. */
bool faults_again(const struct world *world, hg_return_t rc);

#endif
