/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace of a process: events of calls, bulk transfers, waits and threads, in a
 * file per process. The tool amalgam_trace makes a picture of the files of a
 * job.
 *
 * Without a call of these functions: AMALGAM_TRACE=DIR starts a trace at the
 * first class that a process opens. AMALGAM_TRACE_LEVEL is its level (1),
 * AMALGAM_TRACE_BYTES the limit of its file (268435456). */
#ifndef AMALGAM_TRACE_H
#define AMALGAM_TRACE_H

#include "mercury_core_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Levels of a trace; each includes the levels below it. */
#define AMALGAM_TRACE_CALLS   1 /* calls, bulk transfers, marks */
#define AMALGAM_TRACE_WAITS   2 /* waits and sleeps of progress */
#define AMALGAM_TRACE_THREADS 3 /* switches between user-level threads */

/**
 * Start the trace of this process.
 *
 * Creates the folder if it does not exist, and in it a file of this process,
 * which no other trace has. Each thread writes its events into a ring of its
 * own; a thread of the library appends the rings to the file. If a ring or the
 * file is full, the newest events are lost, and the file has their number. All
 * open contexts are traced, and all later ones. Calls under way are traced from
 * their next event on.
 *
 * The trace ends with amalgam_trace_stop() or exit(). After any other end the
 * file lacks about the last 10 ms. A child of fork() is not traced.
 *
 * @param folder  [in]  where to create the file
 * @param level   [in]  AMALGAM_TRACE_CALLS, _WAITS or _THREADS
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  folder is NULL, or level is not a level
 *            HG_BUSY         the process has a trace already
 *            HG_NOMEM        no memory, or no thread can be created
 *            HG_NOENTRY      the file cannot be created; the log says why
 * Threads:   any thread, one at a time per process; writes to the file system.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_trace_start(const char *folder, int level);

/**
 * Stop the trace of this process, and complete its file.
 *
 * Returns when all events of calls that returned before are in the file. Logs a
 * warning if events were lost.
 *
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_NOENTRY  the process has no trace
 *            HG_NOMEM    the file could not be written, or not to its end;
 *                        the trace is stopped
 * Threads:   any thread, one at a time per process; writes to the file system.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_trace_stop(void);

/**
 * Add a mark to the trace: a point in time of the calling thread, with a text.
 *
 * The mark also becomes the last mark of the process, of which
 * amalgam_info --watch and amalgam_hang show the first 63 bytes, also without a
 * trace.
 *
 * @param text  [in]  the first 240 bytes are kept
 * @return nothing
 * Owns:      nothing changes hands.
 * Errors:    none. A NULL text gives an empty mark.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC void amalgam_trace_mark(const char *text);

#ifdef __cplusplus
}
#endif

#endif
