/* SPDX-License-Identifier: BSD-3-Clause */
/* What the default monitor is asked to do: "monitoring.config" of the text, and
 * the environment for what that leaves open. */
#ifndef AMG_MARGO_MONITOR_CONFIG_H
#define AMG_MARGO_MONITOR_CONFIG_H

#include <stdbool.h>

#include "base/env.h"
#include "margo/log.h"

struct json_object;

/* One kind of output. */
struct amg_monitor_output {
    bool is_disabled;
    bool is_pretty;
    unsigned precision; /* digits of numbers with a fraction */
};

/* Owned by the monitor. */
struct amg_monitor_config {
    const char *prefix; /* lies in the text, or the environment */
    struct amg_monitor_output stats;
    unsigned sample_every; /* of so many looks of the loop one is counted */
    struct amg_monitor_output series;
    double interval_s; /* between two samples */
};

/* `section` may be NULL. False: it makes no sense, which the log says. */
bool amg_monitor_config_read(const struct amg_margo_log *log,
    struct json_object *section, struct amg_monitor_config *ret_config);

/* The same as text of json-c, NULL: no memory. */
struct json_object *amg_monitor_config_json(
    const struct amg_monitor_config *config);

/* Is a switch of the environment on? Not if it is unset, 0, false, no or off.
 */
bool amg_monitor_env_is_on(enum amg_env_id id);

#endif
