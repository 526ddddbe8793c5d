/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash map from 64 bit numbers to pointers, and a hash of bytes. */
#ifndef AMG_BASE_MAP_H
#define AMG_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "mercury_core_types.h"

struct amg_map_entry;

/* Owned and guarded by the struct that embeds it. All zero is an empty map. */
struct amg_map {
    struct amg_map_entry *entries;
};

/* Adds a key, or replaces its value. HG_NOMEM: the map is as before. */
hg_return_t amg_map_put(struct amg_map *map, uint64_t key, void *value);
/* NULL: the map does not have the key. */
void *amg_map_get(const struct amg_map *map, uint64_t key);
/* Returns the value of the removed key, or NULL. */
void *amg_map_remove(struct amg_map *map, uint64_t key);
/* Empties the map; calls `drop`, if not NULL, for each value. */
void amg_map_fini(struct amg_map *map, void (*drop)(void *value));

/* FNV-1a of 64 bits (draft-eastlake-fnv); `hash` is the hash of the bytes
 * before `data`, or AMG_HASH_EMPTY. */
#define AMG_HASH_EMPTY 0xcbf29ce484222325ull

static inline uint64_t amg_hash(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}

#endif
