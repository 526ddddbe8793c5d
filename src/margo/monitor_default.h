/* SPDX-License-Identifier: BSD-3-Clause */
/* The default monitor of an instance, which gathers figures from each event and
 * writes them into files. */
#ifndef AMG_MARGO_MONITOR_DEFAULT_H
#define AMG_MARGO_MONITOR_DEFAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"
#include "base/lock.h"
#include "margo.h"
#include "margo/monitor_stats.h"

struct json_object;

/* Settings of the statistics or of the series. */
struct amg_monitor_output {
    bool is_disabled;
    bool is_pretty;
};

/* Settings of a monitor, which owns them. */
struct amg_monitor_config {
    const char *prefix; /* a copy, made when all settings are read */
    unsigned precision; /* digits of numbers with a fraction */
    struct amg_monitor_output stats;
    unsigned sample_every; /* each n-th poll and n-th trigger is counted */
    struct amg_monitor_output series;
    double interval_s; /* time between two points of the series */
};

enum { AMG_MONITOR_ADDRESS_CAP = 256, AMG_MONITOR_PATH_CAP = 1024 };

/* An operation in progress. The monitor's lock guards `next` and `refs`. */
struct amg_monitor_operation {
    struct amg_monitor_operation *next; /* next free operation */
    struct amg_stats_call *call;
    double start;             /* begin; all times are of ABT_get_wtime() */
    double posted;            /* when the post ended */
    double ult_start;         /* when the thread of a served request began */
    hg_size_t size;           /* of a transfer */
    enum amg_stats_what wait; /* measure of waits for this operation */
    bool is_awaited;          /* the program waits, as it set no callback */
    unsigned refs;
};

/* Owned by the instance, from its begin to its end. */
struct amg_monitor {
    margo_instance_id mid;
    struct amg_monitor_config config; /* with its own copy of the prefix */
    ABT_key current;                  /* the operation that a thread serves */
    double opened_s;
    char address[AMG_MONITOR_ADDRESS_CAP]; /* own address of the instance */
    char file[AMG_MONITOR_PATH_CAP];       /* path before ".stats.json" */
    struct amg_lock lock;                  /* guards all below */
    struct amg_stats progress_with_timeout;
    struct amg_stats progress_timeout_ms;
    struct amg_stats progress_without_timeout;
    struct amg_stats trigger;
    uint64_t looks;  /* all polls of the loops, to find each n-th poll */
    uint64_t rounds; /* all triggers of the loops, to find each n-th trigger */
    struct amg_stats_book book;
    struct amg_timeseries series;
    struct amg_monitor_operation *spare; /* free operations */
    bool is_short; /* something was not counted, since there was no memory */
};

/* Is the variable set to another value than 0, false, no or off? */
bool amg_monitor_env_is_on(enum amg_env_id id);

/* Functions of struct margo_monitor. initialize() logs and returns NULL if
 * `config` is invalid or there is no memory. finalize() writes the files. */
void *amg_monitor_initialize(
    margo_instance_id mid, void *uargs, struct json_object *config);
void amg_monitor_finalize(void *uargs);
/* Passes {"stats": ..., "series": ...} to dump_fn, without a disabled part. */
void amg_monitor_dump(
    void *uargs, margo_monitor_dump_fn dump_fn, void *dump_args, bool reset);
struct json_object *amg_monitor_config_get(void *uargs);

/* Adds a point of each pool, and of each RPC, to the series. Takes the lock of
 * the monitor, but reads the pools without holding that lock. */
void amg_monitor_sample(struct amg_monitor *monitor, double now);

#endif
