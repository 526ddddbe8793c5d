/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread that blocks its whole stream says so: it sleeps in the
 * place of the stream's scheduler, and is woken by what would wake that. */
#include "ult/doze.h"

#include <stddef.h>

#include "base/assert.h"
#include "ult/sched.h"
#include "ult/stream.h"
#include "ult/ult.h"
#include "ult/upool.h"

bool amg_doze_begin(struct amg_doze *doze)
{
    struct amg_stream *stream = amg_stream_self();

    if (!AMG_CONTRACT(stream != NULL && doze != NULL && doze->ring != NULL))
        return false;
    if (!amg_stream_rest(stream, doze))
        return false;
    /* Asked before it was announced: nobody rings. */
    if (!amg_doze_must_leave())
        return true;
    amg_stream_rise(stream);
    return false;
}

void amg_doze_end(struct amg_doze *doze)
{
    struct amg_stream *stream = amg_stream_self();

    AMG_ASSERT(stream->sleeper.doze == doze);
    (void)doze;
    amg_stream_rise(stream);
}

unsigned amg_doze_ready(void)
{
    struct amg_stream *stream = amg_stream_self();
    bool is_asked = false;

    if (stream == NULL)
        return 0;
    /* The scheduler has something to look at, such as main() that came home. */
    is_asked = (atomic_load_explicit(&stream->asked, memory_order_acquire) &
                   ~(unsigned)AMG_STREAM_TO_JOIN) != 0;
    return (unsigned)amg_sched_size(
               atomic_load_explicit(&stream->sched, memory_order_relaxed)) +
           (is_asked ? 1u : 0u);
}

bool amg_doze_must_leave(void)
{
    struct amg_stream *stream = amg_stream_self();
    struct amg_ult *self = amg_ult_self();

    return stream != NULL && self != NULL &&
           (atomic_load_explicit(&stream->asked, memory_order_acquire) &
               AMG_STREAM_TO_JOIN) != 0 &&
           atomic_load_explicit(
               &amg_ult_pool(self)->users, memory_order_relaxed) > 1;
}
