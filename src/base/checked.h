/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic with overflow checks. */
#ifndef AMG_BASE_CHECKED_H
#define AMG_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* False: the result exceeds 64 bits; do not use `*ret_`. */
static inline bool amg_checked_add(int64_t one, int64_t other, int64_t *ret_sum)
{
    return !__builtin_add_overflow(one, other, ret_sum);
}

static inline bool amg_checked_mul(
    int64_t one, int64_t other, int64_t *ret_product)
{
    return !__builtin_mul_overflow(one, other, ret_product);
}

#endif
