/* SPDX-License-Identifier: BSD-3-Clause */
/* Time series: what is counted in each interval, and how full pools are. */
#ifndef AMG_MARGO_SERIES_H
#define AMG_MARGO_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "margo.h"

struct json_object;

/* Points of one thing, each a moment and two numbers. */
struct amg_series_line {
    struct amg_series_line *next; /* of all */
    char *name;
    uint64_t id;
    uint64_t counts[2]; /* of the interval that runs */
    double *points;     /* three numbers each: the moment, and those two */
    size_t len;         /* points */
    size_t cap;
};

/* All zero, and then `interval_s` and `next_s`, is an empty one. Guarded by its
 * owner. Lines of RPCs are kept by their id, those of pools by their handle. */
struct amg_series {
    double interval_s;
    double next_s; /* when the next point is due, of ABT_get_wtime() */
    struct amg_map rpcs;
    struct amg_series_line *all_rpcs;
    struct amg_map pools;
    struct amg_series_line *all_pools;
    bool is_short; /* points are missing, since there was no memory */
};

/* An RPC is registered: it has a line, also when no request comes. */
void amg_series_rpc(struct amg_series *series, hg_id_t id, const char *name);
/* A request of an RPC has come in; and so many bytes have been moved for it. */
void amg_series_request(
    struct amg_series *series, hg_id_t id, const char *name);
void amg_series_bytes(struct amg_series *series, hg_id_t id, uint64_t bytes);

/* Is a point due? */
bool amg_series_is_due(const struct amg_series *series, double now_s);
/* A point for each RPC, and the next one is due an interval from now. Those of
 * pools are told before by the next call. */
void amg_series_close(struct amg_series *series, double now_s);
void amg_series_pool(struct amg_series *series, double now_s, ABT_pool pool,
    const char *name, size_t size, size_t total_size);

/* Forgets all points. */
void amg_series_reset(struct amg_series *series);
void amg_series_fini(struct amg_series *series);

/* Adds "rpcs" and "pools" to an object. */
void amg_series_json(const struct amg_series *series, unsigned precision,
    struct json_object *to);

#endif
