/* SPDX-License-Identifier: BSD-3-Clause */
/* Registry of pools and streams: its items by handle, index and name, and the
 * public calls that find, count and reference them. */
#include "margo/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/log.h"

enum {
    FIRST_CAP = 8,
    NAME_CAP = 32 /* of names made up */,
    ABT_ERROR_CAP = 64
};

const char *amg_margo_abt_error(int error)
{
    static _Thread_local char text[ABT_ERROR_CAP];
    size_t len = 0;

    /* Asks first for the length, which does not count the zero at the end. */
    if (ABT_error_get_str(error, NULL, &len) != ABT_SUCCESS ||
        len >= sizeof(text) ||
        ABT_error_get_str(error, text, NULL) != ABT_SUCCESS)
        (void)snprintf(text, sizeof(text), "error %d of Argobots", error);
    return text;
}

void amg_margo_show_begin(struct amg_margo_registry *registry)
{
    ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&registry->shown));
}

void amg_margo_show_end(struct amg_margo_registry *registry)
{
    ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&registry->shown));
}

static bool key_fits(const struct amg_margo_item *item, uint32_t index,
    struct amg_margo_item_key key)
{
    switch (key.by) {
    case AMG_MARGO_BY_HANDLE:
        return item->handle == key.handle;
    case AMG_MARGO_BY_INDEX:
        return index == key.index;
    default:
        return strcmp(item->name, key.name) == 0;
    }
}

/* The index of an item; the length of the list: no such item. The caller holds
 * the lock of the registry. */
static uint32_t list_index(
    const struct amg_margo_list *list, struct amg_margo_item_key key)
{
    uint32_t i = 0;

    while (i < list->count && !key_fits(list->items[i], i, key))
        i++;
    return i;
}

/* The item of `key`, or NULL. The caller holds the lock of the registry. */
static struct amg_margo_item *list_find(
    const struct amg_margo_list *list, struct amg_margo_item_key key)
{
    uint32_t i = list_index(list, key);

    return i < list->count ? list->items[i] : NULL;
}

struct amg_margo_item *amg_margo_pool_find_locked(
    const struct amg_margo_registry *registry, ABT_pool pool)
{
    AMG_ASSERT_HELD(&registry->lock);
    return list_find(&registry->pools, amg_margo_by_handle(pool));
}

const char *amg_margo_item_name(const struct amg_margo_item *item)
{
    return item->name == NULL ? "without a name" : item->name;
}

static bool list_grow(struct amg_margo_list *list)
{
    unsigned cap = list->cap == 0 ? FIRST_CAP : 2 * list->cap;
    struct amg_margo_item **items = NULL;

    if (list->count < list->cap)
        return true;
    items = amg_mem_realloc(list->items, cap * sizeof(items[0]));
    if (items == NULL)
        return false;
    list->items = items;
    list->cap = cap;
    return true;
}

/* Makes up a name that no item of the list has; NULL: no memory. */
static char *name_make(struct amg_margo_list *list)
{
    char name[NAME_CAP];
    unsigned number = list->named;

    if (number < list->count)
        number = list->count;
    do {
        (void)snprintf(name, sizeof(name), "__%s_%u__", list->what, number++);
    } while (list_find(list, amg_margo_by_name(name)) != NULL);
    list->named = number;
    return amg_mem_strdup(name);
}

hg_return_t amg_margo_list_add(margo_instance_id mid,
    struct amg_margo_list *list, struct amg_margo_item *item)
{
    struct amg_lock *lock = &mid->pools->registry->lock;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(item->handle != NULL);
    amg_lock_lock(lock);
    if (list_find(list, amg_margo_by_handle(item->handle)) != NULL ||
        (item->name != NULL &&
            list_find(list, amg_margo_by_name(item->name)) != NULL))
        rc = HG_INVALID_ARG;
    else if (!list_grow(list))
        rc = HG_NOMEM;
    else if (item->name == NULL && (item->name = name_make(list)) == NULL)
        rc = HG_NOMEM;
    else
        list->items[list->count++] = item;
    amg_lock_unlock(lock);
    if (rc != HG_SUCCESS)
        margo_error(mid, "the %s %.60s was not added: %s", list->what,
            amg_margo_item_name(item),
            rc == HG_NOMEM ? "no memory"
                           : "the instance has one of that name or handle");
    return rc;
}

/* Removes an item; later items move up. The caller holds the registry lock. */
static void list_remove(
    struct amg_margo_list *list, const struct amg_margo_item *item)
{
    uint32_t at = list_index(list, amg_margo_by_handle(item->handle));

    AMG_ASSERT(at < list->count && list->items[at] == item);
    list->count--;
    memmove(&list->items[at], &list->items[at + 1],
        (list->count - at) * sizeof(list->items[0]));
}

struct amg_margo_item *amg_margo_item_new(
    margo_instance_id mid, const char *name, size_t pools, unsigned affinity)
{
    struct amg_margo_item *item =
        amg_mem_zalloc(sizeof(*item) + pools * sizeof(item->pools[0]) +
                       affinity * sizeof(item->affinity[0]));

    if (item != NULL && name != NULL)
        item->name = amg_mem_strdup(name);
    if (item == NULL || (name != NULL && item->name == NULL)) {
        amg_mem_free(item);
        margo_error(mid, "no memory for a pool or a stream");
        return NULL;
    }
    item->cpubind = -1;
    item->pools = (struct amg_margo_item **)(item + 1);
    item->affinity = (int *)(item->pools + pools);
    return item;
}

struct amg_margo_item *amg_margo_pool_wrap(
    margo_instance_id mid, const char *name, ABT_pool handle, bool is_owned)
{
    struct amg_margo_item *pool = amg_margo_item_new(mid, name, 0, 0);

    if (pool == NULL)
        return NULL;
    pool->handle = handle;
    pool->is_owned = is_owned;
    pool->kind = AMG_MARGO_POOL_EXTERNAL;
    return pool;
}

void amg_margo_pool_destroy(margo_instance_id mid, struct amg_margo_item *pool)
{
    ABT_pool handle = NULL;
    size_t threads = 0;

    if (pool == NULL)
        return;
    handle = pool->handle;
    if (pool->is_owned &&
        ABT_pool_get_total_size(handle, &threads) == ABT_SUCCESS && threads > 0)
        margo_warning(mid,
            "the pool %s is not freed: %zu user-level threads in it have not "
            "ended",
            pool->name, threads);
    else if (pool->is_owned)
        (void)ABT_pool_free(&handle);
    amg_mem_free(pool->name);
    amg_mem_free(pool);
}

hg_return_t amg_margo_pool_add(
    margo_instance_id mid, struct amg_margo_item *pool)
{
    hg_return_t rc =
        amg_margo_list_add(mid, &mid->pools->registry->pools, pool);

    if (rc == HG_SUCCESS)
        return rc;
    /* An external pool stays the program's. */
    if (pool->kind == AMG_MARGO_POOL_EXTERNAL)
        pool->is_owned = false;
    amg_margo_pool_destroy(mid, pool);
    return rc;
}

struct amg_margo_item *amg_margo_pool_resolve_locked(margo_instance_id mid,
    const char *path, const struct amg_margo_pool_ref *ref)
{
    const struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_item *pool = NULL;

    AMG_ASSERT_HELD(&registry->lock);
    if (ref->name != NULL)
        pool = list_find(&registry->pools, amg_margo_by_name(ref->name));
    else if (ref->is_own)
        pool = amg_margo_pool_find_locked(
            registry, mid->config->plan.pools[ref->index].made);
    else
        pool = list_find(
            &registry->pools, amg_margo_by_index((uint32_t)ref->index));
    if (pool == NULL)
        amg_margo_plan_log_missing(mid->log, path, ref, registry->pools.count);
    return pool;
}

enum kind { POOL, STREAM };

/* Effect of a call on the program's references to an item. */
enum action { NONE, REF, UNREF };

/* Result of item_call(). */
struct found {
    void *handle;
    const char *name;
    uint32_t index;
    unsigned refs; /* by the library and the program */
};

struct amg_margo_registry *amg_margo_registry_of(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL ? NULL : mid->pools->registry;
}

static struct amg_margo_list *list_of(
    struct amg_margo_registry *registry, enum kind kind)
{
    return kind == POOL ? &registry->pools : &registry->streams;
}

/* Finds an item, and applies `action`. HG_INVALID_ARG: no registry, or a handle
 * or name that is NULL. HG_NOENTRY: no such item. HG_PERMISSION, logged: the
 * program has no reference that UNREF could drop. */
static hg_return_t item_call(margo_instance_id mid, enum kind kind,
    struct amg_margo_item_key key, enum action action, struct found *ret_found)
{
    struct amg_margo_registry *registry = amg_margo_registry_of(mid);
    struct amg_margo_item *item = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (registry == NULL ||
        (key.by == AMG_MARGO_BY_HANDLE && key.handle == NULL) ||
        (key.by == AMG_MARGO_BY_NAME && key.name == NULL))
        return HG_INVALID_ARG;
    amg_lock_lock(&registry->lock);
    item = list_find(list_of(registry, kind), key);
    if (item == NULL) {
        rc = HG_NOENTRY;
    } else if (action == UNREF && item->refs == 0) {
        rc = HG_PERMISSION;
    } else {
        item->refs += action == REF;
        item->refs -= action == UNREF;
        if (ret_found != NULL)
            *ret_found = (struct found){item->handle, item->name,
                list_index(list_of(registry, kind), key),
                item->uses + item->refs};
    }
    amg_lock_unlock(&registry->lock);
    if (rc == HG_PERMISSION)
        margo_error(mid,
            "a %s was not released: the program has no reference to it; "
            "margo_%s_ref_incr() gives one",
            kind == POOL ? "pool" : "stream",
            kind == POOL ? "pool" : "xstream");
    return rc;
}

static hg_return_t item_count(margo_instance_id mid, enum kind kind,
    struct amg_margo_item_key key, unsigned *ret_count)
{
    struct found found;
    hg_return_t rc = HG_INVALID_ARG;

    if (ret_count != NULL)
        rc = item_call(mid, kind, key, NONE, &found);
    if (rc == HG_SUCCESS)
        *ret_count = found.refs;
    return rc;
}

static size_t item_total(margo_instance_id mid, enum kind kind)
{
    struct amg_margo_registry *registry = amg_margo_registry_of(mid);
    size_t count = 0;

    if (registry == NULL)
        return 0;
    amg_lock_lock(&registry->lock);
    count = list_of(registry, kind)->count;
    amg_lock_unlock(&registry->lock);
    return count;
}

hg_return_t amg_margo_pool_find(margo_instance_id mid,
    struct amg_margo_item_key key, struct margo_pool_info *info)
{
    struct found found;
    hg_return_t rc = item_call(mid, POOL, key, NONE, &found);

    if (rc == HG_SUCCESS && info != NULL)
        *info = (struct margo_pool_info){
            (ABT_pool)found.handle, found.name, found.index};
    return rc;
}

hg_return_t amg_margo_stream_find(margo_instance_id mid,
    struct amg_margo_item_key key, struct margo_xstream_info *info)
{
    struct found found;
    hg_return_t rc = item_call(mid, STREAM, key, NONE, &found);

    if (rc == HG_SUCCESS && info != NULL)
        *info = (struct margo_xstream_info){
            (ABT_xstream)found.handle, found.name, found.index};
    return rc;
}

hg_return_t margo_find_pool_by_handle(
    margo_instance_id mid, ABT_pool pool, struct margo_pool_info *info)
{
    return amg_margo_pool_find(mid, amg_margo_by_handle(pool), info);
}

/* Programs of Margo expect HG_INVALID_ARG for an index out of range, but only
 * from margo_find_pool_by_index() and margo_find_xstream_by_index(). */
static hg_return_t index_code(hg_return_t rc)
{
    return rc == HG_NOENTRY ? HG_INVALID_ARG : rc;
}

hg_return_t margo_find_pool_by_index(
    margo_instance_id mid, uint32_t index, struct margo_pool_info *info)
{
    return index_code(
        amg_margo_pool_find(mid, amg_margo_by_index(index), info));
}

hg_return_t margo_find_pool_by_name(
    margo_instance_id mid, const char *name, struct margo_pool_info *info)
{
    return amg_margo_pool_find(mid, amg_margo_by_name(name), info);
}

size_t margo_get_num_pools(margo_instance_id mid)
{
    return item_total(mid, POOL);
}

hg_return_t margo_find_xstream_by_handle(
    margo_instance_id mid, ABT_xstream xstream, struct margo_xstream_info *info)
{
    return amg_margo_stream_find(mid, amg_margo_by_handle(xstream), info);
}

hg_return_t margo_find_xstream_by_index(
    margo_instance_id mid, uint32_t index, struct margo_xstream_info *info)
{
    return index_code(
        amg_margo_stream_find(mid, amg_margo_by_index(index), info));
}

hg_return_t margo_find_xstream_by_name(
    margo_instance_id mid, const char *name, struct margo_xstream_info *info)
{
    return amg_margo_stream_find(mid, amg_margo_by_name(name), info);
}

size_t margo_get_num_xstreams(margo_instance_id mid)
{
    return item_total(mid, STREAM);
}

hg_return_t margo_pool_ref_incr_by_handle(
    margo_instance_id mid, ABT_pool handle)
{
    return item_call(mid, POOL, amg_margo_by_handle(handle), REF, NULL);
}

hg_return_t margo_pool_ref_count_by_handle(
    margo_instance_id mid, ABT_pool handle, unsigned *refcount)
{
    return item_count(mid, POOL, amg_margo_by_handle(handle), refcount);
}

hg_return_t margo_pool_release_by_handle(margo_instance_id mid, ABT_pool handle)
{
    return item_call(mid, POOL, amg_margo_by_handle(handle), UNREF, NULL);
}

hg_return_t margo_pool_ref_incr_by_index(margo_instance_id mid, uint32_t index)
{
    return item_call(mid, POOL, amg_margo_by_index(index), REF, NULL);
}

hg_return_t margo_pool_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount)
{
    return item_count(mid, POOL, amg_margo_by_index(index), refcount);
}

hg_return_t margo_pool_release_by_index(margo_instance_id mid, uint32_t index)
{
    return item_call(mid, POOL, amg_margo_by_index(index), UNREF, NULL);
}

hg_return_t margo_pool_ref_incr_by_name(margo_instance_id mid, const char *name)
{
    return item_call(mid, POOL, amg_margo_by_name(name), REF, NULL);
}

hg_return_t margo_pool_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount)
{
    return item_count(mid, POOL, amg_margo_by_name(name), refcount);
}

hg_return_t margo_pool_release_by_name(margo_instance_id mid, const char *name)
{
    return item_call(mid, POOL, amg_margo_by_name(name), UNREF, NULL);
}

hg_return_t margo_xstream_ref_incr_by_handle(
    margo_instance_id mid, ABT_xstream handle)
{
    return item_call(mid, STREAM, amg_margo_by_handle(handle), REF, NULL);
}

hg_return_t margo_xstream_ref_count_by_handle(
    margo_instance_id mid, ABT_xstream handle, unsigned *refcount)
{
    return item_count(mid, STREAM, amg_margo_by_handle(handle), refcount);
}

hg_return_t margo_xstream_release_by_handle(
    margo_instance_id mid, ABT_xstream handle)
{
    return item_call(mid, STREAM, amg_margo_by_handle(handle), UNREF, NULL);
}

hg_return_t margo_xstream_ref_incr_by_index(
    margo_instance_id mid, uint32_t index)
{
    return item_call(mid, STREAM, amg_margo_by_index(index), REF, NULL);
}

hg_return_t margo_xstream_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount)
{
    return item_count(mid, STREAM, amg_margo_by_index(index), refcount);
}

hg_return_t margo_xstream_release_by_index(
    margo_instance_id mid, uint32_t index)
{
    return item_call(mid, STREAM, amg_margo_by_index(index), UNREF, NULL);
}

hg_return_t margo_xstream_ref_incr_by_name(
    margo_instance_id mid, const char *name)
{
    return item_call(mid, STREAM, amg_margo_by_name(name), REF, NULL);
}

hg_return_t margo_xstream_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount)
{
    return item_count(mid, STREAM, amg_margo_by_name(name), refcount);
}

hg_return_t margo_xstream_release_by_name(
    margo_instance_id mid, const char *name)
{
    return item_call(mid, STREAM, amg_margo_by_name(name), UNREF, NULL);
}

hg_return_t amg_margo_item_take_off(margo_instance_id mid,
    struct amg_margo_list *list, const void *handle,
    amg_margo_reason_fn *reason_locked, struct amg_margo_item **ret_item)
{
    struct amg_margo_registry *registry = mid->pools->registry;
    struct amg_margo_item *item = NULL;
    const char *reason = NULL;

    amg_lock_lock(&registry->lock);
    item = list_find(list, amg_margo_by_handle(handle));
    if (item != NULL)
        reason = reason_locked(registry, item);
    if (item != NULL && reason == NULL)
        list_remove(list, item);
    amg_lock_unlock(&registry->lock);
    if (item == NULL)
        return HG_NOENTRY;
    if (reason != NULL) {
        margo_error(mid, "a %s was not removed: %s",
            list == &registry->pools ? "pool" : "stream", reason);
        return HG_PERMISSION;
    }
    *ret_item = item;
    return HG_SUCCESS;
}
