/* SPDX-License-Identifier: BSD-3-Clause */
/* What an instance is asked to be: the JSON text and margo_init()'s arguments,
 * with the defaults. Unknown keys and values are warned of with their path. */
#ifndef AMG_MARGO_CONFIG_H
#define AMG_MARGO_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury.h"

struct json_object;
struct margo_init_info;

/* Part "config" owns and completes this struct. */
struct amg_margo_config {
    struct json_object *json;        /* the whole text, checked; never NULL */
    unsigned progress_timeout_ub_ms; /* 100 */
    unsigned progress_spindown_ms;   /* 10 */
    bool is_spindown_given;     /* else spinning is decided by the core's use */
    unsigned handle_cache_size; /* 32 */
    unsigned max_handlers;      /* requests beyond wait; 0: no limit (ours) */
    bool use_progress_thread;
    int rpc_thread_count;
    bool is_profiling;
    struct hg_init_info hg_init; /* its strings lie in `json` or the info */
};

/* False: it makes no sense; the field and the reason are in the log. */
bool amg_margo_config_read(const struct margo_init_info *info,
    const char *address, int mode, struct amg_margo_config *ret_config);
void amg_margo_config_free(struct amg_margo_config *config);

#endif
