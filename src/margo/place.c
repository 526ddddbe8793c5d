/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the progress stream runs: where a progress thread of the library would
 * run, since it does the same. */
#include "base/mem.h"
#include "core/class.h"
#include "margo/abt_error.h"
#include "margo/instance.h"
#include "margo/stream.h"
#include "place/policy.h"

/* May the stream be placed: made for use_progress_thread, and no core named? */
static bool stream_is_meant(const struct amg_margo_stream *stream)
{
    return stream->is_progress && stream->item.is_owned &&
           stream->cpubind < 0 && stream->affinity_count == 0;
}

/* That stream of the instance, which shares it with none; or NULL. */
static ABT_xstream stream_find(margo_instance_id mid)
{
    struct amg_margo_set *set = mid->pools.set;
    ABT_xstream found = ABT_XSTREAM_NULL;

    amg_lock_take(&set->lock);
    for (unsigned i = 0; i < set->streams.count && set->instances == 1; i++) {
        const struct amg_margo_stream *stream =
            (const struct amg_margo_stream *)(const void *)
                set->streams.items[i];

        if (stream_is_meant(stream))
            found = amg_margo_stream_abt(stream);
    }
    amg_lock_give(&set->lock);
    return found;
}

/* True: the stream has a core of its own. */
static bool stream_pin(margo_instance_id mid, ABT_xstream stream,
    struct amg_place_ask *ask, struct amg_placement *placement)
{
    const struct amg_seat *seat = &placement->seat;
    char words[AMG_MARGO_ABT_ERROR_CAP];
    int error = ABT_SUCCESS;

    ask->progress = AMALGAM_PROGRESS_THREAD;
    ask->handlers = 0;
    amg_policy_place(ask, placement);
    /* On a core that others use the system sees better where there is room. */
    if (seat->cpu < 0 || !seat->is_dedicated)
        return false;
    error = ABT_xstream_set_cpubind(stream, seat->cpu);
    if (error != ABT_SUCCESS)
        margo_warning(mid, "the progress stream was not pinned to core %d: %s",
            seat->cpu, amg_margo_abt_error(error, words));
    else
        margo_debug(mid, "the progress stream is pinned to core %d: %s",
            seat->cpu, seat->reason);
    return error == ABT_SUCCESS;
}

bool amg_margo_pools_place(margo_instance_id mid)
{
    ABT_xstream stream = stream_find(mid);
    struct amg_placement *placement = NULL;
    struct amg_place_ask ask;
    bool has_core = false;

    if (stream == ABT_XSTREAM_NULL)
        return true;
    if (!amg_drive_question(mid->hg_class, mid->hg_class->drive.self, &ask))
        return false;
    /* Too large for the stack of a user-level thread. */
    placement = amg_mem_alloc(sizeof(*placement));
    if (placement != NULL)
        has_core = stream_pin(mid, stream, &ask, placement);
    amg_mem_free(placement);
    return has_core;
}
