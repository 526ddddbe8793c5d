/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread-specific values of a user-level thread, by key. */
#ifndef AMG_ULT_KEY_H
#define AMG_ULT_KEY_H

#include <stdatomic.h>
#include <stdint.h>

#include "abt.h"
#include "base/lock.h"

/* The first ones lie in the thread itself, so that few keys need no memory. */
enum { AMG_KEY_SLOTS = 4 };

/* Allocated once, and freed with the thread. */
struct amg_key_slot {
    /* 0: free. Published with release after the destructor is set; ids are
     * never reused, so a slot of a freed key is harmless. */
    _Atomic uint32_t number;
    void *_Atomic value;
    void (*destructor)(void *value);
};

/* Zeros are an empty one. */
struct amg_key_table {
    struct amg_key_slot slots[AMG_KEY_SLOTS];
    struct amg_key_table *_Atomic more; /* of the heap */
};

/* ABT codes. Writers take the lock when they add a slot. */
int amg_key_set(struct amg_key_table *table, struct amg_lock *lock, ABT_key key,
    void *value);
int amg_key_get(struct amg_key_table *table, ABT_key key, void **ret_value);

/* Calls the destructors for all values, and frees the memory of the slots; then
 * all is zero again. */
void amg_key_table_clear(struct amg_key_table *table);

#endif
