/* SPDX-License-Identifier: BSD-3-Clause */
/* OS threads become streams, and are none any more. */
#include "base/assert.h"
#include "ult/create.h"
#include "ult/end.h"
#include "ult/host.h"
#include "ult/overflow.h"
#include "ult/state.h"
#include "ult/upool.h"

bool amg_ult_stream_begin(struct amg_stream *stream)
{
    struct amg_host *host = amg_host_open(stream);

    if (host == NULL)
        return false;
    if (!amg_overflow_stream_begin(&host->overflow)) {
        amg_host_close(host);
        return false;
    }
    amg_ult_set_state(&host->own, AMG_ULT_RUNNING);
    return true;
}

void amg_ult_stream_end(void)
{
    struct amg_host *host = amg_host_self();

    amg_overflow_stream_end(&host->overflow);
    amg_host_close(host);
}

bool amg_ult_primary_begin(struct amg_stream *stream, struct amg_upool *pool,
    void (*loop)(void *arg), void *arg, struct amg_ult **ret_primary)
{
    const struct amg_ult_wish wish = {
        .kind = AMG_ULT_SCHEDULER,
        .function = loop,
        .arg = arg,
        .is_named = true,
        .is_fixed = true,
    };
    struct amg_host *host = NULL;
    struct amg_ult *scheduler = NULL;

    if (!amg_ult_stream_begin(stream))
        return false;
    host = amg_host_self();
    scheduler = amg_ult_create(&wish);
    if (scheduler == NULL) {
        amg_ult_stream_end();
        return false;
    }
    atomic_store_explicit(&scheduler->stream, stream, memory_order_relaxed);
    amg_ult_set_state(scheduler, AMG_ULT_RUNNING);
    host->own.kind = AMG_ULT_PRIMARY;
    amg_ult_set_pool(&host->own, pool);
    host->own.scheduler = scheduler;
    host->own.is_named = true;
    host->scheduler = scheduler;
    *ret_primary = &host->own;
    return true;
}

void amg_ult_primary_end(struct amg_ult *primary)
{
    struct amg_host *host = AMG_OBJECT(primary, struct amg_host, own);

    AMG_ASSERT(host == amg_host_self() && host->current == primary);
    amg_key_table_clear(&primary->keys);
    amg_upool_disown(primary);
    amg_ult_destroy(host->scheduler);
    amg_ult_stream_end();
}
