/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration of an instance: JSON text and arguments of margo_init(),
 * with defaults; and the plan of pools and streams for pools.c. The log warns,
 * with the path, of unknown keys, and of unknown words of an AMG_JSON_HINT. */
#ifndef AMG_MARGO_CONFIG_H
#define AMG_MARGO_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abt.h"
#include "margo/log.h"
#include "mercury.h"

struct json_object;
struct margo_init_info;

enum {
    AMG_MARGO_OBJECTS_MAX = 4096
}; /* limit of pools, of streams, and of pools of a stream, in a JSON text */

/* Kinds of pools: the values of "kind" in a JSON text, and EXTERNAL. */
enum amg_margo_pool_kind {
    AMG_MARGO_POOL_FIFO_WAIT,
    AMG_MARGO_POOL_FIFO,
    AMG_MARGO_POOL_PRIO_WAIT,
    AMG_MARGO_POOL_EARLIEST_FIRST,
    AMG_MARGO_POOL_RANDWS,
    AMG_MARGO_POOL_EXTERNAL /* created by the program */
};

/* A scheduler of the program, besides the values of ABT_sched_predef. */
enum { AMG_MARGO_SCHED_EXTERNAL = ABT_SCHED_BASIC_WAIT + 1 };

/* A pool to create. The name lies in the JSON text. */
struct amg_margo_pool_spec {
    const char *name; /* NULL: to be made up */
    int kind;         /* enum amg_margo_pool_kind */
    int access;       /* ABT_pool_access */
    void *made;       /* the ABT_pool, once created by pools.c */
};

/* A reference to a pool by name, or by index if `name` is NULL; index -1 is the
 * default pool. */
struct amg_margo_pool_ref {
    const char *name;
    int index;
    bool is_own; /* `index` counts the pools of the plan alone, without those of
                  * a parent */
};

struct amg_margo_stream_spec {
    const char *name; /* NULL: to be made up */
    int kind;         /* ABT_sched_predef, or AMG_MARGO_SCHED_EXTERNAL */
    int cpubind;      /* -1: none */
    int *affinity;
    unsigned affinity_count;
    struct amg_margo_pool_ref *pools;
    unsigned pool_count;
    bool is_progress; /* requested by use_progress_thread */
};

/* pool_spec.c: read an element of "pools", or of "xstreams". False: refused, or
 * no memory; logged. The caller frees a stream's plan, also after a failure. */
bool amg_margo_pool_spec_read(const struct amg_margo_log *log, const char *path,
    struct json_object *object, struct amg_margo_pool_spec *plan);
bool amg_margo_stream_spec_read(const struct amg_margo_log *log,
    const char *path, struct json_object *object,
    struct amg_margo_stream_spec *plan);
void amg_margo_stream_spec_free(struct amg_margo_stream_spec *plan);
/* Reads an integer or a string. False: refused, logged. */
bool amg_margo_pool_ref_read(const struct amg_margo_log *log, const char *path,
    struct json_object *value, struct amg_margo_pool_ref *ret_ref);

/* Is the length of the array, if given, allowed? If not, logs the length. */
bool amg_margo_config_array_check(const struct amg_margo_log *log,
    const char *path, struct json_object *array, size_t least);
/* Logs that there is no memory for a field, and returns false. */
bool amg_margo_config_no_memory(
    const struct amg_margo_log *log, const char *path);

/* Name of the stream of the thread that opens an instance, and of its pool. */
extern const char amg_margo_primary_name[];

/* Is the name valid? If not, logs the reason. */
bool amg_margo_name_is_valid(
    const struct amg_margo_log *log, const char *path, const char *name);

/* The word of the JSON text for a value. */
const char *amg_margo_pool_kind_name(int kind);
const char *amg_margo_pool_access_name(int access);
const char *amg_margo_sched_kind_name(int kind);

/* plan.c: the pools and streams of a configuration. */
struct amg_margo_plan {
    struct amg_margo_pool_spec *pools;
    unsigned pool_count;
    struct amg_margo_stream_spec *streams;
    unsigned stream_count;
    struct amg_margo_pool_ref progress; /* pool of the loop */
    struct amg_margo_pool_ref rpc;      /* pool of the handlers */
    bool rpc_is_progress;               /* `rpc` is the pool `progress` */
};

/* Logs that a reference leads to none of `count` pools. */
void amg_margo_plan_log_missing(const struct amg_margo_log *log,
    const char *path, const struct amg_margo_pool_ref *ref, unsigned count);

/* The index of the stream of that name; -1: no such name. */
int amg_margo_plan_find_stream(
    const struct amg_margo_plan *plan, const char *name);

/* The index of the referenced pool; -1: no such pool, logged. */
int amg_margo_plan_resolve(const struct amg_margo_log *log, const char *path,
    const struct amg_margo_plan *plan, const struct amg_margo_pool_ref *ref);

/* Lives as long as its instance; constant once the pools are open. */
struct amg_margo_config {
    struct json_object *json;        /* the whole text, checked; never NULL */
    unsigned progress_timeout_ub_ms; /* default 100 */
    unsigned progress_spindown_ms;   /* default 10 */
    /* a value other than 10 was given; else core/wait_policy.c decides how long
     * to spin */
    bool is_spindown_given;
    unsigned handle_cache_size; /* default 256 */
    /* Limit of concurrent handlers; 0: no limit. Not in Mochi's Margo. */
    unsigned max_handlers;
    bool use_progress_thread;
    int rpc_thread_count;
    bool is_profiling;
    const char *profiling_dir; /* default "."; without effect */
    unsigned max_stacks;       /* default 8: free stacks that a stream caches */
    size_t stack_size;         /* default 2 MiB; of a user-level thread */
    bool is_max_stacks_given;
    bool is_stack_size_given;
    bool
        wants_lazy_stacks; /* without effect: stacks are always mapped lazily */
    const char *bucket_policy;   /* of the section "plumber"; only reported */
    const char *nic_policy;      /* only reported: src/affinity chooses NICs */
    struct hg_init_info hg_init; /* strings lie in `json` or the info */
    struct amg_margo_plan plan;  /* the plan for pools.c */
};

/* Reads the pools, streams and references to pools of the text, after all other
 * fields of the text. False: refused, or no memory; logged. */
bool amg_margo_plan_read(const struct amg_margo_log *log, bool is_child,
    struct amg_margo_config *config);
void amg_margo_plan_free(struct amg_margo_plan *plan);

/* Reads and checks the configuration. False: invalid, or no memory; the logger
 * of `info` gets the field and the reason, and nothing is left to free. */
bool amg_margo_config_read(const struct margo_init_info *info,
    const char *address, int mode, struct amg_margo_config *ret_config);
/* Adds the pools and streams of use_progress_thread and rpc_thread_count to the
 * plan. Unless `is_child`: sets the default pools, and checks that all pools
 * exist and a stream runs the progress pool. False: failed, logged. */
bool amg_margo_config_plan(const struct amg_margo_log *log, bool is_child,
    struct amg_margo_config *config);
/* Accepts zeroed memory. */
void amg_margo_config_free(struct amg_margo_config *config);

/* The section "mercury", without what describe.c adds; NULL: no memory. */
struct json_object *amg_margo_mercury_describe(const struct hg_init_info *info);

/* If ABT_init() was not called yet, exports the stack settings that the user
 * has not set in the environment; else warns if the stacks of the runtime are
 * not as requested, or smaller than the default. */
void amg_margo_environment_set(
    const struct amg_margo_log *log, const struct amg_margo_config *config);

/* Size of stacks: from the environment, else from the runtime, if started, else
 * from the configuration. `ret_count`: number of stacks that a stream
 * keeps, from the environment, else from the configuration. */
size_t amg_margo_environment_stacks(
    const struct amg_margo_config *config, unsigned *ret_count);

#endif
