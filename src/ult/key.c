/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread-specific values of a user-level thread, by key.
 *
 * A table is a chain of arrays of a few slots. Adding a slot takes the thread's
 * lock; reading slots and setting their values takes no lock. A slot has a copy
 * of the key's destructor and number, and no other key gets that number: so a
 * program may free a key while threads still have a value for the key. */
#include "ult/ult.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "ult/xstream_local.h"

/* A key, behind ABT_key; owned by the program. */
struct ABT_key_opaque {
    uint32_t number;
    void (*destructor)(void *value);
};

/* Number of the newest key; 0 is no key. */
static _Atomic uint32_t last_number;

static void slot_clear(struct amg_key_slot *slot)
{
    void *value =
        atomic_exchange_explicit(&slot->value, NULL, memory_order_acquire);

    if (atomic_load_explicit(&slot->number, memory_order_relaxed) == 0)
        return;
    atomic_store_explicit(&slot->number, 0, memory_order_relaxed);
    if (value != NULL && slot->destructor != NULL)
        slot->destructor(value);
}

void amg_key_table_clear_slowly(struct amg_key_table *table)
{
    struct amg_key_table *more =
        atomic_load_explicit(&table->more, memory_order_acquire);

    for (unsigned i = 0; i < AMG_KEY_SLOTS; i++)
        if (atomic_load_explicit(
                &table->slots[i].number, memory_order_acquire) != 0)
            slot_clear(&table->slots[i]);
    atomic_store_explicit(&table->more, NULL, memory_order_relaxed);
    while (more != NULL) {
        struct amg_key_table *next =
            atomic_load_explicit(&more->more, memory_order_acquire);

        for (unsigned i = 0; i < AMG_KEY_SLOTS; i++)
            slot_clear(&more->slots[i]);
        amg_mem_free(more);
        more = next;
    }
}

/* The slot of the key with that number, or NULL; `number` 0: a free slot. */
static struct amg_key_slot *slot_find(
    struct amg_key_table *table, uint32_t number)
{
    /* Acquire: pairs with the release of slot_add_locked(). */
    for (; table != NULL;
         table = atomic_load_explicit(&table->more, memory_order_acquire))
        for (unsigned i = 0; i < AMG_KEY_SLOTS; i++)
            if (atomic_load_explicit(
                    &table->slots[i].number, memory_order_acquire) == number)
                return &table->slots[i];
    return NULL;
}

/* Adds a slot for a key that has no slot. False: no memory. */
static bool slot_add_locked(struct amg_ult *ult, ABT_key key, void *value)
{
    struct amg_key_table *table = &ult->keys;
    struct amg_key_slot *slot = slot_find(table, 0);
    struct amg_key_table *more = NULL;

    AMG_ASSERT_HELD(&ult->lock);
    AMG_ASSERT(key->number != 0);
    if (slot == NULL) {
        more = amg_mem_zalloc(sizeof(*more));
        if (more == NULL)
            return false;
        slot = &more->slots[0];
    }
    atomic_store_explicit(&slot->value, value, memory_order_relaxed);
    slot->destructor = key->destructor;
    atomic_store_explicit(&slot->number, key->number, memory_order_release);
    if (more == NULL)
        return true;
    /* The newest array is inserted right behind the first. */
    atomic_store_explicit(&more->more,
        atomic_load_explicit(&table->more, memory_order_relaxed),
        memory_order_relaxed);
    atomic_store_explicit(&table->more, more, memory_order_release);
    return true;
}

int ABT_key_create(void (*destructor)(void *value), ABT_key *newkey)
{
    struct ABT_key_opaque *key = NULL;

    if (newkey == NULL)
        return ABT_ERR_INV_ARG;
    key = amg_mem_alloc(sizeof(*key));
    if (key == NULL)
        return ABT_ERR_MEM;
    key->number =
        atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    key->destructor = destructor;
    *newkey = key;
    return ABT_SUCCESS;
}

int ABT_key_free(ABT_key *key)
{
    return amg_handle_free(key, ABT_ERR_INV_KEY);
}

/* Sets the value, if the key has a slot. */
static bool value_set(struct amg_key_table *table, ABT_key key, void *value)
{
    struct amg_key_slot *slot = slot_find(table, key->number);

    if (slot != NULL)
        atomic_store_explicit(&slot->value, value, memory_order_release);
    return slot != NULL;
}

int ABT_thread_set_specific(ABT_thread thread, ABT_key key, void *value)
{
    struct amg_ult *ult = amg_ult_of(thread);
    bool is_set = false;

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (key == NULL)
        return ABT_ERR_INV_KEY;
    if (value_set(&ult->keys, key, value))
        return ABT_SUCCESS;
    amg_lock_lock(&ult->lock);
    is_set =
        value_set(&ult->keys, key, value) || slot_add_locked(ult, key, value);
    amg_lock_unlock(&ult->lock);
    if (is_set)
        return ABT_SUCCESS;
    AMG_LOG_ERROR("ult", "no memory for a value of key %u", key->number);
    return ABT_ERR_MEM;
}

int ABT_thread_get_specific(ABT_thread thread, ABT_key key, void **value)
{
    struct amg_ult *ult = amg_ult_of(thread);
    struct amg_key_slot *slot = NULL;

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (key == NULL)
        return ABT_ERR_INV_KEY;
    if (value == NULL)
        return ABT_ERR_INV_ARG;
    slot = slot_find(&ult->keys, key->number);
    *value = slot == NULL
                 ? NULL
                 : atomic_load_explicit(&slot->value, memory_order_acquire);
    return ABT_SUCCESS;
}

int ABT_key_set(ABT_key key, void *value)
{
    ABT_thread self = amg_ult_handle(amg_ult_current());

    return self == ABT_THREAD_NULL ? ABT_ERR_INV_XSTREAM
                                   : ABT_thread_set_specific(self, key, value);
}

int ABT_key_get(ABT_key key, void **value)
{
    ABT_thread self = amg_ult_handle(amg_ult_current());

    return self == ABT_THREAD_NULL ? ABT_ERR_INV_XSTREAM
                                   : ABT_thread_get_specific(self, key, value);
}

int ABT_self_set_specific(ABT_key key, void *value)
{
    return ABT_key_set(key, value);
}

int ABT_self_get_specific(ABT_key key, void **value)
{
    return ABT_key_get(key, value);
}
