/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics and time series that the default monitor keeps.
 *
 * A breadcrumb names a kind of call: RPC and provider, the RPC whose handler
 * makes the call, side, and peers. A book has an entry for each breadcrumb. The
 * entries live as long as the book, so that handles may point to them. */
#ifndef AMG_MARGO_MONITOR_STATS_H
#define AMG_MARGO_MONITOR_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "margo.h"
#include "mercury_types.h"

struct json_object;

/* Summary of numbers; all zero: no numbers. Guarded by its owner. */
struct amg_stats {
    uint64_t num;
    double min;
    double max;
    double avg;
    double squares; /* sum of the squared distances from the mean */
    double sum;
};

void amg_stats_add(struct amg_stats *stats, double number);

/* {"num", "min", "max", "avg", "var", "sum"}. NULL: no memory. */
struct json_object *amg_stats_json(
    const struct amg_stats *stats, unsigned precision);

enum amg_stats_side { AMG_STATS_ORIGIN, AMG_STATS_TARGET };

/* Measures; the table in monitor_stats.c names each. */
enum amg_stats_what {
    AMG_STATS_FORWARD, /* first measure of the origin: post to answer */
    AMG_STATS_IFORWARD,
    AMG_STATS_SET_INPUT,
    AMG_STATS_FORWARD_CB,
    AMG_STATS_FORWARD_WAIT,
    AMG_STATS_GET_OUTPUT,
    AMG_STATS_FREE_OUTPUT,
    AMG_STATS_HANDLER, /* first measure of the target */
    AMG_STATS_ULT,
    AMG_STATS_GET_INPUT,
    AMG_STATS_FREE_INPUT,
    AMG_STATS_IRESPOND,
    AMG_STATS_SET_OUTPUT,
    AMG_STATS_RESPOND_CB,
    AMG_STATS_RESPOND_WAIT,
    AMG_STATS_BULK_CREATE, /* first measure of bulk operations */
    AMG_STATS_BULK_FREE,
    AMG_STATS_PULL, /* from the post to the end of the transfer */
    AMG_STATS_IPULL,
    AMG_STATS_PULL_CB,
    AMG_STATS_PULL_WAIT,
    AMG_STATS_PUSH, /* pushes follow in the order of pulls */
    AMG_STATS_IPUSH,
    AMG_STATS_PUSH_CB,
    AMG_STATS_PUSH_WAIT,
    AMG_STATS_WHAT_COUNT
};

struct amg_stats_measure {
    struct amg_stats duration;
    struct amg_stats relative; /* time since the event that the table names */
    struct amg_stats size;     /* bytes, of bulk */
    bool was_reset;            /* had numbers before a reset: still written */
};

/* Key of an entry. */
struct amg_breadcrumb {
    hg_id_t parent; /* 0: called outside of handlers */
    hg_id_t id;     /* 0: bulk operations outside of handlers */
    enum amg_stats_side side;
    const char *peer; /* address of the peer */
    const char *name; /* of the RPC; not compared */
    /* Address of the peer of a transfer within the call; NULL: no transfer. */
    const char *remote;
};

struct amg_stats_call {
    struct amg_breadcrumb path;  /* with its own copies of texts */
    struct amg_stats_call *same; /* next call with an equal hash */
    struct amg_stats_call *next; /* next call of the book */
    struct amg_stats_measure measures[AMG_STATS_WHAT_COUNT];
};

/* An empty book is all zero. Guarded by its owner. */
struct amg_stats_book {
    struct amg_map by_hash; /* first call of each hash */
    struct amg_stats_call *all;
    struct amg_stats_call **end; /* where the next call of `all` is linked */
};

/* Finds or adds an entry. NULL: no memory. */
struct amg_stats_call *amg_stats_book_find(
    struct amg_stats_book *book, const struct amg_breadcrumb *path);
/* Clears the numbers, but keeps the entries. */
void amg_stats_book_reset(struct amg_stats_book *book);
void amg_stats_book_fini(struct amg_stats_book *book);

/* The object "rpcs" of the statistics. NULL: no memory. */
struct json_object *amg_stats_book_json(
    const struct amg_stats_book *book, unsigned precision);

/* The points of an RPC or a pool, each a time and two numbers. */
struct amg_timeseries_line {
    struct amg_timeseries_line *next; /* next line */
    char *name;
    uint64_t id;        /* hg_id_t or ABT_pool */
    uint64_t counts[2]; /* requests and bytes of an RPC in this interval */
    double *points;     /* each: time, first number, second number */
    size_t len;         /* points */
    size_t cap;
};

/* Empty when all zero but `interval_s` and `next_s`. Guarded by its owner. The
 * maps find the line of an RPC by id, and the line of a pool by handle. */
struct amg_timeseries {
    double interval_s;
    double next_s; /* due time of the next point, since the opening */
    struct amg_map rpcs;
    struct amg_timeseries_line *all_rpcs;
    struct amg_map pools;
    struct amg_timeseries_line *all_pools;
    bool is_short; /* points are missing, since there was no memory */
};

/* Count requests of an RPC, whose line is added if missing; and bytes that the
 * handlers of an RPC transferred, unless the RPC has no line. */
void amg_timeseries_request(struct amg_timeseries *series, hg_id_t id,
    const char *name, unsigned count);
void amg_timeseries_bytes(
    struct amg_timeseries *series, hg_id_t id, uint64_t bytes);

/* Is a point due? */
bool amg_timeseries_is_due(const struct amg_timeseries *series, double now_s);
/* Adds a point for each RPC; the next point is due an interval from now.
 * The caller adds the points of pools before, by amg_timeseries_pool(). */
void amg_timeseries_close(struct amg_timeseries *series, double now_s);
void amg_timeseries_pool(struct amg_timeseries *series, double now_s,
    ABT_pool pool, const char *name, size_t size, size_t total_size);

/* Removes all points. */
void amg_timeseries_reset(struct amg_timeseries *series);
void amg_timeseries_fini(struct amg_timeseries *series);

/* Adds "rpcs" and "pools" to an object. */
void amg_timeseries_json(const struct amg_timeseries *series,
    unsigned precision, struct json_object *to);

#endif
