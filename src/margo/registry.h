/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams that an instance knows, by handle, index and name;
 * an instance shares them with its parent and children. */
#ifndef AMG_MARGO_REGISTRY_H
#define AMG_MARGO_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "abt.h"
#include "base/lock.h"
#include "margo.h"
#include "margo/config.h"
#include "margo/log.h"
#include "mercury_types.h"

/* A pool or a stream. */
struct amg_margo_item {
    char *name;
    void *handle;  /* an ABT_pool or ABT_xstream */
    bool is_owned; /* `handle` is freed with the item */
    unsigned uses; /* of a pool: by streams, RPCs and instances */
    unsigned refs; /* by the program: margo_pool_ref_incr() */
    int kind;      /* of a pool: enum amg_margo_pool_kind; of a stream:
                    * ABT_sched_predef, or AMG_MARGO_SCHED_EXTERNAL */
    int access;    /* of a pool: ABT_pool_access; not set if external */
    /* Of a stream. */
    bool is_primary;  /* stream that opened the instance: never removed */
    bool is_progress; /* requested by use_progress_thread */
    int cpubind;      /* requested CPU; -1: none */
    int *affinity;
    unsigned affinity_count;
    struct amg_margo_item **pools; /* the stream's pools; one use of each */
    unsigned pool_count;
    struct amg_margo_item *left; /* next in the registry's list `left` */
};

struct amg_margo_list {
    struct amg_margo_item **items;
    unsigned count;
    unsigned cap;
    unsigned named;   /* the next made-up name has at least this number */
    const char *what; /* "pool" or "xstream", for made-up names */
};

/* Freed by its last instance. */
struct amg_margo_registry {
    struct amg_lock lock; /* guards the items, and all members but `shown` */
    /* Held while margo_state_dump() prints items, and while a removed item is
     * freed. Acquired before `lock`; a thread that waits for `shown` blocks. */
    ABT_mutex_memory shown;
    unsigned instances;
    struct amg_margo_list pools;
    struct amg_margo_list streams;
    /* Streams that were removed by one of their own threads. Such a stream ends
     * when that thread leaves; then amg_margo_streams_reap() frees it. */
    struct amg_margo_item *left;
};

/* Key of an item in a list. */
struct amg_margo_item_key {
    enum { AMG_MARGO_BY_HANDLE, AMG_MARGO_BY_INDEX, AMG_MARGO_BY_NAME } by;
    const void *handle;
    uint32_t index;
    const char *name;
};

static inline struct amg_margo_item_key amg_margo_by_handle(const void *handle)
{
    return (struct amg_margo_item_key){
        .by = AMG_MARGO_BY_HANDLE, .handle = handle};
}

static inline struct amg_margo_item_key amg_margo_by_index(uint32_t index)
{
    return (struct amg_margo_item_key){
        .by = AMG_MARGO_BY_INDEX, .index = index};
}

static inline struct amg_margo_item_key amg_margo_by_name(const char *name)
{
    return (struct amg_margo_item_key){.by = AMG_MARGO_BY_NAME, .name = name};
}

/* The registry; NULL: the instance is NULL, or has no registry. */
struct amg_margo_registry *amg_margo_registry_of(margo_instance_id mid);

/* From begin to end no pool or stream of the registry is freed. */
void amg_margo_show_begin(struct amg_margo_registry *registry);
void amg_margo_show_end(struct amg_margo_registry *registry);

/* Creates an item with room for `pools` pools and `affinity` CPUs of a stream;
 * amg_margo_list_add() makes up a missing name. NULL: no memory, logged. */
struct amg_margo_item *amg_margo_item_new(
    margo_instance_id mid, const char *name, size_t pools, unsigned affinity);
/* The name of an item, for log lines. */
const char *amg_margo_item_name(const struct amg_margo_item *item);

/* Appends the item, with a made-up name if the item has none. HG_INVALID_ARG:
 * the list has that name or handle; HG_NOMEM. Errors are logged. */
hg_return_t amg_margo_list_add(margo_instance_id mid,
    struct amg_margo_list *list, struct amg_margo_item *item);

/* Why an item stays; NULL: the item may go. */
typedef const char *amg_margo_reason_fn(
    const struct amg_margo_registry *registry,
    const struct amg_margo_item *item);
/* Takes an item that is not in use off its list. HG_NOENTRY: there is no such
 * item. HG_PERMISSION, logged: reason_locked() gave a reason to keep it. */
hg_return_t amg_margo_item_take_off(margo_instance_id mid,
    struct amg_margo_list *list, const void *handle,
    amg_margo_reason_fn *reason_locked, struct amg_margo_item **ret_item);

/* Creates an item for an existing pool; for `name` see amg_margo_item_new().
 * NULL: no memory, logged. */
struct amg_margo_item *amg_margo_pool_wrap(
    margo_instance_id mid, const char *name, ABT_pool handle, bool is_owned);
/* Registers the pool. After an error, which is logged, frees the item, and also
 * the pool if Margo created the pool. */
hg_return_t amg_margo_pool_add(
    margo_instance_id mid, struct amg_margo_item *pool);
/* The registered pool of that handle, or NULL. */
struct amg_margo_item *amg_margo_pool_find_locked(
    const struct amg_margo_registry *registry, ABT_pool pool);
/* The referenced pool; NULL: no such pool, logged. */
struct amg_margo_item *amg_margo_pool_resolve_locked(margo_instance_id mid,
    const char *path, const struct amg_margo_pool_ref *ref);
/* Frees the item of a pool that is on no list; accepts NULL. */
void amg_margo_pool_destroy(margo_instance_id mid, struct amg_margo_item *pool);

/* Find an item like the public calls margo_find_pool_by_name() etc. */
hg_return_t amg_margo_pool_find(margo_instance_id mid,
    struct amg_margo_item_key key, struct margo_pool_info *info);
hg_return_t amg_margo_stream_find(margo_instance_id mid,
    struct amg_margo_item_key key, struct margo_xstream_info *info);

/* The name of an error code of Argobots for a log line, as "ABT_ERR_INV_POOL";
 * valid until the next call of this OS thread. */
const char *amg_margo_abt_error(int error);

/* stream.c: starts the streams of the plan; without `is_first` (the program has
 * called ABT_init()) the calling stream keeps its pools. False: logged. */
bool amg_margo_streams_open(
    margo_instance_id mid, const struct amg_margo_plan *plan, bool is_first);
/* Frees the removed streams that have ended; `all`: ends all streams, and waits
 * for them. */
void amg_margo_streams_reap(margo_instance_id mid, bool all);

/* pools.c: the pools of the loop and of handlers, and the registry. */
struct amg_margo_pools {
    ABT_pool progress_pool; /* of the loop */
    ABT_pool rpc_pool;      /* of handlers of RPCs for which no pool is set */
    struct amg_margo_registry *registry;
};

/* Creates the pools and streams of the configuration; a child also shares those
 * of its parent. Called after ABT_init(), by a thread of Argobots; `is_first`:
 * Margo called ABT_init(), so the calling stream's scheduler may be replaced.
 * False: failed, logged; what a child created stays in the shared registry. */
bool amg_margo_pools_open(
    margo_instance_id mid, const struct margo_init_info *info, bool is_first);
/* Pins the stream of use_progress_thread, if any, to a core of its own, if the
 * processes of the node are known; called after the class was opened. False:
 * the stream was not pinned, and may have to share its core. */
bool amg_margo_pools_pin(margo_instance_id mid);
/* Leaves the registry; its last instance ends all streams and frees all pools.
 * The caller may run in the primary stream, but in no other of the streams. */
void amg_margo_pools_close(margo_instance_id mid);

/* Count uses of a pool by an RPC, a loop or handlers; a pool in use cannot be
 * removed. Do nothing for a pool that the instance does not know. */
void amg_margo_pools_ref(margo_instance_id mid, ABT_pool pool);
void amg_margo_pools_unref(margo_instance_id mid, ABT_pool pool);

#endif
