/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams that an instance knows, and its pools one by one. */
#include "margo/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/runtime.h"

enum { FIRST_CAP = 8, NAME_CAP = 32 /* of names made up */ };

struct amg_margo_registry *amg_margo_registry_create(void)
{
    static const ABT_mutex_memory mutex = ABT_MUTEX_INITIALIZER;
    struct amg_margo_registry *registry = amg_mem_zalloc(sizeof(*registry));

    if (registry == NULL)
        return NULL;
    amg_lock_init(&registry->lock);
    registry->shown = mutex;
    registry->instances = 1;
    registry->pools.what = "pool";
    registry->streams.what = "xstream";
    return registry;
}

void amg_margo_registry_destroy(struct amg_margo_registry *registry)
{
    if (registry == NULL)
        return;
    AMG_ASSERT(registry->pools.count == 0 && registry->streams.count == 0);
    amg_mem_free(registry->pools.items);
    amg_mem_free(registry->streams.items);
    amg_mem_free(registry);
}

void amg_margo_show_begin(struct amg_margo_registry *registry)
{
    ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&registry->shown));
}

void amg_margo_show_end(struct amg_margo_registry *registry)
{
    ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&registry->shown));
}

static bool key_fits(
    const struct amg_margo_item *item, uint32_t index, struct amg_margo_key key)
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

struct amg_margo_item *amg_margo_list_find_locked(
    const struct amg_margo_list *list, struct amg_margo_key key,
    uint32_t *ret_index)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (!key_fits(list->items[i], i, key))
            continue;
        if (ret_index != NULL)
            *ret_index = i;
        return list->items[i];
    }
    return NULL;
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
    } while (amg_margo_list_find_locked(list, amg_margo_key_name(name), NULL) !=
             NULL);
    list->named = number;
    return amg_mem_strdup(name);
}

static hg_return_t list_add_locked(
    struct amg_margo_list *list, struct amg_margo_item *item)
{
    if (amg_margo_list_find_locked(
            list, amg_margo_key_handle(item->handle), NULL) != NULL)
        return HG_EXIST;
    if (item->name != NULL && amg_margo_list_find_locked(list,
                                  amg_margo_key_name(item->name), NULL) != NULL)
        return HG_EXIST;
    AMG_ASSERT(item->handle != NULL);
    if (!list_grow(list))
        return HG_NOMEM;
    if (item->name == NULL)
        item->name = name_make(list);
    if (item->name == NULL)
        return HG_NOMEM;
    list->items[list->count++] = item;
    return HG_SUCCESS;
}

hg_return_t amg_margo_list_add(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, struct amg_margo_list *list,
    struct amg_margo_item *item)
{
    hg_return_t rc = HG_SUCCESS;

    amg_lock_lock(&registry->lock);
    rc = list_add_locked(list, item);
    amg_lock_unlock(&registry->lock);
    if (rc == HG_SUCCESS)
        return rc;
    amg_margo_log_write(log, MARGO_LOG_ERROR, "the %s %.60s was not added: %s",
        list == &registry->pools ? "pool" : "stream", amg_margo_item_name(item),
        rc == HG_EXIST ? "the instance has one of that name or handle"
                       : "no memory");
    return rc == HG_EXIST ? HG_INVALID_ARG : rc;
}

void amg_margo_list_remove_locked(
    struct amg_margo_list *list, const struct amg_margo_item *item)
{
    unsigned at = 0;

    while (at < list->count && list->items[at] != item)
        at++;
    AMG_ASSERT(at < list->count);
    list->count--;
    memmove(&list->items[at], &list->items[at + 1],
        (list->count - at) * sizeof(list->items[0]));
}

struct amg_margo_pool *amg_margo_pool_wrap(const struct amg_margo_log *log,
    const char *name, ABT_pool handle, bool is_owned)
{
    struct amg_margo_pool *pool = amg_mem_zalloc(sizeof(*pool));

    if (pool != NULL && name != NULL)
        pool->item.name = amg_mem_strdup(name);
    if (pool == NULL || (name != NULL && pool->item.name == NULL)) {
        amg_mem_free(pool);
        amg_margo_log_write(log, MARGO_LOG_ERROR, "no memory for a pool");
        return NULL;
    }
    pool->item.handle = handle;
    pool->item.is_owned = is_owned;
    pool->kind = AMG_MARGO_POOL_EXTERNAL;
    return pool;
}

struct amg_margo_pool *amg_margo_pool_create(const struct amg_margo_log *log,
    const struct amg_margo_pool_spec *plan, bool is_automatic)
{
    ABT_pool handle = ABT_POOL_NULL;
    ABT_pool_kind kind = ABT_POOL_FIFO_WAIT;
    struct amg_margo_pool *pool = NULL;
    int error = ABT_SUCCESS;

    if (!amg_margo_runtime_pool_kind(plan->kind, &kind))
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "configuration: pools of the kind %s are of Amalgam's own threads; "
            "this build uses Argobots, and takes fifo_wait",
            amg_margo_pool_kind_name(plan->kind));
    error = ABT_pool_create_basic(kind, (ABT_pool_access)plan->access,
        is_automatic ? ABT_TRUE : ABT_FALSE, &handle);
    if (error != ABT_SUCCESS) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "the pool %.60s of kind %s was not made: %s",
            plan->name == NULL ? "without a name" : plan->name,
            amg_margo_pool_kind_name(plan->kind), amg_margo_abt_error(error));
        return NULL;
    }
    pool = amg_margo_pool_wrap(log, plan->name, handle, !is_automatic);
    if (pool == NULL) {
        (void)ABT_pool_free(&handle);
        return NULL;
    }
    pool->kind = plan->kind;
    pool->access = plan->access;
    return pool;
}

void amg_margo_pool_destroy(
    const struct amg_margo_log *log, struct amg_margo_pool *pool)
{
    ABT_pool handle = NULL;
    size_t threads = 0;

    if (pool == NULL)
        return;
    handle = amg_margo_pool_abt(pool);
    if (pool->item.is_owned &&
        ABT_pool_get_total_size(handle, &threads) == ABT_SUCCESS &&
        threads > 0) {
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "the pool %s is not freed: %zu user-level threads in it have not "
            "ended",
            pool->item.name, threads);
    } else if (pool->item.is_owned) {
        (void)ABT_pool_free(&handle);
    }
    amg_mem_free(pool->item.name);
    amg_mem_free(pool);
}

hg_return_t amg_margo_pool_add(const struct amg_margo_log *log,
    struct amg_margo_registry *registry, struct amg_margo_pool *pool)
{
    hg_return_t rc =
        amg_margo_list_add(log, registry, &registry->pools, &pool->item);

    if (rc == HG_SUCCESS)
        return rc;
    /* The program keeps an external pool. */
    if (pool->kind == AMG_MARGO_POOL_EXTERNAL)
        pool->item.is_owned = false;
    amg_margo_pool_destroy(log, pool);
    return rc;
}

struct amg_margo_pool *amg_margo_pool_resolve_locked(
    const struct amg_margo_log *log, const char *path,
    const struct amg_margo_registry *registry,
    const struct amg_margo_pool_ref *ref)
{
    struct amg_margo_item *item = amg_margo_list_find_locked(&registry->pools,
        ref->name != NULL ? amg_margo_key_name(ref->name)
                          : amg_margo_key_index((uint32_t)ref->index),
        NULL);

    AMG_ASSERT_HELD(&registry->lock);
    if (item != NULL)
        return (struct amg_margo_pool *)(void *)item;
    amg_margo_plan_log_missing(log, path, ref, registry->pools.count);
    return NULL;
}
