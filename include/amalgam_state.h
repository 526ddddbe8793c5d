/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a class: the work that is under way. For a person whose job makes no
 * progress, and for tests.
 *
 * For classes of HG_Init(), of amalgam_init() and of Margo (margo_get_class());
 * needs no MPI. */
#ifndef AMALGAM_STATE_H
#define AMALGAM_STATE_H

#include <stdio.h>

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Write what a class has under way with each peer, and count it.
 *
 * Writes a line for each context, peer and transport with something under way:
 * callbacks that wait for HG_Trigger(), calls of the peer that have not ended,
 * requests that wait for their RPC or for room, calls without an answer,
 * requests that wait for a credit, credits owed to a peer, messages that wait
 * for room, message buffers that a peer has or that this process holds,
 * transfers, accesses of peers. Each line names this process and the peer, by
 * rank or address. The last line has the sum, and the number of peers with
 * nothing under way. The sum leaves out addresses, bulk handles, and handles of
 * own calls that are not in flight. But a handle keeps the message of its
 * answer until HG_Destroy(), HG_Reset() or its next call, and the sum includes
 * such messages. One call may count as several things.
 *
 * Lines are not written at the same moment: with calls under way, a thing that
 * moves meanwhile may be counted twice or not at all.
 *
 * @param hg_class  [in]  any class
 * @param out       [in]  where to write; NULL: counts only
 * @return the number of things under way; 0: the class is idle, or is being
 *         closed
 * Owns:      `out` stays the caller's, and is neither flushed nor closed.
 * Errors:    (size_t)-1: hg_class is NULL, or was closed before; the log says
 *            so.
 * Threads:   any thread; never blocks for long. Sends nothing, and makes no
 *            progress. `out` is written with no lock held. With `out` the call
 *            takes 128 KiB of memory until it returns; if that memory is not
 *            there or is full, lines are left out, and the last line says so.
 *            The destruction of a class or context waits for the report, or
 *            the report leaves that class or context out.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC size_t amalgam_write_state(hg_class_t *hg_class, FILE *out);

#ifdef __cplusplus
}
#endif

#endif
