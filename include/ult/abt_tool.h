/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks for tools, which are not available. */
#ifndef ABT_TOOL_H
#define ABT_TOOL_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Not available: register a callback for events of threads.
 *
 * @param cb_func     [in]  not called
 * @param event_mask  [in]  of ABT_TOOL_EVENT_THREAD_*
 * @param user_arg    [in]  not used
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_FEATURE_NA  always; ABT_INFO_QUERY_KIND_ENABLED_TOOL is
 *              false
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as an Argobots 1.2 that was built without tools.
 */
ABT_API_PUBLIC int ABT_tool_register_thread_callback(
    ABT_tool_thread_callback_fn cb_func, uint64_t event_mask, void *user_arg);

/**
 * Not available: get details of an event.
 *
 * @param context     [in]  not used
 * @param event       [in]  not used
 * @param query_kind  [in]  not used
 * @param val         [out]  not written
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_FEATURE_NA  always
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as an Argobots 1.2 that was built without tools.
 */
ABT_API_PUBLIC int ABT_tool_query_thread(ABT_tool_context context,
    uint64_t event, ABT_tool_query_kind query_kind, void *val);

#ifdef __cplusplus
}
#endif

#endif
