/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor by which one thread wakes another that waits in poll() or
 * epoll_wait(): readable from hg_event_set() until hg_event_get(). */
#ifndef MERCURY_EVENT_H
#define MERCURY_EVENT_H

#include "mercury_util_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create an event, which is not set.
 *
 * Owns:      the caller owns the descriptor; hg_event_destroy() frees it.
 * Errors:    -1: there are no more descriptors; the log says why.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_event_create(void);

/**
 * Destroy an event.
 *
 * @param fd  [in]  of hg_event_create()
 * Owns:      the descriptor is consumed.
 * Errors:    HG_UTIL_FAIL fd is no open descriptor
 * Threads:   one thread, when no other uses the event.
 * Undefined: fd is no event.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_event_destroy(int fd);

/**
 * Set an event. An event that is set stays set.
 *
 * @param fd  [in]  of hg_event_create()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL fd is no open descriptor
 * Threads:   any thread; never blocks. A signal handler may call it.
 * Undefined: fd is no event.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_event_set(int fd);

/**
 * Tell whether an event is set, and clear it.
 *
 * @param fd        [in]   of hg_event_create()
 * @param notified  [out]  may be NULL
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL fd is no open descriptor
 * Threads:   any thread; never blocks. Only one of several threads gets true.
 * Undefined: fd is no event.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_event_get(int fd, bool *notified);

#ifdef __cplusplus
}
#endif

#endif
