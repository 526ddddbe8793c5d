/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: the places where calls are made and arrive; progress and trigger.
 *
 * HG_Progress() moves messages, and queues finished operations and arrived
 * requests; HG_Trigger() runs their callbacks. Without a progress thread
 * (amalgam_progress.h) nothing happens in the background. */
#ifndef MERCURY_CONTEXT_H
#define MERCURY_CONTEXT_H

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Open a context with the lowest free id, which is 0 for the first context.
 *
 * Over shared memory and libfabric, a class whose init options ask for no more
 * than one context (max_contexts) may have up to four.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * Owns:      the caller owns the result; HG_Context_destroy() frees it.
 * Errors:    NULL on any failure; the log says why.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_context_t *HG_Context_create(hg_class_t *hg_class);

/**
 * Open a context; if the class listens, requests may arrive from now on.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param id        [in]  below `max_contexts` of the init options, and not the
 *                        id of another open context of the class
 * Owns:      the caller owns the result; HG_Context_destroy() frees it.
 * Errors:    NULL on any failure; the log says why: hg_class is NULL, the id is
 *            out of range or taken, no memory.
 * Threads:   any thread; never blocks. Not collective.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_context_t *HG_Context_create_id(hg_class_t *hg_class, uint8_t id);

/**
 * Close a context.
 *
 * Stops receiving, then waits up to 5 s for operations in flight. Frees the
 * context's data by its callback.
 *
 * @param context  [in]  invalid when HG_SUCCESS is returned
 * Owns:      the context is consumed on success only.
 * Errors:    HG_INVALID_ARG context is NULL
 *            HG_BUSY        handles are left, callbacks are still queued, or
 *                           another thread is in HG_Progress(): the context
 *                           stays open, but gets no new requests; or the caller
 *                           is a handler in a thread of the library: nothing
 *                           changed
 * Threads:   one thread, while no other uses the context; may wait up to 5 s.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but the call does not wait for handles that the
 *            program holds and that have no operation in flight.
 */
HG_PUBLIC hg_return_t HG_Context_destroy(hg_context_t *context);

/**
 * Receive no more requests; calls in flight continue. Requests that arrive
 * later are answered with HG_CANCELED.
 *
 * @param context  [in]  of HG_Context_create() or HG_Context_create_id()
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG context is NULL
 * Threads:   any thread; never blocks.
 * Undefined: context destroyed during the call.
 * Source:    as Mercury 2.4, but later requests are answered.
 */
HG_PUBLIC hg_return_t HG_Context_unpost(hg_context_t *context);

/**
 * Get the class of a context.
 *
 * @param context  [in]  of HG_Context_create() or HG_Context_create_id()
 * Owns:      the result is borrowed from the context.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_class_t *HG_Context_get_class(const hg_context_t *context);

/**
 * Get the id of a context.
 *
 * @param context  [in]  of HG_Context_create() or HG_Context_create_id()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC uint8_t HG_Context_get_id(const hg_context_t *context);

/**
 * Attach a pointer of the program to a context.
 *
 * @param context        [in]  of HG_Context_create() or HG_Context_create_id()
 * @param data           [in]  replaces what was set before, without freeing it
 * @param free_callback  [in]  called with `data` by HG_Context_destroy(); may
 *                             be NULL
 * Owns:      `data` stays the caller's until `free_callback` is called.
 * Errors:    HG_INVALID_ARG context is NULL
 * Threads:   any thread, one at a time per context; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Context_set_data(
    hg_context_t *context, void *data, void (*free_callback)(void *));

/**
 * Get the pointer that HG_Context_set_data() attached, or NULL.
 *
 * @param context  [in]  of HG_Context_create() or HG_Context_create_id()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC void *HG_Context_get_data(const hg_context_t *context);

/**
 * Make progress on messages and transfers, until a callback is ready for
 * HG_Trigger().
 *
 * If several threads call HG_Progress(), one of them makes progress. The others
 * wait, in the order of their calls, until a callback is queued or that thread
 * leaves. A thread also returns when other threads have run callbacks since its
 * last wait, because the caller may wait for what such a callback did. With
 * time-out 0 the call polls the transports once, and does not sleep.
 *
 * @param context  [in]  of HG_Context_create() or HG_Context_create_id()
 * @param timeout  [in]  milliseconds
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG context is NULL
 *            HG_TIMEOUT     nothing happened, and no callback is queued
 * Threads:   any thread; may wait up to its time-out. Over MPI below the level
 *            MPI_THREAD_SERIALIZED only the thread that initialised MPI.
 * Undefined: context destroyed during the call.
 * Source:    as Mercury 2.4, but in Mercury a thread whose callback another
 *            thread has run may wait until its time-out.
 */
HG_PUBLIC hg_return_t HG_Progress(hg_context_t *context, unsigned int timeout);

/**
 * Run the callbacks of finished operations and arrived requests, oldest first.
 *
 * @param context       [in]   of HG_Context_create() or HG_Context_create_id()
 * @param timeout       [in]   milliseconds to wait for the first callback
 * @param max_count     [in]   maximum number of callbacks to run
 * @param actual_count  [out]  number of callbacks that ran; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG context is NULL
 *            HG_TIMEOUT     no callback was queued, also for time-out 0
 * Threads:   any thread, several at once; may wait up to its time-out; runs the
 *            user's callbacks. The call makes no progress: with a time-out it
 *            waits for another thread's HG_Progress().
 * Undefined: context destroyed during the call, or by a callback.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Trigger(hg_context_t *context, unsigned int timeout,
    unsigned int max_count, unsigned int *actual_count);

/**
 * Get a descriptor that becomes readable when HG_Progress() has work to do.
 *
 * There is one descriptor for all transports of the class and for callbacks
 * that are due; one event loop waits on the descriptor with poll(2) or
 * epoll(7). The descriptor reports only events after an HG_Event_ready() that
 * returned false, so call HG_Event_ready() before each wait.
 *
 * @param context  [in]  of HG_Context_create() or HG_Context_create_id()
 * Owns:      the result is borrowed from the context; do not read from it or
 *            close it.
 * Errors:    -1: a transport in use has no descriptor (MPI to another node, or
 *                as the only one), the class was opened with NA_NO_BLOCK, the
 *                system gives no more descriptors, or context is NULL. Then the
 *                program has to poll the context.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC int HG_Event_get_wait_fd(const hg_context_t *context);

/**
 * Tell whether work is pending that a wait on the descriptor could miss.
 *
 * Call this function each time before you block on the descriptor of
 * HG_Event_get_wait_fd(). The call makes progress once; if it returns false,
 * the next event makes the descriptor readable.
 *
 * @param context  [in]  of HG_Context_create() or HG_Context_create_id()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives false.
 * Threads:   any thread, one event loop for each context; never blocks. Other
 *            threads may be in HG_Progress() and HG_Trigger() meanwhile.
 * Undefined: context destroyed during the call.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC bool HG_Event_ready(hg_context_t *context);

/**
 * Make progress without waiting.
 *
 * @param context  [in]   of HG_Context_create() or HG_Context_create_id()
 * @param count_p  [out]  number of callbacks that are queued; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG context is NULL
 *            If nothing happened, the result is HG_SUCCESS.
 * Threads:   any thread; never blocks. Over MPI as HG_Progress().
 * Undefined: context destroyed during the call.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Event_progress(
    hg_context_t *context, unsigned int *count_p);

/**
 * Run callbacks without waiting.
 *
 * @param context       [in]   of HG_Context_create() or HG_Context_create_id()
 * @param max_count     [in]   maximum number of callbacks to run
 * @param actual_count  [out]  number of callbacks that ran; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG context is NULL
 *            If no callback was queued, the result is HG_SUCCESS.
 * Threads:   any thread; runs the user's callbacks.
 * Undefined: context destroyed during the call, or by a callback.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Event_trigger(
    hg_context_t *context, unsigned int max_count, unsigned int *actual_count);

#ifdef __cplusplus
}
#endif

#endif
