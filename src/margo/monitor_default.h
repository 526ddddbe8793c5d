/* SPDX-License-Identifier: BSD-3-Clause */
/* What the default monitor has gathered of an instance.
 *
 * An operation - a call, an answer, a transfer, or a request that is served -
 * is followed by an object from its begin to its end. It is held by whoever
 * will still come to it: the function that posts it, its callback, its thread.
 * What outlives it in a handle or request are pointers into the book of calls,
 * whose entries stay. */
#ifndef AMG_MARGO_MONITOR_DEFAULT_H
#define AMG_MARGO_MONITOR_DEFAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "margo.h"
#include "margo/monitor_config.h"
#include "margo/series.h"
#include "margo/stats_call.h"

enum { AMG_MONITOR_ADDRESS_CAP = 256, AMG_MONITOR_PATH_CAP = 1024 };

/* Guarded by the monitor's lock; the times are of ABT_get_wtime(). */
struct amg_monitor_operation {
    struct amg_monitor_operation *next; /* of those that are free */
    struct amg_stats_call *call;
    hg_id_t id;
    double start;
    double ult_start; /* of a request that is served */
    hg_size_t size;   /* of a transfer */
    bool is_push;
    unsigned holds;
};

/* Owned by the instance, from its begin to its end. */
struct amg_monitor {
    margo_instance_id mid;
    struct amg_monitor_config config; /* with a prefix of its own */
    ABT_key current;                  /* what the calling thread serves */
    double opened_s;
    char address[AMG_MONITOR_ADDRESS_CAP]; /* the instance's own */
    char file[AMG_MONITOR_PATH_CAP];       /* up to ".stats.json" */
    struct amg_lock lock;                  /* guards all below */
    struct amg_stats progress_with_timeout;
    struct amg_stats progress_timeout_ms;
    struct amg_stats progress_without_timeout;
    struct amg_stats trigger;
    uint64_t looks;  /* of the loop, counted or not */
    uint64_t rounds; /* of the trigger, likewise */
    struct amg_stats_book book;
    struct amg_series series;
    struct amg_monitor_operation *spare;
    bool is_short; /* something was not counted, since there was no memory */
};

/* Write `file` and `address`, while the instance opens. */
void amg_monitor_name(struct amg_monitor *monitor);
void amg_monitor_address(struct amg_monitor *monitor);

/* The two documents. NULL: no memory. The caller has the lock. */
struct json_object *amg_monitor_stats_json_locked(
    const struct amg_monitor *monitor);
struct json_object *amg_monitor_series_json_locked(
    const struct amg_monitor *monitor);

/* Writes the two files; what cannot be written is told in the log. */
void amg_monitor_write(struct amg_monitor *monitor);

/* The operation that the calling thread serves; NULL: none. */
struct amg_monitor_operation *amg_monitor_served(
    const struct amg_monitor *monitor);

/* The entry of a call; of bulk in no handler, where `handle` is NULL. Takes the
 * lock. NULL: no memory. */
struct amg_stats_call *amg_monitor_call_find(struct amg_monitor *monitor,
    enum amg_stats_side side, hg_id_t parent, hg_handle_t handle);

/* With `holds`, each of which one release gives up. Both take the lock. NULL:
 * no memory. */
struct amg_monitor_operation *amg_monitor_operation_begin(
    struct amg_monitor *monitor, struct amg_stats_call *call, double start,
    unsigned holds);
void amg_monitor_operation_release(struct amg_monitor *monitor,
    struct amg_monitor_operation *operation, unsigned holds);

/* Counts one duration, and what is not negative of the others. Takes the lock.
 * NULL for `measure`: nothing is counted. */
void amg_monitor_count(struct amg_monitor *monitor,
    struct amg_stats_measure *measure, double duration, double relative,
    double size);

/* What a monitor is told of, one function each. */
#define AMG_MONITOR_EVENT(name)                                                \
    void amg_monitor_on_##name(void *uargs, double now,                        \
        margo_monitor_event_t kind, margo_monitor_##name##_args_t args)

/* monitor_calls.c */
AMG_MONITOR_EVENT(register);
AMG_MONITOR_EVENT(forward);
AMG_MONITOR_EVENT(forward_cb);
AMG_MONITOR_EVENT(respond);
AMG_MONITOR_EVENT(respond_cb);
AMG_MONITOR_EVENT(rpc_handler);
AMG_MONITOR_EVENT(rpc_ult);
AMG_MONITOR_EVENT(wait);

/* monitor_data.c */
AMG_MONITOR_EVENT(set_input);
AMG_MONITOR_EVENT(set_output);
AMG_MONITOR_EVENT(get_input);
AMG_MONITOR_EVENT(get_output);
AMG_MONITOR_EVENT(free_input);
AMG_MONITOR_EVENT(free_output);
AMG_MONITOR_EVENT(bulk_create);
AMG_MONITOR_EVENT(bulk_free);
AMG_MONITOR_EVENT(bulk_transfer);
AMG_MONITOR_EVENT(bulk_transfer_cb);

/* monitor_loop.c */
AMG_MONITOR_EVENT(progress);
AMG_MONITOR_EVENT(trigger);

#endif
