/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams that a configuration asks for, before they exist. */
#ifndef AMG_MARGO_POOL_SPEC_H
#define AMG_MARGO_POOL_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "abt.h"
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

/* A scheduler of the program, besides the values of ABT_sched_predef. */
enum { AMG_MARGO_SCHED_EXTERNAL = ABT_SCHED_BASIC_WAIT + 1 };

struct amg_margo_pool_spec {
    char *name; /* NULL: one is to be made up */
    int kind;   /* enum amg_margo_pool_kind */
    int access; /* ABT_pool_access */
};

/* By name, or by index where that is NULL; an index of -1: by default. */
struct amg_margo_pool_ref {
    char *name;
    int index;
    bool is_own; /* of the plan's own pools, which a child adds to others */
};

struct amg_margo_stream_spec {
    char *name;  /* NULL: one is to be made up */
    int kind;    /* ABT_sched_predef */
    int cpubind; /* -1: none */
    int *affinity;
    unsigned affinity_count;
    struct amg_margo_pool_ref *pools;
    unsigned pool_count;
    bool is_progress; /* asked for by use_progress_thread */
};

/* One element of "pools", of "xstreams". False: refused, or no memory, which
 * the log says; the plan is to be freed in both cases. */
bool amg_margo_pool_spec_read(const struct amg_margo_log *log, const char *path,
    struct json_object *object, struct amg_margo_pool_spec *plan);
void amg_margo_pool_spec_free(struct amg_margo_pool_spec *plan);
bool amg_margo_stream_spec_read(const struct amg_margo_log *log,
    const char *path, struct json_object *object,
    struct amg_margo_stream_spec *plan);
void amg_margo_stream_spec_free(struct amg_margo_stream_spec *plan);

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

/* Made and freed by the configuration that it is a part of. */
struct amg_margo_plan {
    struct amg_margo_pool_spec *pools;
    unsigned pool_count;
    struct amg_margo_stream_spec *streams;
    unsigned stream_count;
    struct amg_margo_pool_ref progress; /* the loop's pool */
    struct amg_margo_pool_ref rpc;      /* the handlers' */
    bool rpc_is_progress;               /* they are to be the same */
};

/* Reads the arrays "pools" and "xstreams" of the section "argobots", which may
 * be NULL, into `plan`, which is all zero, with room for `more` of each. False:
 * refused, or no memory, which the log says. The plan is to be freed in both
 * cases, here and below. */
bool amg_margo_plan_read(const struct amg_margo_log *log,
    struct json_object *argobots, unsigned more, struct amg_margo_plan *plan);
void amg_margo_plan_free(struct amg_margo_plan *plan);

/* Appends a pool, or a stream of one pool, where there is room; NULL for the
 * name: one is to be made up. False: no memory, which the log says. */
bool amg_margo_plan_add_pool(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, const char *name, int kind);
bool amg_margo_plan_add_stream(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, const char *name, unsigned pool);

/* A pool of the plan has got a name among others: references to the plan's own
 * pools lead there from now on. False: no memory, which the log says. */
bool amg_margo_plan_pool_named(const struct amg_margo_log *log,
    struct amg_margo_plan *plan, unsigned index, const char *name);

/* Says that a reference leads to none of so many pools. */
void amg_margo_plan_tell_missing(const struct amg_margo_log *log,
    const char *path, const struct amg_margo_pool_ref *ref, unsigned count);

/* The index of what is called so; -1: there is none. */
int amg_margo_plan_find_pool(
    const struct amg_margo_plan *plan, const char *name);
int amg_margo_plan_find_stream(
    const struct amg_margo_plan *plan, const char *name);

/* Index of the named pool; -1: there is none, and the log says so. */
int amg_margo_plan_resolve(const struct amg_margo_log *log, const char *path,
    const struct amg_margo_plan *plan, const struct amg_margo_pool_ref *ref);

#endif
