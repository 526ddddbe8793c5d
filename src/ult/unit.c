/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands for a thread in a pool. */
#include "ult/unit.h"

#include <stdint.h>

#include "base/lock.h"
#include "base/map.h"
#include "ult/handle.h"
#include "ult/ult.h"
#include "ult/upool.h"

/* Those of the program's pools; the lock guards the map. */
static struct amg_lock lock;
static struct amg_map units;

ABT_unit amg_unit_of(struct amg_ult *ult)
{
    struct amg_unit *unit = ult->unit;

    if (unit != NULL)
        return unit->unit;
    return (ABT_unit)(void *)((char *)ult + 1);
}

struct amg_ult *amg_unit_ult(ABT_unit unit)
{
    uintptr_t key = (uintptr_t)unit;
    struct amg_unit *known = NULL;

    if ((key & 1) != 0)
        return (struct amg_ult *)(void *)((char *)unit - 1);
    amg_lock_take(&lock);
    known = amg_map_get(&units, key);
    amg_lock_give(&lock);
    return known == NULL ? NULL : known->ult;
}

int amg_unit_add(struct amg_unit *unit)
{
    hg_return_t rc = HG_SUCCESS;

    amg_lock_take(&lock);
    rc = amg_map_put(&units, (uintptr_t)unit->unit, unit);
    amg_lock_give(&lock);
    return rc == HG_SUCCESS ? ABT_SUCCESS : ABT_ERR_MEM;
}

void amg_unit_remove(struct amg_unit *unit)
{
    amg_lock_take(&lock);
    amg_map_remove(&units, (uintptr_t)unit->unit);
    amg_lock_give(&lock);
}
