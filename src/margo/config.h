/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration of an instance: the JSON text and the arguments of
 * margo_init(), with the defaults. Unknown keys and values are warned of with
 * their path. */
#ifndef AMG_MARGO_CONFIG_H
#define AMG_MARGO_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "margo/log.h"
#include "margo/pool_spec.h"
#include "mercury.h"

struct json_object;
struct margo_init_info;

/* Lives as long as its instance; constant once read. */
struct amg_margo_config {
    struct json_object *json;        /* the whole text, checked; never NULL */
    unsigned progress_timeout_ub_ms; /* 100 */
    unsigned progress_spindown_ms;   /* 10 */
    /* A value other than 10 was given; else spinning depends on the use of the
     * core. */
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
    bool
        wants_lazy_stacks; /* without effect: our stacks are always mapped so */
    const char *bucket_policy; /* of the plumber; reported as given, because */
    const char *nic_policy;    /* src/affinity chooses NICs */
    struct hg_init_info hg_init; /* its strings lie in `json` or the info */
    struct amg_margo_plan plan;  /* the plan for pools.h */
};

/* False: it is invalid; the log, that of the info, names the field and the
 * reason, and nothing was allocated. */
bool amg_margo_config_read(const struct margo_init_info *info,
    const char *address, int mode, struct amg_margo_config *ret_config);
/* Completes the plan by the current use_progress_thread and rpc_thread_count,
 * and the defaults of a pool; the latter not for a child instance that shares
 * its pools. False: a pool that is referred to does not exist, or no memory;
 * the log says which. */
bool amg_margo_config_plan(const struct amg_margo_log *log, bool is_child,
    struct amg_margo_config *config);
/* Accepts zeroed memory. */
void amg_margo_config_free(struct amg_margo_config *config);

/* Reads the section, which may be NULL, over what `info` has. Strings lie in
 * the section. Its settings of Mercury's log take effect at once. False:
 * refused, the log says why. `is_listening`: what the arguments say. */
bool amg_margo_mercury_read(const struct amg_margo_log *log,
    struct json_object *section, bool is_listening, struct hg_init_info *info);

/* The section of such options, without address and limits; NULL: no memory. */
struct json_object *amg_margo_mercury_describe(const struct hg_init_info *info);

/* Called before ABT_init(): exports the stack settings, but keeps those that
 * the user has set in the environment. Warns if ABT_init() was already called
 * with other stacks. */
void amg_margo_environment_set(
    const struct amg_margo_log *log, const struct amg_margo_config *config);

/* The values in effect: of the environment, else of the running runtime,
 * else of the configuration. */
size_t amg_margo_environment_stack_size(const struct amg_margo_config *config);
unsigned amg_margo_environment_max_stacks(
    const struct amg_margo_config *config);

#endif
