/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the monitor of an instance is told of what happens. */
#ifndef AMG_MARGO_MONITOR_H
#define AMG_MARGO_MONITOR_H

#include <stddef.h>

#include "margo-monitoring.h"
#include "margo.h"

/* Written while the instance opens and closes, when nobody tells. */
struct amg_margo_monitoring {
    const struct margo_monitor *monitor; /* `own`; NULL: nobody is told */
    struct margo_monitor own;
    ABT_key current_rpc; /* what a thread serves: callpath.c */
};

/* AMG_MARGO_TELL(mid, forward, MARGO_MONITOR_FN_START, &args): one test where
 * nobody is told. No lock is held. The end of what completes a request is told
 * before its waiter is let go, and no request is told of that may be gone. */
#define AMG_MARGO_TELL(mid, event, kind, args)                                 \
    do {                                                                       \
        const struct margo_monitor *told_ = (mid)->monitoring.monitor;         \
        if (__builtin_expect(told_ != NULL, 0) && told_->on_##event != NULL)   \
            told_->on_##event(told_->uargs, ABT_get_wtime(), (kind), (args));  \
    } while (0)

/* Does anybody listen, for what costs more than a call? */
#define AMG_MARGO_IS_WATCHED(mid) ((mid)->monitoring.monitor != NULL)

/* Makes the monitor as the information, the configuration and the environment
 * ask, once the class is open and the configuration read. -1: refused, or no
 * memory; logged. */
int amg_margo_monitoring_open(
    margo_instance_id mid, const struct margo_init_info *info);
/* After the last event; the pools are there still. Also of what was never
 * opened. */
void amg_margo_monitoring_close(margo_instance_id mid);

#endif
