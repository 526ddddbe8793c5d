/* SPDX-License-Identifier: BSD-3-Clause */
/* What the default monitor makes of the progress loop. */
#include "margo/monitor_default.h"

/* One point of each pool, and of each RPC. No lock of the monitor is held while
 * the pools are asked. */
static void series_sample(struct amg_monitor *monitor, double now)
{
    margo_instance_id mid = monitor->mid;
    double moment = now - monitor->opened_s;
    struct margo_pool_info info;

    for (uint32_t i = 0; margo_find_pool_by_index(mid, i, &info) == HG_SUCCESS;
         i++) {
        size_t size = 0;
        size_t total = 0;

        /* It may have been removed since: then it cannot be held. */
        if (margo_pool_ref_incr_by_handle(mid, info.pool) != HG_SUCCESS)
            continue;
        if (margo_find_pool_by_handle(mid, info.pool, &info) == HG_SUCCESS &&
            ABT_pool_get_size(info.pool, &size) == ABT_SUCCESS &&
            ABT_pool_get_total_size(info.pool, &total) == ABT_SUCCESS) {
            amg_lock_take(&monitor->lock);
            amg_series_pool(
                &monitor->series, moment, info.pool, info.name, size, total);
            amg_lock_give(&monitor->lock);
        }
        (void)margo_pool_release_by_handle(mid, info.pool);
    }
    amg_lock_take(&monitor->lock);
    amg_series_close(&monitor->series, moment);
    amg_lock_give(&monitor->lock);
}

void amg_monitor_on_progress(void *uargs, double now,
    margo_monitor_event_t kind, margo_monitor_progress_args_t args)
{
    struct amg_monitor *monitor = uargs;
    double duration = now - args->uctx.f;
    bool is_due = false;

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    amg_lock_take(&monitor->lock);
    if (!monitor->config.stats.is_disabled &&
        monitor->looks++ % monitor->config.sample_every == 0) {
        if (args->timeout_ms == 0) {
            amg_stats_add(&monitor->progress_without_timeout, duration);
        } else {
            amg_stats_add(&monitor->progress_with_timeout, duration);
            amg_stats_add(
                &monitor->progress_timeout_ms, (double)args->timeout_ms);
        }
    }
    is_due = !monitor->config.series.is_disabled &&
             amg_series_is_due(&monitor->series, now - monitor->opened_s);
    amg_lock_give(&monitor->lock);
    if (is_due)
        series_sample(monitor, now);
}

void amg_monitor_on_trigger(void *uargs, double now, margo_monitor_event_t kind,
    margo_monitor_trigger_args_t args)
{
    struct amg_monitor *monitor = uargs;

    if (kind != MARGO_MONITOR_FN_END) {
        args->uctx.f = now;
        return;
    }
    if (monitor->config.stats.is_disabled)
        return;
    amg_lock_take(&monitor->lock);
    if (monitor->rounds++ % monitor->config.sample_every == 0)
        amg_stats_add(&monitor->trigger, now - args->uctx.f);
    amg_lock_give(&monitor->lock);
}
