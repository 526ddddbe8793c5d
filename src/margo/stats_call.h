/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of calls: by call path, side and peer.
 *
 * A call path is an RPC with its provider, and the RPC within whose handler it
 * is called. A book has an entry for each path, side and peer; an entry lives
 * as long as its book, so handles and requests may keep a pointer to it. */
#ifndef AMG_MARGO_STATS_CALL_H
#define AMG_MARGO_STATS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "margo/stats.h"
#include "mercury_types.h"

struct json_object;

enum amg_stats_side { AMG_STATS_ORIGIN, AMG_STATS_TARGET };

/* What is measured; the table in stats_call.c names each. */
enum amg_stats_what {
    AMG_STATS_FORWARD, /* origin: from the post to the answer */
    AMG_STATS_IFORWARD,
    AMG_STATS_SET_INPUT,
    AMG_STATS_FORWARD_CB,
    AMG_STATS_FORWARD_WAIT,
    AMG_STATS_GET_OUTPUT,
    AMG_STATS_FREE_OUTPUT,
    AMG_STATS_HANDLER, /* target */
    AMG_STATS_ULT,
    AMG_STATS_GET_INPUT,
    AMG_STATS_FREE_INPUT,
    AMG_STATS_IRESPOND,
    AMG_STATS_SET_OUTPUT,
    AMG_STATS_RESPOND_CB,
    AMG_STATS_RESPOND_WAIT,
    AMG_STATS_BULK_CREATE, /* within a handler, or within none */
    AMG_STATS_BULK_FREE,
    AMG_STATS_PULL, /* from the post to the end of the transfer */
    AMG_STATS_IPULL,
    AMG_STATS_PULL_CB,
    AMG_STATS_PULL_WAIT,
    AMG_STATS_PUSH, /* in the order of the pulls */
    AMG_STATS_IPUSH,
    AMG_STATS_PUSH_CB,
    AMG_STATS_PUSH_WAIT,
    AMG_STATS_WHAT_COUNT
};

struct amg_stats_measure {
    struct amg_stats duration;
    struct amg_stats relative; /* since what the table names */
    struct amg_stats size;     /* bytes, of bulk */
};

/* What an entry is of. */
struct amg_stats_path {
    hg_id_t parent; /* 0: called in no handler */
    hg_id_t id;     /* 0: no RPC, but bulk in no handler */
    enum amg_stats_side side;
    const char *peer; /* its address */
    const char *name; /* of the RPC; no part of what is looked for */
};

struct amg_stats_call {
    struct amg_stats_path path;  /* with texts of its own */
    struct amg_stats_call *same; /* another one of the same hash */
    struct amg_stats_call *next; /* of all */
    struct amg_stats_measure measures[AMG_STATS_WHAT_COUNT];
};

/* All zero is an empty one. Guarded by its owner. */
struct amg_stats_book {
    struct amg_map by_hash; /* to the first of each hash */
    struct amg_stats_call *all;
    struct amg_stats_call **end; /* of `all` */
};

/* The entry, made where there was none. NULL: no memory. */
struct amg_stats_call *amg_stats_book_find(
    struct amg_stats_book *book, const struct amg_stats_path *path);
/* Forgets the numbers, not the entries. */
void amg_stats_book_reset(struct amg_stats_book *book);
void amg_stats_book_fini(struct amg_stats_book *book);

/* The object "rpcs" of the file. NULL: no memory. */
struct json_object *amg_stats_book_json(
    const struct amg_stats_book *book, unsigned precision);

#endif
