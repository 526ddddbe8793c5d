/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams that an instance knows, by handle, index and name;
 * shared by the instances that a parent has. */
#ifndef AMG_MARGO_SET_H
#define AMG_MARGO_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "abt.h"
#include "base/lock.h"
#include "mercury_types.h"

/* What a pool and a stream have in common; in their struct it comes first. */
struct amg_margo_item {
    char *name;
    void *handle;   /* an ABT_pool or ABT_xstream */
    bool is_owned;  /* it ends with the item */
    unsigned uses;  /* by streams, RPCs and instances */
    unsigned holds; /* by the program: margo_pool_ref_incr() */
};

struct amg_margo_pool {
    struct amg_margo_item item;
    int kind;   /* enum amg_margo_pool_kind */
    int access; /* enum amg_margo_pool_access; of an external one unknown */
};

struct amg_margo_stream {
    struct amg_margo_item item;
    bool is_primary;  /* of whoever opened the instance: never removed */
    bool is_progress; /* asked for by use_progress_thread */
    int kind;         /* enum amg_margo_sched_kind */
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
struct amg_margo_set {
    struct amg_lock lock;
    unsigned instances;
    struct amg_margo_list pools;
    struct amg_margo_list streams;
};

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
struct amg_margo_set *amg_margo_set_create(void);
/* It is empty. */
void amg_margo_set_destroy(struct amg_margo_set *set);

/* The item and its index, or NULL; NULL is fine for the latter. */
struct amg_margo_item *amg_margo_list_find_locked(
    const struct amg_margo_list *list, struct amg_margo_key key,
    uint32_t *ret_index);

/* Appends the item, after making up a name where it has none. HG_EXIST: the
 * name or handle is in there; HG_NOMEM. */
hg_return_t amg_margo_list_add_locked(
    struct amg_margo_list *list, struct amg_margo_item *item);
/* Takes it off; those after it move up. */
void amg_margo_list_remove_locked(
    struct amg_margo_list *list, const struct amg_margo_item *item);

/* What the public calls of pools and streams have in common: HG_INVALID_ARG
 * for a set, handle or name that is NULL, HG_NOENTRY for what is not there. */
hg_return_t amg_margo_set_find(struct amg_margo_set *set,
    struct amg_margo_list *list, struct amg_margo_key key, void **ret_handle,
    const char **ret_name, uint32_t *ret_index);
hg_return_t amg_margo_set_hold(struct amg_margo_set *set,
    struct amg_margo_list *list, struct amg_margo_key key);
hg_return_t amg_margo_set_count(struct amg_margo_set *set,
    struct amg_margo_list *list, struct amg_margo_key key, unsigned *ret_count);
/* HG_PERMISSION: the program holds none. */
hg_return_t amg_margo_set_drop(struct amg_margo_set *set,
    struct amg_margo_list *list, struct amg_margo_key key);

#endif
