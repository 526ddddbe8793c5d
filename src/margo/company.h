/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that share a pool, as those of two instances in one stream do. */
#ifndef AMG_MARGO_COMPANY_H
#define AMG_MARGO_COMPANY_H

#include <stdbool.h>

#include "base/list.h"
#include "margo.h"

/* A loop among all of the process. */
struct amg_margo_company {
    struct amg_link link; /* guarded by company.c, as is the pool */
    ABT_pool pool;        /* where it was when it last asked */
};

/* By the loop, first and last. */
void amg_margo_company_enter(struct amg_margo_company *self);
void amg_margo_company_leave(struct amg_margo_company *self);

/* By the loop: is another one in its pool? No lock where it is the only one of
 * the process. */
bool amg_margo_company_has(struct amg_margo_company *self);

#endif
