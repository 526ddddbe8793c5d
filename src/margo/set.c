/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools and streams that an instance knows, by handle, index and name. */
#include "margo/set.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

enum { FIRST_CAP = 8, NAME_CAP = 32 /* of names made up */ };

struct amg_margo_set *amg_margo_set_create(void)
{
    struct amg_margo_set *set = amg_mem_zalloc(sizeof(*set));

    if (set == NULL)
        return NULL;
    amg_lock_init(&set->lock);
    set->instances = 1;
    set->pools.what = "pool";
    set->streams.what = "xstream";
    return set;
}

void amg_margo_set_destroy(struct amg_margo_set *set)
{
    if (set == NULL)
        return;
    AMG_ASSERT(set->pools.count == 0 && set->streams.count == 0);
    amg_mem_free(set->pools.items);
    amg_mem_free(set->streams.items);
    amg_mem_free(set);
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

/* A name that none of the list has; NULL: no memory. */
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

hg_return_t amg_margo_list_add_locked(
    struct amg_margo_list *list, struct amg_margo_item *item)
{
    if (amg_margo_list_find_locked(
            list, amg_margo_key_handle(item->handle), NULL) != NULL)
        return HG_EXIST;
    if (item->name != NULL && amg_margo_list_find_locked(list,
                                  amg_margo_key_name(item->name), NULL) != NULL)
        return HG_EXIST;
    if (!list_grow(list))
        return HG_NOMEM;
    if (item->name == NULL)
        item->name = name_make(list);
    if (item->name == NULL)
        return HG_NOMEM;
    list->items[list->count++] = item;
    return HG_SUCCESS;
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

static bool key_is_valid(
    const struct amg_margo_set *set, struct amg_margo_key key)
{
    return set != NULL &&
           (key.by != AMG_MARGO_BY_HANDLE || key.handle != NULL) &&
           (key.by != AMG_MARGO_BY_NAME || key.name != NULL);
}

hg_return_t amg_margo_set_find(struct amg_margo_set *set,
    struct amg_margo_list *list, struct amg_margo_key key, void **ret_handle,
    const char **ret_name, uint32_t *ret_index)
{
    struct amg_margo_item *item = NULL;

    if (!key_is_valid(set, key))
        return HG_INVALID_ARG;
    amg_lock_take(&set->lock);
    item = amg_margo_list_find_locked(list, key, ret_index);
    if (item != NULL) {
        *ret_handle = item->handle;
        *ret_name = item->name;
    }
    amg_lock_give(&set->lock);
    return item == NULL ? HG_NOENTRY : HG_SUCCESS;
}

hg_return_t amg_margo_set_hold(struct amg_margo_set *set,
    struct amg_margo_list *list, struct amg_margo_key key)
{
    struct amg_margo_item *item = NULL;

    if (!key_is_valid(set, key))
        return HG_INVALID_ARG;
    amg_lock_take(&set->lock);
    item = amg_margo_list_find_locked(list, key, NULL);
    if (item != NULL)
        item->holds++;
    amg_lock_give(&set->lock);
    return item == NULL ? HG_NOENTRY : HG_SUCCESS;
}

hg_return_t amg_margo_set_count(struct amg_margo_set *set,
    struct amg_margo_list *list, struct amg_margo_key key, unsigned *ret_count)
{
    struct amg_margo_item *item = NULL;

    if (!key_is_valid(set, key) || ret_count == NULL)
        return HG_INVALID_ARG;
    amg_lock_take(&set->lock);
    item = amg_margo_list_find_locked(list, key, NULL);
    if (item != NULL)
        *ret_count = item->uses + item->holds;
    amg_lock_give(&set->lock);
    return item == NULL ? HG_NOENTRY : HG_SUCCESS;
}

hg_return_t amg_margo_set_drop(struct amg_margo_set *set,
    struct amg_margo_list *list, struct amg_margo_key key)
{
    struct amg_margo_item *item = NULL;
    hg_return_t rc = HG_NOENTRY;

    if (!key_is_valid(set, key))
        return HG_INVALID_ARG;
    amg_lock_take(&set->lock);
    item = amg_margo_list_find_locked(list, key, NULL);
    if (item != NULL)
        rc = item->holds == 0 ? HG_PERMISSION : HG_SUCCESS;
    if (rc == HG_SUCCESS)
        item->holds--;
    amg_lock_give(&set->lock);
    return rc;
}
