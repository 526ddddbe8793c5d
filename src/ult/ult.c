/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread becomes ready, wherever it was blocked or has run. */
#include "ult/ult.h"

#include "ult/handle.h"
#include "ult/migrate.h"
#include "ult/state.h"
#include "ult/upool.h"

void amg_ult_migrate_now(struct amg_ult *ult)
{
    struct amg_upool *target =
        atomic_exchange_explicit(&ult->migrates_to, NULL, memory_order_acquire);

    if (target == NULL)
        return;
    amg_ult_set_pool(ult, target);
    if (ult->on_migration != NULL)
        ult->on_migration(amg_ult_handle(ult), ult->on_migration_arg);
}

void amg_ult_make_ready(struct amg_ult *ult)
{
    enum amg_ult_state was = amg_ult_state(ult);
    struct amg_upool *from = amg_ult_pool(ult);

    amg_ult_migrate(ult);
    /* It counts all the time in one of the two, or a stream that is joined
     * might end before it. */
    if (was == AMG_ULT_BLOCKED && amg_ult_pool(ult) != from) {
        amg_upool_count_blocked(amg_ult_pool(ult), 1);
        amg_upool_left_blocked(from);
    }
    amg_ult_set_state(ult, AMG_ULT_READY);
    /* Others may run it, and it may be gone, from here on. */
    if (was == AMG_ULT_RUNNING)
        amg_upool_push_yielded(amg_ult_pool(ult), ult);
    else if (was == AMG_ULT_BLOCKED)
        amg_upool_push_unblocked(amg_ult_pool(ult), ult);
    else
        amg_upool_push(amg_ult_pool(ult), ult);
}
