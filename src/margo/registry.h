/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams that an instance knows, by handle, index and name;
 * an instance shares them with its parent and children. */
#ifndef AMG_MARGO_REGISTRY_H
#define AMG_MARGO_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "abt.h"
#include "base/lock.h"
#include "margo/log.h"
#include "margo/config.h"
#include "mercury_types.h"
#include "margo.h"

/* Common head of a pool and a stream; first in their structs. */
struct amg_margo_item {
    char *name;
    void *handle;  /* an ABT_pool or ABT_xstream */
    bool is_owned; /* it ends with the item */
    unsigned uses; /* by streams, RPCs and instances */
    unsigned refs; /* by the program: margo_pool_ref_incr() */
};

struct amg_margo_pool {
    struct amg_margo_item item;
    int kind;   /* enum amg_margo_pool_kind */
    int access; /* ABT_pool_access; of an external one unknown */
};

struct amg_margo_stream {
    struct amg_margo_item item;
    bool is_primary; /* of the thread that opened the instance: never removed */
    bool is_progress; /* asked for by use_progress_thread */
    int kind;         /* ABT_sched_predef, or AMG_MARGO_SCHED_EXTERNAL */
    int cpubind;      /* as it was asked for */
    int *affinity;
    unsigned affinity_count;
    struct amg_margo_pool **pools; /* each used once by this stream */
    unsigned pool_count;
};

struct amg_margo_list {
    struct amg_margo_item **items;
    unsigned count;
    unsigned cap;
    unsigned named;   /* for names that are made up */
    const char *what; /* is in it, for those: "pool" */
};

/* Owned by its instances together. The lock guards all that lies in it. */
struct amg_margo_registry {
    struct amg_lock lock;
    unsigned instances;
    struct amg_margo_list pools;
    struct amg_margo_list streams;
};

static inline struct amg_margo_pool *amg_margo_pool_at_locked(
    const struct amg_margo_registry *registry, unsigned index)
{
    return (struct amg_margo_pool *)(void *)registry->pools.items[index];
}

static inline struct amg_margo_stream *amg_margo_stream_at_locked(
    const struct amg_margo_registry *registry, unsigned index)
{
    return (struct amg_margo_stream *)(void *)registry->streams.items[index];
}

/* For log lines. */
static inline const char *amg_margo_item_name(const struct amg_margo_item *item)
{
    return item->name == NULL ? "without a name" : item->name;
}

static inline ABT_pool amg_margo_pool_abt(const struct amg_margo_pool *pool)
{
    return (ABT_pool)pool->item.handle;
}

static inline ABT_xstream amg_margo_stream_abt(
    const struct amg_margo_stream *stream)
{
    return (ABT_xstream)stream->item.handle;
}

/* Which of a list. */
struct amg_margo_key {
    enum { AMG_MARGO_BY_HANDLE, AMG_MARGO_BY_INDEX, AMG_MARGO_BY_NAME } by;
    const void *handle;
    uint32_t index;
    const char *name;
};

static inline struct amg_margo_key amg_margo_key_handle(const void *handle)
{
    return (struct amg_margo_key){.by = AMG_MARGO_BY_HANDLE, .handle = handle};
}

static inline struct amg_margo_key amg_margo_key_index(uint32_t index)
{
    return (struct amg_margo_key){.by = AMG_MARGO_BY_INDEX, .index = index};
}

static inline struct amg_margo_key amg_margo_key_name(const char *name)
{
    return (struct amg_margo_key){.by = AMG_MARGO_BY_NAME, .name = name};
}

/* NULL: no memory. With one instance. */
struct amg_margo_registry *amg_margo_registry_create(void);
/* It is empty. */
void amg_margo_registry_destroy(struct amg_margo_registry *registry);

/* The item and its index, or NULL; NULL is fine for the latter. */
struct amg_margo_item *amg_margo_list_find_locked(
    const struct amg_margo_list *list, struct amg_margo_key key,
    uint32_t *ret_index);

/* Appends the item, after making up a name where it has none. HG_INVALID_ARG:
 * the name or handle is in there; HG_NOMEM. Logged. */
hg_return_t amg_margo_list_add(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, struct amg_margo_list *list,
    struct amg_margo_item *item);
/* Takes it off; those after it move up. */
void amg_margo_list_remove_locked(
    struct amg_margo_list *list, const struct amg_margo_item *item);

/* A pool as it is planned. `is_automatic`: it ends with the scheduler that runs
 * it. NULL: the log says why. */
struct amg_margo_pool *amg_margo_pool_create(const struct amg_margo_log *log,
    const struct amg_margo_pool_spec *plan, bool is_automatic);

/* One that is there, and called so; NULL: a name is made up later. NULL: no
 * memory, the log says so. */
struct amg_margo_pool *amg_margo_pool_wrap(const struct amg_margo_log *log,
    const char *name, ABT_pool pool, bool is_owned);

/* Frees a pool that is in no registry. NULL is fine. */
void amg_margo_pool_destroy(
    const struct amg_margo_log *log, struct amg_margo_pool *pool);

/* Adds it to the registry, or ends it: then the log says why. */
hg_return_t amg_margo_pool_add(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, struct amg_margo_pool *pool);

/* The named pool, or NULL: the log says so. */
struct amg_margo_pool *amg_margo_pool_resolve_locked(
    const struct amg_margo_log *log, const char *path,
    const struct amg_margo_registry *registry,
    const struct amg_margo_pool_ref *ref);

/* Starts a stream as it is planned, with pools of the registry, and adds it.
 * NULL in `ret_stream` is fine. An error leaves nothing behind; the log says
 * why. */
hg_return_t amg_margo_stream_create(const struct amg_margo_log *log,
    const char *path, struct amg_margo_registry *registry,
    const struct amg_margo_stream_spec *plan,
    struct amg_margo_stream **ret_stream);

/* The calling stream gets a scheduler with the pools of the plan, in the
 * place of its own; `keeps`: it continues to run its present pools, too. */
hg_return_t amg_margo_stream_adopt(const struct amg_margo_log *log,
    struct amg_margo_registry *registry,
    const struct amg_margo_stream_spec *plan, bool keeps);

/* Adds one that is there; HG_INVALID_ARG: it runs a pool that is not
 * registered. */
hg_return_t amg_margo_stream_wrap(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, const char *name, ABT_xstream xstream,
    bool is_owned);

/* Ends a stream that is no longer registered: joined and freed, if it is
 * owned. */
void amg_margo_stream_destroy(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, struct amg_margo_stream *stream);

/* pools.c: the named pools and streams of an instance. The registry is shared
 * with the instance's parent and children. */
struct amg_margo_pools {
    ABT_pool progress_pool; /* the loop's */
    ABT_pool rpc_pool;      /* handlers of RPCs that name none */
    struct amg_margo_registry *registry;
};

/* Makes what the configuration asks for; with a parent instance, shares. After
 * ABT_init(), by a thread of Argobots; `is_first`: that call was margo's, so
 * that the scheduler of the calling stream may be replaced. False: the reason
 * is in the log, and nothing is left behind. */
bool amg_margo_pools_open(
    margo_instance_id mid, const struct margo_init_info *info, bool is_first);
/* Pins the progress stream where the processes of the node are known; after
 * the class was opened. False: there is one, made here for that alone, which
 * may have to share its core. Never fails. */
bool amg_margo_pools_pin(margo_instance_id mid);
/* Ends the streams and pools that were made here; not by a thread of theirs,
 * but of the primary stream. */
void amg_margo_pools_close(margo_instance_id mid);

/* An RPC uses the pool, which cannot be removed meanwhile; one that the
 * instance does not know is fine. */
void amg_margo_pools_ref(margo_instance_id mid, ABT_pool pool);
void amg_margo_pools_unref(margo_instance_id mid, ABT_pool pool);

#endif
