/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of cookies: numbers for pointers, invalid once the pointer is removed.
 *
 * A cookie is the index of a slot and the slot's use count, so an invalid
 * cookie matches again only after 1024 uses of its slot. */
#include "transport/table.h"

#include "base/log.h"
#include "base/mem.h"

enum { TABLE_CAP_FIRST = 256 };

void amg_table_init(struct amg_table *table, uint32_t max, const char *what)
{
    AMG_ASSERT(max <= AMG_TABLE_INDEX_MASK + 1u);
    table->slots = NULL;
    table->cap = 0;
    table->max = max;
    table->what = what;
    table->is_told = false;
    table->free = 0;
}

void amg_table_fini(struct amg_table *table)
{
    amg_mem_free(table->slots);
    table->slots = NULL;
    table->cap = 0;
    table->free = 0;
}

static hg_return_t table_full(struct amg_table *table)
{
    if (!table->is_told)
        AMG_LOG_ERROR("cls",
            "%u %s are the limit of a class: wait until some have ended, or "
            "open another class",
            table->max, table->what);
    table->is_told = true;
    return HG_NOMEM;
}

hg_return_t amg_table_grow(struct amg_table *table)
{
    uint32_t cap = table->cap == 0 ? TABLE_CAP_FIRST : table->cap * 2;
    struct amg_table_slot *grown = NULL;

    if (cap > table->max)
        cap = table->max;
    if (cap == table->cap)
        return table_full(table);
    grown = amg_mem_realloc(table->slots, cap * sizeof(*grown));
    if (grown == NULL)
        return HG_NOMEM;
    for (uint32_t i = table->cap; i < cap; i++)
        grown[i] = (struct amg_table_slot){.cookie = i, .owner_or_next = i + 1};
    table->slots = grown;
    table->cap = cap;
    return HG_SUCCESS;
}
