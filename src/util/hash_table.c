/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash table and queue of mercury_hash_table.h and mercury_atomic_queue.h. */
#include "base/assert.h"
#include "base/mem.h"
#include "mercury_atomic_queue.h"
#include "mercury_hash_table.h"

struct hg_atomic_queue *hg_atomic_queue_alloc(unsigned int count)
{
    struct hg_atomic_queue *queue = NULL;

    if (!AMG_CONTRACT(count > 0 && (count & (count - 1)) == 0,
            "count is %u; it must be a power of 2", count))
        return NULL;
    queue = amg_mem_alloc_aligned(HG_ATOMIC_QUEUE_LINE, sizeof(*queue));
    if (queue == NULL)
        return NULL;
    queue->slots = amg_mem_alloc_aligned(
        HG_ATOMIC_QUEUE_LINE, count * sizeof(*queue->slots));
    if (queue->slots == NULL) {
        amg_mem_free(queue);
        return NULL;
    }
    queue->count = count;
    hg_atomic_init64(&queue->pushes, 0);
    hg_atomic_init64(&queue->pops, 0);
    for (int64_t i = 0; i < queue->count; i++) {
        queue->slots[i].entry = NULL;
        hg_atomic_init64(&queue->slots[i].turn, 2 * i);
    }
    return queue;
}

void hg_atomic_queue_free(struct hg_atomic_queue *queue)
{
    if (queue == NULL)
        return;
    amg_mem_free(queue->slots);
    amg_mem_free(queue);
}

/* The key that uthash sees: the program's key, and the program's function that
 * compares keys, since HASH_KEYCMP gets nothing but the keys. */

struct table_key {
    hg_hash_table_key_t key;
    hg_hash_table_equal_func_t equal;
};

static int keys_differ(const struct table_key *a, const struct table_key *b)
{
    return a->equal(a->key, b->key) == 0;
}

/* If an allocation inside uthash fails, the table stays as it was: entry_add()
 * notices the failure because it does not find its entry. */
#define HASH_NONFATAL_OOM        1
#define uthash_malloc(len)       amg_mem_alloc(len)
#define uthash_free(ptr, len)    amg_mem_free(ptr)
#define uthash_nonfatal_oom(obj) ((void)(obj))
#define HASH_KEYCMP(a, b, len)                                                 \
    keys_differ((const struct table_key *)(a), (const struct table_key *)(b))
#include <uthash.h>

/* Owned by its table, from insert to remove. */
struct hg_hash_table_entry {
    struct table_key key;
    hg_hash_table_value_t value;
    UT_hash_handle hh;
};

/* Owned by the program, from new to free. */
struct hg_hash_table {
    hg_hash_table_hash_func_t hash;
    hg_hash_table_equal_func_t equal;
    hg_hash_table_key_free_func_t key_free;
    hg_hash_table_value_free_func_t value_free;
    struct hg_hash_table_entry *entries;
};

/* The program's hash, spread over all bits, since uthash uses only the low bits
 * (Fibonacci hashing, Knuth vol. 3, 6.4). */
static unsigned hash_of(
    const struct hg_hash_table *table, hg_hash_table_key_t key)
{
    return (unsigned)((table->hash(key) * 0x9e3779b97f4a7c15ull) >> 32);
}

static struct hg_hash_table_entry *entry_find(
    const struct hg_hash_table *table, hg_hash_table_key_t key)
{
    struct table_key wanted = {.key = key, .equal = table->equal};
    struct hg_hash_table_entry *found = NULL;
    unsigned hash = hash_of(table, key);

    HASH_FIND_BYHASHVALUE(
        hh, table->entries, &wanted, sizeof(wanted), hash, found);
    return found;
}

/* Frees a key and a value that leave the table, by the program's functions. */
static void held_free(const struct hg_hash_table *table,
    hg_hash_table_key_t key, hg_hash_table_value_t value)
{
    if (table->key_free != NULL)
        table->key_free(key);
    if (table->value_free != NULL)
        table->value_free(value);
}

static void entry_drop(
    struct hg_hash_table *table, struct hg_hash_table_entry *entry)
{
    HASH_DELETE(hh, table->entries, entry);
    held_free(table, entry->key.key, entry->value);
    amg_mem_free(entry);
}

/* Adds an entry, without a value yet, to the table. NULL: no memory. */
static struct hg_hash_table_entry *entry_add(
    struct hg_hash_table *table, hg_hash_table_key_t key)
{
    struct hg_hash_table_entry *entry = amg_mem_zalloc(sizeof(*entry));
    unsigned hash = hash_of(table, key);

    if (entry == NULL)
        return NULL;
    entry->key = (struct table_key){.key = key, .equal = table->equal};
    HASH_ADD_KEYPTR_BYHASHVALUE(
        hh, table->entries, &entry->key, sizeof(entry->key), hash, entry);
    if (entry_find(table, key) == entry)
        return entry;
    amg_mem_free(entry);
    return NULL;
}

hg_hash_table_t *hg_hash_table_new(
    hg_hash_table_hash_func_t hash_func, hg_hash_table_equal_func_t equal_func)
{
    struct hg_hash_table *table = NULL;

    if (!AMG_GIVEN(hash_func) || !AMG_GIVEN(equal_func))
        return NULL;
    table = amg_mem_zalloc(sizeof(*table));
    if (table == NULL)
        return NULL;
    table->hash = hash_func;
    table->equal = equal_func;
    return table;
}

void hg_hash_table_free(hg_hash_table_t *hash_table)
{
    if (hash_table == NULL)
        return;
    while (hash_table->entries != NULL)
        entry_drop(hash_table, hash_table->entries);
    amg_mem_free(hash_table);
}

void hg_hash_table_register_free_functions(hg_hash_table_t *hash_table,
    hg_hash_table_key_free_func_t key_free_func,
    hg_hash_table_value_free_func_t value_free_func)
{
    if (!AMG_GIVEN(hash_table))
        return;
    hash_table->key_free = key_free_func;
    hash_table->value_free = value_free_func;
}

int hg_hash_table_insert(hg_hash_table_t *hash_table, hg_hash_table_key_t key,
    hg_hash_table_value_t value)
{
    struct hg_hash_table_entry *entry = NULL;
    hg_hash_table_key_t old_key = NULL;
    hg_hash_table_value_t old_value = NULL;

    if (!AMG_GIVEN(hash_table))
        return 0;
    entry = entry_find(hash_table, key);
    if (entry != NULL) {
        old_key = entry->key.key;
        old_value = entry->value;
        entry->key.key = key;
        entry->value = value;
        held_free(hash_table, old_key, old_value);
        return 1;
    }
    entry = entry_add(hash_table, key);
    if (entry == NULL)
        return 0;
    entry->value = value;
    return 1;
}

hg_hash_table_value_t hg_hash_table_lookup(
    hg_hash_table_t *hash_table, hg_hash_table_key_t key)
{
    struct hg_hash_table_entry *entry = NULL;

    if (!AMG_GIVEN(hash_table))
        return HG_HASH_TABLE_NULL;
    entry = entry_find(hash_table, key);
    return entry != NULL ? entry->value : HG_HASH_TABLE_NULL;
}

int hg_hash_table_remove(hg_hash_table_t *hash_table, hg_hash_table_key_t key)
{
    struct hg_hash_table_entry *entry = NULL;

    if (!AMG_GIVEN(hash_table))
        return 0;
    entry = entry_find(hash_table, key);
    if (entry == NULL)
        return 0;
    entry_drop(hash_table, entry);
    return 1;
}

unsigned int hg_hash_table_num_entries(hg_hash_table_t *hash_table)
{
    return hash_table != NULL ? HASH_COUNT(hash_table->entries) : 0;
}

void hg_hash_table_iterate(
    hg_hash_table_t *hash_table, hg_hash_table_iter_t *iter)
{
    iter->hash_table = hash_table;
    iter->next_entry = hash_table != NULL ? hash_table->entries : NULL;
}

int hg_hash_table_iter_has_more(hg_hash_table_iter_t *iter)
{
    return iter->next_entry != NULL;
}

hg_hash_table_value_t hg_hash_table_iter_next(hg_hash_table_iter_t *iter)
{
    struct hg_hash_table_entry *entry = iter->next_entry;

    if (entry == NULL)
        return HG_HASH_TABLE_NULL;
    iter->next_entry = entry->hh.next;
    return entry->value;
}
