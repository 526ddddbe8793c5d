/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that are handed to schedulers. */
#include <stdarg.h>

#include "abt.h"
#include "base/mem.h"
#include "ult/handle.h"
#include "ult/values.h"

/* Negative indices are the library's. */
ABT_sched_config_var ABT_sched_config_var_end = {-1, ABT_SCHED_CONFIG_INT};
ABT_sched_config_var ABT_sched_config_access = {-2, ABT_SCHED_CONFIG_INT};
ABT_sched_config_var ABT_sched_config_automatic = {-3, ABT_SCHED_CONFIG_INT};
ABT_sched_config_var ABT_sched_basic_freq = {-4, ABT_SCHED_CONFIG_INT};

static struct amg_values *values_of(ABT_sched_config config)
{
    return (struct amg_values *)(void *)config;
}

/* One value of the list; an ABT code. */
static int value_read(
    struct amg_values *values, ABT_sched_config_var var, va_list *list)
{
    int number = 0;
    double real = 0;
    void *pointer = NULL;

    switch (var.type) {
    case ABT_SCHED_CONFIG_INT:
        number = va_arg(*list, int);
        return amg_values_set(values, var.idx, var.type, &number);
    case ABT_SCHED_CONFIG_DOUBLE:
        real = va_arg(*list, double);
        return amg_values_set(values, var.idx, var.type, &real);
    case ABT_SCHED_CONFIG_PTR:
        pointer = va_arg(*list, void *);
        return amg_values_set(values, var.idx, var.type, &pointer);
    default:
        return ABT_ERR_INV_SCHED_CONFIG;
    }
}

int ABT_sched_config_create(ABT_sched_config *config, ...)
{
    struct amg_values *values = NULL;
    int rc = ABT_SUCCESS;
    va_list list;

    amg_handle_clear(config);
    if (config == NULL)
        return ABT_ERR_INV_ARG;
    values = amg_mem_zalloc(sizeof(*values));
    if (values == NULL)
        return ABT_ERR_MEM;
    va_start(list, config);
    while (rc == ABT_SUCCESS) {
        ABT_sched_config_var var = va_arg(list, ABT_sched_config_var);

        if (var.idx == ABT_sched_config_var_end.idx)
            break;
        rc = value_read(values, var, &list);
    }
    va_end(list);
    if (rc != ABT_SUCCESS) {
        amg_values_destroy(values);
        return rc;
    }
    *config = (ABT_sched_config)(void *)values;
    return ABT_SUCCESS;
}

int ABT_sched_config_read(ABT_sched_config config, int num_vars, ...)
{
    va_list list;

    if (config == ABT_SCHED_CONFIG_NULL)
        return ABT_ERR_INV_SCHED_CONFIG;
    va_start(list, num_vars);
    for (int i = 0; i < num_vars; i++) {
        void *to = va_arg(list, void *);
        int type = 0;

        if (to != NULL)
            (void)amg_values_get(values_of(config), i, &type, to);
    }
    va_end(list);
    return ABT_SUCCESS;
}

int ABT_sched_config_set(ABT_sched_config config, int idx,
    ABT_sched_config_type type, const void *val)
{
    if (config == ABT_SCHED_CONFIG_NULL)
        return ABT_ERR_INV_SCHED_CONFIG;
    return amg_values_set(values_of(config), idx, (int)type, val);
}

int ABT_sched_config_get(
    ABT_sched_config config, int idx, ABT_sched_config_type *type, void *val)
{
    int known = 0;
    int rc = ABT_SUCCESS;

    if (config == ABT_SCHED_CONFIG_NULL)
        return ABT_ERR_INV_SCHED_CONFIG;
    rc = amg_values_get(values_of(config), idx, &known, val);
    if (rc == ABT_SUCCESS && type != NULL)
        *type = (ABT_sched_config_type)known;
    return rc;
}

int ABT_sched_config_free(ABT_sched_config *config)
{
    if (config == NULL || *config == ABT_SCHED_CONFIG_NULL)
        return ABT_ERR_INV_SCHED_CONFIG;
    amg_values_destroy(values_of(*config));
    *config = ABT_SCHED_CONFIG_NULL;
    return ABT_SUCCESS;
}
