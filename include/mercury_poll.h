/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of descriptors, and waits for events on them. */
#ifndef MERCURY_POLL_H
#define MERCURY_POLL_H

#include "mercury_util_config.h"

typedef struct hg_poll_set hg_poll_set_t;

/* Data that an event of a descriptor carries. */
typedef union hg_poll_data {
    void *ptr;
    int fd;
    uint32_t u32;
    uint64_t u64;
} hg_poll_data_t;

/* Events to wait for, and events that occurred. */
struct hg_poll_event {
    uint32_t events; /* the flags below */
    hg_poll_data_t data;
};

#define HG_POLLIN   (1 << 0) /* ready for reading */
#define HG_POLLOUT  (1 << 1) /* ready for writing */
#define HG_POLLERR  (1 << 2) /* an error; always reported */
#define HG_POLLHUP  (1 << 3) /* hang-up of the other side; always reported */
#define HG_POLLINTR (1 << 4) /* a signal ended the wait; `data` is 0 */

/* The most events that one hg_poll_wait() returns. */
#define HG_POLL_MAX_EVENTS 256

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create an empty set of descriptors.
 *
 * Owns:      the caller owns the result; hg_poll_destroy() frees it.
 * Errors:    NULL on any failure; the log says why.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC hg_poll_set_t *hg_poll_create(void);

/**
 * Destroy a set of descriptors, which stay open.
 *
 * @param poll_set  [in]  NULL is allowed
 * Owns:      the set is consumed.
 * Errors:    none.
 * Threads:   one thread, when no other uses the set.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_poll_destroy(hg_poll_set_t *poll_set);

/**
 * Get a descriptor that is readable while any descriptor in the set is ready,
 * and that can itself be added to another set.
 *
 * @param poll_set  [in]  of hg_poll_create()
 * Owns:      the result is borrowed from the set.
 * Errors:    NULL gives -1.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_poll_get_fd(hg_poll_set_t *poll_set);

/**
 * Add a descriptor to a set.
 *
 * @param poll_set  [in]  of hg_poll_create()
 * @param fd        [in]  the descriptor
 * @param event     [in]  the events, and the data to return with them
 * Owns:      nothing changes hands; remove `fd` before you close it.
 * Errors:    HG_UTIL_FAIL an argument is NULL, or fd is not open, is in the set
 *                         already, or cannot be polled; the log says why
 * Threads:   any thread; never blocks. A waiting thread sees the change at
 *            once.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_poll_add(
    hg_poll_set_t *poll_set, int fd, struct hg_poll_event *event);

/**
 * Remove a descriptor from a set.
 *
 * @param poll_set  [in]  of hg_poll_create()
 * @param fd        [in]  the descriptor
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL poll_set is NULL, or fd is not in it; the log says
 *                         why
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_poll_remove(hg_poll_set_t *poll_set, int fd);

/**
 * Wait until a descriptor of a set is ready.
 *
 * @param poll_set       [in]   of hg_poll_create()
 * @param timeout        [in]   milliseconds; 0: test once
 * @param max_events     [in]   at least 1; the call returns at most
 *                              HG_POLL_MAX_EVENTS
 * @param events         [out]  the descriptors that are ready
 * @param actual_events  [out]  number of events; 0: the time-out has passed
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL an argument is NULL, or max_events is 0
 *            A signal is not an error, but gives one event, HG_POLLINTR.
 * Threads:   any thread; may wait up to its time-out.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_poll_wait(hg_poll_set_t *poll_set, unsigned int timeout,
    unsigned int max_events, struct hg_poll_event events[],
    unsigned int *actual_events);

#ifdef __cplusplus
}
#endif

#endif
