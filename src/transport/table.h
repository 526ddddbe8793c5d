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
    AMG_TABLE_INDEX_BITS = 22, /* four million entries */
    AMG_TABLE_INDEX_MASK = (1 << AMG_TABLE_INDEX_BITS) - 1,
    AMG_TABLE_USE = 1 << AMG_TABLE_INDEX_BITS, /* a use, in the upper bits */
};

struct amg_table_slot {
    void *object;           /* NULL: free */
    uint32_t cookie;        /* of `object`; if free: of the next object */
    uint32_t owner_or_next; /* number of the peer; if free: the next free slot
                             */
};

/* Owned by the struct that embeds the table; guarded by a lock of the owner. */
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

/* Makes room for further objects. HG_NOMEM. */
hg_return_t amg_table_grow(struct amg_table *table);

/* Is there room for an object without growing? */
static inline bool amg_table_has_room(const struct amg_table *table)
{
    return table->free != table->cap;
}

/* Gives `object` (not NULL) a cookie, valid for `owner`. Needs a free slot. */
static inline uint32_t amg_table_put(
    struct amg_table *table, void *object, uint32_t owner)
{
    struct amg_table_slot *slot = &table->slots[table->free];

    AMG_ASSERT(object != NULL);
    table->free = slot->owner_or_next;
    slot->object = object;
    slot->owner_or_next = owner;
    return slot->cookie;
}

/* Gives `object` a cookie, and grows the table if it has no room. HG_NOMEM: no
 * memory, or the table has `max` slots, all taken. */
static inline hg_return_t amg_table_add(
    struct amg_table *table, void *object, uint32_t owner, uint32_t *ret_cookie)
{
    if (!AMG_LIKELY(amg_table_has_room(table)) &&
        amg_table_grow(table) != HG_SUCCESS)
        return HG_NOMEM;
    *ret_cookie = amg_table_put(table, object, owner);
    return HG_SUCCESS;
}

/* Slot of a cookie that is known to be valid. */
static inline struct amg_table_slot *amg_table_at(
    const struct amg_table *table, uint32_t cookie)
{
    return &table->slots[cookie & AMG_TABLE_INDEX_MASK];
}

/* Slot of `cookie` for `owner`; NULL: removed, or never given. */
static inline struct amg_table_slot *amg_table_find(
    const struct amg_table *table, uint32_t cookie, uint32_t owner)
{
    uint32_t index = cookie & AMG_TABLE_INDEX_MASK;
    struct amg_table_slot *slot = NULL;

    if (!AMG_LIKELY(index < table->cap))
        return NULL;
    slot = &table->slots[index];
    return AMG_LIKELY(slot->cookie == cookie && slot->owner_or_next == owner &&
                      slot->object != NULL)
               ? slot
               : NULL;
}

/* Invalidates the cookie. */
static inline void amg_table_remove(struct amg_table *table, uint32_t cookie)
{
    uint32_t index = cookie & AMG_TABLE_INDEX_MASK;
    struct amg_table_slot *slot = &table->slots[index];

    AMG_ASSERT(slot->object != NULL);
    slot->object = NULL;
    slot->cookie += AMG_TABLE_USE;
    slot->owner_or_next = table->free;
    table->free = index;
}

#endif
