/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of a class: what it has done since it was opened.
 *
 * For classes of HG_Init(), of amalgam_init() and of Margo (margo_get_class());
 * needs no MPI. */
#ifndef AMALGAM_COUNTERS_H
#define AMALGAM_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A counter of a class. The texts live as long as the library. */
struct amalgam_counter {
    const char *name;    /* such as "calls_sent"; never changes */
    const char *unit;    /* of `value`, such as "calls" */
    const char *meaning; /* what is counted: a sentence or two */
    uint64_t value;      /* since the class was opened; only grows */
};

/**
 * Get all counters of a class, with their names, units and meanings.
 *
 * Counts what all contexts of the class did, also those that are destroyed. Two
 * calls and a subtraction tell what happened in between. The counters keep
 * their order; later versions of the library append others. Packed messages,
 * wake-ups of peers, credits and retries of an NA class count in each HG class
 * that uses the NA class. These exist:
 *
 * `calls_sent` (calls): calls made here, with and without an answer; also those
 * that pass calls to groups on.
 *
 * `calls_received` (calls): calls that came here.
 *
 * `answers_sent` (answers): answers to calls that came here.
 *
 * `answers_received` (answers): answers to calls made here.
 *
 * `long_calls` (calls): of calls_sent, those whose arguments did not fit into a
 * usual message.
 *
 * `long_answers` (answers): of answers_sent, those that did not fit.
 *
 * `long_bytes` (bytes): arguments of long_calls and long_answers.
 *
 * `packed_messages` (messages): messages that took several calls or answers.
 *
 * `packed_calls` (calls): calls and answers in packed_messages.
 *
 * `bulk_transfers` (transfers): transfers of the program: HG_Bulk_transfer(),
 * margo_bulk_transfer().
 *
 * `bulk_bytes` (bytes): data that bulk_transfers ask for.
 *
 * `waits` (waits): waits of HG_Progress(), HG_Trigger() and of Margo's loop
 * that found nothing to do at once.
 *
 * `sleeps` (sleeps): system calls in which a thread slept, while it waited for
 * a context; the other waits polled.
 *
 * `wakeups` (wakeups): system calls that woke a thread which waited for a
 * context: of this class, or over shared memory of a peer.
 *
 * `credits_short` (calls): calls that waited here, because their target had as
 * many calls of this process as it allows: see the option `credits`.
 *
 * `retries` (messages): messages that found no room in shared memory or in the
 * network, or no connection yet, and that the library sent later. None over
 * MPI, which takes every message.
 *
 * The bytes of usual messages are not counted: that would cost each small call.
 *
 * There are no MPI_T variables of these: in the MPI tool information interface
 * the MPI implementation alone decides which performance variables exist (MPI
 * 4.1, section 15.3), and no function of the standard adds one.
 *
 * @param hg_class  [in]   any class; NULL: only the texts, with values 0
 * @param counters  [out]  room for `count` counters; the others are not written
 * @param count     [in]   0: `counters` may be NULL
 * @return the number of counters that the library has; 0: an error
 * Owns:      nothing changes hands.
 * Errors:    0: hg_class was closed before, or counters is NULL and count is
 *            not 0; the log says which.
 * Threads:   any thread; never blocks. Exact if no other thread uses the class;
 *            else the latest events may be missing.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC size_t amalgam_counters(
    const hg_class_t *hg_class, struct amalgam_counter *counters, size_t count);

#ifdef __cplusplus
}
#endif

#endif
