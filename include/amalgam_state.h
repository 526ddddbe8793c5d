/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a class, for a person whose job stands, and for tests: the work that
 * is under way.
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
 * A line for each context, peer and transport with something that is not at
 * home: callbacks that wait for HG_Trigger(), calls of peers that have not
 * ended, requests that wait for their RPC or for room, calls without an answer,
 * requests that wait for a credit, credits owed to a peer, messages that wait
 * for room, message buffers that a peer has or that are held here, transfers,
 * accesses of peers. Each line names this process and the peer, by rank or
 * address. The last line has the sum, and the number of peers with nothing
 * under way. Handles of own calls that are not in flight, addresses and bulk
 * handles are no part of the sum; but a handle keeps the message of its answer
 * until HG_Destroy(), HG_Reset() or its next call, and such messages are. One
 * call may count as several things.
 *
 * The lines are of different moments: with calls under way, what moves
 * meanwhile may be counted twice or not at all.
 *
 * @param hg_class  [in]  any class
 * @param out       [in]  where to write; NULL: counts only
 * @return the number of things that are not at home; 0: the class is idle, or
 *         is being closed
 * Owns:      `out` stays the caller's, and is neither flushed nor closed.
 * Errors:    (size_t)-1: hg_class is NULL, or was closed before; the log says
 *            so.
 * Threads:   any thread; never blocks for long. Sends nothing, and makes no
 *            progress. `out` is written with no lock held. With `out` it takes
 *            128 KiB of memory meanwhile; without that memory, or room in it,
 *            lines are left out, and the last one says so.
 *            A class or context that is destroyed meanwhile waits for the
 *            report, or is left out of it.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC size_t amalgam_write_state(hg_class_t *hg_class, FILE *out);

#ifdef __cplusplus
}
#endif

#endif
