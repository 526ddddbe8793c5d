/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the monitor of an instance is told of what happens. */
#ifndef AMG_MARGO_MONITOR_H
#define AMG_MARGO_MONITOR_H

#include <stddef.h>

#include "margo-monitoring.h"
#include "margo.h"

struct amg_margo_monitoring {
    struct margo_monitor *monitor; /* NULL: nobody is told */
};

/* AMG_MARGO_TELL(mid, forward, MARGO_MONITOR_FN_START, args): one test where
 * nobody is told. */
#define AMG_MARGO_TELL(mid, event, kind, args)                                 \
    do {                                                                       \
        const struct margo_monitor *told_ = (mid)->monitoring.monitor;         \
        if (told_ != NULL && told_->on_##event != NULL)                        \
            told_->on_##event(told_->uargs, ABT_get_wtime(), (kind), (args));  \
    } while (0)

/* Is anybody told? For what has to be prepared before. */
#define AMG_MARGO_IS_WATCHED(mid) ((mid)->monitoring.monitor != NULL)

/* As the configuration and the environment ask; false: no memory, logged. */
int amg_margo_monitoring_open(
    margo_instance_id mid, const struct margo_init_info *info);
void amg_margo_monitoring_close(margo_instance_id mid);

#endif
