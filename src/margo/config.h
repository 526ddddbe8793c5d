/* SPDX-License-Identifier: BSD-3-Clause */
/* What an instance is asked to be: the JSON text and margo_init()'s arguments,
 * with the defaults. Unknown keys and values are warned of with their path. */
#ifndef AMG_MARGO_CONFIG_H
#define AMG_MARGO_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "margo/plan.h"
#include "mercury.h"

struct json_object;
struct margo_init_info;

/* Lives as long as its instance; constant after it was read. */
struct amg_margo_config {
    struct json_object *json;        /* the whole text, checked; never NULL */
    unsigned progress_timeout_ub_ms; /* 100 */
    unsigned progress_spindown_ms;   /* 10 */
    /* Another one than 10 was given; else spinning is decided by the core's
     * use. */
    bool is_spindown_given;
    unsigned handle_cache_size; /* 256 */
    unsigned max_handlers;      /* requests beyond wait; 0: no limit (ours) */
    bool use_progress_thread;
    int rpc_thread_count;
    bool is_profiling;
    const char *profiling_dir; /* "."; what margo_start_abt_profiling() uses */
    unsigned max_stacks;       /* 8, that each stream keeps */
    size_t stack_size;         /* 2 MiB, of a user-level thread */
    bool is_max_stacks_given;
    bool is_stack_size_given;
    bool wants_lazy_stacks;    /* told as it was given: ours are mapped so */
    const char *bucket_policy; /* of the plumber; told as it was given, since */
    const char *nic_policy;    /* src/place chooses NICs */
    struct hg_init_info hg_init; /* its strings lie in `json` or the info */
    struct amg_margo_plan plan;  /* what pools.h makes */
};

/* False: it makes no sense; the field and the reason are in the log, which is
 * that of the info, and nothing is left behind. */
bool amg_margo_config_read(const struct margo_init_info *info,
    const char *address, int mode, struct amg_margo_config *ret_config);
/* Completes the plan by use_progress_thread and rpc_thread_count as they are by
 * now, and the defaults of a pool; for the child of an instance whose pools are
 * shared, without the latter. False: a pool that is referred to does not exist,
 * or there is no memory; the log says which. */
bool amg_margo_config_plan(const struct amg_margo_log *log, bool is_child,
    struct amg_margo_config *config);
/* Also of one that is all zero. */
void amg_margo_config_free(struct amg_margo_config *config);

#endif
