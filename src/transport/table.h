/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for pointers, which go stale when the pointer is taken out. */
#ifndef AMG_TRANSPORT_TABLE_H
#define AMG_TRANSPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury_core_types.h"

enum {
    AMG_TABLE_INDEX_BITS = 20, /* a million things in flight; the rest of the */
    AMG_TABLE_INDEX_MASK = (1 << AMG_TABLE_INDEX_BITS) - 1, /* 32 counts uses */
};

struct amg_table_place {
    void *object; /* NULL: free */
    uint32_t generation;
    uint32_t owner_or_next; /* whose answer is awaited; free: the next free */
};

/* Owned by who embeds it, and guarded by its lock. */
struct amg_table {
    struct amg_table_place *places;
    uint32_t cap;
    uint32_t max;     /* places it may grow to */
    const char *what; /* they are for, in words */
    bool is_told;     /* the log, that all are taken */
    uint32_t free;    /* the first free one; cap: none */
};

/* `what`, for the log: "calls in flight". */
void amg_table_init(struct amg_table *table, uint32_t max, const char *what);
void amg_table_fini(struct amg_table *table);

/* Gives `object` (not NULL) a number that `owner` will name. HG_NOMEM: also
 * when all places are taken. */
hg_return_t amg_table_add(struct amg_table *table, void *object, uint32_t owner,
    uint32_t *ret_cookie);
/* What `owner` means by `cookie`, or NULL when that is gone, or never was. */
struct amg_table_place *amg_table_find(
    const struct amg_table *table, uint32_t cookie, uint32_t owner);
/* The place of a number that is known to be in use. */
static inline struct amg_table_place *amg_table_at(
    const struct amg_table *table, uint32_t cookie)
{
    return &table->places[cookie & AMG_TABLE_INDEX_MASK];
}
/* The number is stale from now on. */
void amg_table_remove(struct amg_table *table, uint32_t cookie);

#endif
