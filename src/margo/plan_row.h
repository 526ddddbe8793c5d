/* SPDX-License-Identifier: BSD-3-Clause */
/* One pool or stream as a text asks for it. */
#ifndef AMG_MARGO_PLAN_ROW_H
#define AMG_MARGO_PLAN_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "margo/log.h"

struct json_object;

enum { AMG_MARGO_OBJECTS_MAX = 4096 }; /* pools, and streams, of a text */

/* Of the words of "kind"; the last one is not made here. */
enum amg_margo_pool_kind {
    AMG_MARGO_POOL_FIFO_WAIT,
    AMG_MARGO_POOL_FIFO,
    AMG_MARGO_POOL_PRIO_WAIT,
    AMG_MARGO_POOL_EARLIEST_FIRST,
    AMG_MARGO_POOL_RANDWS,
    AMG_MARGO_POOL_EXTERNAL /* the program's */
};

enum amg_margo_pool_access {
    AMG_MARGO_ACCESS_MPMC,
    AMG_MARGO_ACCESS_PRIVATE,
    AMG_MARGO_ACCESS_SPSC,
    AMG_MARGO_ACCESS_MPSC,
    AMG_MARGO_ACCESS_SPMC
};

enum amg_margo_sched_kind {
    AMG_MARGO_SCHED_BASIC_WAIT,
    AMG_MARGO_SCHED_DEFAULT,
    AMG_MARGO_SCHED_BASIC,
    AMG_MARGO_SCHED_PRIO,
    AMG_MARGO_SCHED_RANDWS,
    AMG_MARGO_SCHED_EXTERNAL /* the program's */
};

struct amg_margo_pool_plan {
    char *name; /* NULL: one is to be made up */
    int kind;   /* enum amg_margo_pool_kind */
    int access;
};

/* By name, or by index where that is NULL; an index of -1: by default. */
struct amg_margo_pool_ref {
    char *name;
    int index;
    bool is_own; /* of the plan's own pools, which a child adds to others */
};

struct amg_margo_stream_plan {
    char *name;  /* NULL: one is to be made up */
    int kind;    /* enum amg_margo_sched_kind */
    int cpubind; /* -1: none */
    int *affinity;
    unsigned affinity_count;
    struct amg_margo_pool_ref *pools;
    unsigned pool_count;
    bool is_progress; /* asked for by use_progress_thread */
};

/* One element of "pools", of "xstreams". False: refused, or no memory, which
 * the log says; the plan is to be freed in both cases. */
bool amg_margo_pool_plan_read(const struct amg_margo_log *log, const char *path,
    struct json_object *object, struct amg_margo_pool_plan *plan);
void amg_margo_pool_plan_free(struct amg_margo_pool_plan *plan);
bool amg_margo_stream_plan_read(const struct amg_margo_log *log,
    const char *path, struct json_object *object,
    struct amg_margo_stream_plan *plan);
void amg_margo_stream_plan_free(struct amg_margo_stream_plan *plan);

/* An integer or a string. */
bool amg_margo_pool_ref_read(const struct amg_margo_log *log, const char *path,
    struct json_object *value, struct amg_margo_pool_ref *ret_ref);

/* May something be called so? Else the log says why not. */
bool amg_margo_name_is_valid(
    const struct amg_margo_log *log, const char *path, const char *name);

/* As the text says it. */
const char *amg_margo_pool_kind_name(int kind);
const char *amg_margo_pool_access_name(int access);
const char *amg_margo_sched_kind_name(int kind);

#endif
