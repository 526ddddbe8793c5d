/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of three types under numbers; there are few of them, so they stand in
 * an array. */
#include "ult/values.h"

#include <string.h>

#include "abt.h"
#include "base/mem.h"

struct amg_value {
    int key;
    int type;
    union {
        int number;
        double real;
        void *pointer;
    } is;
};

enum { FIRST_CAP = 4 };

_Static_assert(
    (int)ABT_POOL_CONFIG_INT == (int)ABT_SCHED_CONFIG_INT &&
        (int)ABT_POOL_CONFIG_DOUBLE == (int)ABT_SCHED_CONFIG_DOUBLE &&
        (int)ABT_POOL_CONFIG_PTR == (int)ABT_SCHED_CONFIG_PTR,
    "both kinds of configuration have the same types");

/* 0: no such type. */
static size_t type_len(int type)
{
    switch (type) {
    case ABT_POOL_CONFIG_INT:
        return sizeof(int);
    case ABT_POOL_CONFIG_DOUBLE:
        return sizeof(double);
    case ABT_POOL_CONFIG_PTR:
        return sizeof(void *);
    default:
        return 0;
    }
}

static struct amg_value *value_find(const struct amg_values *values, int key)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i].key == key)
            return &values->items[i];
    return NULL;
}

/* NULL: no memory. */
static struct amg_value *value_add(struct amg_values *values)
{
    size_t cap = values->cap == 0 ? FIRST_CAP : 2 * values->cap;
    struct amg_value *items = values->items;

    if (values->count == values->cap) {
        items = amg_mem_realloc(items, cap * sizeof(*items));
        if (items == NULL)
            return NULL;
        values->items = items;
        values->cap = cap;
    }
    return &values->items[values->count++];
}

int amg_values_set(
    struct amg_values *values, int key, int type, const void *value)
{
    struct amg_value *item = value_find(values, key);
    size_t len = type_len(type);

    if (value == NULL) {
        if (item != NULL)
            *item = values->items[--values->count];
        return ABT_SUCCESS;
    }
    if (len == 0)
        return ABT_ERR_INV_ARG;
    if (item == NULL)
        item = value_add(values);
    if (item == NULL)
        return ABT_ERR_MEM;
    item->key = key;
    item->type = type;
    memcpy(&item->is, value, len);
    return ABT_SUCCESS;
}

int amg_values_get(
    const struct amg_values *values, int key, int *ret_type, void *ret_value)
{
    const struct amg_value *item = value_find(values, key);

    if (item == NULL)
        return ABT_ERR_INV_ARG;
    *ret_type = item->type;
    if (ret_value != NULL)
        memcpy(ret_value, &item->is, type_len(item->type));
    return ABT_SUCCESS;
}

void amg_values_destroy(struct amg_values *values)
{
    if (values == NULL)
        return;
    amg_mem_free(values->items);
    amg_mem_free(values);
}
