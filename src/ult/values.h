/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of three types under numbers: configurations of pools and
 * schedulers. */
#ifndef AMG_ULT_VALUES_H
#define AMG_ULT_VALUES_H

#include <stddef.h>

struct amg_value;

/* Its creator's, who guards it; all zero is empty. */
struct amg_values {
    struct amg_value *items;
    size_t count;
    size_t cap;
};

/* The types are those of ABT_POOL_CONFIG_* and ABT_SCHED_CONFIG_*. `value`
 * NULL forgets it. An ABT code. */
int amg_values_set(
    struct amg_values *values, int key, int type, const void *value);
/* `ret_value` may be NULL. ABT_ERR_INV_ARG: it was not set. */
int amg_values_get(
    const struct amg_values *values, int key, int *ret_type, void *ret_value);
/* NULL is fine. */
void amg_values_destroy(struct amg_values *values);

#endif
