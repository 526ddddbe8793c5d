/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams that a text asks for, before there are any. */
#ifndef AMG_MARGO_PLAN_H
#define AMG_MARGO_PLAN_H

#include "margo/plan_row.h"

struct json_object;

/* Made and freed by the configuration that it is a part of. */
struct amg_margo_plan {
    struct amg_margo_pool_plan *pools;
    unsigned pool_count;
    struct amg_margo_stream_plan *streams;
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

/* The pool that is meant; -1: there is none, and the log says so. */
int amg_margo_plan_resolve(const struct amg_margo_log *log, const char *path,
    const struct amg_margo_plan *plan, const struct amg_margo_pool_ref *ref);

#endif
