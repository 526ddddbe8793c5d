/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the hash table that one provider keeps.
 *
 * Its locks are those of user-level threads: a waiter leaves the stream to
 * others, such as the progress loop. */
#include "jobs/apps/kv/table.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/apps/kv/wire.h"

bool table_init(struct table *table)
{
    memset(table, 0, sizeof(*table));
    return ABT_mutex_create(&table->lock) == ABT_SUCCESS;
}

static void entry_free(struct entry *entry)
{
    ABT_rwlock_free(&entry->lock);
    free(entry->value);
    free(entry);
}

void table_fini(struct table *table)
{
    for (unsigned i = 0; i < TABLE_BUCKETS; i++)
        while (table->buckets[i] != NULL) {
            struct entry *entry = table->buckets[i];

            table->buckets[i] = entry->next;
            entry_free(entry);
        }
    ABT_mutex_free(&table->lock);
}

/* The high bits: the low ones have selected rank and provider. */
static struct entry **bucket_of(struct table *table, const char *key)
{
    return &table->buckets[(kv_hash(key) >> 20) % TABLE_BUCKETS];
}

static struct entry *bucket_find(struct entry *const *bucket, const char *key)
{
    struct entry *entry = *bucket;

    while (entry != NULL && strcmp(entry->key, key) != 0)
        entry = entry->next;
    return entry;
}

struct entry *table_find(struct table *table, const char *key)
{
    struct entry *entry = NULL;

    ABT_mutex_lock(table->lock);
    entry = bucket_find(bucket_of(table, key), key);
    ABT_mutex_unlock(table->lock);
    return entry;
}

static struct entry *entry_create(const char *key)
{
    size_t key_len = strlen(key) + 1;
    struct entry *entry = calloc(1, sizeof(*entry) + key_len);

    if (entry == NULL)
        return NULL;
    memcpy(entry->key, key, key_len);
    if (ABT_rwlock_create(&entry->lock) == ABT_SUCCESS)
        return entry;
    free(entry);
    return NULL;
}

struct entry *table_make(struct table *table, const char *key)
{
    struct entry **bucket = bucket_of(table, key);
    struct entry *entry = NULL;

    ABT_mutex_lock(table->lock);
    entry = bucket_find(bucket, key);
    if (entry == NULL)
        entry = entry_create(key);
    else
        bucket = NULL;
    if (entry != NULL && bucket != NULL) {
        entry->next = *bucket;
        *bucket = entry;
        table->count++;
    }
    ABT_mutex_unlock(table->lock);
    return entry;
}

void entry_set(struct entry *entry, void *value, size_t len)
{
    void *before = NULL;

    ABT_rwlock_wrlock(entry->lock);
    before = entry->value;
    entry->value = value;
    entry->len = len;
    ABT_rwlock_unlock(entry->lock);
    free(before);
}

bool entry_add(struct entry *entry, uint64_t addend, uint64_t *ret_sum)
{
    uint64_t sum = 0;
    bool is_number = false;

    ABT_rwlock_wrlock(entry->lock);
    is_number = entry->value != NULL && entry->len >= sizeof(sum);
    if (is_number) {
        memcpy(&sum, entry->value, sizeof(sum));
        sum += addend;
        memcpy(entry->value, &sum, sizeof(sum));
        *ret_sum = sum;
    }
    ABT_rwlock_unlock(entry->lock);
    return is_number;
}
