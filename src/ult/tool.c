/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks for tools, which this runtime does not have. */
#include "abt.h"

int ABT_tool_register_thread_callback(
    ABT_tool_thread_callback_fn cb_func, uint64_t event_mask, void *user_arg)
{
    (void)cb_func;
    (void)event_mask;
    (void)user_arg;
    return ABT_ERR_FEATURE_NA;
}

int ABT_tool_query_thread(ABT_tool_context context, uint64_t event,
    ABT_tool_query_kind query_kind, void *val)
{
    (void)context;
    (void)event;
    (void)query_kind;
    (void)val;
    return ABT_ERR_FEATURE_NA;
}
