/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands for a thread in a pool: what ABT_unit is. */
#ifndef AMG_ULT_UNIT_H
#define AMG_ULT_UNIT_H

#include "abt.h"

struct amg_ult;
struct amg_upool;

/* What a pool of the program's own has made for a thread; ult->unit points to
 * it. Freed with the thread, or when it belongs to another pool. */
struct amg_unit {
    ABT_unit unit; /* the program's */
    struct amg_upool *pool;
    struct amg_ult *ult;
};

/* In a pool of ours it is the thread's own address, made odd: those of the
 * program's objects are even. */
ABT_unit amg_unit_of(struct amg_ult *ult);

/* NULL: nothing of that name is there. */
struct amg_ult *amg_unit_ult(ABT_unit unit);

/* From now on the thread is found by it. An ABT code. */
int amg_unit_add(struct amg_unit *unit);
void amg_unit_remove(struct amg_unit *unit);

#endif
