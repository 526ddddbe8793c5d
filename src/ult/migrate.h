/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread goes over to another pool when it is asked to. */
#ifndef AMG_ULT_MIGRATE_H
#define AMG_ULT_MIGRATE_H

#include "ult/ult.h"

/* By who is about to push it: follows the wish, if there is one. */
void amg_ult_migrate_now(struct amg_ult *ult, struct amg_upool *target);

static inline void amg_ult_migrate(struct amg_ult *ult)
{
    /* Acquire: pairs with the release of who asked. */
    struct amg_upool *target =
        atomic_load_explicit(&ult->migrates_to, memory_order_acquire);

    if (target != NULL)
        amg_ult_migrate_now(ult, target);
}

#endif
