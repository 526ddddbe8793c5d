/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the hash table that one provider keeps. */
#ifndef KV_TABLE_H
#define KV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abt.h"

enum { TABLE_BUCKETS = 1024 };

/* A key with its value; lives as long as its table. */
struct entry {
    struct entry *next;
    ABT_rwlock lock; /* guards the value; held also during transfers */
    void *value;     /* NULL: none yet */
    size_t len;
    char key[];
};

/* Owned by its provider. */
struct table {
    ABT_mutex lock; /* guards the lists, briefly */
    size_t count;
    struct entry *buckets[TABLE_BUCKETS];
};

bool table_init(struct table *table);
void table_fini(struct table *table);

/* The entry of a key; NULL: none. */
struct entry *table_find(struct table *table, const char *key);
/* The entry of a key, created without a value if missing; NULL: no memory. */
struct entry *table_make(struct table *table, const char *key);

/* The entry owns `value`; the previous one is freed. */
void entry_set(struct entry *entry, void *value, size_t len);
/* Adds to the number at the start of the value; false: too short a value. */
bool entry_add(struct entry *entry, uint64_t addend, uint64_t *ret_sum);

#endif
