/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash map from 64 bit numbers to pointers, over uthash. */
#include "base/map.h"

#include "base/mem.h"

/* After a failed allocation uthash leaves the table unchanged, so amg_map_put()
 * looks for the entry that it added. The keys are hashes or counters, so one
 * multiplication spreads them (Fibonacci hashing, Knuth vol. 3, 6.4). */
#define HASH_NONFATAL_OOM        1
#define uthash_malloc(len)       amg_mem_alloc(len)
#define uthash_free(ptr, len)    amg_mem_free(ptr)
#define uthash_nonfatal_oom(obj) ((void)(obj))
#define HASH_FUNCTION(keyptr, keylen, hashv)                                   \
    ((hashv) =                                                                 \
            (unsigned)((*(const uint64_t *)(keyptr)*0x9e3779b97f4a7c15ull) >>  \
                       32))
#include <uthash.h>

struct amg_map_entry {
    uint64_t key;
    void *value;
    UT_hash_handle hh;
};

static struct amg_map_entry *map_find(const struct amg_map *map, uint64_t key)
{
    struct amg_map_entry *found = NULL;

    HASH_FIND(hh, map->entries, &key, sizeof(key), found);
    return found;
}

hg_return_t amg_map_put(struct amg_map *map, uint64_t key, void *value)
{
    struct amg_map_entry *entry = map_find(map, key);

    if (entry != NULL) {
        entry->value = value;
        return HG_SUCCESS;
    }
    entry = amg_mem_zalloc(sizeof(*entry));
    if (entry == NULL)
        return HG_NOMEM;
    entry->key = key;
    entry->value = value;
    HASH_ADD(hh, map->entries, key, sizeof(key), entry);
    if (map_find(map, key) == entry)
        return HG_SUCCESS;
    amg_mem_free(entry);
    return HG_NOMEM;
}

void *amg_map_get(const struct amg_map *map, uint64_t key)
{
    struct amg_map_entry *entry = map_find(map, key);

    return entry == NULL ? NULL : entry->value;
}

void *amg_map_remove(struct amg_map *map, uint64_t key)
{
    struct amg_map_entry *entry = map_find(map, key);
    void *value = NULL;

    if (entry == NULL)
        return NULL;
    value = entry->value;
    HASH_DELETE(hh, map->entries, entry);
    amg_mem_free(entry);
    return value;
}

void amg_map_fini(struct amg_map *map, void (*drop)(void *value))
{
    while (map->entries != NULL) {
        void *value = amg_map_remove(map, map->entries->key);

        if (drop != NULL)
            drop(value);
    }
}
