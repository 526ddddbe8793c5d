/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations of pools and schedulers, and attributes of threads, which the
 * program fills in before creating pools, schedulers and threads. A
 * configuration is an array, since it has few values. */
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "abt.h"
#include "base/mem.h"
#include "ult/ult.h"
#include "ult/xstream_local.h"

struct value {
    int key;
    int type;
    union {
        int number;
        double real;
        void *pointer;
    } is;
};

/* Values by key, behind ABT_pool_config and ABT_sched_config. Owned by the
 * program. */
struct values {
    struct value *items;
    size_t count;
    size_t cap;
};

enum {
    FIRST_CAP = 4,
    LEAST_STACK = 4096, /* fewest bytes that a program may give a stack */
};

_Static_assert(
    (int)ABT_POOL_CONFIG_INT == (int)ABT_SCHED_CONFIG_INT &&
        (int)ABT_POOL_CONFIG_DOUBLE == (int)ABT_SCHED_CONFIG_DOUBLE &&
        (int)ABT_POOL_CONFIG_PTR == (int)ABT_SCHED_CONFIG_PTR,
    "both kinds of configuration have the same types");

/* Bytes of a value; 0: there is no such type. */
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

static struct value *value_find(const struct values *values, int key)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i].key == key)
            return &values->items[i];
    return NULL;
}

/* Adds a value; NULL: no memory. */
static struct value *value_add(struct values *values)
{
    size_t cap = values->cap == 0 ? FIRST_CAP : 2 * values->cap;
    struct value *items = values->items;

    if (values->count == values->cap) {
        items = amg_mem_realloc(items, cap * sizeof(*items));
        if (items == NULL)
            return NULL;
        values->items = items;
        values->cap = cap;
    }
    return &values->items[values->count++];
}

/* Sets the value of a key; `value` NULL removes the key. `type`: one of
 * ABT_POOL_CONFIG_*, ABT_SCHED_CONFIG_*. `config` NULL: returns `none_code`. */
static int config_set(
    void *config, int none_code, int key, int type, const void *value)
{
    struct values *values = config;
    struct value *item = values == NULL ? NULL : value_find(values, key);
    size_t len = type_len(type);

    if (values == NULL)
        return none_code;
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

/* Gets type and value of a key; `ret_type` and `ret_value` may be NULL. Returns
 * ABT_ERR_INV_ARG if the key has no value, `none_code` if `config` is NULL. */
static int config_get(
    const void *config, int none_code, int key, void *ret_type, void *ret_value)
{
    const struct value *item = NULL;

    if (config == NULL)
        return none_code;
    item = value_find(config, key);
    if (item == NULL)
        return ABT_ERR_INV_ARG;
    if (ret_type != NULL)
        memcpy(ret_type, &item->type, sizeof(item->type));
    if (ret_value != NULL)
        memcpy(ret_value, &item->is, type_len(item->type));
    return ABT_SUCCESS;
}

bool amg_config_flag(const void *config, int key, bool is_default)
{
    const struct value *item = config == NULL ? NULL : value_find(config, key);

    if (item == NULL || item->type != (int)ABT_POOL_CONFIG_INT)
        return is_default;
    return item->is.number != ABT_FALSE;
}

static int config_free(void *ret_config, int none_code)
{
    struct values *values = NULL;

    if (ret_config != NULL)
        memcpy(&values, ret_config, sizeof(values));
    if (values != NULL)
        amg_mem_free(values->items);
    return amg_handle_free(ret_config, none_code);
}

/* Negative keys belong to the library. */
const ABT_pool_config_var ABT_pool_config_automatic = {-1, ABT_POOL_CONFIG_INT};

int ABT_pool_config_create(ABT_pool_config *config)
{
    if (config == NULL)
        return ABT_ERR_INV_ARG;
    return amg_handle_create(config, sizeof(struct values));
}

int ABT_pool_config_free(ABT_pool_config *config)
{
    return config_free(config, ABT_ERR_INV_POOL_CONFIG);
}

int ABT_pool_config_set(
    ABT_pool_config config, int key, ABT_pool_config_type type, const void *val)
{
    return config_set(config, ABT_ERR_INV_POOL_CONFIG, key, (int)type, val);
}

int ABT_pool_config_get(
    ABT_pool_config config, int key, ABT_pool_config_type *type, void *val)
{
    return config_get(config, ABT_ERR_INV_POOL_CONFIG, key, type, val);
}

/* Negative indices belong to the library. */
ABT_sched_config_var ABT_sched_config_var_end = {-1, ABT_SCHED_CONFIG_INT};
ABT_sched_config_var ABT_sched_config_access = {-2, ABT_SCHED_CONFIG_INT};
ABT_sched_config_var ABT_sched_config_automatic = {-3, ABT_SCHED_CONFIG_INT};
ABT_sched_config_var ABT_sched_basic_freq = {-4, ABT_SCHED_CONFIG_INT};

int ABT_sched_config_read(ABT_sched_config config, int num_vars, ...)
{
    va_list list;

    if (config == ABT_SCHED_CONFIG_NULL)
        return ABT_ERR_INV_SCHED_CONFIG;
    va_start(list, num_vars);
    for (int i = 0; i < num_vars; i++) {
        void *to = va_arg(list, void *);

        if (to != NULL)
            (void)config_get(config, ABT_ERR_INV_SCHED_CONFIG, i, NULL, to);
    }
    va_end(list);
    return ABT_SUCCESS;
}

int ABT_sched_config_set(ABT_sched_config config, int idx,
    ABT_sched_config_type type, const void *val)
{
    return config_set(config, ABT_ERR_INV_SCHED_CONFIG, idx, (int)type, val);
}

/* Sets `var` in `config` to the list's next argument. Returns an ABT code. */
static int value_read(
    ABT_sched_config config, ABT_sched_config_var var, va_list *list)
{
    struct value value;

    switch (var.type) {
    case ABT_SCHED_CONFIG_INT:
        value.is.number = va_arg(*list, int);
        break;
    case ABT_SCHED_CONFIG_DOUBLE:
        value.is.real = va_arg(*list, double);
        break;
    case ABT_SCHED_CONFIG_PTR:
        value.is.pointer = va_arg(*list, void *);
        break;
    default:
        return ABT_ERR_INV_SCHED_CONFIG;
    }
    return ABT_sched_config_set(config, var.idx, var.type, &value.is);
}

int ABT_sched_config_create(ABT_sched_config *config, ...)
{
    int rc = ABT_ERR_INV_ARG;
    va_list list;

    if (config == NULL)
        return rc;
    rc = amg_handle_create(config, sizeof(struct values));
    va_start(list, config);
    while (rc == ABT_SUCCESS) {
        ABT_sched_config_var var = va_arg(list, ABT_sched_config_var);

        if (var.idx == ABT_sched_config_var_end.idx)
            break;
        rc = value_read(*config, var, &list);
    }
    va_end(list);
    if (rc != ABT_SUCCESS)
        (void)ABT_sched_config_free(config);
    return rc;
}

int ABT_sched_config_get(
    ABT_sched_config config, int idx, ABT_sched_config_type *type, void *val)
{
    return config_get(config, ABT_ERR_INV_SCHED_CONFIG, idx, type, val);
}

int ABT_sched_config_free(ABT_sched_config *config)
{
    return config_free(config, ABT_ERR_INV_SCHED_CONFIG);
}

int ABT_thread_attr_create(ABT_thread_attr *newattr)
{
    int rc = ABT_ERR_INV_ARG;

    if (newattr == NULL)
        return rc;
    rc = amg_handle_create(newattr, sizeof(struct amg_thread_attr));
    if (rc == ABT_SUCCESS)
        amg_thread_attr_of(*newattr)->is_migratable = true;
    return rc;
}

int ABT_thread_attr_free(ABT_thread_attr *attr)
{
    return amg_handle_free(attr, ABT_ERR_INV_THREAD_ATTR);
}

int ABT_thread_attr_set_stack(
    ABT_thread_attr attr, void *stackaddr, size_t stacksize)
{
    struct amg_thread_attr *uattr = amg_thread_attr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    if ((uintptr_t)stackaddr % 8 != 0 ||
        (stackaddr != NULL && stacksize < LEAST_STACK))
        return ABT_ERR_INV_ARG;
    uattr->stack = stackaddr;
    uattr->known_stack = NULL;
    uattr->stack_len = stacksize;
    return ABT_SUCCESS;
}

int ABT_thread_attr_get_stack(
    ABT_thread_attr attr, void **stackaddr, size_t *stacksize)
{
    const struct amg_thread_attr *uattr = amg_thread_attr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    if (stackaddr == NULL || stacksize == NULL)
        return ABT_ERR_INV_ARG;
    *stackaddr = uattr->stack != NULL ? uattr->stack : uattr->known_stack;
    return ABT_thread_attr_get_stacksize(attr, stacksize);
}

int ABT_thread_attr_set_stacksize(ABT_thread_attr attr, size_t stacksize)
{
    struct amg_thread_attr *uattr = amg_thread_attr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    if (stacksize < LEAST_STACK)
        return ABT_ERR_INV_ARG;
    uattr->stack_len = stacksize;
    return ABT_SUCCESS;
}

int ABT_thread_attr_get_stacksize(ABT_thread_attr attr, size_t *stacksize)
{
    const struct amg_thread_attr *uattr = amg_thread_attr_of(attr);

    return AMG_GET(ABT_ERR_INV_THREAD_ATTR, uattr, stacksize,
        uattr->stack_len != 0 || uattr->is_of_primary
            ? uattr->stack_len
            : amg_stack_default_len());
}

int ABT_thread_attr_set_callback(ABT_thread_attr attr,
    void (*cb_func)(ABT_thread thread, void *cb_arg), void *cb_arg)
{
    struct amg_thread_attr *uattr = amg_thread_attr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    uattr->on_migration = cb_func;
    uattr->on_migration_arg = cb_arg;
    return ABT_SUCCESS;
}

int ABT_thread_attr_set_migratable(ABT_thread_attr attr, ABT_bool is_migratable)
{
    return AMG_SET(ABT_ERR_INV_THREAD_ATTR, amg_thread_attr_of(attr),
        is_migratable, is_migratable != ABT_FALSE);
}

int ABT_thread_get_attr(ABT_thread thread, ABT_thread_attr *attr)
{
    const struct amg_ult *ult = amg_ult_of(thread);
    int rc = ABT_ERR_INV_THREAD;

    amg_handle_clear(attr);
    if (ult == NULL)
        return rc;
    rc = ABT_thread_attr_create(attr);
    if (rc == ABT_SUCCESS)
        *amg_thread_attr_of(*attr) = (struct amg_thread_attr){
            .stack = ult->stack == NULL ? ult->stack_base : NULL,
            .known_stack = ult->stack_base,
            .stack_len = ult->stack_len,
            .is_of_primary = ult->kind == AMG_ULT_PRIMARY,
            .is_migratable = ult->is_migratable,
            .on_migration = ult->on_migration,
            .on_migration_arg = ult->on_migration_arg,
        };
    return rc;
}
