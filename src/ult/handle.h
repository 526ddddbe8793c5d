/* SPDX-License-Identifier: BSD-3-Clause */
/* From the handles of abt.h to what they point to, and back. */
#ifndef AMG_ULT_HANDLE_H
#define AMG_ULT_HANDLE_H

#include <string.h>

#include "abt.h"

struct amg_stream;
struct amg_uattr;
struct amg_ult;
struct amg_upool;

/* What a function that makes something leaves in the program's variable, of any
 * type of handle, when it fails. NULL: the program wants none. */
static inline void amg_handle_clear(void *ret_handle)
{
    if (ret_handle != NULL)
        memset(ret_handle, 0, sizeof(void *));
}

static inline struct amg_ult *amg_ult_of(ABT_thread thread)
{
    return (struct amg_ult *)(void *)thread;
}

static inline ABT_thread amg_ult_handle(struct amg_ult *ult)
{
    return (ABT_thread)(void *)ult;
}

static inline struct amg_upool *amg_upool_of(ABT_pool pool)
{
    return (struct amg_upool *)(void *)pool;
}

static inline ABT_pool amg_upool_handle(struct amg_upool *pool)
{
    return (ABT_pool)(void *)pool;
}

static inline struct amg_stream *amg_stream_of(ABT_xstream xstream)
{
    return (struct amg_stream *)(void *)xstream;
}

static inline ABT_xstream amg_stream_handle(struct amg_stream *stream)
{
    return (ABT_xstream)(void *)stream;
}

static inline struct amg_uattr *amg_uattr_of(ABT_thread_attr attr)
{
    return (struct amg_uattr *)(void *)attr;
}

static inline ABT_thread_attr amg_uattr_handle(struct amg_uattr *attr)
{
    return (ABT_thread_attr)(void *)attr;
}

#endif
