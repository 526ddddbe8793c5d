/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that a user-level thread keeps under keys. */
#ifndef AMG_ULT_KEY_H
#define AMG_ULT_KEY_H

#include <stdatomic.h>
#include <stdint.h>

#include "abt.h"
#include "base/lock.h"

/* The first ones lie in the thread itself, so that few keys need no memory. */
enum { AMG_KEY_SLOTS = 4 };

/* Taken once, and never given back before the thread is. */
struct amg_key_slot {
    /* 0: free. Published with release when the destructor is there; keys are
     * numbered, so a slot of a key that is gone stays harmless. */
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

/* Hands all values to the destructors of their keys, and frees what setting
 * them took; all zeros, as in the beginning. */
void amg_key_table_clear(struct amg_key_table *table);

#endif
