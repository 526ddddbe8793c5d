/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread goes over to another pool when it is asked to. */
#ifndef AMG_ULT_MIGRATE_H
#define AMG_ULT_MIGRATE_H

#include "ult/ult.h"

/* By who is about to push it: follows the wish, if there is one. */
void amg_ult_migrate_now(struct amg_ult *ult);

static inline void amg_ult_migrate(struct amg_ult *ult)
{
    if (atomic_load_explicit(&ult->migrates_to, memory_order_relaxed) != NULL)
        amg_ult_migrate_now(ult);
}

#endif
