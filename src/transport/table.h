/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of cookies: numbers for pointers, invalid once the pointer is removed.
 */
#ifndef AMG_TRANSPORT_TABLE_H
#define AMG_TRANSPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "mercury_core_types.h"

enum {
    AMG_TABLE_INDEX_BITS = 20, /* a million entries; the rest of the */
    AMG_TABLE_INDEX_MASK = (1 << AMG_TABLE_INDEX_BITS) - 1, /* 32 counts uses */
    AMG_TABLE_USES_MASK = (1 << (32 - AMG_TABLE_INDEX_BITS)) - 1,
};

struct amg_table_slot {
    void *object; /* NULL: free */
    uint32_t generation;
    uint32_t owner_or_next; /* number of the peer; if free: the next free slot
                             */
};

/* Owned by the struct that embeds it, and guarded by its lock. */
struct amg_table {
    struct amg_table_slot *slots;
    uint32_t cap;
    uint32_t max;     /* largest `cap` */
    const char *what; /* purpose of the table, for the log */
    bool is_told;     /* logged that the table is full */
    uint32_t free;    /* the first free slot; cap: none */
};

/* `what`, for the log: "calls in flight". */
void amg_table_init(struct amg_table *table, uint32_t max, const char *what);
void amg_table_fini(struct amg_table *table);

/* Makes room for one more. HG_NOMEM. */
hg_return_t amg_table_grow(struct amg_table *table);

/* Gives `object` (not NULL) a cookie, valid for `owner`. HG_NOMEM: also when
 * all slots are taken. */
static inline hg_return_t amg_table_add(
    struct amg_table *table, void *object, uint32_t owner, uint32_t *ret_cookie)
{
    struct amg_table_slot *slot = NULL;

    AMG_ASSERT(object != NULL);
    if (!AMG_LIKELY(table->free != table->cap) &&
        amg_table_grow(table) != HG_SUCCESS)
        return HG_NOMEM;
    slot = &table->slots[table->free];
    *ret_cookie = table->free | (slot->generation & AMG_TABLE_USES_MASK)
                                    << AMG_TABLE_INDEX_BITS;
    table->free = slot->owner_or_next;
    slot->object = object;
    slot->owner_or_next = owner;
    return HG_SUCCESS;
}

/* Slot of a cookie that is known to be valid. */
static inline struct amg_table_slot *amg_table_at(
    const struct amg_table *table, uint32_t cookie)
{
    return &table->slots[cookie & AMG_TABLE_INDEX_MASK];
}

/* Slot of `cookie` for `owner`; NULL: it was removed, or never existed. */
static inline struct amg_table_slot *amg_table_find(
    const struct amg_table *table, uint32_t cookie, uint32_t owner)
{
    uint32_t index = cookie & AMG_TABLE_INDEX_MASK;
    struct amg_table_slot *slot = NULL;

    if (!AMG_LIKELY(index < table->cap))
        return NULL;
    slot = &table->slots[index];
    if (!AMG_LIKELY(slot->object != NULL && slot->owner_or_next == owner) ||
        (slot->generation & AMG_TABLE_USES_MASK) !=
            cookie >> AMG_TABLE_INDEX_BITS)
        return NULL;
    return slot;
}

/* Invalidates the cookie. */
static inline void amg_table_remove(struct amg_table *table, uint32_t cookie)
{
    uint32_t index = cookie & AMG_TABLE_INDEX_MASK;
    struct amg_table_slot *slot = &table->slots[index];

    AMG_ASSERT(index < table->cap && slot->object != NULL);
    slot->object = NULL;
    slot->generation++;
    slot->owner_or_next = table->free;
    table->free = index;
}

#endif
