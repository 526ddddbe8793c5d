/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of pools of the text as the runtime of user-level threads knows them;
 * one file for each runtime. */
#ifndef AMG_MARGO_KINDS_H
#define AMG_MARGO_KINDS_H

#include "abt.h"
#include "margo/log.h"
#include "margo/plan_row.h"

/* One that the runtime has none of is told of, and the nearest taken. */
ABT_pool_kind amg_margo_kind_abt(
    const struct amg_margo_log *log, enum amg_margo_pool_kind kind);

#endif
